"""hearth.Tensor against numpy: operators, methods, indexing, promotion; what evaluates and what does not."""
import unittest

from place import Place, hearth, np, random, skipping

try:
    from hypothesis import given, settings
    from hypothesis import strategies as st
    from hypothesis.extra import numpy as hnp
except ImportError:
    given = None
_hearth = hearth._hearth


def compiled():
    return _hearth.evaluate_stats()[1]


class Making(Place):
    def test_data_of_every_kind(self):
        for data, dtype, value in ((3, "int64", 3), (2.5, "float32", 2.5), (True, "bool", True), ([1, 2], "int64", [1, 2]),
                                   ([[1, 2.5]], "float32", [[1.0, 2.5]]), ([], "float32", []), ([True], "bool", [True]),
                                   (np.float64(1.5), "float64", 1.5), (np.arange(3, dtype="u1"), "uint8", [0, 1, 2]),
                                   (np.asfortranarray(np.ones((2, 3), "f2")), "float16", [[1.0] * 3] * 2),
                                   (memoryview(b"ab"), "uint8", [97, 98])):
            with self.subTest(data=data):
                t = hearth.tensor(data)
                self.assertEqual((t.dtype, t.tolist()), (dtype, value))
        for dtype in ("float64", np.float64, np.dtype("f8"), float):
            t = hearth.tensor([1, 2], dtype)
            self.assertEqual(t.dtype, "float32" if dtype is float else "float64")
            self.assertEqual(t.tolist(), [1.0, 2.0])
        self.assertEqual(hearth.tensor(np.arange(3), "int8").tolist(), [0, 1, 2])

    def test_what_is_no_data_is_named(self):
        for data, words in (([1, [2]], "data"), ([[1], [2, 3]], "a list of 2 beside one of 1"), (["x"], "data: 'x' stands"),
                            ("text", "data is of type str"), (None, "data is of type NoneType"),
                            (np.zeros(2, "c8"), "complex64"), (2**70, "expected a value of int64")):
            with self.subTest(words), self.refused(ValueError, words):
                hearth.tensor(data)
        with self.refused(ValueError, "dtype is 'float31'"):
            hearth.tensor(1, "float31")

    def test_elements_are_copied(self):
        x = np.ones(3, "f")
        t = hearth.tensor(x)
        y = t + 1
        x[:] = 5
        self.assertEqual((t.tolist(), y.tolist()), ([1] * 3, [2] * 3))
        a = t.numpy()
        a[0] = 9
        self.assertEqual(t.tolist(), [1] * 3)


