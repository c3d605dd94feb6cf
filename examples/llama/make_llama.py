#!/usr/bin/python3
"""Writes a small decoder of the Llama kind with random weights as ONNX Runtime's generator has language models:
GroupQueryAttention over a cache of keys and values, weights in f32 or in blocks of 4 bits.

    make_llama.py llama.onnx [--bits 32|4] [--layers 6] [--width 768] [--vocabulary 8000]

Inputs: tokens [1, seq] and mask [1, total] (i64), past_key.N and past_value.N [1, key heads, past, head size]; total is
past + seq. Outputs: logits [1, seq, vocabulary], present.N. Seeded: the same file on every machine. Needs numpy and
onnx (python3-numpy, python3-onnx).
"""
import argparse
import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HEAD, BLOCK, MOST = 64, 32, 4096  # the size of a head, weights that share a scale, positions of the rotation's tables


class Writer:
    def __init__(self, bits, seed):
        self.bits, self.random = bits, np.random.default_rng(seed)
        self.nodes, self.weights = [], []

    def constant(self, name, array):
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, op, inputs, outputs=None, domain="", **attributes):
        outputs = outputs or [f"v{len(self.nodes)}"]
        self.nodes.append(helper.make_node(op, inputs, outputs, domain=domain, **attributes))
        return outputs[0]

    def norm(self, x, width, name):
        scale = self.constant(name, (1 + 0.1 * self.random.standard_normal(width)).astype(np.float32))
        return self.node("SimplifiedLayerNormalization", [x, scale], axis=-1, epsilon=1e-5)

    def linear(self, x, deep, columns, name, gain=1.0):
        weights = (gain / math.sqrt(deep) * self.random.standard_normal((deep, columns))).astype(np.float32)
        if self.bits == 32:
            return self.node("MatMul", [x, self.constant(name, weights)])
        blocks = weights.T.reshape(columns, deep // BLOCK, BLOCK)
        scales = np.abs(blocks).max(-1, keepdims=True) / 7
        numbers = (np.rint(blocks / scales) + 8).clip(0, 15).astype(np.uint8)
        packed = numbers[..., 0::2] | numbers[..., 1::2] << 4
        return self.node("MatMulNBits", [x, self.constant(name, packed), self.constant(name + ".scales", scales.reshape(-1))],
                         domain="com.microsoft", K=deep, N=columns, bits=4, block_size=BLOCK)


def model(bits, layers, width, vocabulary):
    w = Writer(bits, seed=5)
    heads, key_heads, inner = width // HEAD, max(width // HEAD // 3, 1), 64 * (width * 8 // 3 // 64)
    angles = np.arange(MOST)[:, None] / 10000.0 ** (np.arange(HEAD // 2) / (HEAD // 2))
    cos = w.constant("cos", np.cos(angles).astype(np.float32))
    sin = w.constant("sin", np.sin(angles).astype(np.float32))
    table = w.constant("embedding", w.random.standard_normal((vocabulary, width)).astype(np.float32))
    one, first = w.constant("one", np.array([1], np.int64)), w.constant("first", np.array(1, np.int64))
    count = w.node("ReduceSum", ["mask", one], keepdims=0)
    last = w.node("Cast", [w.node("Sub", [count, one])], to=TensorProto.INT32)
    total = w.node("Cast", [w.node("Gather", [w.node("Shape", ["mask"]), first])], to=TensorProto.INT32)
    x = w.node("Gather", [table, "tokens"])
    for layer in range(layers):
        rows = w.norm(x, width, f"{layer}.norm")
        q = w.linear(rows, width, width, f"{layer}.q")
        k, v = (w.linear(rows, width, key_heads * HEAD, f"{layer}.{part}") for part in "kv")
        mixed = w.node("GroupQueryAttention",
                       [q, k, v, f"past_key.{layer}", f"past_value.{layer}", last, total, cos, sin],
                       [f"mixed.{layer}", f"present_key.{layer}", f"present_value.{layer}"], domain="com.microsoft",
                       num_heads=heads, kv_num_heads=key_heads, do_rotary=1)
        x = w.node("Add", [x, w.linear(mixed, width, width, f"{layer}.o", 0.5)])
        rows = w.norm(x, width, f"{layer}.norm2")
        gate, up = (w.linear(rows, width, inner, f"{layer}.{part}") for part in ("gate", "up"))
        silu = w.node("Mul", [gate, w.node("Sigmoid", [gate])])
        x = w.node("Add", [x, w.linear(w.node("Mul", [silu, up]), inner, width, f"{layer}.down", 0.5)])
    x = w.linear(w.norm(x, width, "norm"), width, vocabulary, "head")
    w.nodes.append(helper.make_node("Identity", [x], ["logits"]))
    value = helper.make_tensor_value_info
    inputs = [value("tokens", TensorProto.INT64, [1, "seq"]), value("mask", TensorProto.INT64, [1, "total"])]
    outputs = [value("logits", TensorProto.FLOAT, [1, "seq", vocabulary])]
    for layer in range(layers):
        for part in ("key", "value"):
            inputs.append(value(f"past_{part}.{layer}", TensorProto.FLOAT, [1, key_heads, "past", HEAD]))
            outputs.append(value(f"present_{part}.{layer}", TensorProto.FLOAT, [1, key_heads, "total", HEAD]))
    graph = helper.make_graph(w.nodes, "llama", inputs, outputs, w.weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
    made.ir_version = 8
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--bits", type=int, choices=[32, 4], default=32)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--width", type=int, default=768, help="a multiple of 192")
    parser.add_argument("--vocabulary", type=int, default=8000)
    given = parser.parse_args()
    onnx.save(model(given.bits, given.layers, given.width, given.vocabulary), given.path)


if __name__ == "__main__":
    main()
