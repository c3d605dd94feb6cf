"""hearth.jit and hearth.trace: functions of tensors that are recorded once and replayed."""

import sys
from _thread import RLock
from collections import OrderedDict, namedtuple

from . import _hearth, _load
from ._errors import CallError, InvalidArgument, TraceError
from ._hearth import Array, Dim, Tensor

JitStats = namedtuple("JitStats", "traces hits evictions plans")
JitStats.__doc__ = "Of one jitted function: how often it was traced, replayed and dropped, and how many plans it keeps."

_PLAIN = (bool, int, str, type(None), bytes, complex)
_MISSING = object()


class _Leaf:
    """The place of an array in the arguments, or of a tensor in the results."""

    __slots__ = ("place",)

    def __init__(self, place):
        self.place = place


# ---- Trees of lists, tuples, dicts and dataclasses ---------------------------------------------------------------
def _is_array(value):
    return isinstance(value, (Tensor, Array)) or hasattr(value, "__dlpack__") or isinstance(value, memoryview)


def _is_record(value):
    return hasattr(type(value), "__dataclass_fields__")


def _flatten(value, what, leaves, other):
    """The value with a _Leaf for every array, which `leaves` is given, and its key. `other` keys what is none."""
    kind = type(value)
    if _is_array(value):
        leaves.append(value)
        return _Leaf(len(leaves) - 1), "a"
    if isinstance(value, (list, tuple)):
        pairs = [_flatten(one, f"{what}[{i}]", leaves, other) for i, one in enumerate(value)]
        made = [tree for tree, _ in pairs]
        if isinstance(value, tuple):
            made = kind(*made) if hasattr(value, "_fields") else tuple(made)
        return made, (kind, *(key for _, key in pairs))
    if isinstance(value, dict):
        made, keys = {}, []
        for name, one in value.items():
            made[name], key = _flatten(one, f"{what}[{name!r}]", leaves, other)
            keys.append((name, key))
        return made, (kind, *keys)
    if _is_record(value):
        made, keys = {}, []
        for name in value.__dataclass_fields__:
            made[name], key = _flatten(getattr(value, name), f"{what}.{name}", leaves, other)
            keys.append((name, key))
        return _Record(kind, made), (kind, *keys)
    return value, other(value, what)


class _Record:
    """A dataclass's values, before they are one again."""

    def __init__(self, kind, values):
        self.kind, self.values = kind, values


def _unflatten(tree, leaves):
    if isinstance(tree, _Leaf):
        return leaves[tree.place]
    if isinstance(tree, list):
        return [_unflatten(one, leaves) for one in tree]
    if isinstance(tree, tuple):
        made = [_unflatten(one, leaves) for one in tree]
        return type(tree)(*made) if hasattr(tree, "_fields") else tuple(made)
    if isinstance(tree, dict):
        return {name: _unflatten(one, leaves) for name, one in tree.items()}
    if isinstance(tree, _Record):
        made = object.__new__(tree.kind)
        for name, one in tree.values.items():
            object.__setattr__(made, name, _unflatten(one, leaves))
        return made
    return tree


def _scalar_key(value, what):
    """The key of an argument that is no array: its type and value."""
    kind = type(value)
    if kind is float:
        return kind, value.hex()  # -0.0 is not 0.0, and NaN equals itself
    if kind in _PLAIN:
        return kind, value
    if isinstance(value, (type, Dim)) or callable(value) or hasattr(value, "__members__"):
        return kind, value
    try:
        hash(value)
        is_frozen = kind.__module__ in ("enum", "numpy") or hasattr(kind, "__members__") or kind.__eq__ is object.__eq__
    except TypeError:
        is_frozen = False
    if is_frozen or hasattr(kind, "_member_map_"):
        return kind, value
    raise CallError(
        f"{what} is of type {kind.__name__}; a jitted function takes arrays, numbers, strings, and lists, tuples, dicts"
        " and dataclasses of these"
    )