class Values(Place):
    def test_a_value_is_computed_once_and_kept(self):
        t = hearth.tensor(random(4, 4)) @ hearth.tensor(random(4, 4, seed=1))
        self.assertFalse(t.is_evaluated)
        before = compiled()
        first = t.tolist()
        self.assertTrue(t.is_evaluated)
        self.assertEqual(t.tolist(), first)
        float(t[0, 0])
        self.assertEqual(compiled(), before + 1)

    def test_looking_at_elements_compiles_nothing(self):
        t = (hearth.tensor(random(4, 5)) * 3).evaluate()
        n = t.numpy()
        before = compiled()
        self.assertEqual(float(t[1, 2]), n[1, 2])
        self.assertTrue(t[1, 2] == float(n[1, 2]))
        self.assertFalse(t[1, 2] < float(n[1, 2]))
        self.assertEqual(t[::-1, 1:4:2].tolist(), n[::-1, 1:4:2].tolist())
        self.assertEqual([row.tolist() for row in t], n.tolist())
        self.assertIn("hearth.Tensor(float32, [4, 5], [[", repr(t))
        self.assertEqual(t[None, ..., 0].shape, (1, 4))
        self.assertEqual(compiled(), before)

    def test_the_same_graph_of_other_values_is_a_replay(self):
        def f(seed):
            return ((hearth.tensor(random(7, 3, seed=seed)) * 2 + 1) @ hearth.tensor(random(3, 2, seed=seed))).numpy()
        f(0)
        before = compiled()
        for seed in range(1, 5):
            want = (random(7, 3, seed=seed) * 2 + 1) @ random(3, 2, seed=seed)
            np.testing.assert_allclose(f(seed), want, rtol=1e-5, atol=1e-6)
        self.assertEqual(compiled(), before)

    def test_several_are_computed_together(self):
        x = hearth.tensor(random(5))
        before = compiled()
        a, b = hearth.evaluate(x + 1, (x + 1).sum())
        self.assertEqual(compiled(), before + 1)
        np.testing.assert_allclose(b.item(), a.numpy().sum(), rtol=1e-6)
        with self.refused(TypeError, "evaluate: int is no hearth.Tensor"):
            hearth.evaluate(x, 3)

    def test_numbers_of_one_element(self):
        t = hearth.tensor([[4]])
        self.assertEqual((int(t), float(t), bool(t), t.item(), [10, 20, 30, 40, 50][t.reshape(())]), (4, 4.0, True, 4, 50))
        for call in (lambda: bool(hearth.tensor([1, 2])), lambda: float(hearth.tensor([1, 2]))):
            with self.refused(ValueError, "of a tensor of 2 elements is ambiguous"):
                call()
        with self.refused(ValueError, "item() of a tensor of 2 elements"):
            hearth.tensor([1, 2]).item()
        with self.assertRaisesRegex(TypeError, "is no index"):
            [0][hearth.tensor(0.0)]
        self.assertEqual(len({t, t, hearth.tensor([[4]])}), 2)  # by identity

    def test_protocols(self):
        t = hearth.tensor(random(2, 3)) + 0
        np.testing.assert_array_equal(np.asarray(t), random(2, 3))
        np.testing.assert_array_equal(np.from_dlpack(t), random(2, 3))
        self.assertEqual(np.asarray(t, dtype="f8").dtype, np.float64)
        self.assertEqual(len(t), 2)
        with self.assertRaisesRegex(TypeError, "without axes"):
            len(hearth.tensor(1))
        with self.assertRaisesRegex(TypeError, "without axes"):
            iter(hearth.tensor(1))


