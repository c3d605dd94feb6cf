"""com.microsoft's quantised operators, as ONNX Runtime's quantiser writes them, beside the formulas of its documentation in
numpy and f64: quantised results within one step (two ways may round a tie apart), others within f32's rounding."""
import unittest

from place import F, Place, hearth, node, np, skipping

try:
    import onnx  # noqa: F401
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    skipping.skip_all(str(error))

TYPES = {np.dtype("uint8"): TensorProto.UINT8, np.dtype("int8"): TensorProto.INT8, np.dtype("float32"): TensorProto.FLOAT,
         np.dtype("int32"): TensorProto.INT32, np.dtype("int64"): TensorProto.INT64}  # fmt: skip
rng = np.random.default_rng(11)


def number(value):
    return np.float32(value)


def load(op, inputs, weights, attributes, outputs=1):
    """A function of `inputs` {name: array}; `weights` are constants; "" is an input that is left out."""
    names, given = [], {}
    for name, array in {**inputs, **weights}.items():
        names.append(name if array is not None else "")
        if array is not None:
            given[name] = np.asarray(array)
    names = [name for name in ORDER(op, names)]
    graph = helper.make_graph(
        [helper.make_node(op, names, [f"y{i}" for i in range(outputs)], domain="com.microsoft", **attributes)], "g",
        [helper.make_tensor_value_info(name, TYPES[given[name].dtype], given[name].shape) for name in inputs],
        [helper.make_empty_tensor_value_info(f"y{i}") for i in range(outputs)],
        [numpy_helper.from_array(given[name], name) for name in weights if weights[name] is not None])  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
    f = hearth.load(made.SerializeToString(), threads=1)
    out = f(*[given[name] for name in inputs])
    return [np.asarray(out)] if outputs == 1 else [np.asarray(one) for one in out]


def ORDER(op, names):
    """Inputs in the operator's order: given by their numbers in their names."""
    places = {int(name.split("_")[0][1:]): name for name in names if name}
    return [places.get(i, "") for i in range(max(places) + 1)]


def real(q, scale, zero):
    return (q.astype(np.float64) - float(zero)) * float(scale)


def steps(y, scale, zero):
    """Unrounded quantised values, in the range of the type."""
    info = np.iinfo(zero.dtype)
    return np.clip(y / float(scale) + float(zero), info.min, info.max)


def draw(dtype, *shape):
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def dynamic(x):
    """u8 values, scale and zero point that fit all of x, in f32 as the operator says."""
    low, high = np.minimum(x.min(), 0).astype(np.float32), np.maximum(x.max(), 0).astype(np.float32)
    scale = np.float32((high - low) / np.float32(255)) or np.float32(1)
    zero = np.clip(np.round(-low / scale), 0, 255).astype(np.uint8)
    return np.clip(np.round((x / scale).astype(np.float32)) + zero, 0, 255).astype(np.uint8), scale, zero


def dynamic_product(x, w, scale, zero):
    q, x_scale, x_zero = dynamic(x)
    return (q.astype(np.int64) - int(x_zero)) @ (w.astype(np.int64) - zero.astype(np.int64)) * (float(x_scale) * scale.astype(np.float64))


