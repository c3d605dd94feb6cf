"""Nets over sequences, sets and tables: transformers, recurrences, audio, recommendation. Each makes one Net."""
import math

import numpy as np
from graph_writer import Net
from onnx import TensorProto


def _encoder_layer(net, x, num_heads, widen=4, before=True):
    """Normalisation before each half, as in ViT and GPT, or after it, as in BERT."""
    width = x.shape[-1]
    rows = net.layer_norm(x) if before else x
    mixed = net.linear(net.attention(*(net.linear(rows, width) for _ in range(3)), num_heads=num_heads), width, 0.5)
    x = net.add(x, mixed) if before else net.layer_norm(net.add(x, mixed))
    rows = net.layer_norm(x) if before else x
    rows = net.linear(net.gelu(net.linear(rows, widen * width)), width, 0.5)
    return net.add(x, rows) if before else net.layer_norm(net.add(x, rows))


def bert():
    net = Net("bert6_t128", seed=21)
    x = net.input("x", (1, 128, 768))
    for _ in range(6):
        x = _encoder_layer(net, x, 12, before=False)
    net.output(x)
    return net


def vit():
    net = Net("vit", seed=22)
    patches = net.conv(net.input("x", (1, 3, 224, 224)), 384, 16, 16, pad=0, gain=1.0)
    x = net.transpose(net.reshape(patches, (1, 384, -1)), (0, 2, 1))
    x = net.concat([net.weight((1, 1, 384), 1), x], 1)
    x = net.add(x, net.weight(x.shape, 50))
    for _ in range(6):
        x = _encoder_layer(net, x, 6)
    first = net.reshape(net.slice(net.layer_norm(x), 1, 0, 1), (1, 384))
    net.output(net.linear(first, 1000))
    return net


def whisper_encoder():
    net = Net("whisper_encoder", seed=23)
    x = net.gelu(net.conv(net.input("mel", (1, 80, 800)), 384, 3))
    x = net.gelu(net.conv(x, 384, 3, 2))
    x = net.transpose(x, (0, 2, 1))
    x = net.add(x, net.weight(x.shape, 50))
    for _ in range(4):
        x = _encoder_layer(net, x, 6)
    net.output(net.layer_norm(x))
    return net


def gpt2(layers=12, tokens=64, width=768, vocabulary=50257):
    """GPT-2's shape: token and position embeddings, a causal mask, the tied projection; weights at random."""
    net = Net("gpt2", seed=24)
    ids = net.input("ids", (1, tokens), TensorProto.INT64)
    table = net.weight((vocabulary, width), 50)
    x = net.add(net.node("Gather", [table, ids], (1, tokens, width), axis=0), net.weight((1, tokens, width), 50))
    mask = net.constant(np.triu(np.full((tokens, tokens), -1e9, np.float32), 1))
    for _ in range(layers):
        rows = net.linear(net.layer_norm(x), 3 * width)
        parts = [net.heads(net.slice(rows, 2, i * width, (i + 1) * width), 12) for i in range(3)]
        x = net.add(x, net.linear(net.attend(*parts, mask=mask), width, 0.5))
        x = net.add(x, net.linear(net.gelu(net.linear(net.layer_norm(x), 4 * width)), width, 0.5))
    net.output(net.matmul(net.layer_norm(x), net.transpose(table, (1, 0))))
    return net


def decode_step():
    """One token through six layers with a cache of 256 tokens."""
    net = Net("decode_kv256", seed=25)
    x = net.input("x", (1, 1, 768))
    cached = [net.input(name, (6, 1, 12, 256, 64)) for name in ("keys", "values")]
    for layer in range(6):
        q, k, v = (net.heads(net.linear(x, 768), 12) for _ in range(3))
        k, v = (net.concat([net.reshape(net.slice(old, 0, layer, layer + 1), (1, 12, 256, 64)), new], 2)
                for old, new in zip(cached, (k, v)))
        x = net.layer_norm(net.add(x, net.linear(net.attend(q, k, v), 768, 0.5)))
        x = net.layer_norm(net.add(x, net.linear(net.gelu(net.linear(x, 3072)), 768, 0.5)))
    net.output(x)
    return net


