#!/usr/bin/env python3
"""The example Conformer and its heads in numpy, in f64: makes seeded weights and a batch, and writes what the encoder,
the CTC head and both greedy decoders give. An independent judge of examples/conformer.

/usr/bin/python3 conformer_numpy.py FOLDER
"""
import json
import pathlib
import struct
import sys

import numpy as np

MELS, WIDTH, HEADS, EXPANSION, KERNEL, LAYERS = 8, 16, 2, 2, 7, 2
CLASSES, HIDDEN, JOINT, MAX_SYMBOLS = 6, 12, 10, 3
LENGTHS = (61, 40, 5)
BLANK = CLASSES - 1


def make_weights(rng):
    made = {}

    def add(name, *shape, fan=None, around=0.0, scale=1.0):
        made[name] = (around + rng.standard_normal(shape) * scale / np.sqrt(fan or shape[0])).astype(np.float32)

    def linear(name, before, after, scale=1.0):
        add(name + ".weight", before, after, scale=scale)
        add(name + ".bias", after, fan=16)

    for i, before in enumerate((MELS, WIDTH)):
        add(f"sub.{i}.weight", WIDTH, before, 3, fan=3 * before)
        add(f"sub.{i}.bias", WIDTH, fan=16)
    for layer in (f"layers.{i}." for i in range(LAYERS)):
        for i in range(5):
            add(f"{layer}n.{i}.weight", WIDTH, fan=16, around=1.0)
            add(f"{layer}n.{i}.bias", WIDTH, fan=16)
        for name in ("ff1", "ff2"):
            linear(f"{layer}{name}.a", WIDTH, EXPANSION * WIDTH)
            linear(f"{layer}{name}.b", EXPANSION * WIDTH, WIDTH)
        for name in "qkvo":
            linear(f"{layer}att.{name}", WIDTH, WIDTH)
        for name, shape in (("p1", (2 * WIDTH, WIDTH, 1)), ("dw", (WIDTH, 1, KERNEL)), ("p2", (WIDTH, WIDTH, 1))):
            add(f"{layer}conv.{name}.weight", *shape, fan=shape[1] * shape[2])
            add(f"{layer}conv.{name}.bias", shape[0], fan=16)
    linear("ctc", WIDTH, CLASSES)
    add("rnnt.embedding.weight", CLASSES, HIDDEN, fan=1)  # the blank's row is not read
    add("rnnt.lstm.weight_ih", 4 * HIDDEN, HIDDEN, fan=HIDDEN, scale=2)
    add("rnnt.lstm.weight_hh", 4 * HIDDEN, HIDDEN, fan=HIDDEN, scale=2)
    add("rnnt.lstm.bias", 4 * HIDDEN, fan=16)
    linear("rnnt.joint.encoder", WIDTH, JOINT, scale=2)
    linear("rnnt.joint.predictor", HIDDEN, JOINT, scale=6)
    linear("rnnt.joint.out", JOINT, CLASSES, scale=2)
    made["rnnt.joint.out.bias"][BLANK] += np.float32(1.5)
    return made


def write_safetensors(path, arrays):
    header, data = {}, b""
    for name, array in arrays.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


