#!/usr/bin/env python3
"""Weights stored as bf16 and int8 (--weights): the stored values bit by bit, whole small nets computed with them, what
plans hold, and what the commands say. Expected values are numpy's, from formulas of their own.
Exits with 77 (skipped) where Python's onnx is not installed."""
import json
import tempfile

from onnx_place import Place, np, onnx
from onnx import TensorProto, helper, numpy_helper

FORMS = ("bf16", "int8")


class ModelPlace(Place):
    def given(self, inputs):
        words = []
        for name, array in inputs.items():
            np.save(self.folder / f"{name}.npy", array)
            words += ["--input", f"{name}={self.folder / name}.npy"]
        return words

    def run(self, path, inputs, *words):
        """The output y, and what the command answers."""
        out = self.folder / "out"
        ran = self.hearth("run", path, *self.given(inputs), "--output-dir", out, "--json", *words)
        return np.load(out / "y.npy"), json.loads(ran.stdout), ran.stderr

    def save(self, name, nodes, inputs, shape, weights):
        kinds = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64}
        graph = helper.make_graph(
            nodes, name, [helper.make_tensor_value_info(n, kinds[a.dtype], a.shape) for n, a in inputs.items()],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
            [numpy_helper.from_array(array, n) for n, array in weights.items()])
        path = self.folder / f"{name}.onnx"
        onnx.save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), str(path))
        return path


# ---- What is stored ----

def bf16(w):
    """The nearer of the two neighbours that have 8 bits of significand, the even one of two equally near."""
    bits = w.view(np.uint32)
    below = (bits & np.uint32(0xffff0000)).view(np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        # One unit of the last kept bit further from zero; its power of two is that of the exponent field.
        unit = np.ldexp(1.0, np.maximum((bits >> 23 & 0xff).astype(np.int64), 1) - 127 - 7)
        low, exact = np.abs(below.astype(np.float64)), np.abs(w.astype(np.float64))
        from_low, from_high = exact - low, low + unit - exact
        is_odd = (bits >> 16 & 1) == 1
        up = (from_high < from_low) | ((from_high == from_low) & is_odd)
    stored = np.where(up, (bits & np.uint32(0xffff0000)) + np.uint32(0x10000), bits & np.uint32(0xffff0000))
    stored = np.where(np.isinf(w), bits, stored)
    return np.where(np.isnan(w), bits & np.uint32(0xffff0000) | np.uint32(0x400000), stored).astype(np.uint32).view(np.float32)


def int8(w, axis):
    """Units and the scale of each index along `axis`."""
    others = tuple(i for i in range(w.ndim) if i != axis)
    scale = np.abs(w).max(axis=others, keepdims=True) / np.float32(127)
    scale[scale < np.finfo(np.float32).tiny] = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        units = np.rint(w.astype(np.float64) / scale.astype(np.float64))
    return np.where(scale == 0, 0, units).astype(np.float32), scale


def narrowed(w, axis, form):
    if form == "bf16":
        return bf16(w).astype(np.float64)
    units, scale = int8(w, axis)
    return units.astype(np.float64) * scale.astype(np.float64)


def table_net(place, name, table):
    rows = np.arange(len(table), dtype=np.int64)
    path = place.save(name, [helper.make_node("Gather", ["table", "i"], ["y"])], {"i": rows}, table.shape, {"table": table})
    return path, {"i": rows}


def check_bf16_bits(place):
    random = np.random.default_rng(1)
    bits = random.integers(0, 1 << 32, (1024, 64), np.uint32)
    halves = random.integers(0, 1 << 16, bits[:256].shape, np.uint32) << np.uint32(16) | np.uint32(0x8000)
    bits[:256] = halves + random.integers(0, 3, halves.shape, np.uint32) - np.uint32(1)  # ties, and both sides of them
    bits[0, :8] = [0, 0x80000000, 0x7f800000, 0xff800000, 0x7f800001, 0xffc12345, 0x00000001, 0x80008000]
    too_large = (bits & 0x7fffffff > 0x7f7f7fff) & (bits & 0x7fffffff < 0x7f800000)
    bits[too_large] ^= np.uint32(0x40000000)
    table = bits.view(np.float32)
    path, inputs = table_net(place, "bits", table)
    got, answer, _ = place.run(path, inputs, "--weights", "bf16")
    assert answer["weights"]["tensors"] == 1 and answer["weights"]["stored_bytes"] == table.size * 2, answer
    wrong = np.flatnonzero(got.view(np.uint32) != bf16(table).view(np.uint32))
    assert len(wrong) == 0, [(hex(bits.flat[i]), hex(got.view(np.uint32).flat[i])) for i in wrong[:5]]


def check_int8_values(place):
    random = np.random.default_rng(2)
    table = (random.standard_normal((160, 40)) * np.exp(random.standard_normal((160, 1)) * 8)).astype(np.float32)
    table[3], table[4], table[5] = 0, 1e-41, [127] + [0.5, 1.5, -0.5, -2.5] * 9 + [0, -127, 3]  # units, also halves
    path, inputs = table_net(place, "units", table)
    got, answer, _ = place.run(path, inputs, "--weights", "int8")
    units, scale = int8(table, 0)
    np.testing.assert_array_equal(got, units * scale)
    error = np.abs(units.astype(np.float64) * scale - table).max() / np.abs(table).max()
    np.testing.assert_allclose(answer["weights"]["worst_error"], error, rtol=1e-6)
    assert answer["weights"]["stored_bytes"] == table.size + 160 * 4, answer


def check_kept(place):
    """What a form has no value for stays f32, by name."""
    for form, value in (("bf16", 3.4e38), ("int8", np.nan), ("int8", np.inf)):
        table = np.ones((128, 40), np.float32)
        table[7, 7] = value
        path, inputs = table_net(place, "kept", table)
        got, answer, said = place.run(path, inputs, "--weights", form)
        np.testing.assert_array_equal(got, table)
        assert answer["weights"]["kept_f32"] == ["table"] and answer["weights"]["tensors"] == 0, answer
        assert "f32 still" in said and "'table'" in said, said


# ---- Whole nets ----

def mlp(place):
    random = np.random.default_rng(3)
    weights = {"w": random.standard_normal((96, 160)), "v": random.standard_normal((64, 160)),
               "u": random.standard_normal((80, 64)), "b": random.standard_normal(64)}
    weights = {name: array.astype(np.float32) for name, array in weights.items()}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]),
             helper.make_node("Gemm", ["p", "v", "b"], ["g"], transB=1, alpha=0.5),
             helper.make_node("Transpose", ["g"], ["t"]),
             helper.make_node("MatMul", ["u", "t"], ["y"])]

    def wanted(inputs, form):
        p = inputs["x"] @ narrowed(weights["w"], 1, form)
        g = 0.5 * p @ narrowed(weights["v"], 0, form).T + weights["b"]
        return narrowed(weights["u"], 0, form) @ g.T

    inputs = {"x": random.standard_normal((5, 96)).astype(np.float32)}
    return place.save("mlp", nodes, inputs, [80, 5], weights), inputs, wanted, set()


