"""A loaded model whose lengths were left open: prepared for the lengths of each call, as they come."""

from _thread import RLock
from collections import OrderedDict

from ._errors import CallError, CompileWarning, Error
from ._retraces import warn
from ._trees import array_key

MOST_PLANS = 8


class LazyFunction:
    """What hearth.load gives for a model with lengths that vary, where `dims` leaves them open.

    Each call with new lengths prepares a plan for them, which takes as long as compiling does; calls after it replay. The
    last eight are kept. One plan for a whole range is made with dims={"batch": (1, 8)}.
    Any thread may call it: calls with the same lengths wait for one plan, and those with others go on.

    Attributes:
        info: what the file says of itself, as hearth.inspect gives it.
        inputs, outputs: as the file declares them.
        plans: the hearth.Functions that are kept, the last used one at the end.
    """

    def __init__(self, load, arguments, info, dims, source):
        self._load, self._arguments, self.info, self._dims, self._source = load, arguments, info, dims, source
        self.inputs = tuple(one for one in info.inputs if not one.has_default)
        self.outputs = info.outputs
        self._plans = OrderedDict()
        self._lock = RLock()
        self._preparing = {}  # a lock by the shapes that a plan is being made for
        self._seen = {}
        self._is_warned = False

    @property
    def plans(self):
        with self._lock:
            return [plan for plan, _ in self._plans.values()]

    def __call__(self, *args, **kwargs):
        given = self._given(args, kwargs)
        return self._plan(given)(**given)

    def prepare(self, *args, **kwargs):
        """Prepares for arrays such as these, without a call; gives the hearth.Function."""
        return self._plan(self._given(args, kwargs))

    def submit(self, *args, **kwargs):
        """Calls it on another thread; gives a Future, to be awaited or asked for its result()."""
        from ._pool import submit

        return submit(self, *args, **kwargs)

    def _given(self, args, kwargs):
        names = [one.name for one in self.inputs]
        if len(args) > len(names):
            raise CallError(f"{len(args)} arrays are given; the model takes {len(names)}: {', '.join(names)}")
        given = dict(zip(names, args))
        for name, array in kwargs.items():
            if name in given:
                raise CallError(f"input {name!r} is given by place and by name")
            given[name] = array
        return given

    def _plan(self, given):
        shapes = tuple((name, _shape(array)) for name, array in sorted(given.items()))
        plan = self._kept(shapes, given)
        if plan is not None:
            return plan
        with self._lock:
            preparing = self._preparing.setdefault(shapes, RLock())
        with preparing:  # calls with these lengths wait for the plan; those with others go on
            try:
                return self._kept(shapes, given) or self._made(shapes, given)
            finally:
                with self._lock:
                    self._preparing.pop(shapes, None)

    def _kept(self, shapes, given):
        with self._lock:
            for key in [key for key in self._plans if key[0] == shapes]:
                plan, values = self._plans[key]
                if all(_bytes(given[name]) == value for name, value in values.items()):
                    self._plans.move_to_end(key)
                    return plan
        return None

    def _made(self, shapes, given):
        plan = self._load(example=given, dims=self._dims, **self._arguments)
        values = {name: _bytes(given[name]) for name in plan._fixed if name in given}
        with self._lock:
            self._plans[shapes, tuple(sorted(values.items()))] = plan, values
            self._note(given)
            if len(self._plans) > MOST_PLANS:
                self._plans.popitem(last=False)
                self._propose()
        return plan

    def _note(self, given):
        for value in self.inputs:
            shape = _shape(given.get(value.name))
            if value.shape is None or shape is None or len(shape) != len(value.shape):
                continue
            for name, length in zip(value.shape, shape):
                if isinstance(name, str) and name in self.info.dims:
                    low, high = self._seen.get(name, (length, length))
                    self._seen[name] = min(low, length), max(high, length)

    def _propose(self):
        """Once: how to have one plan."""
        if self._is_warned:
            return
        self._is_warned = True
        ranges = {name: low if low == high else (low, high) for name, (low, high) in self._seen.items()}
        ranges.update({name: text for name, text in self.info.sums.items() if name in ranges})
        more = f", carry={self.info.carry!r}" if self.info.carry else ""
        model = repr(self._source) if isinstance(self._source, str) else "model"
        warn(f"the model was called with more than {MOST_PLANS} different lengths, and each is compiled for itself; to have one plan"
             f" for all of them: hearth.load({model}, dims={ranges!r}{more})"
             + (", whose stream() keeps what is carried" if more else ""), CompileWarning)  # fmt: skip

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        plans = self.plans
        if not plans:
            raise AttributeError(
                f"{name!r} is a plan's, and there is none yet: call the function once, or give lengths: dims={self._example_of_dims()}"
            )
        return getattr(plans[-1], name)

    def _example_of_dims(self):
        return "{" + ", ".join(f"{name!r}: (1, 8)" for name in self.info.dims) + "}"

    def __reduce__(self):
        return _reload, (self._source, self._dims, self._arguments)

    def __repr__(self):
        inputs = ", ".join(f"{one.name}: {one.type} [{', '.join(map(str, one.shape or '?'))}]" for one in self.inputs)
        return f"hearth.LazyFunction({inputs}; {len(self._plans)} plans)"


def _reload(source, dims, arguments):
    from ._load import load

    return load(source, dims=dims, **arguments)


def _shape(array):
    if array is None:
        return None
    if isinstance(array, (bool, int, float)):
        return ()
    if isinstance(array, list):
        return tuple(_shape(one) for one in array)
    try:
        return tuple(array_key(array)[1])
    except (AttributeError, TypeError):
        return ()  # the plan says what is wrong with it


def _bytes(array):
    from ._hearth import tensor

    try:
        return tensor(array)._value("an input").tobytes()
    except Error:
        return None
