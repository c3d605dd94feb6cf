"""The functions of the array API standard against numpy: in several types, shapes and axes, as they are and in a trace."""
import itertools
import pickle
import sys
import unittest

from place import ROOT, Place, hearth, np, random, skipping

try:
    import torch
except ImportError:
    torch = None
ops = hearth.ops
F = np.float32
V = np.arange(12).reshape(3, 4)


class Api(Place):
    def check(self, got, want, exact=False):
        if isinstance(want, (tuple, list)):
            self.assertEqual(len(got), len(want))
            for one, right in zip(got, want):
                self.check(one, right, exact)
            return
        got, want = np.asarray(got), np.asarray(want)
        self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
        if exact:
            np.testing.assert_array_equal(got, want)
        else:
            np.testing.assert_allclose(got, want, rtol=1e-5 if got.dtype == F else 1e-9, atol=1e-6 if got.dtype == F else 1e-12)


class Types(Api):
    def test_types_equal_numpys_torchs_and_their_names(self):
        for name in ("bool", "int8", "int64", "uint8", "uint64", "float16", "float32", "float64"):
            kind, t = getattr(hearth, name), hearth.tensor([1], name)
            numpys = np.dtype(name)
            for other in (name, numpys, numpys.type, kind, *([getattr(torch, name)] if hasattr(torch, name) else [])):
                for one in (kind, t.dtype, hearth.evaluate(t)._value("").dtype):
                    self.assertTrue(one == other and other == one and not one != other, (one, other))
                self.assertEqual(hearth.zeros(2, dtype=other).dtype, kind)
            self.assertEqual(np.zeros(2, kind).dtype, numpys)
            self.assertEqual((str(kind), repr(kind), kind.itemsize), (name, f"hearth.{name}", numpys.itemsize))
            self.assertIs(pickle.loads(pickle.dumps(kind)), kind)
            self.assertEqual({kind: 1}[name], 1)
        for other in (np.float64, "float64", float, None, 3, np.ones(2), object()):
            self.assertFalse(hearth.float32 == other) if not isinstance(other, np.ndarray) else None
        self.assertEqual(np.dtype(hearth.float32), np.float32)

    def test_promotion_is_that_of_the_standard(self):
        names = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
        for a, b in itertools.product(names, names):
            floats = [n.startswith("float") for n in (a, b)]
            mixed = floats[0] != floats[1] or ("bool" in (a, b)) != (a == b == "bool") or \
                {"uint64"} & {a, b} and any(n.startswith("int") for n in (a, b))
            if mixed:
                with self.refused(TypeError, "no type in common"):
                    hearth.result_type(a, b)
                self.assertEqual(hearth.can_cast(a, b), False)
            else:
                self.assertEqual(hearth.result_type(a, b), np.result_type(a, b))
                self.assertEqual(hearth.can_cast(a, b), np.can_cast(a, b))
        self.assertEqual(hearth.finfo("float32").eps, np.finfo("f").eps)
        self.assertEqual(hearth.finfo(hearth.ones(2)).max, float(np.finfo("f").max))
        self.assertEqual((hearth.iinfo("uint16").max, hearth.iinfo("int64").min), (65535, -(2**63)))
        self.assertTrue(hearth.isdtype(hearth.int8, ("bool", "signed integer")))
        self.assertFalse(hearth.isdtype(hearth.int8, "real floating"))
        with self.refused(ValueError, "expected a dtype, or one of 'bool'"):
            hearth.isdtype("int8", "integer")

    def test_the_package_is_the_namespace_of_its_tensors(self):
        t = hearth.ones(2)
        self.assertIs(t.__array_namespace__(), hearth)
        with self.refused(ValueError, "expected '2024.12' or earlier"):
            t.__array_namespace__(api_version="2030.12")
        info = hearth.__array_namespace_info__()
        self.assertEqual(info.default_dtypes()["real floating"], hearth.float32)
        self.assertEqual(info.dtypes(kind="signed integer"), {f"int{n}": getattr(hearth, f"int{n}") for n in (8, 16, 32, 64)})
        self.assertEqual((t.device, t.to_device("cpu") is t), ("cpu", True))


class Stubs(unittest.TestCase):
    def test_stubs_are_those_of_the_signatures(self):
        sys.path.insert(0, str(ROOT / "python/ops"))
        import make_array_api

        for name, made in make_array_api.FILES.items():
            self.assertEqual((ROOT / "python/hearth" / name).read_text(), made(), f"{name}: python/ops/make_array_api.py makes it")


