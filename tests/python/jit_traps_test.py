"""What users of other jits saw go wrong without a word, each under what they saw."""
import functools
import gc
import weakref

from place import Place, hearth, np, random, skipping

F = hearth.ops
factor = 2.0  # a global that functions below name
weights = hearth.tensor(random(3, 3))


class Traps(Place):
    def check(self, got, want):
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5, atol=1e-6)

    def test_results_are_not_overwritten_by_the_next_call(self):
        f = hearth.jit(lambda x: x + 1)
        for wrap in (lambda x: x, hearth.tensor, memoryview):
            first = f(wrap(np.zeros(4, "f")))
            second = f(wrap(np.ones(4, "f")))
            self.check(first, [1] * 4)
            self.check(second, [2] * 4)

    def test_a_changed_global_counts(self):
        global factor
        f = hearth.jit(lambda x: x * factor)
        x = random(3)
        self.check(f(x), x * 2)
        factor = 5.0
        try:
            self.check(f(x), x * 5)
        finally:
            factor = 2.0
        self.check(f(x), x * 2)
        self.assertEqual(f.stats.traces, 2)

    def test_a_changed_closure_cell_counts(self):
        offset = 1

        @hearth.jit
        def f(x):
            return x + offset

        x = random(3)
        self.check(f(x), x + 1)
        offset = 10
        self.check(f(x), x + 10)
        captured = random(3)
        g = hearth.jit(lambda x: x + captured)
        self.check(g(x), x + captured)
        captured = random(3, seed=5)  # another array
        self.check(g(x), x + captured)

    def test_a_changed_default_counts(self):
        def f(x, shift=1.0, *, scale=1.0):
            return x * scale + shift
        g = hearth.jit(f)
        x = random(3)
        self.check(g(x), x + 1)
        f.__defaults__ = (7.0,)
        self.check(g(x), x + 7)
        f.__kwdefaults__["scale"] = 3.0
        self.check(g(x), x * 3 + 7)

    def test_a_changed_attribute_of_self_counts(self):
        class Layer:
            def __init__(self, scale):
                self.scale, self.w = scale, random(3, seed=int(scale))

            @hearth.jit
            def forward(self, x):
                return x * self.scale + self.w

        layer, x = Layer(2.0), random(3)
        self.check(layer.forward(x), x * 2 + layer.w)
        layer.scale = 4.0
        self.check(layer.forward(x), x * 4 + layer.w)
        layer.w = random(3, seed=8)
        self.check(layer.forward(x), x * 4 + layer.w)

    def test_two_instances_share_no_plan(self):
        class Layer:
            def __init__(self, scale):
                self.inner = type("Inner", (), {"scale": scale})()  # two levels deep

            @hearth.jit
            def forward(self, x):
                return x * self.inner.scale

        a, b, x = Layer(2.0), Layer(3.0), random(3)
        for _ in range(2):
            self.check(a.forward(x), x * 2)
            self.check(b.forward(x), x * 3)
        gone = weakref.ref(a)
        del a
        gc.collect()
        self.assertIsNone(gone())  # and a plan keeps no object alive

    def test_a_method_of_an_object_that_only_the_method_holds(self):
        class Layer:
            def __init__(self, scale):
                self.scale = scale

            @hearth.jit
            def forward(self, x):
                return x * self.scale

        x = random(3)
        self.check(Layer(2.0).forward(x), x * 2)
        forward = Layer(3.0).forward
        gc.collect()
        self.check(forward(x), x * 3)
        self.assertEqual(forward.stats.traces, 1)

    def test_equal_objects_are_two(self):
        class Layer:
            def __init__(self, scale):
                self.inner = type("Inner", (), {"scale": scale})()

            def __eq__(self, other):
                return True

            def __hash__(self):
                return 1

            @hearth.jit
            def forward(self, x):
                return x * self.inner.scale

        a, b, x = Layer(2.0), Layer(3.0), random(3)
        self.check(a.forward(x), x * 2)
        self.check(b.forward(x), x * 3)

    def test_an_object_as_an_argument_is_refused_rather_than_frozen(self):
        class Model:
            scale = 2.0

            def __call__(self, x):
                return x * self.scale

        f = hearth.jit(lambda model, x: model(x))
        with self.refused(TypeError, "is of type Model; a jitted function takes arrays"):
            f(Model(), random(3))
        with self.refused(TypeError, "is of type object"):
            hearth.jit(lambda o, x: x)(object(), random(3))
        self.check(hearth.jit(lambda g, x: g(x))(abs, random(3)), abs(random(3)))

    def test_a_bound_method_and_a_callable_object(self):
        class Model:
            scale = 2.0

            def forward(self, x):
                return x * self.scale

            def __call__(self, x):
                return x + self.scale

        m, x = Model(), random(3)
        f, g = hearth.jit(m.forward), hearth.jit(m)
        self.check(f(x), x * 2)
        self.check(g(x), x + 2)
        m.scale = 3.0
        self.check(f(x), x * 3)
        self.check(g(x), x + 3)

    def test_a_branch_on_an_argument_is_taken_as_it_is(self):
        f = hearth.jit(lambda x, flip: -x if flip else x)
        x = random(3)
        for flip in (True, False, True):
            self.check(f(x, flip), -x if flip else x)

    def test_a_branch_on_a_tensors_value_is_an_error_with_its_line(self):
        @hearth.jit
        def f(x):
            if x.sum() > 0:
                return x
            return -x

        with self.refused(hearth.TraceError, "bool() needs a tensor's value, which a trace has not", "(at jit_traps_test.py:"):
            f(random(3))
        self.check(hearth.jit(lambda x: hearth.where(x.sum() > 0, x, -x))(random(3)), random(3) * np.sign(random(3).sum()))

    def test_looking_at_a_traced_value_is_an_error(self):
        for name, look in (("item()", lambda x: x[0].item()), ("tolist()", lambda x: x.tolist()), ("bool()", lambda x: bool(x[0])),
                           ("float()", lambda x: float(x[0])), ("int()", lambda x: int(x[0])), ("an index", lambda x: [1, 2][x[0].astype("int32")]),
                           ("numpy.asarray()", lambda x: np.asarray(x)), ("numpy.asarray()", lambda x: x.numpy()),
                           ("evaluate()", lambda x: x.evaluate()), ("__dlpack__()", lambda x: np.from_dlpack(x))):
            def f(x, look=look):
                look(x)
                return x
            with self.subTest(name), self.refused(hearth.TraceError, name, "(at jit_traps_test.py:"):
                hearth.jit(f)(random(3))
        with self.refused(hearth.TraceError, "an index of bools"):
            hearth.jit(lambda x: x[x > 0])(random(3))
        self.check(hearth.jit(lambda x: x + 1)(random(3)), random(3) + 1)  # and the next trace works

    def test_a_traced_tensor_that_escapes_is_no_value(self):
        kept = []

        def f(x):
            kept.append(x + 1)
            return x
        hearth.jit(f)(random(3))
        with self.refused(hearth.TraceError, "of a trace that has ended"):
            kept[0].tolist()

    def test_a_new_shape_or_dtype_traces_anew(self):
        f = hearth.jit(lambda x: x.sum(axis=0))
        for x in (random(3), random(4), random(2, 3), random(3).astype("d"), np.arange(3)):
            self.check(f(x), x.sum(axis=0))
        self.assertEqual(f.stats.traces, 5)

    def test_a_slice_assignment_inside(self):
        @hearth.jit
        def f(x):
            y = x * 1
            y[1:3] = 0
            y[0, 1] = x[2, 2]
            return y

        for seed in range(3):
            x = random(4, 3, seed=seed)
            want = x.copy()
            want[1:3] = 0
            want[0, 1] = x[2, 2]
            self.check(f(x), want)

        @hearth.jit
        def g(x):
            x[0] = 5.0  # the argument's name; the caller's array stays
            return x

        x = random(3)
        self.check(g(x), [5.0, x[1], x[2]])
        self.check(x, random(3))

    def test_an_assignment_to_what_is_no_argument_is_an_error(self):
        state = hearth.tensor(random(3))

        @hearth.jit
        def f(x):
            state[0] = x[0]
            return x

        with self.refused(hearth.TraceError, "changes a tensor that is no argument", "jit_traps_test.py:"):
            f(random(3))
        self.check(state, random(3))

    def test_a_pad_by_a_length_that_varies(self):
        n = hearth.Dim("n", 1, 6)
        f = hearth.jit(lambda x: F.pad(x, (0,), (6 - x.shape[0],)), dims={"x": {0: n}})
        for length in (1, 4, 6):
            x = random(length)
            self.check(f(x), np.pad(x, (0, 6 - length)))

    def test_results_that_are_no_tensors_are_an_error(self):
        for returned, words in ((3, "returned int at result"), ([1.0], "returned float at result[0]"), ("x", "returned str at result"),
                                ({"a": True}, "returned bool at result['a']"), (None, "returned no tensor"), ((), "returned no tensor")):
            with self.subTest(words), self.refused(hearth.TraceError, words):
                hearth.jit(lambda x: returned)(random(3))

    def test_a_nested_jit_is_inlined_and_its_captures_count(self):
        scale = 2.0

        @hearth.jit
        def inner(x):
            return x * scale

        @hearth.jit
        def outer(x):
            return inner(x) + 1

        x = random(3)
        self.check(outer(x), x * 2 + 1)
        self.assertEqual((inner.stats.traces, outer.stats.traces), (0, 1))
        scale = 3.0
        self.check(outer(x), x * 3 + 1)

    def test_random_numbers_are_an_arguments(self):
        @hearth.jit
        def f(key):
            return F.random_normal((4,), key)

        a, b = f(np.array([0, 1], "u4")), f(np.array([0, 2], "u4"))
        self.assertEqual(f.stats.traces, 1)
        self.assertFalse(np.array_equal(a, b))
        self.check(f(np.array([0, 1], "u4")), a)
        self.check(hearth.jit(lambda key: F.random_normal((4,), key))(F.random_key(7)), F.random_normal((4,), F.random_key(7)).numpy())

    def test_a_function_that_returns_its_argument(self):
        f = hearth.jit(lambda x, y: (x, y + 1, x))
        x, y = random(3), random(3, seed=1)
        a, b, c = f(x, y)
        self.check(a, x)
        self.check(b, y + 1)
        self.check(c, x)
        self.assertFalse(np.shares_memory(a, x))
        a[0] = 99
        self.check(x, random(3))

    def test_the_same_array_twice(self):
        f = hearth.jit(lambda a, b: a * 2 + b)
        x = random(3)
        self.check(f(x, x), x * 3)
        self.check(f(x, random(3, seed=1)), x * 2 + random(3, seed=1))

    def test_an_argument_that_nothing_reads(self):
        f = hearth.jit(lambda a, b: b + 1)
        self.check(f(random(3), random(3, seed=1)), random(3, seed=1) + 1)
        g = hearth.jit(lambda a: hearth.ones(3))
        self.check(g(random(3)), np.ones(3))

    def test_no_arguments(self):
        f = hearth.jit(lambda: weights @ weights)
        self.assertIs(type(f()), hearth.Tensor)
        self.check(f(), random(3, 3) @ random(3, 3))

    def test_an_exception_inside_is_the_callers(self):
        def f(x):
            raise ZeroDivisionError("mine")
        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            hearth.jit(f)(random(3))
        self.assertEqual(hearth._hearth.current_trace(), 0)
        with self.refused(ValueError, "matmul", "(at jit_traps_test.py:"):
            hearth.jit(lambda x: x @ weights)(random(4))

    def test_what_a_cached_function_captured_outside_is_evaluated(self):
        lazy = hearth.tensor(random(3)) + 1  # not evaluated yet
        f = hearth.jit(lambda x: x + lazy)
        self.check(f(random(3)), random(3) * 2 + 1)

    def test_partial_functions_are_refused_by_name(self):
        with self.refused(TypeError, "is no Python function"):
            hearth.jit(functools.partial(max, 1))


if __name__ == "__main__":
    skipping.main()