def _array_key(array):
    if isinstance(array, Tensor):
        return array.dtype, array.shape
    shape, dtype = getattr(array, "shape", None), getattr(array, "dtype", None)
    if dtype is None:  # a memoryview
        return array.format, tuple(array.shape)
    return dtype, tuple(shape)


# ---- What a function sees that is no argument ---------------------------------------------------------------------
def _same(now, then):
    if now is then:
        return True
    kind = type(then)
    if type(now) is not kind:
        return False
    if kind is float:
        return now.hex() == then.hex()
    return kind in _PLAIN and now == then or kind is tuple and len(now) == len(then) and all(map(_same, now, then))


class _Captured:
    """Closure cells, defaults, globals and attributes of self that a function's code names, as they were."""

    def __init__(self, function, owner):
        code = function.__code__
        self.function = function
        self.cells = [(cell, _contents(cell)) for cell in function.__closure__ or ()]
        self.defaults, self.kwdefaults = function.__defaults__, dict(function.__kwdefaults__ or {})
        names, attributes = _names(code, code.co_varnames[0] if owner is not None and code.co_argcount else None)
        space = function.__globals__
        self.space = space
        self.globals = [(name, space[name]) for name in sorted(names) if name in space]
        self.owner = _weakly(owner)
        self.attributes = [(name, getattr(owner, name, _MISSING)) for name in sorted(attributes)]

    def holds(self):
        space = self.space
        for name, then in self.globals:
            now = space.get(name, _MISSING)
            if now is not then and not _same(now, then):
                return False
        for cell, then in self.cells:
            now = _contents(cell)
            if now is not then and not _same(now, then):
                return False
        function = self.function
        if function.__defaults__ is not self.defaults and not _same(function.__defaults__, self.defaults):
            return False
        if self.kwdefaults and not all(_same((function.__kwdefaults__ or {}).get(name, _MISSING), then)
                                       for name, then in self.kwdefaults.items()):
            return False
        return not self.attributes or self._holds_attributes()


    def rows(self):
        """(container, name, value): what must be the same object."""
        function = self.function
        made = [(self.space, name, then) for name, then in self.globals]
        made += [(cell, "cell_contents", then) for cell, then in self.cells]
        made.append((function, "__defaults__", self.defaults))
        made.append((function, "__kwdefaults__", function.__kwdefaults__))
        if self.kwdefaults:
            made += [(function.__kwdefaults__, name, then) for name, then in self.kwdefaults.items()]
        owner = self.owner()
        return made + [(owner, name, then) for name, then in self.attributes]

    def _holds_attributes(self):
        owner = self.owner()
        return all(_same(getattr(owner, name, _MISSING), then) for name, then in self.attributes)


def _weakly(owner):
    """A plan keeps no object alive."""
    import weakref

    try:
        return weakref.ref(owner)
    except TypeError:
        return lambda: owner


def _contents(cell):
    try:
        return cell.cell_contents
    except ValueError:  # not set yet
        return _MISSING


def _names(code, self_name):
    """The names that code and the code in it may look up globally, and the attributes of self that it reads."""
    import dis

    names, attributes = set(code.co_names), set()
    before = None
    for step in dis.get_instructions(code):
        reads = step.opname in ("LOAD_ATTR", "LOAD_METHOD")
        if reads and before is not None and before.opname in ("LOAD_FAST", "LOAD_DEREF") and before.argval == self_name:
            attributes.add(step.argval)
        before = step
    for constant in code.co_consts:
        if hasattr(constant, "co_names"):
            inner, read = _names(constant, self_name if self_name in constant.co_freevars else None)
            names |= inner
            attributes |= read
    return names, attributes


# ---- Tracing ------------------------------------------------------------------------------------------------------
class _Trace:
    """While it is entered this thread records."""

    def __enter__(self):
        self.outer = _hearth.current_trace()
        self.number = _hearth.begin_trace()
        return self

    def __exit__(self, *_):
        _inlined.pop(self.number, None)
        _hearth.end_trace(self.outer)


_inlined = {}  # what the functions of each trace that is going on see