class Elementwise(Api):
    def test_functions_of_one_array(self):
        x = np.array([0.0, -0.0, 1, -1, 0.5, 1e-8, -1e-8, 3.7, -3.2, 40, np.inf, -np.inf, np.nan, 1e-30], F)
        with np.errstate(all="ignore"):
            for kind in (F, np.float64):
                v = x.astype(kind)
                for name in ("isfinite", "isinf", "isnan", "expm1", "signbit", "log1p", "sign", "positive", "logical_not",
                             "real", "conj"):
                    with self.subTest(name, kind=kind):
                        got = getattr(hearth, name)(v).numpy()
                        self.check(got, getattr(np, name)(v))
                        if got.dtype == kind:
                            np.testing.assert_array_equal(np.signbit(got[:7]), np.signbit(getattr(np, name)(v)[:7]))
                v = np.array([1e-30, 1, 10, 1000, 12345.6, np.inf], kind)
                self.check(hearth.log10(v), np.log10(v))
        for kind in ("int8", "uint16", "int64", "bool"):
            v = np.array([0, 1, 3]).astype(kind)
            for name in ("isfinite", "isinf", "isnan", "signbit", "logical_not") if kind != "bool" else ("isfinite", "isnan"):
                if name != "signbit":
                    self.check(getattr(hearth, name)(v), getattr(np, name)(v))
        self.check(hearth.signbit(np.array([-3, 0, 4])), [True, False, False])
        self.check(hearth.bitwise_invert(np.array([True, False])), [False, True])

    def test_functions_of_two_arrays(self):
        a = np.array([3.0, 1e30, -1e30, np.inf, np.nan, 0, -0.0, 1e-40, -2, 7, 0, 5], F)
        b = np.array([4.0, 1e30, 3, np.nan, np.inf, 0, 5, -1, -2, -3, -np.inf, np.inf], F)
        with np.errstate(all="ignore"):
            for name in ("hypot", "logaddexp", "nextafter", "floor_divide", "remainder"):
                for x, y in ((a, b), (b, a), (a.astype("f8"), b.astype("f8")), (a[:, None][:3], b)):
                    if name == "hypot" and x.dtype == F:
                        want = np.hypot(x.astype("f8"), y.astype("f8")).astype(F)
                    else:
                        want = getattr(np, name)(x, y)
                    if name in ("floor_divide", "remainder"):  # the standard leaves inf // y open
                        fine = np.isfinite(x) & np.ones_like(y, bool) & (np.abs(x) < 1e20)
                        self.check(np.asarray(getattr(hearth, name)(x, y))[fine], want[fine])
                    else:
                        with self.subTest(name, kind=x.dtype):
                            self.check(getattr(hearth, name)(x, y), want)
        ints = (np.array([2, 1, 0, 0]), np.array([1, 0, 2, 0]))
        for name in ("logical_and", "logical_or", "logical_xor"):
            for x, y in (ints, (a[:4], b[:4]), (ints[0] > 0, ints[1]), (ints[0], 2), (False, ints[1])):
                self.check(getattr(hearth, name)(x, y), getattr(np, name)(x, y))

    def test_clip_with_one_bound(self):
        x = random(5)
        self.check(hearth.clip(x, min=0), x.clip(min=0))
        self.check(hearth.clip(x, max=0.5), x.clip(max=F(0.5)))
        self.check(hearth.clip(x, -0.5, 0.5), x.clip(-0.5, 0.5))
        self.check(hearth.clip(x), x)
        self.check(hearth.clip(V, 3, max=np.array([4, 5, 6, 7])), V.clip(3, [4, 5, 6, 7]))

    def test_where_of_two_numbers(self):
        c = np.array([True, False])
        self.check(hearth.where(c, 1, 0), np.where(c, 1, 0))
        self.check(hearth.where(c, 1, 0.5), np.where(c, 1, 0.5).astype(F))
        self.check(hearth.where(c, True, False), c)


