"""What a jitted function says, once: what it cannot compare, and that it is traced again and again; numbers of one plan."""
import dataclasses
import random
import time
import warnings

from place import Place, hearth, np, skipping

F = np.float32
X = np.arange(4).astype(F)


@dataclasses.dataclass
class Pair:
    first: np.ndarray
    second: list


class Warnings(Place):
    def check(self, got, want):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want, F))

    def test_a_million_elements(self):
        many = [float(i) for i in range(10**6)]
        f = hearth.jit(lambda v: v * many[5])
        with self.assertWarnsRegex(hearth.TraceWarning, "compares more than 100,000 values"):
            self.check(f(X), X * 5)
        many[5] = 7.0
        self.check(f(X), X * 7)

    def test_what_cannot_be_compared_is_said_once(self):
        large, generator, draws = np.ones((1000, 100), F), (i for i in range(9)), np.random.default_rng(0)
        for f, text in ((hearth.jit(lambda v: v @ large), "reads large: its elements are not compared"),
                        (hearth.jit(lambda v: v + next(generator)), "reads generator: a generator is not compared"),
                        (hearth.jit(lambda v: v + F(draws.random())), "reads draws: a Generator is not compared"),
                        (hearth.jit(lambda v: v + F(np.random.random())), "the module numpy.random gives another value"),
                        (hearth.jit(lambda v: v + random.random()), "the module random gives another value"),
                        (hearth.jit(lambda v: v + F(time.time())), "the module time gives another value")):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                f(np.ones((2, 1000), F))
                f(np.ones((3, 1000), F))
            self.assertEqual([one.category for one in said], [hearth.TraceWarning])
            self.assertIn(text, str(said[0].message))
            self.assertEqual(said[0].filename, __file__)
        large.flags.writeable = False
        f = hearth.jit(lambda v: v @ large)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            f(np.ones((2, 1000), F))

    def test_a_function_that_is_traced_again_and_again_says_why_once(self):
        held = {"k": 0}

        def change(value):
            held["k"] = value
            return f(X)

        cases = ((lambda i: f(X, float(i)), "n is 7.0, and was 6.0"),
                 (lambda i: f(np.ones(i + 1, F), 1.0), "v is float32 [8], and was float32 [7]"),
                 (change, "held holds other values"))
        for call, text in cases:
            f = hearth.jit(lambda v, n=1.0: v * held["k"] + n)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                for i in range(12):
                    call(i)
            self.assertEqual([one.category for one in said], [hearth.TraceWarning])
            self.assertIn("is traced for the 8th time", str(said[0].message))
            self.assertIn(text, str(said[0].message))

    def test_why_it_is_traced_names_the_argument_inside_lists_dicts_and_dataclasses(self):
        cases = ((lambda x: [X, x], "p.1"), (lambda x: {"w": (x, 2)}, "p.w.0"), (lambda x: Pair(X, [x]), "p.second.0"))
        for make, name in cases:
            f = hearth.jit(lambda v, p: v * 2)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                for i in range(8):
                    f(X, make(np.ones(i + 1, F)))
            self.assertIn(f"{name} is float32 [8], and was float32 [7]", str(said[0].message))
            self.assertIn(f"pass {name} as an argument of its own", str(said[0].message))  # dims are of whole arguments

    def test_numbers_as_arguments_of_one_plan(self):
        f = hearth.jit(lambda v, n, scale=1: v * scale + n * 2, dynamic_scalars=True)
        for dtype in (F, np.float64, np.int32, np.float16):
            for n, scale in ((0.5, 2), (1.25, 3), (3, 2), (-7, 0)):
                v = np.arange(4).astype(dtype)
                want = hearth.jit(lambda v: v * scale + n * 2)(v)  # as the same numbers in the code
                got = f(v, n, scale=scale)
                self.assertEqual(got.dtype, want.dtype)
                np.testing.assert_array_equal(got, want)
        self.assertEqual(f.stats.traces, 4 * 2)  # a type of v and a type of n

        class Model:
            @hearth.jit(dynamic_scalars=True)
            def step(self, v, lr):
                return v - lr * v

        model = Model()
        for lr in (0.5, 0.25, float("nan"), -0.0):
            self.check(model.step(X, lr), X - F(lr) * X)
        self.assertEqual(model.step.stats.traces, 1)
        with self.refused(hearth.TraceError, "needs a tensor's value"):
            hearth.jit(lambda v, n: v if n > 1 else -v, dynamic_scalars=True)(X, 2)


if __name__ == "__main__":
    skipping.main()