def _result_key(value, what):
    if value is None:
        return None
    raise TraceError(
        f"the traced function returned {type(value).__name__} at {what}, which replays would not compute anew:"
        " return tensors, and None"
    )


class _Plan:
    """One trace, prepared."""

    __slots__ = ("graph", "function", "order", "tree", "captured", "results", "only", "fast", "key")

    def __init__(self, function, args_tree, leaves, shapes, owner, name, options):
        captured = [_Captured(function, owner)]
        with _Trace() as trace:
            _inlined[trace.number] = captured
            inputs = [
                _hearth.placeholder(f"in{i}", shape, _dtype_of(leaf))
                for i, (leaf, shape) in enumerate(zip(leaves, shapes))
            ]
            args, kwargs = _unflatten(args_tree, inputs)
            returned = function(*args, **kwargs)
            outputs = []
            self.tree, _ = _flatten(returned, "result", outputs, _result_key)
            if not outputs:
                raise TraceError("the traced function returned no tensor; expected at least one")
            outputs = [one if isinstance(one, Tensor) else _hearth.tensor(one) for one in outputs]
            self.graph = _hearth.make_graph([f"out{i}" for i in range(len(outputs))], outputs)
            self.captured = captured
        self.function = self.graph.prepare(name, options)
        self.order = [int(value.name[2:]) for value in self.function.inputs]
        self.results = len(outputs)
        self.only = isinstance(self.tree, _Leaf)
        self.fast = None

    def holds(self):
        for captured in self.captured:
            if not captured.holds():
                return False
        return True

    def make_fast(self, arrays):
        """For numpy's arrays by place: what decides whether a call is this plan's, in C++."""
        rows = [row for captured in self.captured for row in captured.rows()]
        self.fast = _hearth.FastCall(self.function, [(str(one.dtype), one.shape) for one in arrays], self.order, rows)

    def __call__(self, leaves, gives_tensors):
        order = self.order
        arrays = [leaves[i] for i in order]
        if gives_tensors:
            arrays = [one._value("an argument") if type(one) is Tensor else one for one in arrays]
            made = self.function(*arrays)
            made = [made] if self.results == 1 else made
            made = [_hearth.tensor_of_array(one) if isinstance(one, Array) else _hearth.tensor(one) for one in made]
            return made[0] if self.only else _unflatten(self.tree, made)
        made = self.function(*arrays)
        if self.only:
            return made
        return _unflatten(self.tree, [made] if self.results == 1 else made)


def _dtype_of(leaf):
    dtype = getattr(leaf, "dtype", None)
    return _hearth.tensor(leaf).dtype if dtype is None else dtype