def cross_attention():
    net = Net("cross_attention", seed=26)
    x, memory = net.input("x", (1, 64, 512)), net.input("memory", (1, 400, 512))
    for _ in range(4):
        rows = net.layer_norm(x)
        mixed = net.attention(net.linear(rows, 512), net.linear(memory, 512), net.linear(memory, 512), num_heads=8)
        x = net.add(x, net.linear(mixed, 512, 0.5))
        x = net.add(x, net.linear(net.gelu(net.linear(net.layer_norm(x), 2048)), 512, 0.5))
    net.output(x)
    return net


def swin():
    """Attention in windows of 7 x 7, every second time in windows that are shifted by 3."""
    net = Net("swin", seed=27)
    size, width, window, num_heads = 28, 192, 7, 6
    x = net.transpose(net.conv(net.input("x", (1, 3, 224, 224)), width, 8, 8, pad=0, gain=1.0), (0, 2, 3, 1))
    across = size // window

    def roll(value, by):
        for axis in (1, 2):
            cut = by % size
            value = net.concat([net.slice(value, axis, cut, size), net.slice(value, axis, 0, cut)], axis)
        return value

    for layer in range(4):
        shift = 3 if layer % 2 else 0
        rows = net.layer_norm(x)
        rows = roll(rows, shift) if shift else rows
        rows = net.transpose(net.reshape(rows, (across, window, across, window, width)), (0, 2, 1, 3, 4))
        rows = net.reshape(rows, (across * across, window * window, width))
        bias = net.weight((1, num_heads, window * window, window * window), 10)
        rows = net.linear(net.attention(*(net.linear(rows, width) for _ in range(3)), num_heads=num_heads, mask=bias),
                          width, 0.5)
        rows = net.transpose(net.reshape(rows, (across, across, window, window, width)), (0, 2, 1, 3, 4))
        rows = net.reshape(rows, (1, size, size, width))
        x = net.add(x, roll(rows, -shift) if shift else rows)
        x = net.add(x, net.linear(net.gelu(net.linear(net.layer_norm(x), 4 * width)), width, 0.5))
    net.output(net.linear(net.layer_norm(x), 10))
    return net


def mixer():
    net = Net("mixer", seed=28)
    patches = net.conv(net.input("x", (1, 3, 224, 224)), 256, 16, 16, pad=0, gain=1.0)
    x = net.transpose(net.reshape(patches, (1, 256, -1)), (0, 2, 1))
    for _ in range(6):
        columns = net.transpose(net.layer_norm(x), (0, 2, 1))
        columns = net.linear(net.gelu(net.linear(columns, 128)), 196, 0.5)
        x = net.add(x, net.transpose(columns, (0, 2, 1)))
        x = net.add(x, net.linear(net.gelu(net.linear(net.layer_norm(x), 1024)), 256, 0.5))
    net.output(net.layer_norm(x))
    return net


def _recurrent(net, op, x, hidden, gates):
    """x: [time, batch, features]; the first of ONNX's results, without its axis of directions."""
    time, batch, features = x.shape
    weights = net.weight((1, gates * hidden, features), features)
    recurrence = net.weight((1, gates * hidden, hidden), hidden)
    bias = net.weight((1, 2 * gates * hidden), 400)
    more = {"linear_before_reset": 1} if op == "GRU" else {}
    out = net.node(op, [x, weights, recurrence, bias], (time, 1, batch, hidden), hidden_size=hidden, **more)
    return net.reshape(out, (time, batch, hidden))


def gru():
    net = Net("gru2_t60", seed=29)
    x = net.input("x", (60, 1, 64))
    for _ in range(2):
        x = _recurrent(net, "GRU", x, 128, 3)
    net.output(net.linear(x, 32))
    return net


