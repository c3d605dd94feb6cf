"""ONNX models of products, attention and decoding in several precisions, for run.sh: nothing in them but the operator.

    python3 make_models.py FOLDER      # product_f16_4096.onnx, ...; needs onnx; a few hundred bytes each
"""
import pathlib
import sys

import onnx
from onnx import TensorProto, helper

TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
# Rows, depth, columns: large, thin ones of a decoder's step, and with nothing that divides evenly.
PRODUCTS = {"4096": (4096, 4096, 4096), "8192": (8192, 8192, 8192), "thin_16": (16, 8192, 8192),
            "thin_1": (1, 8192, 8192), "odd": (1111, 2047, 3001)}
# Batch times heads, queries, keys, width of a head.
ATTENTIONS = {"t2048": (32, 2048, 2048, 128), "decode": (32, 1, 4096, 128)}


def save(folder, name, nodes, inputs, output):
    values = [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs]
    graph = helper.make_graph(nodes, name, values, [helper.make_tensor_value_info(*output)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, folder / f"{name}.onnx")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for text, dtype in TYPES.items():
        for size, (m, k, n) in PRODUCTS.items():
            if text == "f32" and size != "4096":
                continue
            save(folder, f"product_{text}_{size}", [helper.make_node("MatMul", ["x", "w"], ["y"])],
                 [("x", dtype, [m, k]), ("w", dtype, [k, n])], ("y", dtype, [m, n]))
        if text == "f32":
            continue
        for name, (heads, queries, keys, width) in ATTENTIONS.items():
            nodes = [helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
                     helper.make_node("MatMul", ["q", "kt"], ["s"]),
                     helper.make_node("Softmax", ["s"], ["p"], axis=-1),
                     helper.make_node("MatMul", ["p", "v"], ["y"])]
            save(folder, f"attention_{text}_{name}", nodes,
                 [("q", dtype, [heads, queries, width]), ("k", dtype, [heads, keys, width]),
                  ("v", dtype, [heads, keys, width])], ("y", dtype, [heads, queries, width]))


if __name__ == "__main__":
    main()