class JitFunction:
    """A function of arrays and tensors that is traced for each new kind of arguments, and replayed afterwards."""

    def __init__(self, function, dims=None, capacity=16, **options):
        self._owner = None
        if hasattr(getattr(function, "__func__", None), "__code__"):  # a bound method
            owner, function = function.__self__, function.__func__
            self._owner = lambda: owner
        elif not hasattr(function, "__code__") and hasattr(getattr(type(function), "__call__", None), "__code__"):
            owner, function = function, type(function).__call__  # a model with __call__
            self._owner = lambda: owner
        if not hasattr(function, "__code__"):
            raise CallError(f"jit: {function!r} is no Python function")
        if isinstance(capacity, bool) or not isinstance(capacity, int) or capacity < 1:
            raise InvalidArgument(f"jit: capacity is {capacity!r}; expected an int from 1 on")
        self._function = function
        self._dims = _dims_of(dims)
        self._capacity = capacity
        self._options = _load._options(
            *(options.pop(name, None) for name in ("threads", "device", "sealed", "deadline", "socket", "fast_math"))
        )
        if options:
            raise CallError(f"jit: there is no argument {next(iter(options))!r}")
        self._plans = OrderedDict()
        self._lock = RLock()
        self._traces = self._hits = self._evictions = 0
        self._owned = None
        self._fast = []
        for name in ("__name__", "__qualname__", "__doc__", "__module__"):
            if hasattr(function, name):
                setattr(self, name, getattr(function, name))
        self.__wrapped__ = function

    def __get__(self, owner, kind=None):
        """A method: each object has plans of its own."""
        if owner is None:
            return self
        import weakref

        if self._owned is None:
            self._owned = weakref.WeakKeyDictionary()
        try:
            bound = self._owned.get(owner)
        except TypeError:
            raise CallError(f"jit: a method of {type(owner).__name__}, which cannot be referred to weakly") from None
        if bound is None:
            bound = JitFunction(self._function, capacity=self._capacity)
            bound._dims, bound._options = self._dims, self._options
            bound._owner = weakref.ref(owner)
            self._owned[owner] = bound
        return bound

    def __call__(self, *args, **kwargs):
        if not kwargs:
            for plan in self._fast:
                made = plan.fast(args)
                if made is not NotImplemented:
                    self._hits += 1
                    if len(self._plans) > 1:
                        self._plans.move_to_end(plan.key)
                    if plan.only:
                        return made
                    return _unflatten(plan.tree, [made] if plan.results == 1 else made)
        owner = self._owner() if self._owner is not None else None
        trace = _hearth.current_trace()
        if trace:  # inlined into the trace that is being made
            if trace in _inlined:
                _inlined[trace].append(_Captured(self._function, owner))
            return self._function(owner, *args, **kwargs) if owner is not None else self._function(*args, **kwargs)
        leaves, gives_tensors = args, not args
        if not kwargs:
            ndarray = _ndarray()
            key = []
            for one in args:
                if type(one) is ndarray:
                    key.append(one.dtype)
                    key.append(one.shape)
                else:
                    key = None
                    break
        else:
            key = None
        if key is None or self._dims:
            leaves, tree, key = self._flatten(args, kwargs)
            gives_tensors = not leaves or any(type(one) is Tensor for one in leaves)
        else:
            tree, key = None, tuple(key)
        plans = self._plans.get(key)
        if plans is not None:
            for plan in plans:
                if plan.holds():
                    self._hits += 1
                    if len(self._plans) > 1:
                        self._plans.move_to_end(key)
                    self._note_fast(plan, tree, args)
                    return plan(leaves, gives_tensors)
        is_plain = tree is None
        if is_plain:
            leaves, tree, slow = self._flatten(args, kwargs)
        plan = self._trace(key, leaves, tree, owner)
        self._note_fast(plan, None if is_plain else tree, args)
        return plan(leaves, gives_tensors)

    def _note_fast(self, plan, tree, args):
        """Of calls with numpy's arrays alone the last few are tried first. Methods' plans are not, whose captured
        attributes would keep their object alive."""
        if tree is not None or not args or self._owner is not None:
            return
        if plan.fast is None:
            plan.make_fast(args)
        self._fast = [plan, *(other for other in self._fast if other is not plan)][:4]

    def _flatten(self, args, kwargs):
        leaves = []
        name = getattr(self, "__name__", "the function")
        args_tree, args_key = _flatten(args, f"{name}: arguments", leaves, _scalar_key)
        kwargs = {word: kwargs[word] for word in sorted(kwargs)}
        kwargs_tree, kwargs_key = _flatten(kwargs, f"{name}: arguments", leaves, _scalar_key)
        if len(leaves) == len(args) and not kwargs and not self._dims and all(_is_plain_array(one) for one in args):
            key = []
            for one in args:
                key += (one.dtype, one.shape)
            return leaves, (args_tree, kwargs_tree), tuple(key)
        shapes = self._shapes(args_tree, kwargs_tree, leaves)
        keys = tuple((_array_key(leaf)[0], type(leaf) is Tensor, shape) for leaf, shape in zip(leaves, shapes))
        return leaves, (args_tree, kwargs_tree), (args_key, kwargs_key, keys)

    def _shapes(self, args_tree, kwargs_tree, leaves):
        """Of every array, with a Dim for each length that may vary."""
        shapes = [tuple(_array_key(leaf)[1]) for leaf in leaves]
        if not self._dims:
            return shapes
        code = getattr(self._function, "__code__", None)
        names = list(code.co_varnames[: code.co_argcount]) if code is not None else []
        if self._owner is not None:
            names = names[1:]
        trees = {**dict(zip(names, args_tree)), **kwargs_tree}
        for name, lengths in self._dims.items():
            tree = trees.get(name)
            if not isinstance(tree, _Leaf):
                raise InvalidArgument(f"jit: dims name {name!r}, which is no array of this call; there are {', '.join(trees)}")
            shape = list(shapes[tree.place])
            for axis, dim in lengths.items():
                if not -len(shape) <= axis < len(shape):
                    raise InvalidArgument(f"jit: dims of {name!r} name axis {axis}; the array has {len(shape)} axes")
                if not dim.min <= shape[axis] <= dim.max:
                    raise InvalidArgument(f"{name!r} has {shape[axis]} along axis {axis}; expected {dim.min} to {dim.max} ({dim})")
                shape[axis] = dim
            shapes[tree.place] = tuple(shape)
        return shapes

    def _trace(self, key, leaves, tree, owner):
        with self._lock:
            for plan in self._plans.get(key, ()):  # another thread's meanwhile
                if plan.holds():
                    return plan
            args_tree, kwargs_tree = tree
            if owner is not None:
                args_tree = (owner, *args_tree)
            plan = _Plan(self._function, (args_tree, kwargs_tree), leaves, self._shapes(tree[0], kwargs_tree, leaves), owner,
                         getattr(self, "__name__", "jit"), self._options)
            self._traces += 1
            plan.key = key
            self._plans.setdefault(key, []).insert(0, plan)
            self._plans.move_to_end(key)
            while sum(map(len, self._plans.values())) > self._capacity:
                oldest, plans = next(iter(self._plans.items()))
                gone = plans.pop()
                self._fast = [other for other in self._fast if other is not gone]
                self._evictions += 1
                if not plans:
                    del self._plans[oldest]
            return plan

    @property
    def graphs(self):
        """What was traced, a hearth.Graph for each plan that is kept."""
        return [plan.graph for plans in self._plans.values() for plan in plans]

    @property
    def stats(self):
        return JitStats(self._traces, self._hits, self._evictions, sum(map(len, self._plans.values())))

    def __repr__(self):
        return f"hearth.jit({getattr(self, '__qualname__', self._function)!s}: {len(self.graphs)} plans)"


