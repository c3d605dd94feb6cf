"""Products, convolutions, pools, norms, recurrent cells and losses, by loops and plain formulas."""
import itertools

import numpy as np


def convolve(x, w, bias, strides, pads, dilations, groups):
    """Any number of spatial axes, by a loop over output places."""
    spatial = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in pads])
    sizes = [(x.shape[2 + i] - dilations[i] * (w.shape[2 + i] - 1) - 1) // strides[i] + 1 for i in range(spatial)]
    out = np.zeros([x.shape[0], w.shape[0]] + sizes)
    per_out, per_in = w.shape[0] // groups, w.shape[1]
    for place in itertools.product(*map(range, sizes)):
        window = x[(slice(None), slice(None)) + tuple(
            slice(p * s, p * s + d * (k - 1) + 1, d) for p, s, d, k in zip(place, strides, dilations, w.shape[2:]))]
        for o in range(w.shape[0]):
            g = o // per_out
            part = window[:, g * per_in:(g + 1) * per_in]
            out[(slice(None), o) + place] = (part * w[o]).reshape(x.shape[0], -1).sum(1) + bias[o]
    return out


def normalise(x, axes, epsilon):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def cases():
    rng = np.random.default_rng(4)

    def normal(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    def narrow(x):
        return np.asarray(x).astype(np.float32)

    a, b = normal(2, 1, 3, 4), normal(3, 4, 5)
    yield "matmul", [a, b], [narrow(a.astype(np.float64) @ b)]
    v = normal(4)
    yield "matmul_vectors", [v, b], [narrow(v.astype(np.float64) @ b)]
    w, bias = normal(5, 4), normal(5)
    yield "linear", [a, w, bias], [narrow(a.astype(np.float64) @ w.T + bias)]
    ids = rng.integers(-3, 3, (2, 2)).astype(np.int64)
    yield "gather", [b, ids], [np.take(b, ids % 3, 0)]

    x1, w1 = normal(2, 4, 9), normal(6, 2, 3)
    yield "conv_1d_groups", [x1, w1, normal(6)], None
    x2, w2 = normal(1, 3, 6, 7), normal(4, 3, 3, 2)
    yield "conv_2d", [x2, w2, normal(4)], None
    x3, w3 = normal(1, 2, 4, 4, 3), normal(2, 2, 2, 2, 2)
    yield "conv_3d", [x3, w3, normal(2)], None
    windows = np.lib.stride_tricks.sliding_window_view(x2, (2, 3), (2, 3))[:, :, ::2]
    yield "max_pool", [x2], [windows.max((-1, -2))]
    yield "avg_pool", [x2], [narrow(windows.astype(np.float64).mean((-1, -2)))]
    yield "global_max_pool", [x2], [x2.max((2, 3), keepdims=True)]
    yield "global_avg_pool", [x2], [narrow(x2.astype(np.float64).mean((2, 3), keepdims=True))]

    scale, shift = normal(3), normal(3)
    wide = x2.astype(np.float64)
    channel = (slice(None), None, None)
    rows = normal(2, 4, 3)
    yield "layer_norm", [rows, scale, shift], [narrow(normalise(rows.astype(np.float64), -1, 1e-5) * scale + shift)]
    yield "rms_norm", [rows, scale], [narrow(rows / np.sqrt((rows.astype(np.float64)**2).mean(-1, keepdims=True) + 1e-5) * scale)]
    mean, variance = normal(3), abs(normal(3))
    yield "batch_norm", [x2, scale, shift, mean, variance], [narrow(
        (wide - mean[channel]) / np.sqrt(variance[channel] + 1e-5) * scale[channel] + shift[channel])]
    yield "instance_norm", [x2, scale, shift], [narrow(normalise(wide, (2, 3), 1e-5) * scale[channel] + shift[channel])]
    grouped = normal(2, 4, 5)
    four, also = normal(4), normal(4)
    yield "group_norm", [grouped, four, also], [narrow(
        normalise(grouped.astype(np.float64).reshape(2, 2, 10), 2, 1e-5).reshape(2, 4, 5) * four[:, None] + also[:, None])]

    x, h, c = normal(2, 3), normal(2, 4), normal(2, 4)
    wi, wh, bi = normal(16, 3), normal(16, 4), normal(16)
    enter, forget, cell, leave = np.split(x.astype(np.float64) @ wi.T + h @ wh.T + bi, 4, 1)
    next_c = sigmoid(forget) * c + sigmoid(enter) * np.tanh(cell)
    yield "lstm_cell", [x, h, c, wi, wh, bi], [narrow(sigmoid(leave) * np.tanh(next_c)), narrow(next_c)]
    gi, gh, bx, bh = normal(12, 3), normal(12, 4), normal(12), normal(12)
    xz, xr, xn = np.split(x.astype(np.float64) @ gi.T + bx, 3, 1)
    hz, hr, hn = np.split(h.astype(np.float64) @ gh.T + bh, 3, 1)
    z, r = sigmoid(xz + hz), sigmoid(xr + hr)
    yield "gru_cell", [x, h, gi, gh, bx, bh], [narrow((1 - z) * np.tanh(xn + r * hn) + z * h)]

    scores, target = normal(4, 3), rng.integers(0, 3, 4).astype(np.int64)
    logs = scores - np.log(np.exp(scores.astype(np.float64)).sum(1, keepdims=True))
    yield "cross_entropy", [scores, target], [narrow(-logs[np.arange(4), target].mean())]
    yield "nll_loss", [narrow(logs), target], [narrow(-logs[np.arange(4), target].sum())]


def with_convolutions():
    settings = {"conv_1d_groups": ([2], [1], [2], 2), "conv_2d": ([2, 1], [1, 0], [1, 2], 1), "conv_3d": ([1, 2, 1], [0, 1, 0], [1, 1, 1], 1)}
    for name, inputs, outputs in plain():
        if outputs is None:
            x, w, bias = (array.astype(np.float64) for array in inputs)
            outputs = [convolve(x, w, bias, *settings[name]).astype(np.float32)]
        yield name, inputs, outputs


plain, cases = cases, with_convolutions