def convolutions(place):
    random = np.random.default_rng(4)
    weights = {"w": random.standard_normal((64, 12, 3, 3)), "b": random.standard_normal(64),
               "g": random.standard_normal((64, 32, 3, 3)), "t": random.standard_normal((64, 32, 3, 3)),
               "tb": random.standard_normal(32), "d": random.standard_normal((32, 32, 3, 3))}
    weights = {name: array.astype(np.float32) for name, array in weights.items()}
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], kernel_shape=[3, 3]),
             helper.make_node("Conv", ["c", "g"], ["h"], kernel_shape=[3, 3], group=2),
             helper.make_node("ConvTranspose", ["h", "t", "tb"], ["k"], kernel_shape=[3, 3], strides=[2, 2]),
             helper.make_node("ConvTranspose", ["k", "d"], ["y"], kernel_shape=[3, 3], group=2)]

    def conv(x, w):
        windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(1, 2))
        return np.einsum("chwij,ocij->ohw", windows, w)

    def spread(x, w, stride):
        y = np.zeros((w.shape[1], (x.shape[1] - 1) * stride + w.shape[2], (x.shape[2] - 1) * stride + w.shape[3]))
        for i, j in np.ndindex(x.shape[1:]):
            y[:, i * stride:i * stride + w.shape[2], j * stride:j * stride + w.shape[3]] += np.einsum("c,coij->oij", x[:, i, j], w)
        return y

    def wanted(inputs, form):
        c = conv(inputs["x"][0], narrowed(weights["w"], 0, form)) + weights["b"][:, None, None]
        g = narrowed(weights["g"], 0, form)
        h = np.concatenate([conv(c[:32], g[:32]), conv(c[32:], g[32:])])
        k = spread(h, narrowed(weights["t"], 1, form), 2) + weights["tb"][:, None, None]
        d = bf16(weights["d"]).astype(np.float64)  # groups share the places of channels: never int8
        return np.concatenate([spread(k[:16], d[:16], 1), spread(k[16:], d[16:], 1)])[None]

    inputs = {"x": random.standard_normal((1, 12, 10, 11)).astype(np.float32)}
    return place.save("convolutions", nodes, inputs, [1, 64, 15, 17], weights), inputs, wanted, {"d"}


def tied(place):
    """A table that is also the last product's weights, as in GPT-2."""
    random = np.random.default_rng(5)
    table = random.standard_normal((300, 32)).astype(np.float32)
    nodes = [helper.make_node("Gather", ["table", "tokens"], ["rows"]), helper.make_node("Tanh", ["rows"], ["x"]),
             helper.make_node("Transpose", ["table"], ["t"], perm=[1, 0]), helper.make_node("MatMul", ["x", "t"], ["y"])]

    def wanted(inputs, form):
        stored = narrowed(table, 0, form)
        return np.tanh(stored[inputs["tokens"]]) @ stored.T

    inputs = {"tokens": np.array([[0, 299, 17], [5, 5, 8]], np.int64)}
    return place.save("tied", nodes, inputs, [2, 3, 300], {"table": table}), inputs, wanted, set()


