#!/usr/bin/python3
"""Trains the digits demo network and writes digits.onnx, digits_images.npy, digits_labels.npy beside this file.

Needs Debian's python3-sklearn (whose 1,797 8x8 handwritten digits are the data), python3-numpy and python3-onnx:

    /usr/bin/python3 train.py

conv3x3(16) relu conv3x3(32) relu maxpool2 dense(64) relu dense(10) softmax, trained with Adam (Kingma & Ba 2015)
by hand-written numpy gradients. A quarter of the images, drawn with a fixed seed, is held out and never trained on.
"""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

SEED, HELD_OUT, BATCH, EPOCHS = 7, 400, 64, 60
HERE = os.path.dirname(os.path.abspath(__file__))


def patches(x):
    """[n, c, 8, 8] -> [n, 64, 9c]: every 3x3 window of x padded by one."""
    n, c = x.shape[:2]
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(n, 64, c * 9)


def unpatch(g, c):
    """The transpose of patches: [n, 64, 9c] -> [n, c, 8, 8]."""
    n = g.shape[0]
    g = g.reshape(n, 8, 8, c, 3, 3).transpose(0, 3, 4, 5, 1, 2)
    padded = np.zeros((n, c, 10, 10), g.dtype)
    for i in range(3):
        for j in range(3):
            padded[:, :, i:i + 8, j:j + 8] += g[:, :, i, j]
    return padded[:, :, 1:9, 1:9]


def init(rng):
    def he(*shape, fan_in):
        return (rng.standard_normal(shape) * np.sqrt(2.0 / fan_in)).astype(np.float32)
    return {
        "conv1.weight": he(16, 9, fan_in=9), "conv1.bias": np.zeros(16, np.float32),
        "conv2.weight": he(32, 144, fan_in=144), "conv2.bias": np.zeros(32, np.float32),
        "dense1.weight": he(64, 512, fan_in=512), "dense1.bias": np.zeros(64, np.float32),
        "dense2.weight": he(10, 64, fan_in=64), "dense2.bias": np.zeros(10, np.float32),
    }


def forward(p, x):
    n = len(x)
    c1 = patches(x)
    a1 = np.maximum(c1 @ p["conv1.weight"].T + p["conv1.bias"], 0)              # [n, 64, 16]
    c2 = patches(a1.transpose(0, 2, 1).reshape(n, 16, 8, 8))
    a2 = np.maximum(c2 @ p["conv2.weight"].T + p["conv2.bias"], 0)              # [n, 64, 32]
    blocks = a2.reshape(n, 4, 2, 4, 2, 32).transpose(0, 5, 1, 3, 2, 4).reshape(n, 512, 4)
    flat = blocks.max(-1)
    h = np.maximum(flat @ p["dense1.weight"].T + p["dense1.bias"], 0)
    logits = h @ p["dense2.weight"].T + p["dense2.bias"]
    return logits, (c1, a1, c2, a2, blocks, flat, h)


def gradients(p, x, labels):
    logits, (c1, a1, c2, a2, blocks, flat, h) = forward(p, x)
    n = len(x)
    e = np.exp(logits - logits.max(1, keepdims=True))
    d = e / e.sum(1, keepdims=True)
    d[np.arange(n), labels] -= 1
    d /= n
    g = {"dense2.weight": d.T @ h, "dense2.bias": d.sum(0)}
    d = (d @ p["dense2.weight"]) * (h > 0)
    g["dense1.weight"], g["dense1.bias"] = d.T @ flat, d.sum(0)
    d = d @ p["dense1.weight"]
    hit = blocks == flat[..., None]
    d = hit * d[..., None] / hit.sum(-1, keepdims=True)
    d = d.reshape(n, 32, 4, 4, 2, 2).transpose(0, 2, 4, 3, 5, 1).reshape(n, 64, 32) * (a2 > 0)
    g["conv2.weight"] = np.tensordot(d, c2, ((0, 1), (0, 1)))
    g["conv2.bias"] = d.sum((0, 1))
    d = unpatch(d @ p["conv2.weight"], 16).reshape(n, 16, 64).transpose(0, 2, 1) * (a1 > 0)
    g["conv1.weight"] = np.tensordot(d, c1, ((0, 1), (0, 1)))
    g["conv1.bias"] = d.sum((0, 1))
    return g


