"""A jitted function never serves a value that has changed: each case named after what a user does between two calls."""
import collections
import dataclasses
import functools
import gc
import types
import weakref

from place import Place, hearth, np

F = np.float32
X = np.arange(4).astype(F)
amount = 2.0
table = {"rates": [1.0, 2.0], "name": "a"}
space = types.SimpleNamespace(gain=2.0)
bias = hearth.tensor(X)
counted = 0


def scaled(v):
    return v * amount


class Layer:
    def __init__(self, w):
        self.w = w

    def __call__(self, v):
        return v * self.w


class Net:
    def __init__(self):
        self.layers = [Layer(np.full(4, 2, F)), Layer(np.ones(4, F))]
        self.config = {"k": 2.0}

    def helper(self, v):
        for layer in self.layers:
            v = layer(v)
        return v

    @hearth.jit
    def forward(self, v):
        return self.helper(v) * self.config["k"]


@dataclasses.dataclass
class Options:
    k: float

    def scale(self, v):
        return v * self.k


class Guards(Place):
    def check(self, got, want):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want, F))

    def follows(self, f, change, *args, traces=2):
        """Two calls before a change and two after it give what the plain function gives, of `traces` traces."""
        plain = getattr(f, "__wrapped__", None) or f._function
        if getattr(f, "__self__", None) is not None:
            plain = functools.partial(f.__wrapped__, f.__self__)
        for step in (lambda: None, change):
            step()
            want = plain(*(hearth.tensor(one) if isinstance(one, np.ndarray) else one for one in args)).numpy()
            for _ in range(2):
                self.check(f(*args), want)
        self.assertEqual(f.stats.traces, traces)

    def test_a_captured_tensor_gets_a_new_element(self):
        def set_first():
            bias[0] = 100.0

        self.follows(hearth.jit(lambda v: v + bias), set_first, X)
        inner = hearth.jit(lambda v: v + bias)
        self.follows(hearth.jit(lambda v: inner(v) * 2), lambda: bias.__setitem__(1, -5.0), X)

    def test_a_captured_numpy_array_is_written_in_place(self):
        for w in (np.ones(4, F), np.ones((8, 4), F)[::2][0], np.ones(8, F)[::2], np.ones(4, np.float16)):
            self.follows(hearth.jit(lambda v: v * w), lambda: w.__setitem__(slice(None), 5), X)

    def test_a_captured_numpy_array_is_resized(self):
        w = np.ones(4, F)
        self.follows(hearth.jit(lambda v: v * len(w)), lambda: w.resize(8, refcheck=False), X)

    def test_elements_of_containers(self):
        self.follows(hearth.jit(lambda v: v * table["rates"][1]), lambda: table["rates"].__setitem__(1, 7.0), X)
        self.follows(hearth.jit(lambda v: v * len(table["rates"])), lambda: table["rates"].append(1.0), X)
        self.follows(hearth.jit(lambda v: v * space.gain), lambda: setattr(space, "gain", -0.0), X)
        kept = collections.OrderedDict(a=2.0, b=3.0)
        self.follows(hearth.jit(lambda v: v * next(iter(kept.values()))), lambda: kept.move_to_end("a"), X)
        plain = {"a": 2.0, "b": 3.0}
        self.follows(hearth.jit(lambda v: v * list(plain.values())[0]), lambda: plain.update(a=plain.pop("a")), X)
        names = {"a"}
        self.follows(hearth.jit(lambda v: v * len(names)), lambda: names.add("b"), X)
        queue = collections.deque([1.0, 2.0])
        self.follows(hearth.jit(lambda v: v * queue[0]), lambda: queue.rotate(1), X)
        loop = [2.0]
        loop.append(loop)
        self.follows(hearth.jit(lambda v: v * loop[1][0]), lambda: loop.__setitem__(0, 3.0), X)

    def test_another_value_that_equals(self):
        value = [0.0]
        self.follows(hearth.jit(lambda v: v * 0 + hearth.copysign(v, value[0])), lambda: value.__setitem__(0, -0.0), X + 1)
        self.follows(hearth.jit(lambda v: v if value[0] is not True else -v), lambda: value.__setitem__(0, True), X)
        number = [float("nan")]
        self.follows(hearth.jit(lambda v: v + (number[0] != number[0])), lambda: number.__setitem__(0, float("nan")), X,
                     traces=1)

    def test_attributes_of_attributes(self):
        changes = (
            lambda net: setattr(net.layers[0], "w", np.full(4, 5, F)),
            lambda net: net.layers[1].w.__setitem__(0, 9),
            lambda net: net.layers.__setitem__(1, Layer(np.full(4, 3, F))),
            lambda net: net.layers.append(Layer(np.full(4, 2, F))),
            lambda net: net.config.update(k=5.0),
            lambda net: setattr(net, "helper", lambda v: -v),
        )
        for change in changes:
            net = Net()
            self.follows(net.forward, functools.partial(change, net), X)

    def test_a_method_of_the_class_is_replaced(self):
        net, before = Net(), Layer.__call__

        def replace():
            Layer.__call__ = lambda self, v: v + self.w

        try:
            self.follows(net.forward, replace, X)
        finally:
            Layer.__call__ = before

    def test_methods_that_call_methods_trace_once(self):
        net = Net()
        model = hearth.jit(net.helper)
        for _ in range(5):
            self.check(net.forward(X), X * 4)
            self.check(model(X), X * 2)
        self.assertEqual((net.forward.stats.traces, model.stats.traces), (1, 1))
        self.assertGreaterEqual(Net.forward.stats.traces, 1)  # of all objects

        class Both:
            @hearth.jit
            def a(self, v):
                return self.b(v) + 1

            @hearth.jit
            def b(self, v):
                return v * 2

            @classmethod
            def c(cls, v):
                return v * cls.k

            k = 2.0

            @hearth.jit
            def d(self, v):
                return self.c(v)

        both = Both()
        for _ in range(5):
            self.check(both.a(X), X * 2 + 1)
        self.assertEqual(both.a.stats.traces, 1)
        self.follows(both.d, lambda: setattr(Both, "k", 3.0), X)

    def test_a_method_that_super_finds(self):
        class Base:
            gain = 2.0

            def forward(self, v):
                return v * self.gain

        class Child(Base):
            @hearth.jit
            def run(self, v):
                return super().forward(v)

        self.follows(Child().run, lambda: setattr(Base, "gain", 4.0), X)
        self.follows(Child().run, lambda: setattr(Base, "forward", lambda self, v: -v), X)

    def test_slots_properties_and_descriptors(self):
        class Slotted:
            __slots__ = ("w",)

        slotted = Slotted()
        slotted.w = 2.0
        self.follows(hearth.jit(lambda v: v * slotted.w), lambda: setattr(slotted, "w", 3.0), X)
        asked = []

        class WithProperty:
            def __init__(self):
                self._k = 2.0

            @property
            def k(self):
                asked.append(1)
                return self._k

        one = WithProperty()
        f = hearth.jit(lambda v: v * one.k)
        self.check(f(X), X * 2)
        self.check(f(X), X * 2)
        self.assertEqual(len(asked), 1)  # looking whether it changed has no side effects
        one._k = 3.0
        self.check(f(X), X * 3)

        class Lazy:
            def __getattr__(self, name):
                return self.__dict__["held"][name]

        lazy = Lazy()
        lazy.held = {"k": 2.0}
        self.follows(hearth.jit(lambda v: v * lazy.k), lambda: lazy.held.update(k=3.0), X)
        names = types.SimpleNamespace(w0=2.0, w1=3.0)
        self.follows(hearth.jit(lambda v: v * sum(getattr(names, f"w{i}") for i in range(2))),
                     lambda: setattr(names, "w1", 4.0), X)

    def test_cached_properties_and_functions(self):
        class Cached:
            def __init__(self):
                self.base = [2.0]

            @functools.cached_property
            def twice(self):
                return self.base[0] * 2

            @functools.lru_cache
            def power(self, n):
                return self.base[0] ** n

        one = Cached()
        f = hearth.jit(lambda v: v * one.twice)
        self.check(f(X), X * 4)
        self.check(f(X), X * 4)
        one.twice = 7.0
        self.check(f(X), X * 7)
        g = hearth.jit(lambda v: v * one.power(2))
        self.check(g(X), X * 4)
        one.base[0] = 3.0
        Cached.power.cache_clear()
        self.check(g(X), X * 9)

    def test_functions_that_are_called(self):
        def change():
            global amount
            amount += 1

        self.follows(hearth.jit(lambda v: scaled(v)), change, X)
        self.follows(hearth.jit(lambda v, g: g(v)), change, X, scaled)
        k = 2.0

        def inner(v, by=[3.0]):
            return v * k * by[0]

        def set_k():
            nonlocal k
            k = 5.0

        self.follows(hearth.jit(lambda v: inner(v)), set_k, X)
        self.follows(hearth.jit(lambda v: inner(v)), lambda: inner.__defaults__[0].__setitem__(0, 1.0), X)
        wrapped = functools.partial(inner, by=[2.0])
        self.follows(hearth.jit(lambda v: wrapped(v)), lambda: wrapped.keywords["by"].__setitem__(0, 4.0), X)

    def test_functions_among_the_arguments(self):
        apply = hearth.jit(lambda v, g: g(v))
        for k in (2.0, 3.0, 2.0, 2.0):  # a lambda of its own at each call
            self.check(apply(X, lambda v: v * k), X * F(k))
        self.assertEqual(apply.stats.traces, 2)
        layer = Layer(2.0)
        self.check(apply(X, layer.__call__), X * 2)
        layer.w = 3.0
        self.check(apply(X, layer.__call__), X * 3)
        self.check(apply(X, layer.__call__), X * 3)
        self.assertEqual(apply.stats.traces, 4)
        of_many = hearth.jit(lambda v, all: all["first"][0](v))
        for k in (2.0, 3.0):
            self.check(of_many(X, {"first": [lambda v: v * k]}), X * F(k))
        f = hearth.jit(lambda v, options: options.scale(v))
        self.check(f(X, Options(2.0)), X * 2)
        before = Options.scale
        try:
            Options.scale = lambda self, v: v + self.k
            self.check(f(X, Options(2.0)), X + 2)
        finally:
            Options.scale = before

    def test_numpy_scalars_as_arguments(self):
        f = hearth.jit(lambda v, s: hearth.copysign(v, float(s.real)))
        for zero in (F(0.0), F(-0.0), 0.0, -0.0, complex(0.0, 1.0), complex(-0.0, 1.0)):
            self.check(f(X + 1, zero), np.copysign(X + 1, F(zero.real)))
        self.assertEqual(f.stats.traces, 6)
        g = hearth.jit(lambda v, s: v + s)
        for _ in range(3):
            g(X, F("nan")), g(X, np.float64("nan")), g(X, float("nan"))
        self.assertEqual(g.stats.traces, 3)

    def test_a_global_that_comes_to_hide_a_builtin(self):
        f = hearth.jit(lambda v: v * abs(-2))
        self.check(f(X), X * 2)
        globals()["abs"] = lambda number: 5
        try:
            self.check(f(X), X * 5)
        finally:
            del globals()["abs"]
        self.check(f(X), X * 2)

    def test_objects_whose_equality_lies_or_raises(self):
        class Evil:
            def __init__(self):
                self.k = 2.0

            def __eq__(self, other):
                raise RuntimeError("asked")

            def __getattribute__(self, name):
                return object.__getattribute__(self, name)

            __hash__ = None

        evil = Evil()
        self.follows(hearth.jit(lambda v: v * evil.k), lambda: setattr(evil, "k", 3.0), X)
        held = [Evil()]
        self.follows(hearth.jit(lambda v: v * held[0].k), lambda: held.__setitem__(0, Evil()), X)

    def test_what_the_function_only_counts_does_not_trace_anew(self):
        log, sums, own = [], {"n": 0}, types.SimpleNamespace(n=0)

        @hearth.jit
        def f(v):
            global counted
            counted += 1
            sums["n"] += 1
            own.n += 1
            log.append(v)
            return v + 1

        for _ in range(3):
            f(X)
        self.assertEqual((f.stats.traces, counted, len(log), sums["n"], own.n), (1, 1, 1, 1, 1))

    def test_what_the_trace_changes_and_reads_is_never_replayed_as_it_was(self):
        state = [0.0]

        @hearth.jit
        def f(v):
            state[0] = state[0] + 1
            return v + state[0]

        self.check([f(X)[0] for _ in range(4)], [1, 2, 3, 4])
        self.assertEqual(f.stats.plans, 0)

    def test_plans_keep_no_object_alive(self):
        net = Net()
        net.self = net.layers[0].parent = net  # cycles
        self.check(net.forward(X), X * 4)
        gone = weakref.ref(net)
        del net
        gc.collect()
        self.assertIsNone(gone())

        def make():
            @hearth.jit
            def f(v):
                return v + 1 if f is not None else v

            f(X)
            return weakref.ref(f)

        gone = make()
        gc.collect()
        self.assertIsNone(gone())


if __name__ == "__main__":
    import skipping

    skipping.main()