def lstm(place):
    """Recurrent weights are bf16 in both forms."""
    random = np.random.default_rng(6)
    hidden, width, steps = 48, 24, 7
    weights = {"w": random.standard_normal((1, 4 * hidden, width)), "r": random.standard_normal((1, 4 * hidden, hidden)) / 4}
    weights = {name: array.astype(np.float32) for name, array in weights.items()}
    nodes = [helper.make_node("LSTM", ["x", "w", "r"], ["s"], hidden_size=hidden),
             helper.make_node("Squeeze", ["s", "one"], ["y"])]

    def wanted(inputs, form):
        w, r = (bf16(weights[name])[0].astype(np.float64) for name in ("w", "r"))
        sigmoid = lambda v: 1 / (1 + np.exp(-v))
        h = c = np.zeros((2, hidden))
        rows = []
        for x in inputs["x"]:
            i, o, f, g = np.split(x @ w.T + h @ r.T, 4, axis=1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            rows.append(h)
        return np.stack(rows)

    inputs = {"x": random.standard_normal((steps, 2, width)).astype(np.float32)}
    path = place.save("lstm", nodes, inputs, [steps, 2, hidden], weights | {"one": np.array([1], np.int64)})
    return path, inputs, wanted, {"w", "r"}


def check_nets(place):
    for make in (mlp, convolutions, tied, lstm):
        path, inputs, wanted, always_bf16 = make(place)
        f32, answer, said = place.run(path, inputs)
        assert "weights" not in answer and "weights" not in said, said
        same, also, _ = place.run(path, inputs, "--weights", "f32")
        assert also["plan_key"] == answer["plan_key"] and (same == f32).all(), "asking for f32 changes something"
        for form in FORMS:
            got, answer, said = place.run(path, inputs, "--weights", form, "--compare-f32")
            expected = wanted(inputs, form)
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * np.abs(expected).max(), err_msg=f"{path} {form}")
            assert answer["plan_key"] != also["plan_key"]
            apart = np.abs(got.astype(np.float64) - f32).max() / np.abs(f32).max()
            assert apart > 1e-4, "narrow weights change nothing"
            np.testing.assert_allclose(answer["outputs"][0]["difference_from_f32"], apart, rtol=1e-6)
            assert f"weights: {form}, " in said, said
            check_plan(place, path, form, always_bf16)


def check_plan(place, path, form, always_bf16):
    """Nothing in the plan file's memory holds a large weight as f32, as it is or packed (with up to a tenth of padding)."""
    plan = place.folder / "m.hearth"
    place.hearth("export", path, "--weights", form, "-o", plan)
    memory = json.loads(place.hearth("inspect", plan, "--json").stdout)["memory"]
    most = 0
    for initializer in onnx.load(path).graph.initializer:
        array = numpy_helper.to_array(initializer)
        is_bf16 = form == "bf16" or initializer.name in always_bf16
        if initializer.name == "t" and array.ndim == 4:  # 3 x 3 taps of a stride of 2 are those of 4 phases of 2 x 2
            array = np.zeros(array.shape[:2] + (4, 4), array.dtype)
        most += array.nbytes if array.size < 4096 else array.size * (2 if is_bf16 else 1) * 1.1 + array.shape[0] * 4
    for kind in ("parameter_bytes", "persistent_bytes"):
        assert memory[kind] <= most + 1024, f"{path} {form}: {kind} {memory[kind]}, expected {most:.0f} at most"


# ---- What the commands say ----

def check_commands(place):
    path, inputs, wanted, _ = mlp(place)
    given = place.given(inputs)
    for words in (("explain", path), ("prewarm", path), ("onnx", "check", path), ("tune", path, "--budget", "0.01")):
        assert "weights: int8, " in place.hearth(*words, "--weights", "int8").stderr, words
    said = place.hearth("run", path, *given, "--weights", "bf16", "--compare-f32").stdout
    assert "output y differs from what f32 weights give by 0." in said and " % of its largest value" in said, said
    plan, out = place.folder / "m.hearth", place.folder / "out"
    place.hearth("export", path, "--weights", "int8", "-o", plan, "--no-parameters")
    refused = place.hearth("run", plan, *given, "--parameters", path, code=1).stderr
    assert "--weights" in refused and "/int8'" in refused, refused
    place.hearth("run", plan, *given, "--parameters", path, "--weights", "int8", "--output-dir", out)
    expected = wanted(inputs, "int8")
    np.testing.assert_allclose(np.load(out / "y.npy"), expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    for words in (("--weights", "int4"), ("--compare-f32",)):
        assert "--" in place.hearth("run", path, *given, *words, code=2).stderr
    place.hearth("export", path, "-o", plan)
    assert "was exported" in place.hearth("run", plan, *given, "--weights", "bf16", code=2).stderr


def main():
    with tempfile.TemporaryDirectory() as folder:
        place = ModelPlace(folder)
        try:
            check_bf16_bits(place)
            check_int8_values(place)
            check_kept(place)
            check_nets(place)
            check_commands(place)
        finally:
            place.hearth("daemon", "stop")
    print("narrow weights: stored values, whole nets, plans, commands")


if __name__ == "__main__":
    main()
