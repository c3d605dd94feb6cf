"""Graphs that outlive their process: torch.compile(...).aot_compile(...).save_compiled_function(path).

What is written is the graph that Dynamo and AOTAutograd made. The process that loads it records it and has its plan from the
node's cache, without Dynamo: neither weights nor machine code are in the file."""

from torch._inductor.output_code import OutputCode
from torch._subclasses import FakeTensorMode
from torch.fx._graph_pickler import GraphPickler, Options
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from .compiled import CompiledGraph
from .report import Report

# What the importer reads of a node.
_KEPT = ("val", "tensor_meta")


class SerializableGraph(OutputCode):
    """A CompiledGraph as AOTAutograd's cache wants it."""

    _boxed_call = True

    def __init__(self, compiled):
        super().__init__()
        self._compiled, self._state = compiled, None

    def __call__(self, *inputs):
        """Called with one list, or, behind wrappers of torch that do not say that it takes one, with the arguments."""
        if self._compiled is None:
            self._compiled = self._read()
        return self._compiled(inputs[0] if len(inputs) == 1 and isinstance(inputs[0], list) else list(inputs))

    def prepare_for_serialization(self):
        """Everything is done by __getstate__."""

    def post_compile(self, example_inputs, constants, graph_kwargs):
        """Nothing is left to do."""

    def set_triton_bundle(self, triton_bundle):
        """There is none."""

    def __getstate__(self):
        if self._state is None:
            compiled = self._compiled
            options = {key: value for key, value in compiled.options.items() if key != "progress"}
            pickler = Options(ops_filter=None, node_metadata_key_filter=lambda key: key in _KEPT)
            self._state = {"graph": GraphPickler.dumps(compiled.graph_module, pickler), "static": compiled.static, "options": options}
        return self._state

    def __setstate__(self, state):
        self.__init__(None)
        self._state = state  # read at the first call: torch copies it where no graph can be made

    def _read(self):
        graph_module = GraphPickler.loads(self._state["graph"], FakeTensorMode(shape_env=ShapeEnv()))
        graph_module.recompile()
        return CompiledGraph(graph_module, self._state["static"], self._state["options"], Report(graph_module))
