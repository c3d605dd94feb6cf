"""A branch on a length that varies is one for every length, or an error that names the line."""
import math

from place import Place, hearth, np, skipping

F = np.float32


class Lengths(Place):
    def branches(self, f, *lengths, low=1, raises=True):
        def array(n):
            return np.arange(n * 3, dtype=F).reshape(n, 3) + 1

        jitted = hearth.jit(f, dims={"x": {0: hearth.Dim("n", low, 8)}})
        for n in lengths:
            if raises:
                with self.refused(hearth.TraceError, "jit_lengths_test.py:", "hearth.where"):
                    jitted(array(n))
            else:
                np.testing.assert_array_equal(jitted(array(n)), f(array(n)))

    def test_a_branch_that_lengths_decide_in_two_ways(self):
        for f in (
            lambda x: x * 2 if x.shape[0] == 1 else x,
            lambda x: x if x.shape[0] != 1 else x * 2,
            lambda x: x * 2 if x.shape == (4, 3) else x,
            lambda x: x * 2 if x.shape[0] % 2 == 0 else x,
            lambda x: x * 2 if x.shape[0] % 2 else x,
            lambda x: x * 2 if 1 in x.shape else x,
            lambda x: x * 2 if x.shape[0] - 1 else x,
            lambda x: x * 2 if x.shape[0] < 4 else x,
            lambda x: x * 2 if 4 >= x.shape[0] else x,
            lambda x: x * 2 if x.shape[0] == 4.0 else x,
            lambda x: x * 2 if x.shape[0] < 3.5 else x,
            lambda x: x * 2 if x.shape[0] in (2, 3) else x,
            lambda x: x[: max(x.shape[0], 4)],
            lambda x: x * min(x.shape[0], 3),
            lambda x: x * 2 if 7 // x.shape[0] == 2 else x,
            lambda x: x * 2 if x.shape[0] == x.shape[1] else x,
            lambda x: x if not x.shape[0] - 3 else x * 2,
        ):
            with self.subTest(f.__code__.co_firstlineno):
                self.branches(f, 3, 1)

    def test_a_branch_that_the_bounds_decide(self):
        for f in (
            lambda x: x * 2 if x.shape[0] == 9 else x,
            lambda x: x * 2 if x.shape[0] else x,
            lambda x: x * 2 if x.shape[0] >= 1 and x.shape[0] <= 8 else x,
            lambda x: x * 2 if x.shape[0] + 1 > x.shape[0] else x,
            lambda x: x * 2 if x.shape[0] != x.shape[0] else x,
            lambda x: x * 2 if 0.5 < x.shape[0] < 8.5 and x.shape[0] < float("inf") else x,
            lambda x: x * max(x.shape[0] * 0 + 2, 1),
            lambda x: x * (x.shape[0] and 2),
            lambda x: x * 2 if x.shape[0] == "n" or x.shape[0] is None or x.shape[0] == 2.5 else x,
        ):
            self.branches(f, 3, 1, raises=False)

    def test_a_length_that_has_no_name(self):
        f = hearth.jit(lambda x: x * 2, dims={"x": {0: (1, 8)}})
        for n in (1, 5):
            np.testing.assert_array_equal(f(np.ones((n, 3), F)), np.full((n, 3), 2, F))
        self.assertEqual(f.stats.traces, 1)
        with self.refused(ValueError, "expected a hearth.Dim, or (min, max)"):
            hearth.jit(lambda x: x, dims={"x": {0: (1, 2, 3)}})

    def test_a_length_where_a_number_is_needed(self):
        for f in (
            lambda x: x * {3: 1.0}.get(x.shape[0], 2.0),
            lambda x: x * len({x.shape[0], 3}),
            lambda x: x * sum(range(x.shape[0])),
            lambda x: x * int(x.shape[0]),
            lambda x: x * float(x.shape[0]),
            lambda x: x * (1 / x.shape[0]),
            lambda x: x * 2 ** x.shape[0],
            lambda x: x * abs(x.shape[0]),
            lambda x: x * round(x.shape[0]),
            lambda x: x * divmod(x.shape[0], 2)[0],
            lambda x: x * (x.shape[0] & 1),
            lambda x: x * math.ceil(x.shape[0]),
            lambda x: x * math.sqrt(x.shape[0]),
            lambda x: x * len(x),
            lambda x: x * [1.0, 2.0, 3.0, 4.0][x.shape[0]],
        ):
            jitted = hearth.jit(f, dims={"x": {0: hearth.Dim("n", 1, 8)}})
            with self.refused(hearth.TraceError, "a length that varies is no number", "jit_lengths_test.py:"):
                jitted(np.ones((3, 3), F))


if __name__ == "__main__":
    skipping.main()