class Making(Api):
    def test_arange(self):
        for start, stop, step in ((0, 10, 1), (2, 10, 3), (10, 2, -3), (5, 5, 1), (5, 2, 1), (-3, 3, 2)):
            self.check(hearth.arange(start, stop, step), np.arange(start, stop, step))
        self.check(hearth.arange(0.5, 3.0, dtype="int64"), np.arange(0.5, 3.0).astype("i8"))
        self.check(hearth.arange(0.0, 1.0, 0.3), np.arange(0.0, 1.0, 0.3).astype(F))
        self.check(hearth.arange(3, dtype=np.uint8), np.arange(3, dtype="u1"))

    def test_arange_of_lengths(self):
        for start, stop, step in ((0, 0, 1), (2, 0, 1), (0, 0, 2), (2, 0, 2), (-2, 0, 1), (-3, 1, 4), (1, -3, 3)):
            def f(x):
                return hearth.arange(start, x.shape[0] + stop, step)
            jitted = hearth.jit(f, dims={"x": {0: hearth.Dim("n", 8, 12)}})
            for n in (8, 10, 12):
                self.check(jitted(np.zeros(n, F)), np.arange(start, n + stop, step))
        down = hearth.jit(lambda x: hearth.arange(x.shape[0], 1, -2, dtype="float32"), dims={"x": {0: hearth.Dim("n", 4, 9)}})
        self.check(down(np.zeros(7, F)), np.arange(7, 1, -2).astype(F))
        with self.refused(ValueError, "may be less than 0"):
            hearth.jit(lambda x: hearth.arange(9, x.shape[0]), dims={"x": {0: hearth.Dim("n", 4, 12)}})(np.zeros(10, F))
        with self.refused(ValueError, "step is 0"):
            hearth.arange(0, 4, 0)

    def test_others(self):
        self.check(hearth.linspace(0, 1, 7, endpoint=False), np.linspace(0, 1, 7, endpoint=False).astype(F))
        self.check(hearth.linspace(-3, 5, 9, dtype="float64"), np.linspace(-3, 5, 9))
        self.check(hearth.linspace(0, 10, 5, dtype="int64"), np.linspace(0, 10, 5).astype("i8"))
        self.check(hearth.ones(2, 3), np.ones((2, 3), F))
        self.check(hearth.empty((2,), dtype="int32"), np.zeros(2, "i4"))
        self.check(hearth.eye(3, 4, k=2**70), np.eye(3, 4, k=4).astype(F))
        t = hearth.ones(3)
        self.assertIs(hearth.asarray(t), t)
        self.assertIs(hearth.asarray(t, copy=False), t)
        u = hearth.asarray(t, copy=True)
        t[0] = 5
        self.check(u, np.ones(3, F))
        with self.refused(ValueError, "copy=False"):
            hearth.asarray(np.ones(3), copy=False)
        big = hearth.zeros(2, dtype="float64")
        big[0] = 3825218114052146.0  # not by way of float32
        self.assertEqual(big.tolist(), [3825218114052146.0, 0.0])