def lstm(steps=200):
    net = Net(f"lstm_t{steps}", seed=30)
    x = _recurrent(net, "LSTM", net.input("x", (steps, 1, 80)), 256, 4)
    net.output(net.linear(x, 32))
    return net


def lstm_t10():
    return lstm(10)


def lstm_t10000():
    return lstm(10_000)


def wavenet():
    net = Net("wavenet", seed=31)
    x, skips = net.conv(net.input("x", (1, 1, 2048)), 32, 1, gain=1.0), None
    for layer in range(16):
        reach = 2 ** (layer % 8)
        padded = net.pad(x, ((0, 0), (0, 0), (reach, 0)))
        gated = net.mul(net.map("Tanh", net.conv(padded, 32, 2, dilation=reach, pad=0)),
                        net.sigmoid(net.conv(padded, 32, 2, dilation=reach, pad=0)))
        skip = net.conv(gated, 64, 1)
        skips = skip if skips is None else net.add(skips, skip)
        x = net.add(x, net.conv(gated, 32, 1, gain=0.5))
    net.output(net.conv(net.relu(net.conv(net.relu(skips), 64, 1)), 256, 1, gain=0.5))
    return net


def hifigan():
    net = Net("hifigan", seed=32)
    x = net.conv(net.input("mel", (1, 80, 32)), 128, 7)
    for width, factor in ((64, 8), (32, 8), (16, 4)):
        x = net.conv_transpose(net.leaky(x), width, 2 * factor, factor, factor // 2)
        branches = None
        for kernel in (3, 7, 11):
            branch = x
            for dilation in (1, 3, 5):
                inner = net.conv(net.leaky(branch), width, kernel, dilation=dilation)
                branch = net.add(branch, net.conv(net.leaky(inner), width, kernel, gain=0.3))
            branches = branch if branches is None else net.add(branches, branch)
        x = net.scaled(branches, 1 / 3)
    net.output(net.map("Tanh", net.conv(net.leaky(x), 1, 7, gain=1.0)))
    return net


def pointnet():
    net = Net("pointnet", seed=33)
    x = net.input("points", (1, 3, 2048))
    for width in (64, 64, 128, 1024):
        x = net.relu(net.conv(x, width, 1))
    whole = net.node("ReduceMax", [x], (1, 1024), axes=[2], keepdims=0)
    net.output(net.linear(net.relu(net.linear(net.relu(net.linear(whole, 512)), 256)), 40))
    return net


def dlrm():
    """Recommendation: 26 looked-up rows, a small net for numbers, all products of pairs, a net on top."""
    net = Net("dlrm", seed=34)
    batch, width, tables = 64, 64, 26
    ids = net.input("ids", (batch, tables), TensorProto.INT64)
    x = net.input("numbers", (batch, 13))
    for size in (512, 256, width):
        x = net.relu(net.linear(x, size, math.sqrt(2)))
    rows = [net.reshape(x, (batch, 1, width))]
    for table in range(tables):
        column = net.slice(ids, 1, table, table + 1)
        rows.append(net.node("Gather", [net.weight((1000, width), 4), column], (batch, 1, width), axis=0))
    rows = net.concat(rows, 1)
    products = net.reshape(net.matmul(rows, net.transpose(rows, (0, 2, 1))), (batch, -1))
    x = net.concat([x, net.scaled(products, 0.1)], 1)
    for size in (512, 256):
        x = net.relu(net.linear(x, size, math.sqrt(2)))
    net.output(net.sigmoid(net.linear(x, 1)))
    return net


NETS = (bert, vit, whisper_encoder, decode_step, cross_attention, swin, mixer, gru, lstm, wavenet, hifigan, pointnet,
        dlrm)
LARGE = (gpt2,)  # 650 MB of weights
LENGTHS = (lstm_t10, lstm_t10000)  # what a length costs: prepared in the same time
