"""What users of torch and numpy type first: it does what they mean, or the error names ours. torch and numpy are the judges."""
import unittest

from place import Place, hearth, np, random, skipping

try:
    import torch
except ImportError:
    torch = None
F = np.float32
X = random(2, 3, 4)


class Words(Place):
    def check(self, got, want):
        if isinstance(want, (tuple, list)):
            self.assertEqual(len(got), len(want))
            for one, right in zip(got, want):
                self.check(one, right)
            return
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-5, atol=1e-6)
        self.assertEqual(np.shape(got), np.shape(want))

    @unittest.skipUnless(torch, "torch is not installed")
    def test_torchs_methods(self):
        calls = {
            "relu": (), "sigmoid": (), "exp": (), "sqrt": (), "rsqrt": (), "abs": (), "round": (), "tanh": (), "erf": (), "sign": (),
            "softmax": (-1,), "log_softmax": (1,), "view": (4, 6), "size": (), "numel": (), "t": None, "split": (2, 2), "chunk": (3, 2),
            "topk": (2,), "clamp": (-0.5, 0.5), "contiguous": (), "detach": (), "clone": (), "half": (), "float": (), "double": (), "long": (),
            "transpose": (0, 1), "swapaxes": (0, 2), "swapdims": (1, 2), "movedim": (0, 2), "permute": (2, 0, 1), "flatten": (1,),
            "unsqueeze": (1,), "squeeze": (), "sort": (), "argsort": (), "unbind": (), "cumsum": (1,), "norm": (), "add": (1,), "sub": (2,),
            "mul": (3,), "div": (2,), "eq": (0,), "lt": (0,), "maximum": (None,), "pow": (2,), "roll": (1, 0), "flip": (0, 1), "amax": (1,),
            "square": (), "reciprocal": (), "isnan": (), "floor": (), "dim": (), "expand_as": None, "tril": (), "logsumexp": (1,),
            "repeat_interleave": (2, 1), "mean": (), "sum": (0,),
        }  # fmt: skip
        x = np.abs(X) + 0.1
        for name, args in calls.items():
            if args is None:
                continue
            args = tuple(x[::-1].copy() if one is None else one for one in args)
            want = getattr(torch.from_numpy(x), name)(*(torch.from_numpy(one) if isinstance(one, np.ndarray) else one for one in args))
            with self.subTest(name):
                got = getattr(hearth.tensor(x), name)(*args)
                if isinstance(want, torch.Tensor):
                    self.assertEqual(got.dtype, want.dtype)
                self.check(got, want)
        words = (("softmax", {"dim": 1}), ("sum", {"dim": 1, "keepdim": True}), ("mean", {"dim": (0, 2)}), ("argmax", {"dim": 0}),
                 ("split", {"dim": 1}, [1, 2]), ("chunk", {"dim": 1}, 2), ("topk", {"dim": 1, "largest": False}, 2),
                 ("clamp", {"min": 0.5}), ("clamp", {"max": 0.5}), ("sort", {"dim": 0, "descending": True}), ("cumsum", {"dim": 0}),
                 ("norm", {"dim": 1, "keepdim": True}), ("flatten", {"start_dim": 0, "end_dim": 1}), ("size", {"dim": 1}),
                 ("unsqueeze", {"dim": -1}), ("flip", {"dims": (0,)}))  # fmt: skip
        for name, kwargs, *args in words:
            with self.subTest(name, **kwargs):
                self.check(getattr(hearth.tensor(x), name)(*args, **kwargs), getattr(torch.from_numpy(x), name)(*args, **kwargs))
        t, w = hearth.tensor(X[0]), torch.from_numpy(X[0])
        i = np.array([[0, 1, 2, 1]])
        self.check(t.gather(0, i), w.gather(0, torch.from_numpy(i)))
        self.check(t.index_select(1, np.array([3, 0])), w.index_select(1, torch.tensor([3, 0])))
        self.check(t.masked_fill(t > 0, -1.0), w.masked_fill(w > 0, -1.0))
        self.check(t.t(), w.t())
        self.check(t.transpose(0, 1), w.transpose(0, 1))  # of a matrix, too
        self.check(t.mm(t.T), w.mm(w.T))
        self.check(t.to("float16").to(np.float32).to(torch.float64).to("cpu"), w.half().double())
        self.check(t.view(torch.int32), w.view(torch.int32))
        self.assertEqual((t.size(), t.size(0), t.size, t.size + 1), ((3, 4), 3, 12, 13))

    @unittest.skipUnless(torch, "torch is not installed")
    def test_parameters_of_a_torch_module(self):
        layer = torch.nn.Linear(4, 3)
        w, b = (hearth.parameter(one, name) for name, one in layer.named_parameters())
        self.check(hearth.jit(lambda x: hearth.ops.linear(x, w, b))(X), layer(torch.from_numpy(X)).detach().numpy())

    def test_numpys_functions(self):
        t = hearth.tensor(X)
        for name, *args in (("sin",), ("exp",), ("abs",), ("mean",), ("sum",), ("max",), ("add", 1), ("maximum", 0.5), ("power", 2), ("isnan",)):
            with self.subTest(name):
                got = getattr(np, name)(t, *args)
                self.assertIsInstance(got, hearth.Tensor)
                self.check(got, getattr(np, name)(X, *args))
                self.check(hearth.jit(lambda v: getattr(np, name)(v, *args))(X), getattr(np, name)(X, *args))
        self.check(np.ones(4, F) + t, X + 1)
        self.check(np.float32(2) * t, X * 2)
        for call in (lambda: np.add.reduce(t), lambda: np.sin(t, out=np.zeros_like(X)), lambda: np.ldexp(t, 2)):
            with self.refused(TypeError, "of a hearth.Tensor is not computed; use a function of hearth, or numpy.asarray(t)"):
                call()
        for name, args, want in (
            ("concatenate", ([X, X], ), np.concatenate([X, X])), ("cat", ([X, X],), np.concatenate([X, X])), ("array", (X,), X),
            ("cumsum", (X,), X.cumsum()), ("cumsum", (X, 1), X.cumsum(1)), ("transpose", (X,), X.T), ("transpose", (X, (1, 0, 2)), X.transpose(1, 0, 2)),
            ("dot", (X[0], X[0].T), X[0] @ X[0].T), ("einsum", ("bij,bkj->bik", X, X), np.einsum("bij,bkj->bik", X, X)), ("relu", (X,), X.clip(0)),
            ("arctan2", (X, X), np.arctan2(X, X)), ("rsqrt", (np.abs(X),), np.abs(X) ** -0.5), ("absolute", (X,), np.abs(X)), ("swapaxes", (X, 0, 1), X.swapaxes(0, 1)),
        ):
            with self.subTest(name):
                self.check(getattr(hearth, name)(*args), want)
        self.check(hearth.ops.einsum("ij,kj->ik", X[0], X[1]), X[0] @ X[1].T)
        self.check(hearth.ops.einsum("ij,kj->ik", [X[0], X[1]]), X[0] @ X[1].T)

    def test_what_is_not_there_names_ours(self):
        t = hearth.tensor(X)
        for name, words in (("cuda", 'device="cuda"'), ("backward", "no gradients"), ("add_", "x = x.add(...)"), ("relu_", "x = x.relu(...)"),
                            ("scater", "did you mean"), ("layer_norm", "use hearth.ops.layer_norm(x, ...)"), ("vecdot", "no attribute 'vecdot'"),
                            ("soft_max", "did you mean 'softmax'?")):
            with self.subTest(name), self.assertRaisesRegex(AttributeError, "(?s)^'hearth.Tensor' has no attribute.*"):
                getattr(t, name)
            with self.subTest(name):
                try:
                    getattr(t, name)
                except AttributeError as error:
                    self.assertIn(words, str(error))
        with self.assertRaisesRegex(AttributeError, "use hearth.repeat or hearth.tile"):
            t.repeat(2)
        for name, words in (("random", "hearth.ops.random_key"), ("nn", "hearth.ops: linear"), ("InferenceSession", "hearth.load"),
                            ("concatt", "did you mean 'concat'"), ("complex64", "complex types")):
            with self.subTest(name), self.assertRaisesRegex(AttributeError, words):
                getattr(hearth, name)
        self.assertFalse(hasattr(t, "nothing"))
        self.assertFalse(hasattr(hearth, "nothing"))
        with self.refused(TypeError, "use hearth.tensor(data)"):
            hearth.Tensor([1, 2])

    def test_types_are_written_one_way(self):
        with self.refused(ValueError, "dtype is float32") as refused:
            hearth.tensor(X) & hearth.tensor(X)
        self.assertNotIn("f32", str(refused.error))
        with self.refused(ValueError, "argument 'key' is int64 []"):
            hearth.ops.random_normal((2,), 0)
        self.assertIn("INPUT 'v' float32 [2, 3, 4]", hearth.trace(lambda v: v + 1, X).graph.summary())
        self.assertEqual(hearth._errors.spelled("'f32' f32 [i8, f32] x.f32 \"u8\" u8"), "'f32' float32 [int8, float32] x.f32 \"u8\" uint8")

    def test_printing_and_iterating_compute_once(self):
        misses = lambda: hearth._hearth.evaluate_stats()[1]  # noqa: E731
        t = hearth.tensor(X[0]) * 3.25
        before = misses()
        rows = list(t)
        self.check(rows, list(X[0] * F(3.25)))
        self.assertEqual(misses(), before + 1)
        u = hearth.tensor(X[0]) * 7.125
        self.assertEqual(repr(u), repr(hearth.tensor((X[0] * F(7.125)))))
        self.assertTrue(u.is_evaluated)
        self.assertEqual(f"{hearth.tensor(2.5) + 1:.2f}", "3.50")
        self.assertEqual(f"{hearth.tensor(2.5)}", "hearth.Tensor(float32, [], 2.5)")
        seen = []
        hearth.jit(lambda v: seen.append(repr(v)) or v + 1)(X)
        self.assertEqual(seen, ["hearth.Tensor(float32, [2, 3, 4])"])

    def test_one_number_for_all_spatial_axes(self):
        x, w = random(1, 2, 6, 6), random(3, 2, 3, 3, seed=1)
        want = hearth.ops.conv(x, w, pads_begin=[1, 1], pads_end=[1, 1], strides=[2, 2]).numpy()
        self.check(hearth.ops.conv(x, w, pads_begin=1, pads_end=1, strides=2), want)
        self.check(hearth.ops.conv(x, w, pads=1, strides=2), want)
        self.check(hearth.ops.conv(x, w, padding=(1, 1), strides=2), want)
        self.check(hearth.ops.max_pool(x, kernel=2), hearth.ops.max_pool(x, kernel=[2, 2]))
        x, w = x[..., 0], w[..., 0]
        self.check(hearth.ops.conv(x, w, pads=1), hearth.ops.conv(x, w, pads_begin=[1], pads_end=[1]))
        with self.refused(TypeError, "is given by pads, too"):
            hearth.ops.conv(x, w, pads_begin=1, pads=1)
        with self.refused(TypeError, "there is no argument 'pads'"):
            hearth.ops.relu(x, pads=1)


if __name__ == "__main__":
    skipping.main()