class Operators(Place):
    def test_numpys_operators(self):
        a, b = random(3, 4), random(4, seed=1) + 3
        i, j = np.arange(-5, 7).reshape(3, 4), np.array([2, -3, 5, 7])
        for x, y in ((a, b), (i, j)):
            s, t = hearth.tensor(x), hearth.tensor(y)
            for name, op in {"+": lambda p, q: p + q, "-": lambda p, q: p - q, "*": lambda p, q: p * q,
                             "//": lambda p, q: p // q, "%": lambda p, q: p % q, "<": lambda p, q: p < q, "<=": lambda p, q: p <= q,
                             ">": lambda p, q: p > q, ">=": lambda p, q: p >= q, "==": lambda p, q: p == q,
                             "!=": lambda p, q: p != q}.items():
                with self.subTest(name, dtype=x.dtype):
                    want = op(x, y)
                    for got in (op(s, t), op(s, y), op(x, t)):
                        self.assertIs(type(got), hearth.Tensor)
                        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-6, atol=1e-6)
                    np.testing.assert_allclose(np.asarray(op(s, 3)), op(x, 3), rtol=1e-6, atol=1e-6)
                    np.testing.assert_allclose(np.asarray(op(3, s + 0.5)), op(3, (x + 0.5)), rtol=1e-6, atol=1e-5)
        s, t = hearth.tensor(i), hearth.tensor(j)
        for got, want in ((s & t, i & j), (s | t, i | j), (s ^ t, i ^ j), (~s, ~i), (s << 2, i << 2), (s >> 1, i >> 1),
                          (-s, -i), (abs(s), abs(i)), (+s, i), (s**3, i**3), (s / t, (i / j).astype("f")),
                          (hearth.tensor(a) ** 2, a**2), (2.0 ** hearth.tensor(a), 2.0**a), (s @ t, i @ j),
                          (hearth.tensor(a) @ b, a @ b), (~(s > 0), ~(i > 0)), ((s > 0) & (s < 4), (i > 0) & (i < 4))):
            np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5, atol=1e-6)
            self.assertEqual(got.dtype == "bool", want.dtype == np.bool_)
        for other in ("x", None, [1, 2], object()):
            with self.assertRaises(TypeError):
                s + other

    def test_numpys_methods(self):
        x = random(2, 3, 4)
        t = hearth.tensor(x)
        for name, axis in (("sum", None), ("sum", 1), ("mean", (0, 2)), ("max", -1), ("min", None), ("prod", 0), ("var", 1),
                           ("std", None), ("argmax", 1), ("argmin", None), ("argmax", None)):
            with self.subTest(name, axis=axis):
                want = getattr(x, name)(axis=axis)
                np.testing.assert_allclose(np.asarray(getattr(t, name)(axis=axis)), want, rtol=1e-5, atol=1e-6)
                kept = getattr(t, name)(axis=axis, keepdims=True)
                np.testing.assert_allclose(np.asarray(kept), getattr(x, name)(axis=axis, keepdims=True), rtol=1e-5, atol=1e-6)
        for got, want in ((t.reshape(4, -1), x.reshape(4, -1)), (t.reshape((6, 4)), x.reshape(6, 4)), (t.T, x.T),
                          (t.mT, np.swapaxes(x, 1, 2)), (t.transpose(2, 0, 1), x.transpose(2, 0, 1)), (t.ravel(), x.ravel()),
                          (t.flatten(), x.ravel()), (t.permute(1, 0, 2), x.transpose(1, 0, 2)), (t[:1].squeeze(0), x[0]),
                          (t.unsqueeze(1), x[:, None]), (t.expand(5, 2, 3, 4), np.broadcast_to(x, (5, 2, 3, 4))),
                          (t.clip(-1, 0.5), x.clip(-1, 0.5)), (t.astype("int32"), x.astype("i4")), (t.cumsum(1), x.cumsum(1)),
                          ((t > 0).any(axis=0), (x > 0).any(axis=0)), ((t > -9).all(), np.bool_(True))):
            np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5, atol=1e-6)
        self.assertEqual((t.ndim, t.size, t.shape), (3, 24, (2, 3, 4)))

    def test_the_array_apis_names(self):
        x, y = random(3, 4), random(3, 4, seed=1)
        for got, want in ((hearth.sum(x), x.sum()), (hearth.mean(x, axis=0), x.mean(0)), (hearth.maximum(x, y), np.maximum(x, y)),
                          (hearth.where(x > 0, x, y), np.where(x > 0, x, y)), (hearth.concat([x, y], axis=1), np.concatenate([x, y], 1)),
                          (hearth.concat([x, y], axis=None), np.concatenate([x, y], None)), (hearth.stack([x, y]), np.stack([x, y])),
                          (hearth.flip(x), x[::-1, ::-1]), (hearth.roll(x, 2), np.roll(x, 2)), (hearth.roll(x, 1, axis=0), np.roll(x, 1, 0)),
                          (hearth.tile(x, (2, 1)), np.tile(x, (2, 1))), (hearth.repeat(x, 2, axis=1), np.repeat(x, 2, 1)),
                          (hearth.take(x, np.array([2, 0]), axis=0), x[[2, 0]]), (hearth.sort(x, axis=0), np.sort(x, 0)),
                          (hearth.argsort(x), np.argsort(x)), (hearth.zeros((2, 3)), np.zeros((2, 3), "f")), (hearth.ones(2), np.ones(2, "f")),
                          (hearth.full((2,), 7), np.full(2, 7)), (hearth.eye(3, k=1), np.eye(3, k=1, dtype="f")),
                          (hearth.arange(5), np.arange(5)), (hearth.arange(1, 10, 3), np.arange(1, 10, 3)),
                          (hearth.arange(5, 0, -2), np.arange(5, 0, -2)), (hearth.arange(0.0, 1, 0.25), np.arange(0, 1, 0.25, "f")),
                          (hearth.linspace(0, 1, 5), np.linspace(0, 1, 5, dtype="f")), (hearth.pow(x, 2), x**2),
                          (hearth.expand_dims(x, axis=1), x[:, None]), (hearth.broadcast_to(x, (2, 3, 4)), np.broadcast_to(x, (2, 3, 4))),
                          (hearth.permute_dims(x, (1, 0)), x.T), (hearth.matrix_transpose(x), x.T), (hearth.logical_not(x > 0), ~(x > 0)),
                          (hearth.cumulative_sum(x, axis=1), x.cumsum(1)), (hearth.zeros_like(x), np.zeros_like(x)), (hearth.abs(x), abs(x))):
            self.assertEqual(got.dtype, str(np.asarray(want).dtype))
            np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5, atol=1e-6)
        for got, want in zip(hearth.meshgrid(x[0], y[:, 0]), np.meshgrid(x[0], y[:, 0])):
            np.testing.assert_array_equal(np.asarray(got), want)

    def test_promotion_is_the_documents_table(self):
        # docs/sdk.md: bool < integers < floats; equal kinds take the wider; f16 with bf16 gives f32; i64 with u64 gives i64.
        for a, b, want in (("bool", "int8", "int8"), ("int8", "uint8", None), ("int32", "float32", "float32"),
                           ("int64", "float16", "float16"), ("float16", "bfloat16", "float32"), ("float32", "float64", "float64"),
                           ("int64", "uint64", "int64"), ("int16", "int32", "int32"), ("uint8", "uint32", "uint32")):
            got = (hearth.ones(2, dtype=a) + hearth.ones(2, dtype=b)).dtype
            if want:
                self.assertEqual(got, want, (a, b))
        half = hearth.ones(2, dtype="float16")
        for got, want in ((half + 1, "float16"), (half + 1.5, "float16"), (hearth.ones(2, dtype="int8") + 1, "int8"),
                          (hearth.ones(2, dtype="int8") + 1.5, "float32"), (hearth.ones(2, dtype="bool") + 1, None),
                          (half + np.float32(1), "float32")):
            if want:
                self.assertEqual(got.dtype, want)