class Moving(Api):
    def test_against_numpy(self):
        x, y = random(2, 3, 4), random(2, 1, 4, seed=1)
        cases = (  # numpy's arguments where they are others
            ("moveaxis", (x, 0, -1), (x, 0, -1)), ("moveaxis", (x, (0, 1), (2, 0)), (x, (0, 1), (2, 0))),
            ("swapaxes", (x, 0, 2), (x, 0, 2)), ("tile", (x, (2, 1)), (x, (2, 1))), ("tile", (x[0, 0], (2, 1, 2)), None),
            ("expand_dims", (x, -2), None), ("squeeze", (y, 1), None), ("squeeze", (y, ()), (y, ())), ("squeeze", (y,), None),
            ("broadcast_arrays", (x, y), None), ("split", (V, 3), None), ("split", (V, [1, 3], 1), None),
        )
        for name, args, same in cases:
            want = getattr(np, name)(*(args if same is None else same))
            self.check(getattr(hearth, name)(*args), want)
        self.check(hearth.unstack(V, axis=1), [V[:, i] for i in range(4)])
        self.check(hearth.diff(V, axis=0), np.diff(V, axis=0))
        self.check(hearth.diff(x, n=2, prepend=y[..., :1].repeat(3, 1)), np.diff(x, n=2, prepend=y[..., :1].repeat(3, 1)))
        self.check(hearth.repeat(V, np.array([1, 0, 2]), axis=0), np.repeat(V, [1, 0, 2], axis=0))
        self.check(hearth.repeat(V, 2), np.repeat(V, 2))
        self.check(hearth.concat([V.astype("i1"), V.astype("u1")]), np.concatenate([V.astype("i1"), V.astype("u1")]))

    def test_roll_of_several_shifts(self):
        for shift, axis in ((1, None), ((1, 2), 0), (1, (0, 1)), ((1, 2), (0, 1)), (-3, 1), ((1, 2, 3), (0, 1, 0)), (0, ())):
            self.check(hearth.roll(V, shift, axis=axis), np.roll(V, shift, axis=axis))
        with self.refused(TypeError, "2 shifts without an axis"):
            hearth.roll(V, (1, 2))
        for call in (lambda: hearth.expand_dims(V, 3), lambda: hearth.moveaxis(V, 2, 0), lambda: hearth.unstack(V, axis=-3)):
            with self.refused(IndexError, "of an array of"):
                call()
        with self.refused(TypeError, "2 shifts along 3 axes"):
            hearth.roll(V, (1, 2), axis=(0, 1, 0))

    def test_take(self):
        for axis, index in ((0, [1, -1]), (1, [[0, 3], [2, 2]]), (-1, []), (1, [3])):
            index = np.array(index, "i8")
            self.check(hearth.take(V, index, axis=axis), np.take(V, index, axis=axis))
            self.check(hearth.jit(lambda v, i: hearth.take(v, i, axis=axis))(V, index), np.take(V, index, axis=axis))
        self.check(hearth.take(V[0], [0, 2]), V[0][[0, 2]])
        with self.refused(TypeError, "of 2 axes; give axis="):
            hearth.take(V, np.array([1, 0]))
        for i in (4, -5):
            with self.refused(IndexError, f"index {i} is out of bounds for axis 1 of length 4"):
                hearth.take(V, np.array([i]), axis=1)
            with self.refused(IndexError, f"index {i}"):
                hearth.take_along_axis(V, np.array([[i]]), axis=1)
        self.check(hearth.take_along_axis(V, np.array([[1, -1]]), axis=1), np.take_along_axis(V, np.array([[1, -1]]), 1))

    def test_index_arrays_around_an_ellipsis(self):
        x = random(3, 4, 5, 2)
        i, j, m = np.array([0, 2]), np.array([1, 3]), np.array([True, False, True, False, True])
        for index in (np.s_[:, i, ..., j % 2], np.s_[:, i, j, ...], np.s_[i, ..., j % 2], np.s_[..., i, j % 2], np.s_[:, i, ..., j, :],
                      np.s_[..., m, :], np.s_[i, :, m[:5].nonzero()[0][:2]], np.s_[1, ..., j % 2], np.s_[i, ..., 1],
                      np.s_[..., None, j % 2], np.s_[:, j, ..., 0], np.s_[i, j, ..., None]):
            self.check(hearth.tensor(x)[index], x[index])
            self.check(hearth.jit(lambda v: v[index])(x), x[index]) if not any(one is m for one in index) else None
            t, w = hearth.tensor(x), x.copy()
            t[index] = 7.5
            w[index] = 7.5
            self.check(t, w)
        for x, m in ((np.ones((), F), np.array(True)), (np.ones(3, F), np.array(False)), (np.ones((2, 3), F), np.zeros((2, 3), bool)),
                     (np.ones((0, 3), F), np.zeros(0, bool))):
            self.check(hearth.tensor(x)[hearth.tensor(m)], x[m])
        for index in (([5], 0), (np.ones(2, bool),), (0, 0, 0, 0, 0)):
            with self.assertRaises(IndexError):
                hearth.tensor(V)[index]


