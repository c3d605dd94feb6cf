"""hearth.jit: functions of tensors that are recorded once and replayed."""

from _thread import RLock
from collections import OrderedDict, namedtuple

from . import _hearth, _load
from ._errors import CallError, InvalidArgument, TraceError
from ._hearth import Tensor
from ._keys import dims_of, plain_key, shape_key, sort
from ._plan import Plan, inlined
from ._retraces import TRACES_TO_SAY, described, difference, warn
from ._trees import Leaf, array_key, flatten, is_guarded, leaf_names, scalar_key, unflatten

JitStats = namedtuple("JitStats", "traces hits evictions plans")
JitStats.__doc__ = "Of one jitted function: how often it was traced, replayed and dropped, and how many plans it keeps."


class JitFunction:
    """A function of arrays and tensors that is traced for each new kind of arguments, and replayed afterwards."""

    def __init__(self, function, dims=None, capacity=16, dynamic_scalars=False, **options):
        self._owner = self._self = None
        if hasattr(getattr(function, "__func__", None), "__code__"):  # a bound method
            self._self, function = function.__self__, function.__func__
            self._owner = self._get_self
        elif not hasattr(function, "__code__") and hasattr(getattr(type(function), "__call__", None), "__code__"):
            self._self, function = function, type(function).__call__  # a model with __call__
            self._owner = self._get_self
        if not hasattr(function, "__code__"):
            raise CallError(f"jit: {function!r} is no Python function")
        if isinstance(capacity, bool) or not isinstance(capacity, int) or capacity < 1:
            raise InvalidArgument(f"jit: capacity is {capacity!r}; expected an int from 1 on")
        self._function = function
        self._dims = dims_of(dims)
        self._capacity = capacity
        self._dynamic_scalars = bool(dynamic_scalars)
        self._given = {"dims": dims, "capacity": capacity, "dynamic_scalars": dynamic_scalars, **options}
        self._options = _load.options_of(**{name: options.pop(name, None) for name in _load.OPTIONS})
        if options:
            raise CallError(f"jit: there is no argument {next(iter(options))!r}")
        self._plans = OrderedDict()
        self._lock = RLock()
        self._traces = self._hits = self._evictions = 0
        self._owned = {}
        self._fast = []
        self._last = None
        self._shared = {}  # what was said; of a method for all objects
        for name in ("__name__", "__qualname__", "__doc__", "__module__"):
            if hasattr(function, name):
                setattr(self, name, getattr(function, name))
        self.__wrapped__ = function

    def _get_self(self):
        return self._self

    def _bound(self):
        """The bound method, or the object with __call__, that it was made of."""
        if getattr(type(self._self), "__call__", None) is self._function:
            return self._self
        return self._function.__get__(self._self)

    def __get__(self, owner, kind=None):
        """A method: each object has plans of its own."""
        if owner is None:
            return self
        known = self._owned.get(id(owner))  # by identity: objects that are equal are two
        if known is None or known[0]() is not owner:
            with self._lock:
                known = self._owned.get(id(owner))  # another thread's meanwhile
                if known is None or known[0]() is not owner:
                    known = self._owned[id(owner)] = self._bound_to(owner)
        return BoundJit(known[1], owner)

    def _bound_to(self, owner):
        """(a weak reference to the object, its method's plans)."""
        import weakref

        try:
            reference = weakref.ref(owner, lambda _, key=id(owner): self._owned.pop(key, None))
        except TypeError:
            raise CallError(f"jit: a method of {type(owner).__name__}, which cannot be referred to weakly") from None
        bound = JitFunction(self._function, None, self._capacity, self._dynamic_scalars)
        bound._dims, bound._options = self._dims, self._options
        bound._owner, bound._shared = reference, self._shared
        return reference, bound

    def __call__(self, *args, **kwargs):
        owner = self._owner() if self._owner is not None else None
        if not kwargs:
            for plan in self._fast:
                made = plan.fast(args, owner)
                if made is not NotImplemented:
                    self._hits += 1
                    if len(self._plans) > 1:
                        self._used(plan.key)
                    if plan.only:
                        return made
                    return unflatten(plan.tree, [made] if plan.results == 1 else made)
        trace = _hearth.current_trace()
        if trace:  # inlined into the trace that is being made
            if trace in inlined:
                inlined[trace].add(self._function, owner)
            return self._function(owner, *args, **kwargs) if owner is not None else self._function(*args, **kwargs)
        leaves, gives_tensors = args, not args
        others = ()
        key, tree = None if kwargs or self._dims else plain_key(args), None
        if key is None:
            leaves, tree, key, others = self._flatten(args, kwargs)
            gives_tensors = not leaves or any(type(one) is Tensor for one in leaves)
        values = tuple(value for value, _ in others)
        plans = self._plans.get(key)
        if plans is not None:
            for plan in plans:
                if plan.holds(owner, values):
                    self._hits += 1
                    if len(self._plans) > 1:
                        self._used(key)
                    self._note_fast(plan, tree, args)
                    return plan(leaves, gives_tensors)
        is_plain = tree is None
        if is_plain:
            leaves, tree, _, _ = self._flatten(args, kwargs)
        plan = self._trace(key, leaves, tree, owner, others)
        self._note_fast(plan, None if is_plain else tree, args)
        return plan(leaves, gives_tensors)

    def _note_fast(self, plan, tree, args):
        """Of calls with numpy's arrays alone the last few are tried first."""
        if tree is not None or not args:
            return
        with self._lock:
            if plan not in self._plans.get(plan.key, ()):
                return  # another thread's trace took its place
            if plan.fast is None:
                plan.make_fast(args)
            self._fast = [plan, *(other for other in self._fast if other is not plan)][:4]

    def _kept(self):
        """All plans, of a copy: other threads' calls change the order while one looks."""
        return [plan for plans in list(self._plans.values()) for plan in plans]

    def _used(self, key):
        """The least recently used plan is dropped first."""
        try:
            self._plans.move_to_end(key)
        except KeyError:
            pass  # another thread's trace took its place

    def _flatten(self, args, kwargs):
        leaves = []
        name = getattr(self, "__name__", "the function")
        others = []

        def key_of(value, what):
            if is_guarded(value):
                others.append((value, what))
            return scalar_key(value, what)

        key_of.takes_classes = True
        if self._dynamic_scalars:
            key_of.takes_numbers = True
        args_tree, args_key = flatten(args, f"{name}: arguments", leaves, key_of)
        kwargs = {word: kwargs[word] for word in sorted(kwargs)}
        kwargs_tree, kwargs_key = flatten(kwargs, f"{name}: arguments", leaves, key_of)
        shapes = self._shapes(args_tree, kwargs_tree, leaves)
        keys = tuple((array_key(leaf)[0], sort(leaf), shape_key(shape)) for leaf, shape in zip(leaves, shapes))
        return leaves, (args_tree, kwargs_tree), (args_key, kwargs_key, keys), others

    def _shapes(self, args_tree, kwargs_tree, leaves):
        """Of every array, with a Dim for each length that may vary."""
        shapes = [tuple(array_key(leaf)[1]) for leaf in leaves]
        if not self._dims:
            return shapes
        trees = {**dict(zip(self._parameters(), args_tree)), **kwargs_tree}
        for name, lengths in self._dims.items():
            tree = trees.get(name)
            if not isinstance(tree, Leaf):
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

    def _trace(self, key, leaves, tree, owner, others):
        values = tuple(value for value, _ in others)
        with self._lock:
            for plan in self._plans.get(key, ()):  # another thread's meanwhile
                if plan.holds(owner, values):
                    return plan
            args_tree, kwargs_tree = tree
            name = getattr(self, "__name__", "jit")
            arguments = described(self._parameters(), args_tree, kwargs_tree, leaves)
            self._say_why(key, arguments, owner, values)
            if owner is not None:
                args_tree = (owner, *args_tree)
            plan = Plan(self._function, (args_tree, kwargs_tree), leaves, self._shapes(tree[0], kwargs_tree, leaves), owner,
                         name, self._options, others, leaf_names(self._parameters(), *tree))
            self._traces += 1
            plan.key, plan.arguments = key, arguments
            self._say_unseen(plan)
            self._last = plan
            if not plan.is_kept:  # it stands for what is no longer so: for this call alone
                return plan
            self._plans.setdefault(key, []).insert(0, plan)
            self._plans.move_to_end(key)
            while len(self._kept()) > self._capacity:
                oldest, plans = next(iter(self._plans.items()))
                gone = plans.pop()
                self._fast = [other for other in self._fast if other is not gone]
                self._evictions += 1
                if not plans:
                    del self._plans[oldest]
            return plan

    def _say_unseen(self, plan):
        """Once: what the guards cannot compare."""
        unseen = plan.seen.unseen
        if not unseen or self._shared.get("unseen"):
            return
        self._shared["unseen"] = True
        where, why = unseen[0]
        more = f" (and {len(unseen) - 1} more)" if len(unseen) > 1 else ""
        warn(f"{self._title()} reads {where}{more}: {why}")

    def _say_why(self, key, arguments, owner, values):
        """Once: that it is traced again and again, and what differs."""
        last = self._last
        if last is None or self._traces + 1 != TRACES_TO_SAY or self._shared.get("traces"):
            return
        node = last.guards.find_change(owner, values) if last.key == key else -1
        if last.key == key and node == -1:  # the trace itself changes it
            return
        self._shared["traces"] = True
        if last.key == key:
            why, remedy = last.seen.why(node, owner, values), "pass it as an argument"
        else:
            why, remedy = difference(last.arguments, arguments)
        warn(f"{self._title()} is traced for the {TRACES_TO_SAY}th time, which compiles it anew: {why}. To compile once, {remedy}")

    def _title(self):
        return f"the jitted function {getattr(self, '__qualname__', self._function)}"

    def _parameters(self):
        code = getattr(self._function, "__code__", None)
        names = list(code.co_varnames[: code.co_argcount]) if code is not None else []
        return names[1:] if self._owner is not None else names

    def _found(self, args, kwargs):
        """(the plan for such arguments, which is prepared where there is none; the arguments' leaves)."""
        if _hearth.current_trace():
            raise TraceError(f"prepare() within a trace; call the function itself (at {_hearth.location()})")
        owner = self._owner() if self._owner is not None else None
        leaves, tree, key, others = self._flatten(args, kwargs)
        plain = None if kwargs or self._dims else plain_key(args)
        key = key if plain is None else plain
        values = tuple(value for value, _ in others)
        for plan in self._plans.get(key, ()):
            if plan.holds(owner, values):
                return plan, leaves
        return self._trace(key, leaves, tree, owner, others), leaves

    def _one_plan(self, what, args, kwargs):
        if args or kwargs:
            return self._found(args, kwargs)[0]
        plans = self._kept()
        if len(plans) != 1:
            raise CallError(f"{what}: {len(plans)} plans are kept; give arguments such as calls have, to say which")
        return plans[0]

    def prepare(self, *args, dims=None, **kwargs):
        """Traces and prepares for arguments such as these, without a call.

        Args:
            dims: lengths that vary, as jit takes them; None: the function's own.

        Returns:
            The hearth.Function, which takes the arrays among the arguments, in their order: with save(), explain(),
            profile(). Arguments that are no arrays are part of it.
        """
        if dims is None:
            return self._found(args, kwargs)[0].function
        other = JitFunction(self._function, dims, self._capacity, self._dynamic_scalars)
        other._options, other._owner, other._self = self._options, self._owner, self._self
        return other._found(args, kwargs)[0].function

    def save(self, path, *args, parameters=True, **kwargs):
        """Writes the plan for such arguments, or the only one that is kept, to a plan file: hearth.load(path) gives a
        function of the arrays among the arguments, with no service."""
        self._one_plan("save()", args, kwargs).function.save(path, parameters=parameters)

    def explain(self, *args, **kwargs):
        """What the plan for such arguments is, or the only one that is kept, in text."""
        return self._one_plan("explain()", args, kwargs).function.explain()

    def profile(self, *args, **kwargs):
        """A call whose kernels are measured."""
        plan, leaves = self._found(args, kwargs)
        arrays = [one._value("an argument") if type(one) is Tensor else one for one in leaves]
        return plan.function.profile(*arrays, **plan.said(leaves))

    def __reduce__(self):
        from ._pickling import reduce_jit

        return reduce_jit(self)

    @property
    def graphs(self):
        """What was traced, a hearth.Graph for each plan that is kept."""
        return [plan.graph for plan in self._kept()]

    @property
    def stats(self):
        """A JitStats; of a method that is looked up on its class, of all objects together."""
        with self._lock:
            own = (self._traces, self._hits, self._evictions, len(self._kept()))
            rows = [own, *(bound.stats for _, bound in list(self._owned.values()))]
            return JitStats(*map(sum, zip(*rows)))

    def __repr__(self):
        return f"hearth.jit({getattr(self, '__qualname__', self._function)!s}: {len(self.graphs)} plans)"