class Indexing(Place):
    def test_numpys_indices(self):
        x = np.arange(60).reshape(3, 4, 5)
        lazy = hearth.tensor(x) * 1
        rows, mask = np.array([2, 0, -1]), x % 3 == 0
        for index in (0, -1, (1, 2, 3), slice(1, None), (slice(None, None, -1), 0), (..., 1), (0, ..., slice(1, 4, 2)), None,
                      (None, 0, None, slice(2)), rows, [1, 2], (rows, rows), (slice(None), rows), (rows, slice(None), rows),
                      (0, rows), (rows, 0), (slice(None), rows, rows[:, None]), (rows[:, None], rows), (None, rows), mask,
                      (1, mask[0]), (mask[:, 0, 0],), slice(5, 2), (slice(None), slice(-1, -3, -1)), (slice(-100, 100),),
                      (np.array(1),), (np.int64(2), rows), ()):
            with self.subTest(index=str(index)):
                want = x[index]
                got = lazy[index]
                self.assertEqual(got.shape, want.shape)
                np.testing.assert_array_equal(np.asarray(got), want)
                host = hearth.tensor(x)[index]
                np.testing.assert_array_equal(np.asarray(host), want)

    def test_indices_that_are_refused(self):
        t = hearth.tensor(random(3, 4))
        for index, kind, words in ((3, IndexError, "index 3 is out of bounds for axis 0 of length 3"),
                                   ((0, -5), IndexError, "index -5 is out of bounds for axis 1 of length 4"),
                                   ((0, 0, 0), ValueError, "3 indices for a tensor of 2 axes"),
                                   ((..., ...), ValueError, "... twice"), (1.5, ValueError, "an index is a tensor of float32"),
                                   (np.array([0, 9]), IndexError, "index 9 is out of bounds"),
                                   (np.zeros(4, bool), ValueError, "an index of bools has the shape [4]"),
                                   ((np.zeros(2, int), np.zeros(3, int)), ValueError, "do not broadcast"),
                                   (slice(None, None, 0), ValueError, "step")):
            with self.subTest(words), self.assertRaisesRegex(kind, words.replace("[", r"\[").replace("...", r"\.\.\.")):
                (t * 1)[index]

    def test_assignment_rebinds_one_name(self):
        x = random(3, 4)
        t = hearth.tensor(x)
        other = t * 1
        alias = t
        t[1] = 7
        x[1] = 7
        np.testing.assert_array_equal(t.numpy(), x)
        self.assertIs(alias, t)
        np.testing.assert_array_equal(other.numpy(), random(3, 4))  # nothing else sees it
        for index, value in (((0, 1), 5.0), (slice(None), 2), ((slice(None), [0, 2]), np.ones((3, 2), "f")),
                             ((..., -1), np.arange(3.0)), ((np.array([0, 2]), np.array([1, 1])), np.array([8.0, 9.0], "f")),
                             (x > 1.5, -1), ((slice(None, None, 2), slice(1, 3)), [[3.0, 4.0]])):
            t[index] = value
            x[index] = value
            np.testing.assert_array_equal(t.numpy(), x)
        with self.refused(ValueError, "expand"):
            t[0] = np.ones(3, "f")