class Quantised(Place):
    def near(self, got, want):
        """Within one step of the unrounded value."""
        self.assertLessEqual(np.abs(got.astype(np.float64) - want).max(), 0.5 + 1e-3)

    def test_of_two_operands(self):
        for dtype in (np.uint8, np.int8):
            a, b = draw(dtype, 2, 3, 4), draw(dtype, 3, 4)
            za, zb, zy = dtype(7), dtype(100), dtype(3)
            weights = {"i1_": number(0.03), "i2_": za, "i4_": number(0.05), "i5_": zb, "i6_": number(0.1), "i7_": zy}
            for op, f in (("QLinearAdd", np.add), ("QLinearMul", np.multiply)):
                with self.subTest(op, dtype=dtype.__name__):
                    got, = load(op, {"i0_": a, "i3_": b}, weights, {})
                    self.assertEqual(got.dtype, a.dtype)
                    self.near(got, steps(f(real(a, 0.03, za), real(b, 0.05, zb)), number(0.1), zy))

    def test_of_one_operand(self):
        for dtype in (np.uint8, np.int8):
            x, zx, zy = draw(dtype, 2, 3, 5, 6), dtype(20), dtype(5)
            weights = {"i1_": number(0.04), "i2_": zx, "i3_": number(0.02), "i4_": zy}
            r = real(x, number(0.04), zx)
            e = np.exp(r - r.max(-1, keepdims=True))
            flat = r.reshape(6, 30)
            f = np.exp(flat - flat.max(-1, keepdims=True))
            padded = np.pad(r, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=np.nan)
            windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2]
            for op, attributes, want in (
                    ("QLinearLeakyRelu", {"alpha": 0.2}, np.where(r < 0, 0.2 * r, r)),
                    ("QLinearSigmoid", {}, sigmoid(r)),
                    ("QLinearSoftmax", {"axis": -1, "opset": 13}, e / e.sum(-1, keepdims=True)),
                    ("QLinearSoftmax", {"axis": 2, "opset": 12}, (f / f.sum(-1, keepdims=True)).reshape(r.shape)),
                    ("QLinearGlobalAveragePool", {"channels_last": 0}, r.mean((2, 3), keepdims=True)),
                    ("QLinearGlobalAveragePool", {"channels_last": 1}, r.mean((1, 2), keepdims=True)),
                    ("QLinearAveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}, np.nanmean(windows, (-1, -2))),
                    ("QLinearAveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2], "count_include_pad": 1},
                     np.nansum(windows, (-1, -2)) / 9)):  # fmt: skip
                with self.subTest(op, **attributes, dtype=dtype.__name__):
                    got, = load(op, {"i0_": x}, weights, attributes)
                    self.near(got, steps(want, number(0.02), zy))

    def test_concat(self):
        a, b = draw(np.uint8, 2, 3), draw(np.uint8, 2, 4)
        got, = load("QLinearConcat", {"i2_": a, "i5_": b},
                    {"i0_": number(0.05), "i1_": np.uint8(9), "i3_": number(0.03), "i4_": np.uint8(1), "i6_": number(0.05), "i7_": np.uint8(9)},
                    {"axis": 1})  # fmt: skip
        self.near(got[:, :3], steps(real(a, number(0.03), 1), number(0.05), np.uint8(9)))
        np.testing.assert_array_equal(got[:, 3:], b)  # of the same scale: as it is

    def test_gemm(self):
        a, b = draw(np.uint8, 4, 6), draw(np.int8, 5, 6)
        scale, zero, c = rng.uniform(0.01, 0.02, 5).astype(np.float32), draw(np.int8, 5), rng.integers(-99, 99, 5).astype(np.int32)
        exact = ((a.astype(np.int64) - 30) @ (b.astype(np.int64).T - zero) + c) * (0.5 * float(number(0.02)) * scale.astype(np.float64))
        weights = {"i1_": number(0.02), "i2_": np.uint8(30), "i3_": b, "i4_": scale, "i5_": zero, "i6_": c}
        got, = load("QGemm", {"i0_": a}, weights, {"alpha": 0.5, "transB": 1})
        np.testing.assert_allclose(got, exact, rtol=1e-5, atol=1e-4)
        got, = load("QGemm", {"i0_": a}, {**weights, "i7_": number(0.7), "i8_": np.uint8(128)}, {"alpha": 0.5, "transB": 1})
        self.near(got, steps(exact, number(0.7), np.uint8(128)))

    def test_products_to_floats(self):
        a, b = draw(np.uint8, 2, 4, 8), draw(np.int8, 8, 5)
        scale, zero, bias = rng.uniform(0.01, 0.02, 5).astype(np.float32), draw(np.int8, 5), rng.standard_normal(5).astype(np.float32)
        want = ((a.astype(np.int64) - 11) @ (b.astype(np.int64) - zero)) * (float(number(0.03)) * scale.astype(np.float64)) + bias
        got, = load("MatMulIntegerToFloat", {"i0_": a},
                    {"i1_": b, "i2_": number(0.03), "i3_": scale, "i4_": np.uint8(11), "i5_": zero, "i6_": bias}, {})  # fmt: skip
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-4)
        x = rng.standard_normal((2, 4, 8)).astype(np.float32)
        got, = load("DynamicQuantizeMatMul", {"i0_": x}, {"i1_": b, "i2_": scale, "i3_": zero, "i4_": bias}, {})
        np.testing.assert_allclose(got, dynamic_product(x, b, scale, zero) + bias, rtol=1e-4, atol=1e-4)

    def test_nothing_but_zeros_and_values_whose_scale_is_subnormal_are_no_division_by_zero(self):
        b = draw(np.int8, 8, 5)
        for value in (0, 1e-37, 1e-44):
            with self.subTest(value):
                x = np.full((3, 8), value, np.float32)
                got, = load("DynamicQuantizeMatMul", {"i0_": x}, {"i1_": b, "i2_": number(0.5)}, {})
                np.testing.assert_allclose(got, np.zeros((3, 5)), atol=1e-33)

    def test_attention(self):
        x, w = draw(np.uint8, 2, 3, 8), draw(np.int8, 8, 24)
        scale, bias = rng.uniform(0.001, 0.002, 24).astype(np.float32), rng.standard_normal(24).astype(np.float32)
        p = ((x.astype(np.int64) - 100) @ w.astype(np.int64)) * (float(number(0.02)) * scale.astype(np.float64)) + bias
        q, k, v = (part.reshape(2, 3, 2, 4).transpose(0, 2, 1, 3) for part in np.split(p, 3, -1))
        for causal in (0, 1):
            with self.subTest(causal=causal):
                s = q @ k.transpose(0, 1, 3, 2) / 2 + np.where(np.tri(3) > 0, 0, -np.inf if causal else 0)
                e = np.exp(s - s.max(-1, keepdims=True))
                want = (e / e.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3).reshape(2, 3, 8)
                got, = load("QAttention", {"i0_": x}, {"i1_": w, "i2_": bias, "i3_": number(0.02), "i4_": scale, "i6_": np.uint8(100)},
                            {"num_heads": 2, "unidirectional": causal})  # fmt: skip
                np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)

    def test_lstm_with_weights_in_bytes(self):
        t, n, i, h = 5, 1, 6, 4
        x = rng.standard_normal((t, n, i)).astype(np.float32)
        for directions, per_column in ((1, False), (1, True), (2, True)):
            with self.subTest(directions=directions, per_column=per_column):
                w, r = draw(np.int8, directions, i, 4 * h), draw(np.int8, directions, h, 4 * h)
                shape = (directions, 4 * h) if per_column else (directions,)
                ws, rs = (rng.uniform(0.005, 0.008, shape).astype(np.float32) for _ in range(2))
                wz, rz = (np.zeros(shape, np.int8) for _ in range(2))
                b = rng.standard_normal((directions, 8 * h)).astype(np.float32)
                y, yh, yc = load("DynamicQuantizeLSTM", {"i0_": x},
                                 {"i1_": w, "i2_": r, "i3_": b, "i8_": ws, "i9_": wz, "i10_": rs, "i11_": rz},
                                 {"hidden_size": h, "direction": "forward" if directions == 1 else "bidirectional"}, 3)  # fmt: skip
                for d in range(directions):
                    state, cell = np.zeros((n, h)), np.zeros((n, h))
                    shares = dynamic_product(x.reshape(t * n, i), w[d], ws[d], wz[d]).reshape(t, n, -1) + b[d, :4 * h] + b[d, 4 * h:]
                    for step in (range(t) if d == 0 else reversed(range(t))):
                        gates = shares[step] + dynamic_product(state.astype(np.float32), r[d], rs[d], rz[d])
                        gi, go, gf, gc = np.split(gates, 4, -1)
                        cell = sigmoid(gf) * cell + sigmoid(gi) * np.tanh(gc)
                        state = sigmoid(go) * np.tanh(cell)
                        # A value that rounds the other way changes a gate by a step of the state, 1/255 of its range.
                        np.testing.assert_allclose(y[step, d], state, atol=4e-3)
                    np.testing.assert_allclose(yh[d], state, atol=4e-3)
                    np.testing.assert_allclose(yc[d], cell, atol=8e-3)

    def test_products_by_blocks_whose_rows_are_in_another_order(self):
        n, k, block = 5, 64, 16
        for bits in (2, 4, 8):
            with self.subTest(bits):
                q, zero = rng.integers(0, 1 << bits, (n, k)), rng.integers(0, 1 << bits, (n, k // block))
                scale, group = rng.uniform(0.1, 0.2, (n, k // block)).astype(np.float32), rng.permutation(k).astype(np.int32) // block
                def packed(x):
                    per = 8 // bits
                    return (x.reshape(n, -1, per) << (bits * np.arange(per))).sum(-1).astype(np.uint8)
                x = rng.standard_normal((3, k)).astype(np.float32)
                got, = load("MatMulNBits", {"i0_": x}, {"i1_": packed(q).reshape(n, k // block, -1), "i2_": scale.reshape(-1),
                            "i3_": packed(zero).reshape(-1), "i4_": group}, {"K": k, "N": n, "bits": bits, "block_size": block})  # fmt: skip
                w = (q - zero[:, group]) * scale[:, group].astype(np.float64)
                np.testing.assert_allclose(got, x @ w.T, rtol=1e-4, atol=1e-3)
        with self.refused(ValueError, "g_idx (input 4) is int32[3]; expected 64 integers"):
            load("MatMulNBits", {"i0_": x}, {"i1_": packed(q).reshape(n, k // block, -1), "i2_": scale.reshape(-1), "i4_": np.zeros(3, np.int32)},
                 {"K": k, "N": n, "bits": bits, "block_size": block})

    def test_rows_of_a_table_in_blocks_are_picked_before_they_become_real_numbers(self):
        n, k, block = 5, 48, 16
        ids = np.array([[3, -1, 0], [5, 2, -6]])  # two are out of range: rows of zeros
        is_row = ((ids >= -n) & (ids < n))[..., None]
        for bits in (2, 4, 8):
            for has_zero in (False, True):
                with self.subTest(bits=bits, has_zero=has_zero):
                    q, zero = rng.integers(0, 1 << bits, (n, k)), rng.integers(0, 1 << bits, (n, k // block))
                    def packed(x):
                        per = 8 // bits
                        x = np.pad(x, ((0, 0), (0, -x.shape[-1] % per)))
                        return (x.reshape(n, -1, per) << (bits * np.arange(per))).sum(-1).astype(np.uint8)
                    scale = rng.uniform(0.1, 0.2, (n, k // block)).astype(np.float32)
                    weights = {"i0_": packed(q), "i2_": scale, **({"i3_": packed(zero)} if has_zero else {})}
                    got, = load("GatherBlockQuantized", {"i1_": ids}, weights, {"bits": bits, "block_size": block})
                    points = np.repeat(zero, block, 1) if has_zero else 1 << (bits - 1)
                    table = (q - points) * np.repeat(scale, block, 1).astype(np.float64)
                    np.testing.assert_allclose(got, table[ids % n] * is_row, rtol=1e-6)
        weights = {"i0_": packed(q), "i2_": scale}
        for attributes, words in (({"block_size": 15}, "block_size is 15; expected a power of two from 16 on"),
                                  ({"block_size": 0}, "block_size is 0; expected"),
                                  ({"bits": 3}, "bits is 3; expected 2, 4 or 8"),
                                  ({"gather_axis": 1}, "gather_axis is 1; rows of bytes are picked along axis 0"),
                                  ({"bits": 4, "quantize_axis": 0}, "are the same, along which a byte holds several"),
                                  ({"block_size": 32}, "scales is [5, 3]; expected [5, 2]")):
            with self.subTest(attributes), self.refused(ValueError, "GatherBlockQuantized", words):
                load("GatherBlockQuantized", {"i1_": ids}, weights, {"bits": 8, "block_size": block, **attributes})

    def test_bad_scales_are_named(self):
        x = draw(np.uint8, 2, 3)
        for scale, words in ((0, "is 0; expected a positive number"), (-1, "is -1; expected"), (np.nan, "is nan; expected")):
            with self.subTest(scale), self.refused(ValueError, "QLinearSigmoid", "the result's scale (input 3) " + words):
                load("QLinearSigmoid", {"i0_": x}, {"i1_": number(0.1), "i2_": np.uint8(0), "i3_": number(scale), "i4_": np.uint8(0)}, {})
        with self.refused(ValueError, "a scale (input 1) has shape [2]; expected one number"):
            load("QLinearSigmoid", {"i0_": x}, {"i1_": np.float32([1, 2]), "i2_": np.uint8(0), "i3_": number(1), "i4_": np.uint8(0)}, {})


if __name__ == "__main__":
    unittest.main(verbosity=2)
