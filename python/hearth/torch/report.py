"""What became of a graph: what explain() shows, and warnings say."""

import warnings
from collections import Counter

import hearth


class Report:
    """Of one graph.

    Attributes:
        nodes: ops of the graph.
        eager: the count of ops that torch runs, by "op: reason".
        functions: the hearth.Functions that were prepared, the last one at the end.
        parts: subgraphs that are compiled where some ops are left to eager; else 0.
        failed: why nothing of the graph is compiled although all of it was recorded; else "".
        record_s, prepare_s: seconds.
    """

    def __init__(self, graph_module):
        self.nodes = sum(node.op == "call_function" for node in graph_module.graph.nodes)
        self.eager, self.functions, self.parts, self.failed = Counter(), [], 0, ""
        self.record_s = self.prepare_s = 0.0

    @property
    def left(self):
        """Ops that torch runs."""
        return self.nodes if self.failed else sum(self.eager.values())

    def text(self, most=5):
        """What is left to eager, in one line."""
        if self.failed:
            return f"hearth leaves a graph of {self.nodes} ops to eager: {self.failed}"
        named = [f"{text}{f' ({count} times)' if count > 1 else ''}" for text, count in self.eager.most_common(most)]
        more = len(self.eager) - len(named)
        share = 100 * self.left / max(self.nodes, 1)
        return (f"hearth leaves {self.left} of {self.nodes} ops ({share:.0f} %) of a graph to eager: {'; '.join(named)}"
                f"{f'; and {more} more' if more > 0 else ''}")  # fmt: skip

    def warn(self):
        warnings.warn(self.text(), hearth.CompileWarning, stacklevel=3)

    def __repr__(self):
        if self.left:
            return self.text(most=50)
        compiled = sum(one.stats.compiled_kernels for one in self.functions)
        kernels = sum(one.stats.kernels for one in self.functions)
        return (f"{self.nodes} ops, all compiled: {len(self.functions)} plans of {kernels} kernels, {compiled} of them compiled"
                f" now; recorded in {self.record_s:.2f} s, prepared in {self.prepare_s:.2f} s")  # fmt: skip


class Explanation:
    """What explain() gives: `graphs`, a Report each, and `breaks`, why Dynamo cut the model into several."""

    def __init__(self, graphs, breaks):
        self.graphs, self.breaks = graphs, breaks

    def __repr__(self):
        lines = [f"{len(self.graphs)} graphs, {len(self.breaks)} graph breaks"]
        lines += [f"graph {i}: {graph!r}" for i, graph in enumerate(self.graphs)]
        lines += [f"break: {one}" for one in self.breaks]
        return "\n".join(lines)