def _is_plain_array(one):
    return type(one) is _ndarray()


_found_ndarray = None


def _ndarray():
    """numpy's, once somebody has imported it."""
    global _found_ndarray
    if _found_ndarray is None:
        numpy = sys.modules.get("numpy")
        _found_ndarray = getattr(numpy, "ndarray", None)
    return _found_ndarray


def _dims_of(dims):
    made = {}
    for name, lengths in dict(dims or {}).items():
        if not isinstance(lengths, dict):
            lengths = dict(enumerate(lengths))
        made[name] = {axis: dim for axis, dim in lengths.items() if dim is not None}
        for axis, dim in made[name].items():
            if not isinstance(dim, Dim):
                raise InvalidArgument(f"jit: dims of {name!r}, axis {axis}: {dim!r}; expected a hearth.Dim")
    return made


def jit(function=None, *, dims=None, capacity=16, **options):
    """A function of arrays and tensors that is compiled for what it is called with, and replayed.

    Its first call with arguments of new dtypes and shapes, and new values of what is no array, records what it does with
    tensors (tracing) and prepares that; calls after it replay. Values that its code names directly and that are no
    arguments (globals, closure cells, defaults, attributes of self) are part of the key: changing one traces anew. What
    lies deeper, and the memory of arrays that are captured, is read once, when it is traced.

    Args:
        function: of arrays, tensors, numbers, strings, and lists, tuples, dicts and dataclasses of these.
        dims: lengths that vary: {"x": {0: hearth.Dim("batch", 1, 8)}}.
        capacity: plans that are kept; the least recently used one goes.
        threads, device, sealed, deadline, socket, fast_math: as hearth.load takes them.

    Raises:
        TraceError: the function looked at a tensor's value, or returned something that is no tensor.
    """
    if function is None:
        return lambda inner: JitFunction(inner, dims, capacity, **options)
    return JitFunction(function, dims, capacity, **options)


