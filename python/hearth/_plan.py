"""One trace of a function, prepared."""

from . import _hearth
from ._errors import FailedPrecondition, TraceError
from ._guards import Seen
from ._hearth import Array, Dim, Tensor
from ._recordings import note
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

    __slots__ = ("graph", "function", "tree", "seen", "guards", "results", "only", "fast", "key", "arguments", "is_kept",
                 "lengths")

    def __init__(self, function, args_tree, leaves, shapes, owner, name, options, others=(), names=()):
        """`others`: (value, name) of the arguments whose insides are guarded; `names`: of the leaves."""
        names = _input_names(names, shapes)
        seen = Seen(function, owner, others)
        values = tuple(value for value, _ in others)
        with Trace() as trace:
            inlined[trace.number] = seen
            inputs = [
                _placeholder(name_of, shape, leaf) for name_of, leaf, shape in zip(names, leaves, shapes)
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
        kinds = [(name_of, one.dtype, [str(length) for length in one.shape]) for name_of, one in zip(names, inputs)]
        try:
            self.function = note(name, self.graph._prepare(name, options, kinds))
        except FailedPrecondition as error:
            from ._prewarm import of_function, with_remedy

            raise with_remedy(error, of_function(function)) from None
        self.lengths = _lengths_to_say(self.function, names, shapes)
        self.results = len(outputs)
        self.only = isinstance(self.tree, Leaf)
        self.fast = None

    def holds(self, owner, others):
        return self.guards.find_change(owner, others) == -1

    def make_fast(self, arrays):
        """For numpy's arrays by place: what decides whether a call is this plan's, in C++."""
        kinds = [(one.dtype, one.shape) for one in arrays]
        self.fast = _hearth.FastCall(self.function, kinds, self.guards)

    def said(self, leaves):
        """Lengths of arrays whose shape alone was used, by name."""
        return {name: array_key(leaves[i])[1][axis] for name, i, axis in self.lengths}

    def __call__(self, leaves, gives_tensors):
        said = self.said(leaves) if self.lengths else {}
        made = call_with_tensors(self.function, leaves, **said) if gives_tensors else self.function(*leaves, **said)
        if self.only:
            return made
        return unflatten(self.tree, [made] if self.results == 1 else made)


def call_with_tensors(function, arrays, **said):
    """A hearth.Function called with arrays and tensors: gives tensors."""
    made = function(*(one._value("an argument") if type(one) is Tensor else one for one in arrays), **said)
    if isinstance(made, (list, tuple)):
        return [_tensor_of(one) for one in made]
    return _tensor_of(made)


def _tensor_of(one):
    return _hearth.tensor_of_array(one) if isinstance(one, Array) else _hearth.tensor(one)


def _lengths_to_say(function, names, shapes):
    """(name, leaf, axis) of each length that no input of the plan has: of arrays whose shape alone was used."""
    unread = set(function._unread)
    known, places = set(), {}
    for i, (name, shape) in enumerate(zip(names, shapes)):
        for axis, length in enumerate(shape):
            if isinstance(length, Dim):
                places.setdefault(str(length), (i, axis))
                if name not in unread:
                    known.add(str(length))
    missing = sorted({one.name for one in function.variables} - known)
    return [(name, *places[name]) for name in missing if name in places]


def _input_names(names, shapes):
    """What inputs are called: as the arguments are, each once, and none as a length that varies."""
    taken = {str(length) for shape in shapes for length in shape if isinstance(length, Dim)}
    made = []
    for i in range(len(shapes)):
        name = names[i] if i < len(names) and names[i].isprintable() else ""
        name = name if name and name not in taken else f"in{i}"
        taken.add(name)
        made.append(name)
    return made


def _placeholder(name, shape, leaf):
    if type(leaf) in (int, float):
        return _hearth.placeholder(name, (), array_key(leaf)[0])._as_number()
    return _hearth.placeholder(name, shape, dtype_of(leaf))


def dtype_of(leaf):
    dtype = getattr(leaf, "dtype", None)
    return _hearth.tensor(leaf).dtype if dtype is None else dtype
