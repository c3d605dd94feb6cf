"""hearth.trace and hearth.Tracer: one recording of a function."""

import threading

from . import _hearth
from ._errors import CallError, InvalidArgument, TraceError
from ._hearth import Tensor
from ._hearth import Graph
from ._load import OPTIONS, options_of
from ._plan import Plan, Trace, call_with_tensors, dtype_of
from ._recordings import note
from ._trees import array_key, flatten, leaf_names, scalar_key


class TracedFunction:
    """What trace() gives: a function of arrays of the examples' shapes and dtypes."""

    def __init__(self, plan, tree_key, leaves):
        self._plan, self._key, self._kinds = plan, tree_key, [array_key(leaf) for leaf in leaves]

    @property
    def graph(self):
        return self._plan.graph

    @property
    def function(self):
        """The hearth.Function of the arrays among the arguments: with save(), explain(), profile()."""
        return self._plan.function

    def __call__(self, *args, **kwargs):
        leaves = []
        _, args_key = flatten(args, "arguments", leaves, scalar_key)
        _, kwargs_key = flatten(kwargs, "arguments", leaves, scalar_key)
        if (args_key, kwargs_key) != self._key:
            raise CallError("the arguments are of other kinds than those it was traced with")
        for i, (leaf, kind) in enumerate(zip(leaves, self._kinds)):
            if str(array_key(leaf)[0]) != str(kind[0]) or tuple(array_key(leaf)[1]) != tuple(kind[1]):
                raise InvalidArgument(f"array {i} is {_text(leaf)}; traced with {kind[0]} {list(kind[1])}")
        return self._plan(leaves, any(type(one) is Tensor for one in leaves))


def _text(array):
    dtype, shape = array_key(array)
    return f"{dtype} {list(shape)}"


def trace(function, *args, **kwargs):
    """Records the function once for these arguments and prepares it; calls replay that recording."""
    if _hearth.current_trace():
        raise TraceError(f"trace() within a trace; call the function itself (at {_hearth.location()})")
    leaves = []
    args_tree, args_key = flatten(args, "arguments", leaves, scalar_key)
    kwargs_tree, kwargs_key = flatten(kwargs, "arguments", leaves, scalar_key)
    shapes = [tuple(array_key(leaf)[1]) for leaf in leaves]
    if hasattr(function, "__code__"):
        target = function
    elif hasattr(getattr(function, "__func__", None), "__code__"):  # a bound method
        target, args_tree = function.__func__, (function.__self__, *args_tree)
    elif hasattr(getattr(type(function), "__call__", None), "__code__"):  # a model with __call__
        target, args_tree = type(function).__call__, (function, *args_tree)
    else:
        raise CallError(f"trace: {function!r} is no Python function")
    name = getattr(function, "__name__", type(function).__name__)
    parameters = target.__code__.co_varnames[: target.__code__.co_argcount]
    plan = Plan(target, (args_tree, kwargs_tree), leaves, shapes, None, name, {}, (), leaf_names(parameters, args_tree, kwargs_tree))
    return TracedFunction(plan, (args_key, kwargs_key), leaves)


class Tracer:
    """A trace by hand.

    tracer = hearth.Tracer()
    with tracer:
        x = tracer.register_input(example)
        graph = tracer.build([model(x)])
    print(graph.summary())
    y = graph(array)
    """

    def __init__(self):
        self._trace = None
        self._inputs = []

    def __enter__(self):
        if _hearth.current_trace():
            raise TraceError(f"traces do not nest (at {_hearth.location()})")
        self._trace = Trace().__enter__()
        self._inputs = []
        return self

    def __exit__(self, *error):
        self._trace.__exit__(*error)
        self._trace = None

    def register_input(self, example):
        """A placeholder of the example's shape and dtype, "in0", "in1", … in order. While the trace goes on, ops that
        are given the example itself take the placeholder."""
        if self._trace is None:
            raise TraceError("register_input() outside of `with tracer:`")
        made = self.input(tuple(array_key(example)[1]), dtype_of(example))
        _hearth.register_input(example, made)
        return made

    def input(self, shape, dtype, name=None):
        """A placeholder of a shape, whose lengths may be Dims, and a dtype: the next input of the graph.

        Args:
            name: what calls and the plan call it; None: "in0", "in1", … by its place among the inputs.
        """
        if self._trace is None:
            raise TraceError("input() outside of `with tracer:`")
        name = f"in{len(self._inputs)}" if name is None else name
        if not isinstance(name, str) or not name:
            raise CallError(f"input: name is {name!r}; expected a str")
        if any(name == known for known, *_ in self._inputs):
            raise InvalidArgument(f"input: there is an input {name!r} already")
        made = _hearth.placeholder(name, shape, dtype)
        self._inputs.append((name, made.dtype, [str(length) for length in made.shape]))
        return made

    def build(self, outputs):
        """The hearth.Graph that computes them: called with an array for each input, in the order of input() and
        register_input(), it gives an array, or one for each of several `outputs`: a tensor, a sequence, or a dict by name
        (else they are "out0", "out1", …)."""
        if self._trace is None:
            raise TraceError("build() outside of `with tracer:`")
        if isinstance(outputs, dict):
            names, outputs = list(outputs), list(outputs.values())
        else:
            outputs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
            names = [f"out{i}" for i in range(len(outputs))]
        graph = _hearth.make_graph(names, outputs)
        graph._inputs = list(self._inputs)
        return graph


_preparing = threading.Lock()


def _graph_prepare(self, *, name=None, progress=None, carry=None, **options):
    """The graph as a hearth.Function.

    Args:
        name: what the service's log calls it; None: "graph".
        progress: called as progress(state, done, total) while it is prepared, as in hearth.load.
        carry: outputs by the inputs of the next call that they become, {"present": "past"}: for f.stream().
        threads, device, sealed, deadline, socket, fast_math, subnormals: as in hearth.load.
    """
    unknown = [option for option in options if option not in OPTIONS]
    if unknown:
        raise CallError(f"prepare: there is no argument {unknown[0]!r}; there are name, progress, carry, {', '.join(OPTIONS)}")
    name = "graph" if name is None else name
    if not isinstance(name, str):
        raise CallError(f"prepare: name is {name!r}; expected a str")
    if progress is not None and not callable(progress):
        raise CallError(f"progress is {progress!r}; expected a function of (state, done, total)")
    given = options_of(**{option: options.get(option) for option in OPTIONS})
    if carry:
        if not isinstance(carry, dict):
            raise CallError(f"carry is {carry!r}; expected {{output: the input that it becomes}}")
        given["carry"] = carry
    return note(name, self._prepare(name, given, getattr(self, "_inputs", []), progress))


def _graph_call(self, *arrays):
    """Replays it on arrays of its inputs' shapes and dtypes; prepares it at the first call."""
    function = getattr(self, "_function", None)
    if function is None:
        with _preparing:
            function = getattr(self, "_function", None) or self.prepare()
            self._function = function
    return call_with_tensors(function, arrays) if any(type(one) is Tensor for one in arrays) else function(*arrays)


# Here, where options are checked as everywhere in Python.
Graph.prepare, Graph.__call__ = _graph_prepare, _graph_call
