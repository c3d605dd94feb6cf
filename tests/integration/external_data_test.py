#!/usr/bin/env python3
"""Models whose weights are in files beside them, as onnx.save_model writes them, through every command that takes a
model; and more than 2 GiB of weights, at an offset beyond 4 GiB. Expected values are numpy's.
Exits with 77 (skipped) where Python's onnx is not installed."""
import json
import tempfile

from onnx_place import Place, np, onnx
from onnx import TensorProto, helper, numpy_helper


def model():
    """y = relu(x @ w + b)[:, picked], w and b of several types."""
    random = np.random.default_rng(0)
    w, b = random.standard_normal((64, 96)).astype(np.float16), random.standard_normal(96)
    picked = np.array([5, 0, 95], np.int64)
    nodes = [
        helper.make_node("Cast", ["w"], ["w32"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["b"], ["b32"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["x", "w32"], ["p"]),
        helper.make_node("Add", ["p", "b32"], ["s"]),
        helper.make_node("Relu", ["s"], ["r"]),
        helper.make_node("Constant", [], ["picked"], value=numpy_helper.from_array(picked, "picked")),
        helper.make_node("Gather", ["r", "picked"], ["y"], axis=1),
    ]
    graph = helper.make_graph(
        nodes, "test", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])],
        [numpy_helper.from_array(w, "w"), numpy_helper.from_array(b, "b")])
    x = random.standard_normal((4, 64)).astype(np.float32)
    y = np.maximum(x @ w.astype(np.float32) + b.astype(np.float32), 0)[:, picked]
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), x, y


def check_commands(place):
    proto, x, wanted = model()
    np.save(place.folder / "x.npy", x)
    for i, options in enumerate([{"all_tensors_to_one_file": True, "location": "weights.bin"},
                                 {"all_tensors_to_one_file": False},
                                 {"all_tensors_to_one_file": True, "location": "weights.bin", "convert_attribute": True}]):
        folder = place.folder / f"model{i}"
        folder.mkdir()
        path = folder / "m.onnx"
        onnx.save_model(model()[0], str(path), save_as_external_data=True, size_threshold=0, **options)
        assert len(list(folder.iterdir())) > 1, "nothing was saved outside of the model"
        given = ["--input", f"x={place.folder}/x.npy"]

        def check(*words):
            out = place.folder / "out"
            place.hearth("run", *words, *given, "--output-dir", out)
            np.testing.assert_allclose(np.load(out / "y.npy"), wanted, rtol=1e-4, atol=1e-4)

        check(path)
        with open(path, "rb") as stream:
            told = place.hearth("run", "-", *given, code=1, stdin=stream).stderr
            assert "standard input has no folder to look for the file in; give the model as a file" in told, told
        place.hearth("onnx", "check", path)
        place.hearth("explain", path, *given)
        place.hearth("prewarm", path, "--dim", "batch=4")
        place.hearth("tune", path, *given, "--budget", "0.01")
        inspected = json.loads(place.hearth("inspect", path, "--json").stdout)
        assert sum(inspected["external_files"].values()) >= 64 * 96 * 2 + 96 * 8, inspected
        plan = folder / "m.hearth"
        place.hearth("export", path, "--dim", "batch=4", "-o", plan)
        check(plan)
        place.hearth("export", path, "--dim", "batch=4", "-o", plan, "--no-parameters")
        check(plan, "--parameters", path)
        for file in folder.iterdir():
            if file.suffix not in (".onnx", ".hearth"):
                file.unlink()
        ran = place.hearth("run", path, *given, code=1)
        assert "cannot be opened" in ran.stderr and "m.onnx" in ran.stderr, ran.stderr


def check_large(place):
    """3 GiB of weights, nearly all of them zeros that no disk has, behind 5 GiB of nothing."""
    rows, width, offset = 3 << 20, 256, 5 << 30
    row = np.arange(width, dtype=np.float32)
    with open(place.folder / "large.bin", "wb") as file:
        file.truncate(offset + rows * width * 4)
        file.seek(offset + (rows - 1) * width * 4)
        file.write(row.tobytes())
    table = TensorProto(name="table", data_type=TensorProto.FLOAT, dims=[rows, width], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": "large.bin", "offset": offset, "length": rows * width * 4}.items():
        table.external_data.add(key=key, value=str(value))
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "i"], ["y"])], "large",
        [helper.make_tensor_value_info("i", TensorProto.INT64, [2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, width])], [table])
    path = place.folder / "large.onnx"
    onnx.save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), str(path))
    np.save(place.folder / "i.npy", np.array([rows - 1, 7], np.int64))
    place.hearth("run", path, "--input", f"i={place.folder}/i.npy", "--output-dir", place.folder / "large")
    got = np.load(place.folder / "large" / "y.npy")
    assert (got[0] == row).all() and (got[1] == 0).all(), got


def main():
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder)
        try:
            check_commands(place)
            check_large(place)
        finally:
            place.hearth("daemon", "stop")
    print("external data: every command, several files, more than 2 GiB")


if __name__ == "__main__":
    main()