class TracedFunction:
    """What trace() gives: a function of arrays of the examples' shapes and dtypes."""

    def __init__(self, plan, tree_key, leaves):
        self._plan, self._key, self._kinds = plan, tree_key, [_array_key(leaf) for leaf in leaves]

    @property
    def graph(self):
        return self._plan.graph

    def __call__(self, *args, **kwargs):
        leaves = []
        _, args_key = _flatten(args, "arguments", leaves, _scalar_key)
        _, kwargs_key = _flatten(kwargs, "arguments", leaves, _scalar_key)
        if (args_key, kwargs_key) != self._key:
            raise CallError("the arguments are of other kinds than those it was traced with")
        for i, (leaf, kind) in enumerate(zip(leaves, self._kinds)):
            if str(_array_key(leaf)[0]) != str(kind[0]) or tuple(_array_key(leaf)[1]) != tuple(kind[1]):
                raise InvalidArgument(f"array {i} is {_text(leaf)}; traced with {kind[0]} {list(kind[1])}")
        return self._plan(leaves, any(type(one) is Tensor for one in leaves))


def _text(array):
    dtype, shape = _array_key(array)
    return f"{dtype} {list(shape)}"


def trace(function, *args, **kwargs):
    """Records the function once for these arguments and prepares it; calls replay that recording."""
    if _hearth.current_trace():
        raise TraceError(f"trace() within a trace; call the function itself (at {_hearth.location()})")
    leaves = []
    args_tree, args_key = _flatten(args, "arguments", leaves, _scalar_key)
    kwargs_tree, kwargs_key = _flatten(kwargs, "arguments", leaves, _scalar_key)
    shapes = [tuple(_array_key(leaf)[1]) for leaf in leaves]
    if hasattr(function, "__code__"):
        target = function
    elif hasattr(getattr(function, "__func__", None), "__code__"):  # a bound method
        target, args_tree = function.__func__, (function.__self__, *args_tree)
    elif hasattr(getattr(type(function), "__call__", None), "__code__"):  # a model with __call__
        target, args_tree = type(function).__call__, (function, *args_tree)
    else:
        raise CallError(f"trace: {function!r} is no Python function")
    name = getattr(function, "__name__", type(function).__name__)
    plan = _Plan(target, (args_tree, kwargs_tree), leaves, shapes, None, name, {})
    return TracedFunction(plan, (args_key, kwargs_key), leaves)


class Tracer:
    """A trace by hand.

    tracer = hearth.Tracer()
    with tracer:
        x = tracer.register_input(example)
        graph = tracer.build([model(x)])
    print(graph.summary())
    """

    def __init__(self):
        self._trace = None
        self._count = 0

    def __enter__(self):
        if _hearth.current_trace():
            raise TraceError(f"traces do not nest (at {_hearth.location()})")
        self._trace = _Trace().__enter__()
        return self

    def __exit__(self, *error):
        self._trace.__exit__(*error)
        self._trace = None

    def register_input(self, example):
        """A placeholder of the example's shape and dtype, "in0", "in1", … in order. While the trace goes on, ops that
        are given the example itself take the placeholder."""
        if self._trace is None:
            raise TraceError("register_input() outside of `with tracer:`")
        shape = tuple(_array_key(example)[1])
        made = _hearth.placeholder(f"in{self._count}", shape, _dtype_of(example))
        self._count += 1
        _hearth.register_input(example, made)
        return made

    def build(self, outputs):
        """The hearth.Graph that computes them."""
        if self._trace is None:
            raise TraceError("build() outside of `with tracer:`")
        outputs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
        return _hearth.make_graph([f"out{i}" for i in range(len(outputs))], outputs)