def shifted(rng, x):
    """Moves every image by up to one pixel each way, so that 1,400 images go further."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    out = np.empty_like(x)
    for i, (dy, dx) in enumerate(rng.integers(0, 3, (len(x), 2))):
        out[i] = padded[i, :, dy:dy + 8, dx:dx + 8]
    return out


def train(rng, x, labels):
    p = init(rng)
    m = {k: np.zeros_like(v) for k, v in p.items()}
    v = {k: np.zeros_like(w) for k, w in p.items()}
    step, total = 0, EPOCHS * (len(x) // BATCH)
    for epoch in range(EPOCHS):
        order = rng.permutation(len(x))
        for i in range(len(x) // BATCH):
            pick = order[i * BATCH:(i + 1) * BATCH]
            step += 1
            rate = 2e-3 * 0.5 * (1 + np.cos(np.pi * step / total))
            for k, g in gradients(p, shifted(rng, x[pick]), labels[pick]).items():
                m[k] = 0.9 * m[k] + 0.1 * g
                v[k] = 0.999 * v[k] + 0.001 * g * g
                p[k] -= (rate * (m[k] / (1 - 0.9 ** step)) /
                         (np.sqrt(v[k] / (1 - 0.999 ** step)) + 1e-8)).astype(np.float32)
    return p


def model(p, batch):
    nodes = [
        helper.make_node("Conv", ["image", "conv1.weight", "conv1.bias"], ["c1"], "conv1", kernel_shape=[3, 3], pads=[1] * 4),
        helper.make_node("Relu", ["c1"], ["r1"], "relu1"),
        helper.make_node("Conv", ["r1", "conv2.weight", "conv2.bias"], ["c2"], "conv2", kernel_shape=[3, 3], pads=[1] * 4),
        helper.make_node("Relu", ["c2"], ["r2"], "relu2"),
        helper.make_node("MaxPool", ["r2"], ["m"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["m"], ["f"], "flatten", axis=1),
        helper.make_node("Gemm", ["f", "dense1.weight", "dense1.bias"], ["d1"], "dense1", transB=1),
        helper.make_node("Relu", ["d1"], ["r3"], "relu3"),
        helper.make_node("Gemm", ["r3", "dense2.weight", "dense2.bias"], ["d2"], "dense2", transB=1),
        helper.make_node("Softmax", ["d2"], ["probability"], "softmax", axis=1),
    ]
    shapes = {"conv1.weight": (16, 1, 3, 3), "conv2.weight": (32, 16, 3, 3)}
    weights = [numpy_helper.from_array(np.ascontiguousarray(w.reshape(shapes.get(k, w.shape)), np.float32), k)
               for k, w in p.items()]
    graph = helper.make_graph(
        nodes, "digits", [helper.make_tensor_value_info("image", TensorProto.FLOAT, [batch, 1, 8, 8])],
        [helper.make_tensor_value_info("probability", TensorProto.FLOAT, [batch, 10])], weights)
    made = helper.make_model(graph, producer_name="hearth-examples", opset_imports=[helper.make_opsetid("", 13)])
    made.ir_version = 8
    onnx.checker.check_model(made)
    return made


def main():
    rng = np.random.default_rng(SEED)
    data = load_digits()
    x = (data.images.astype(np.float32) / 16)[:, None]
    labels = data.target.astype(np.int64)
    order = rng.permutation(len(x))
    test, rest = order[:HELD_OUT], order[HELD_OUT:]
    p = train(rng, x[rest], labels[rest])
    right = (forward(p, x[test])[0].argmax(1) == labels[test]).mean()
    print(f"trained on {len(rest)} images; accuracy on {HELD_OUT} held-out images: {100 * right:.2f} %")
    onnx.save(model(p, HELD_OUT), os.path.join(HERE, "digits.onnx"))
    np.save(os.path.join(HERE, "digits_images.npy"), x[test])
    np.save(os.path.join(HERE, "digits_labels.npy"), labels[test])


if __name__ == "__main__":
    main()
