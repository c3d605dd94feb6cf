"""Element types that models only store: what they decode to and what is rounded to them, beside ml_dtypes' own casts, and
arrays of them as numpy has them, in calls, weights, constants and plan files."""
import pickle
import subprocess
import unittest

from place import BIN, F, FOLDER, H, I, Place, hearth, model, node, np, skipping

try:
    import ml_dtypes
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    skipping.skip_all(str(error))

TYPES = {  # ONNX's name: ml_dtypes'
    "INT4": "int4", "UINT4": "uint4", "INT2": "int2", "UINT2": "uint2", "FLOAT4E2M1": "float4_e2m1fn",
    "FLOAT6E2M3": "float6_e2m3fn", "FLOAT6E3M2": "float6_e3m2fn", "FLOAT8E8M0": "float8_e8m0fnu",
    "FLOAT8E4M3FNUZ": "float8_e4m3fnuz", "FLOAT8E5M2FNUZ": "float8_e5m2fnuz",
}  # fmt: skip
BITS = {"INT4": 4, "UINT4": 4, "INT2": 2, "UINT2": 2, "FLOAT4E2M1": 4, "FLOAT6E2M3": 6, "FLOAT6E3M2": 6}
FLOATS = [name for name in TYPES if name.startswith("FLOAT") and name != "FLOAT8E8M0"]


def type_of(name):
    return np.dtype(getattr(ml_dtypes, TYPES[name]))


def number(name):
    return getattr(TensorProto, name)


def all_codes(name):
    return np.arange(1 << BITS.get(name, 8), dtype=np.uint8)


def packed_bits(codes, bits):
    """As ONNX files have them: the lowest bits of a byte first."""
    stream = (codes[:, None] >> np.arange(bits)) & 1
    return np.packbits(stream.reshape(-1).astype(np.uint8), bitorder="little").tobytes()


def cast(name, shape, source="FLOAT", **attributes):
    """A function that casts to the type."""
    made = helper.make_model(
        helper.make_graph([helper.make_node("Cast", ["x"], ["y"], to=number(name), **attributes)], "g",
                          [helper.make_tensor_value_info("x", number(source), shape)],
                          [helper.make_tensor_value_info("y", number(name), shape)]),
        opset_imports=[helper.make_opsetid("", 28)], ir_version=10)  # fmt: skip
    return hearth.load(made.SerializeToString(), threads=1)