class Reducing(Api):
    def test_over_no_axis(self):
        for x in (np.array([[1, 0, 3], [4, 5, 6]], F), np.array([[1, 0], [2, 3]], "i4"), np.array([True, False]), np.float64(2.5)):
            x = np.asarray(x)
            for name in ("sum", "prod", "max", "min", "any", "all", "mean", "var", "std"):
                if x.dtype == bool and name in ("max", "min"):
                    continue
                want = getattr(np, name)(x, axis=())
                want = want.astype(F) if x.dtype.kind != "f" and name in ("mean", "var", "std") else want
                want = want.astype("i8") if x.dtype.kind in "bi" and name in ("sum", "prod") else want
                self.check(getattr(hearth, name)(x, axis=()), want)
                self.check(getattr(hearth.tensor(x), name)(axis=()), want)

    def test_integers_are_summed_in_64_bits(self):
        for kind in ("int8", "int16", "int32", "uint8", "uint32", "bool"):
            x = np.array([[100, 100, 100], [1, 0, 127]]).astype(kind) if kind != "bool" else np.array([[True, True], [True, False]])
            x = x if kind in ("int8", "uint8", "bool") else x * np.dtype(kind).type(np.iinfo(kind).max // 128)
            wide = x.astype("u8" if kind.startswith("u") else "i8")
            for axis in (None, 0, 1, (0, 1)):
                self.check(hearth.sum(x, axis=axis), wide.sum(axis=axis))
                self.check(hearth.prod(x, axis=axis), wide.prod(axis=axis))
            self.check(hearth.cumulative_sum(x, axis=1), wide.cumsum(1))
            self.check(hearth.cumulative_prod(x, axis=0), wide.cumprod(0))
            self.check(hearth.sum(x, dtype="float32"), x.sum(dtype=F))
        self.check(hearth.cumulative_sum(np.arange(3), include_initial=True), [0, 0, 1, 3])
        with self.refused(TypeError, "give axis="):
            hearth.cumulative_sum(V)
        with self.refused(TypeError, "without axes"):
            hearth.cumulative_sum(np.float32(1))

    def test_of_nothing_and_of_too_few(self):
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for x, axis in ((np.zeros((0, 3), F), 0), (np.zeros((2, 0), F), None), (np.ones((2, 1), F), 1)):
                for name, more in (("mean", {}), ("var", {"correction": 1}), ("std", {"correction": 1.5})):
                    if name == "mean" and x.size:
                        continue
                    words = {"ddof": more["correction"]} if more else {}
                    got = getattr(hearth, name)(x, axis=axis, **more)
                    self.assertEqual(np.isnan(got.numpy()).all(), True)
                    self.assertEqual(got.shape, np.shape(getattr(np, name)(x, axis=axis, **words)))
        self.check(hearth.var(V.astype(F), axis=1, correction=1.5), V.astype(F).var(1) * 4 / F(2.5))

    def test_numpys_and_torchs_words(self):
        x = random(3, 4)
        t = hearth.tensor(x)
        self.check(t.sum(dim=0, keepdim=True), x.sum(0, keepdims=True))
        self.check(t.max(dim=1), x.max(1))
        self.check(np.mean(t), x.mean())
        self.check(np.sum(t, axis=1), x.sum(1))
        self.check(t.var(axis=0, ddof=1), x.var(0, ddof=1))
        with self.refused(TypeError, "axis and dim are the same"):
            t.sum(axis=0, dim=1)

    def test_searching_and_sets(self):
        x = np.array([[3, 1, 3], [0, 0, 2]])
        self.check(hearth.count_nonzero(x, axis=1), np.count_nonzero(x, axis=1))
        self.check(hearth.nonzero(x), np.nonzero(x))
        values, index, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
        self.check(hearth.unique_all(x), (values, index, inverse.reshape(x.shape), counts))
        self.check(hearth.unique_values(np.array([np.nan, np.nan, 1.0])), np.array([1.0, np.nan, np.nan]))
        for side in ("left", "right"):
            self.check(hearth.searchsorted(np.array([1, 3, 3, 5]), x, side=side), np.searchsorted([1, 3, 3, 5], x, side))
        self.check(hearth.isin(x, np.array([0, 3])), np.isin(x, [0, 3]))
        with self.refused(hearth.TraceError, "nonzero() needs a tensor's value"):
            hearth.jit(lambda v: hearth.nonzero(v)[0])(x)


class Views(Api):
    def test_values_are_not_written_through_a_view(self):
        base = np.arange(12, dtype=F).reshape(3, 4)
        t = hearth.tensor(base)
        other, later = hearth.tensor(t), t + 1
        view = np.asarray(t, copy=False)
        with self.assertRaises(ValueError):
            view[0, 0] = -5
        with self.assertRaises(ValueError):
            view.flags.writeable = True
        with self.assertRaises(BufferError):
            t.__dlpack__(copy=False)
        copied = np.from_dlpack(t)
        copied[0, 0] = -5
        for one, want in ((t, base), (other, base), (later, base + 1)):
            self.check(one, want)

    @unittest.skipUnless(torch, "torch is not installed")
    def test_torch_views_that_negate_their_memory(self):
        z = torch.complex(torch.arange(12.0).reshape(3, 4), torch.arange(12.0).reshape(3, 4) + 1)
        for x in (z.conj().imag, z.conj().imag[1], z.conj().imag.T, -torch._neg_view(torch.arange(3.0))):
            want = x.resolve_neg().numpy()
            self.check(hearth.tensor(x), want)
            self.check(hearth.jit(lambda v: v + 1)(x).numpy(), want + 1)
            self.check(hearth.ones(()) * x, want)
            self.check(hearth.jit(lambda v: v + x)(np.zeros_like(want)), want)
            t = hearth.zeros(want.shape)
            t[...] = x
            self.check(t, want)


if __name__ == "__main__":
    skipping.main()