class BoundJit:
    """A jitted method of an object, which it keeps alive."""

    def __init__(self, function, owner):
        self._function, self.__self__ = function, owner

    def __call__(self, *args, **kwargs):
        return self._function(*args, **kwargs)

    def __getattr__(self, name):  # stats, graphs, prepare, save, submit
        if name == "_function":  # an object that is not made yet
            raise AttributeError(name)
        return getattr(self._function, name)

    def __reduce__(self):
        return getattr, (self.__self__, self._function.__name__)


def jit(function=None, *, dims=None, capacity=16, dynamic_scalars=False, **options):
    """A function of arrays and tensors that is compiled for what it is called with, and replayed.

    Its first call with arguments of new dtypes and shapes, and new values of what is no array, records what it does with
    tensors (tracing) and prepares that; calls after it replay. What its code reads by name and is no argument (globals,
    closure cells, defaults, attributes, what lists, dicts and objects hold, the same of functions that it calls) is
    compared at each call: what differs traces anew. What cannot be compared is a TraceWarning, once.

    Args:
        function: of arrays, tensors, numbers, strings, and lists, tuples, dicts and dataclasses of these.
        dims: lengths that vary: {"x": {0: hearth.Dim("batch", 1, 8)}}; (1, 8) for one that has no name.
        capacity: plans that are kept; the least recently used one goes.
        dynamic_scalars: ints and floats among the arguments are arrays without axes in the trace, of the type of what they
            meet, so that one plan is for all of them. They are no numbers then: no lengths, axes or branches.
        threads, device, sealed, deadline, socket, fast_math, subnormals: as hearth.load takes them.

    Raises:
        TraceError: the function looked at a tensor's value, or returned something that is no tensor.
    """
    if function is None:
        return lambda inner: JitFunction(inner, dims, capacity, dynamic_scalars, **options)
    return JitFunction(function, dims, capacity, dynamic_scalars, **options)