class Model:
    def __init__(self, weights):
        self.w = {name: array.astype(np.float64) for name, array in weights.items()}

    def linear(self, x, name):
        return x @ self.w[name + ".weight"] + self.w[name + ".bias"]

    def convolve(self, x, name, stride=1, pad=0, groups=1):  # x [channels, time]
        weight, bias = self.w[name + ".weight"], self.w[name + ".bias"]
        windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (pad, pad))), weight.shape[2], 1)[:, ::stride]
        if groups > 1:
            return np.einsum("ck,ctk->ct", weight[:, 0], windows) + bias[:, None]
        return np.einsum("oik,itk->ot", weight, windows) + bias[:, None]

    def norm(self, x, name):
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - mean) / np.sqrt(variance + 1e-5) * self.w[name + ".weight"] + self.w[name + ".bias"]

    def rotate(self, x):  # [heads, time, width of a head]
        half = x.shape[-1] // 2
        angle = np.arange(x.shape[1])[:, None] * 10000.0 ** (-np.arange(half) / half)
        a, b = x[..., :half], x[..., half:]
        return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], -1)

    def attention(self, x, seen, name):
        def heads(part):
            return self.linear(x, name + part).reshape(len(x), HEADS, -1).transpose(1, 0, 2)
        q, k = self.rotate(heads(".q")), self.rotate(heads(".k"))
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(WIDTH // HEADS)
        scores = np.where(seen[None, None], scores, -np.inf)
        mixed = np.exp(log_softmax(scores)) @ heads(".v")
        return self.linear(mixed.transpose(1, 0, 2).reshape(len(x), -1), name + ".o")

    def feed_forward(self, x, name):
        y = self.linear(x, name + ".a")
        return self.linear(y * sigmoid(y), name + ".b")

    def convolution(self, x, name):
        y = self.convolve(x.T, name + ".p1")
        y = self.convolve(y[:WIDTH] * sigmoid(y[WIDTH:]), name + ".dw", pad=KERNEL // 2, groups=WIDTH)
        return self.convolve(y * sigmoid(y), name + ".p2").T

    def encode(self, mel, length):  # [mels, time], frames that are no padding -> [time, width]
        x = mel
        for i in range(2):
            x = self.convolve(x, f"sub.{i}", 2, 1)
            x = x * sigmoid(x)
        x = x.T
        seen = np.arange(len(x)) < (length + 3) // 4
        for at in (f"layers.{i}." for i in range(LAYERS)):
            x = x + self.feed_forward(self.norm(x, at + "n.0"), at + "ff1") / 2
            x = x + self.attention(self.norm(x, at + "n.1"), seen, at + "att")
            x = x + self.convolution(self.norm(x, at + "n.2"), at + "conv")
            x = x + self.feed_forward(self.norm(x, at + "n.3"), at + "ff2") / 2
            x = self.norm(x, at + "n.4")
        return x

    def predict(self, token, h, c):
        x = np.zeros(HIDDEN) if token == BLANK else self.w["rnnt.embedding.weight"][token]
        gates = self.w["rnnt.lstm.weight_ih"] @ x + self.w["rnnt.lstm.weight_hh"] @ h + self.w["rnnt.lstm.bias"]
        enter, forget, cell, leave = np.split(gates, 4)
        c = sigmoid(forget) * c + sigmoid(enter) * np.tanh(cell)
        return sigmoid(leave) * np.tanh(c), c


def clear_argmax(values):
    """The likeliest class, which f32 must find too."""
    best, second = np.sort(values)[:-3:-1]
    assert best - second > 1e-3, f"two classes are equally likely ({best - second}); choose another seed"
    return int(values.argmax())


def ctc_tokens(log_probabilities):
    path = [clear_argmax(frame) for frame in log_probabilities]
    return [token for last, token in zip([BLANK] + path, path) if token not in (last, BLANK)], path


def rnnt_tokens(model, frames):
    h, c = model.predict(BLANK, np.zeros(HIDDEN), np.zeros(HIDDEN))
    tokens, counts = [], []  # and how many of them each frame emits
    for frame in frames:
        counts.append(0)
        while counts[-1] < MAX_SYMBOLS:
            mixed = model.linear(frame, "rnnt.joint.encoder") + model.linear(h, "rnnt.joint.predictor")
            best = clear_argmax(log_softmax(model.linear(np.maximum(mixed, 0), "rnnt.joint.out")))
            if best == BLANK:
                break
            counts[-1] += 1
            tokens.append(best)
            h, c = model.predict(best, h, c)
    return tokens, counts


def main(folder):
    rng = np.random.default_rng(96)
    weights = make_weights(rng)
    write_safetensors(folder / "weights.safetensors", weights)
    mel = (3 * rng.standard_normal((len(LENGTHS), MELS, max(LENGTHS)))).astype(np.float32)
    model = Model(weights)
    encoded = np.stack([model.encode(one.astype(np.float64), length) for one, length in zip(mel, LENGTHS)])
    log_probabilities = log_softmax(model.linear(encoded, "ctc"))
    np.save(folder / "mel.npy", mel)
    np.save(folder / "encoded.npy", encoded.transpose(0, 2, 1).copy())
    np.save(folder / "ctc.npy", log_probabilities)
    lines = []
    for i, length in enumerate(LENGTHS):
        frames = (length + 3) // 4
        by_ctc, path = ctc_tokens(log_probabilities[i, :frames])
        by_rnnt, counts = rnnt_tokens(model, encoded[i, :frames])
        if i == 0:  # what the decoders are to get right is there
            assert BLANK in path and any(a == b != BLANK for a, b in zip(path, path[1:])) and len(set(by_ctc)) > 2, path
            assert {0, 1, 2, MAX_SYMBOLS} <= set(counts) and len(set(by_rnnt)) > 2, (by_rnnt, counts)
        lines += [" ".join(map(str, [length, *by_ctc])), " ".join(map(str, by_rnnt))]
    (folder / "tokens.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