@unittest.skipUnless(given, "hypothesis is not installed")
class Properties(Place):
    """Drawn cases, the same in every run, against numpy."""


if given:
    bounded = settings(max_examples=60, deadline=None, derandomize=True, database=None)
    shapes = hnp.array_shapes(min_dims=1, max_dims=3, max_side=4)

    def _indexing(self, data):
        shape = data.draw(shapes)
        index = data.draw(hnp.basic_indices(shape, allow_newaxis=True))
        x = np.arange(np.prod(shape)).reshape(shape)
        np.testing.assert_array_equal(np.asarray(hearth.tensor(x)[index]), x[index])

    def _lazy_indexing(self, data):
        shape = data.draw(shapes)
        index = data.draw(hnp.basic_indices(shape))
        x = np.arange(np.prod(shape)).reshape(shape)
        np.testing.assert_array_equal(np.asarray((hearth.tensor(x) * 1)[index]), x[index])

    def _integer_indexing(self, data):
        shape = data.draw(shapes)
        index = data.draw(hnp.integer_array_indices(shape, result_shape=hnp.array_shapes(max_dims=2, max_side=3)))
        x = np.arange(np.prod(shape)).reshape(shape)
        np.testing.assert_array_equal(np.asarray((hearth.tensor(x) * 1)[index]), x[index])

    def _broadcasting(self, data):
        pair = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
        a, b = (np.arange(np.prod(shape), dtype="i8").reshape(shape) + 1 for shape in pair.input_shapes)
        np.testing.assert_array_equal(np.asarray(hearth.tensor(a) * hearth.tensor(b)), a * b)

    def _promotion(self, data):
        kinds = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float16", "float32", "float64"]
        a, b = data.draw(st.sampled_from(kinds)), data.draw(st.sampled_from(kinds))
        same_kind = np.dtype(a).kind == np.dtype(b).kind
        if same_kind or {"b"} & {np.dtype(a).kind, np.dtype(b).kind}:  # where numpy and docs/sdk.md agree
            if a == b == "bool":
                return
            self.assertEqual((hearth.ones(1, dtype=a) + hearth.ones(1, dtype=b)).dtype, str(np.promote_types(a, b)))

    for _name, _check in (("indexing", _indexing), ("lazy_indexing", _lazy_indexing), ("integer_indexing", _integer_indexing),
                          ("broadcasting", _broadcasting), ("promotion", _promotion)):
        setattr(Properties, f"test_{_name}", bounded(given(data=st.data())(_check)))


class Weights(Place):
    def test_a_safetensors_file_is_mapped(self):
        from place import FOLDER
        import json
        import struct
        w = random(4, 3)
        header = json.dumps({"w": {"dtype": "F32", "shape": [4, 3], "data_offsets": [0, 48]}}).encode()
        header += b" " * (-len(header) % 8)
        path = FOLDER / "w.safetensors"
        path.write_bytes(struct.pack("<Q", len(header)) + header + w.tobytes())
        weights = hearth.safetensors(path)
        self.assertEqual(list(weights), ["w"])
        np.testing.assert_array_equal(weights["w"].numpy(), w)
        np.testing.assert_allclose((hearth.tensor(random(2, 4)) @ weights["w"]).numpy(), random(2, 4) @ w, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(weights["w"][1:].numpy(), w[1:])
        with self.refused(FileNotFoundError, "none.safetensors"):
            hearth.safetensors(FOLDER / "none.safetensors")
        path.write_bytes(b"nonsense")
        with self.refused(ValueError, "w.safetensors"):
            hearth.safetensors(path)

    def test_parameters_may_have_names(self):
        w = hearth.parameter(random(3), name="w")
        np.testing.assert_array_equal((w + 1).numpy(), random(3) + 1)
        other = hearth.parameter(random(3, seed=1), name="w")
        with self.refused(ValueError, "two parameters are named 'w'"):
            (w + other).evaluate()


if __name__ == "__main__":
    skipping.main()
