"""One trace of a function, prepared."""

from . import _hearth
from ._errors import TraceError
from ._guards import Seen
from ._hearth import Array, Dim, Tensor
from ._trees import Leaf, array_key, flatten, unflatten


class Trace:
    """While it is entered this thread records."""

    def __enter__(self):
        self.outer = _hearth.current_trace()
        self.number = _hearth.begin_trace()
        return self

    def __exit__(self, *_):
        inlined.pop(self.number, None)
        _hearth.end_trace(self.outer)


inlined = {}  # the guards of each trace that is going on


def _result_key(value, what):
    if value is None:
        return None
    raise TraceError(
        f"the traced function returned {type(value).__name__} at {what}, which replays would not compute anew:"
        " return tensors, and None"
    )


class Plan:
    """One trace, prepared."""

    __slots__ = ("graph", "function", "order", "tree", "seen", "guards", "results", "only", "fast", "key", "arguments", "is_kept",
                 "lengths")

    def __init__(self, function, args_tree, leaves, shapes, owner, name, options, others=()):
        """`others`: (value, name) of the arguments whose insides are guarded."""
        seen = Seen(function, owner, others)
        values = tuple(value for value, _ in others)
        with Trace() as trace:
            inlined[trace.number] = seen
            inputs = [
                _placeholder(f"in{i}", shape, leaf)
                for i, (leaf, shape) in enumerate(zip(leaves, shapes))
            ]
            args, kwargs = unflatten(args_tree, inputs)
            returned = function(*args, **kwargs)
            outputs = []
            self.tree, _ = flatten(returned, "result", outputs, _result_key)
            if not outputs:
                raise TraceError("the traced function returned no tensor; expected at least one")
            outputs = [one if isinstance(one, Tensor) else _hearth.tensor(one) for one in outputs]
            self.graph = _hearth.make_graph([f"out{i}" for i in range(len(outputs))], outputs)
        seen.close()
        self.seen, self.guards = seen, seen.guards
        self.is_kept = self.guards.find_change(owner, values) == -1  # nor did the trace, or another thread, change it
        self.function = self.graph.prepare(name, options)
        self.order = [int(value.name[2:]) for value in self.function.inputs]
        self.lengths = _lengths_to_say(self.function, self.order, shapes)
        self.results = len(outputs)
        self.only = isinstance(self.tree, Leaf)
        self.fast = None

    def holds(self, owner, others):
        return self.guards.find_change(owner, others) == -1

    def make_fast(self, arrays):
        """For numpy's arrays by place: what decides whether a call is this plan's, in C++."""
        kinds = [(one.dtype, one.shape) for one in arrays]
        self.fast = _hearth.FastCall(self.function, kinds, self.order, self.guards)

    def __call__(self, leaves, gives_tensors):
        arrays = [leaves[i] for i in self.order]
        said = {name: array_key(leaves[i])[1][axis] for name, i, axis in self.lengths} if self.lengths else {}
        if gives_tensors:
            arrays = [one._value("an argument") if type(one) is Tensor else one for one in arrays]
            made = self.function(*arrays, **said)
            made = [made] if self.results == 1 else made
            made = [_hearth.tensor_of_array(one) if isinstance(one, Array) else _hearth.tensor(one) for one in made]
            return made[0] if self.only else unflatten(self.tree, made)
        made = self.function(*arrays, **said)
        if self.only:
            return made
        return unflatten(self.tree, [made] if self.results == 1 else made)


def _lengths_to_say(function, order, shapes):
    """(name, leaf, axis) of each length that no input of the plan has: of arrays whose shape alone was used."""
    known = {str(length) for i in order for length in shapes[i] if isinstance(length, Dim)}
    missing = {one.name for one in function.variables} - known
    places = [(str(length), i, axis) for i, shape in enumerate(shapes) for axis, length in enumerate(shape)
              if isinstance(length, Dim)]  # fmt: skip
    return [next(place for place in places if place[0] == name) for name in sorted(missing) if name in {p[0] for p in places}]


def _placeholder(name, shape, leaf):
    if type(leaf) in (int, float):
        return _hearth.placeholder(name, (), array_key(leaf)[0])._as_number()
    return _hearth.placeholder(name, shape, dtype_of(leaf))


def dtype_of(leaf):
    dtype = getattr(leaf, "dtype", None)
    return _hearth.tensor(leaf).dtype if dtype is None else dtype
