#!/usr/bin/env python3
"""Runs hearth-c-abi-program, a C program that calls every function of the C ABI, against a daemon of its own."""
import pathlib
import subprocess
import sys
import tempfile

import onnx_place
from onnx import TensorProto, helper

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def relu_of_any_length(path):
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "relu",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])])
    onnx_place.onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


with tempfile.TemporaryDirectory() as folder:
    place = onnx_place.Place(folder)
    relu_of_any_length(place.folder / "relu.onnx")
    place.hearth("daemon", "start")
    try:
        ran = subprocess.run([onnx_place.BIN / "hearth-c-abi-program", EXAMPLES / "digits/digits.onnx",
                              place.folder / "relu.onnx", place.folder / "s.sock", place.folder],
                             env=place.environment, capture_output=True, text=True, timeout=300, check=False)
    finally:
        place.hearth("daemon", "stop")
    sys.stdout.write(ran.stdout + ran.stderr)
    sys.exit(0 if ran.returncode == 0 and ran.stdout == "ok\n" else 1)