class StorageTypes(Place):
    def test_every_code_decodes_to_its_number(self):
        for name in TYPES:
            with self.subTest(name):
                codes = all_codes(name)
                want = codes.view(type_of(name)).astype(np.float32)
                f = cast("FLOAT", [len(codes)], name)
                self.assertEqual([v.dtype for v in f.inputs], [TYPES[name]])
                np.testing.assert_array_equal(f(codes.view(type_of(name))), want)
                np.testing.assert_array_equal(f(codes), want)  # codes as bytes

    def test_floats_are_rounded_as_ml_dtypes_rounds_them(self):
        halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
        for name in FLOATS:
            with self.subTest(name):
                numbers = all_codes(name).view(type_of(name)).astype(np.float32)
                numbers = np.unique(numbers[np.isfinite(numbers)])
                ties = ((numbers[1:].astype(np.float64) + numbers[:-1]) / 2).astype(np.float32)
                edges = np.concatenate([np.nextafter(ties, np.float32(-np.inf)), ties, np.nextafter(ties, np.float32(np.inf))])
                x = np.concatenate([halves, numbers, edges, np.float32([3e38, -3e38, 1e-45, -1e-45, 5e-39])])
                x = x[~(np.isnan(x) & np.signbit(x))] if name in BITS else x  # no NaN there: ml_dtypes' zero has a sign of its own
                got = cast(name, list(x.shape))(x)
                self.assertEqual(got.dtype, type_of(name))
                if name.startswith("FLOAT8"):  # without bounds, what is beyond is NaN
                    loose = cast(name, list(x.shape), saturate=0)(x)
                    np.testing.assert_array_equal(loose.view(np.uint8), x.astype(type_of(name)).view(np.uint8))
                    x = np.clip(x, numbers[0], numbers[-1])
                np.testing.assert_array_equal(got.view(np.uint8), x.astype(type_of(name)).view(np.uint8))

    def test_integers_keep_their_lowest_bits(self):
        x = np.arange(-130, 300, dtype=np.int32)
        for name in ("INT4", "UINT4", "INT2", "UINT2"):
            with self.subTest(name):
                got = cast(name, list(x.shape), "INT32")(x)
                self.assertEqual(got.dtype, type_of(name))
                np.testing.assert_array_equal(got.view(np.uint8), (x & ((1 << BITS[name]) - 1)).astype(np.uint8))
                # Floats towards zero.
                np.testing.assert_array_equal(cast(name, [3])(np.float32([1.9, 0.5, 1])).astype(np.int32), [1, 0, 1])

    def test_powers_of_two_by_every_rounding(self):
        x = np.float32([1, 1.25, 1.5, 1.75, 2, 2.0**-127, 1.2 * 2.0**-127, 1.5 * 2.0**-127, 2.0**-126, 3e38, 1.1, 1e-3])
        for mode, want in (("up", [127, 128, 128, 128, 128, 0, 1, 1, 1, 254, 128, 118]),
                           ("down", [127, 127, 127, 127, 128, 0, 0, 0, 1, 254, 127, 117]),
                           ("nearest", [127, 127, 128, 128, 128, 0, 0, 1, 1, 254, 127, 117])):  # fmt: skip
            with self.subTest(mode):
                got = cast("FLOAT8E8M0", [len(x)], round_mode=mode)(x).view(np.uint8)
                np.testing.assert_array_equal(got, want)
        special = np.float32([np.nan, -1, np.inf, 0])
        np.testing.assert_array_equal(cast("FLOAT8E8M0", [4])(special).view(np.uint8), [255, 255, 254, 0])
        loose = cast("FLOAT8E8M0", [4], saturate=0, round_mode="nearest")(special).view(np.uint8)
        np.testing.assert_array_equal(loose, [255, 255, 255, 255])

    def test_packed_weights_of_odd_counts_move_and_decode(self):
        rng = np.random.default_rng(3)
        for name in TYPES:
            for count in (5, 8199):  # known while importing; packed in the model
                with self.subTest(name, count=count):
                    codes = rng.integers(0, 1 << BITS.get(name, 8), (3, count), np.uint8)
                    w = codes.view(type_of(name))
                    graph = helper.make_graph(
                        [helper.make_node("Transpose", ["w"], ["t"]), helper.make_node("Slice", ["t", "one", "end"], ["s"]),
                         helper.make_node("Gather", ["s", "at"], ["g"], axis=1), helper.make_node("Concat", ["g", "g"], ["c"], axis=1),
                         helper.make_node("Reshape", ["c", "flat"], ["y"]), helper.make_node("Cast", ["y"], ["z"], to=1)], "g",
                        [helper.make_tensor_value_info("at", TensorProto.INT64, [2])],
                        [helper.make_tensor_value_info("y", number(name), None), helper.make_tensor_value_info("z", 1, None)],
                        [numpy_helper.from_array(w, "w"), numpy_helper.from_array(np.int64([1]), "one"),
                         numpy_helper.from_array(np.int64([count]), "end"), numpy_helper.from_array(np.int64([-1]), "flat")])  # fmt: skip
                    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=10)
                    y, z = hearth.load(made.SerializeToString(), threads=1)(np.int64([2, 0]))
                    want = np.concatenate([codes.T[1:][:, [2, 0]]] * 2, 1).reshape(-1)
                    self.assertEqual(y.dtype, type_of(name))
                    np.testing.assert_array_equal(y.view(np.uint8), want)
                    np.testing.assert_array_equal(z, want.view(type_of(name)).astype(np.float32))

    def test_quantised_weights_by_blocks_multiply_as_numpy_says(self):
        rng = np.random.default_rng(4)
        x = rng.standard_normal((2, 64)).astype(np.float32)
        scale = rng.uniform(0.1, 0.2, (4, 32)).astype(np.float32)
        for name in ("INT4", "UINT4", "INT2", "FLOAT4E2M1", "FLOAT8E4M3FNUZ"):
            with self.subTest(name):
                codes = rng.integers(0, 1 << BITS.get(name, 8), (64, 32), np.uint8)
                codes[codes == 0x80] = 0  # NaN
                w = codes.view(type_of(name))
                made = model([node("DequantizeLinear", ["w", "scale"], ["d"], axis=0, block_size=16), node("MatMul", ["x", "d"], ["y"])],
                             {"x": (F, [2, 64])}, {"y": F}, weights={"scale": scale})  # fmt: skip
                made.graph.initializer.append(numpy_helper.from_array(w, "w"))
                del made.opset_import[:]
                made.opset_import.append(helper.make_opsetid("", 25))
                got = self.load(made)(x)
                want = x.astype(np.float64) @ (w.astype(np.float64) * np.repeat(scale, 16, 0))
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)

    def test_the_command_line_takes_raw_bytes_of_each_type(self):
        for name in [*TYPES, "BFLOAT16"]:
            with self.subTest(name):
                is_stored = name in TYPES
                codes = all_codes(name) if is_stored else np.arange(0x3F00, 0x4000, dtype=np.uint16)
                dtype = type_of(name) if is_stored else np.dtype(ml_dtypes.bfloat16)
                shape = f"{dtype}:2x{len(codes) // 2}"
                raw, path = FOLDER / f"{name}.bin", FOLDER / f"{name}.onnx"
                raw.write_bytes(packed_bits(codes, BITS.get(name, 8)) if is_stored else codes.tobytes())
                there = helper.make_node("Cast", ["x"], ["h"], to=number("FLOAT"))
                back = helper.make_node("Cast", ["h"], ["y"], to=number(name))
                ends = [helper.make_tensor_value_info(end, number(name), [2, len(codes) // 2]) for end in "xy"]
                values = codes.view(dtype).astype(np.float32)
                nodes = [there, back] if np.isfinite(values).all() else [helper.make_node("Identity", ["x"], ["y"])]
                onnx.save(helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:]),
                                            opset_imports=[helper.make_opsetid("", 28)], ir_version=10), path)  # fmt: skip
                def run(input, expect):
                    return subprocess.run([BIN / "hearth", "run", path, "--input", f"x={raw}:{input}", "--expect", f"y={raw}:{expect}"],
                                          capture_output=True, text=True)  # fmt: skip
                ran = run(shape, shape)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                if is_stored:
                    other = "uint4" if name == "INT4" else "int4" if BITS.get(name) == 4 else "uint2" if name == "INT2" else "int2"
                    if BITS.get(name, 8) == BITS.get(other.upper()):
                        wrong = run(f"{other}:2x{len(codes) // 2}", shape)
                        self.assertEqual(wrong.returncode, 1)
                        self.assertIn(f"input 'x' has type {dtype} but --input gives {other}", wrong.stderr)

    def test_a_plan_file_and_a_copy_know_the_types(self):
        f = cast("INT4", [4])
        f.save(FOLDER / "int4.hearth")
        x = np.float32([1, -2, 7, -8])
        for g in (pickle.loads(pickle.dumps(f)), hearth.load(FOLDER / "int4.hearth")):
            self.assertEqual([v.dtype for v in g.outputs], ["int4"])
            np.testing.assert_array_equal(g(x).astype(np.int8), x.astype(np.int8))

    def test_what_is_of_another_type_is_refused_by_name(self):
        f = cast("FLOAT", [3], "INT4")
        with self.refused(ValueError, "input 'x' is uint4 [3]; expected int4"):
            f(np.zeros(3, ml_dtypes.uint4))
        g = hearth.load(model([node("Relu", ["x"], ["y"])], {"x": (F, [3])}, {"y": F}).SerializeToString())
        with self.refused(ValueError, "input 'x' is int4 [3]; expected float32"):
            g(np.zeros(3, ml_dtypes.int4))
        added = cast("INT4", [3])
        graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"], name="sum")], "g",
                                  [helper.make_tensor_value_info("x", TensorProto.INT4, [3])],
                                  [helper.make_tensor_value_info("y", TensorProto.INT4, [3])])  # fmt: skip
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=10)
        with self.refused(hearth.Unimplemented, "node 'sum'", "int4", "insert a Cast"):
            hearth.load(made.SerializeToString())
        self.assertEqual(added.outputs[0].dtype, "int4")

    def test_weights_of_a_wrong_size_are_refused(self):
        graph = helper.make_graph([helper.make_node("Cast", ["w"], ["y"], to=1)], "g", [],
                                  [helper.make_tensor_value_info("y", 1, None)],
                                  [numpy_helper.from_array(np.zeros(5, ml_dtypes.int4), "w")])  # fmt: skip
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=10)
        made.graph.initializer[0].raw_data = b"\x00\x00"
        with self.refused(ValueError, "tensor 'w' of shape [5] needs 3 bytes of data but has 2"):
            hearth.load(made.SerializeToString())
        # Bits behind the last element say nothing.
        made.graph.initializer[0].raw_data = b"\x21\x43\xf5"
        np.testing.assert_array_equal(hearth.load(made.SerializeToString())(), [1, 2, 3, 4, 5])


if __name__ == "__main__":
    unittest.main(verbosity=2)
