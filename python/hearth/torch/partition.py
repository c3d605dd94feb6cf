"""A graph of which some ops cannot be recorded: the rest of it, cut into subgraphs."""

import torch
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase


class _Recorded(OperatorSupportBase):
    def __init__(self, unsupported):
        self.unsupported = unsupported

    def is_node_supported(self, submodules, node):
        return node.op == "call_function" and node not in self.unsupported


class _Part(torch.nn.Module):
    def __init__(self, compiled, is_single):
        super().__init__()
        self.compiled, self.is_single = compiled, is_single

    def forward(self, *args):
        made = self.compiled(list(args))
        return made[0] if self.is_single else made


def partition(graph_module, unsupported, static, compile_part):
    """The module in which torch runs the ops in `unsupported`, and what `compile_part` makes of them the others.

    Args:
        static: names of the placeholders that are weights.
        compile_part: called with a part's GraphModule and the places of weights among its arguments.

    Returns: the module, and the count of parts.
    """
    partitioner = CapabilityBasedPartitioner(graph_module, _Recorded(unsupported), allows_single_node_partition=False)
    parts = partitioner.propose_partitions()
    if not parts:
        return graph_module, 0
    fused = partitioner.fuse_partitions(parts)
    count = 0
    for node in list(fused.graph.nodes):
        if node.op != "call_module":
            continue
        part = getattr(fused, node.target)
        places = [i for i, one in enumerate(node.args) if one.op == "placeholder" and one.name in static]
        (output,) = [one for one in part.graph.nodes if one.op == "output"]
        compiled = compile_part(part, places)
        setattr(fused, node.target, _Part(compiled, not isinstance(output.args[0], (list, tuple))))
        count += 1
    return fused, count
