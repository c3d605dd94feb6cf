"""Recurrent layers, an item and a step at a time."""
import numpy as np

T, N, I, H = 4, 3, 2, 3


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def run(step, x, state, lengths=None, reverse=False):
    """step(x, state) -> state, all of one item; state[0] is what the layer gives."""
    y = np.zeros((T, N, H))
    last = [np.array(s, np.float64) for s in state]
    for n in range(N):
        order = range(T if lengths is None else lengths[n])
        own = [s[n] for s in last]
        for t in reversed(order) if reverse else order:
            own = step(x[t, n].astype(np.float64), own)
            y[t, n] = own[0]
        for s, o in zip(last, own):
            s[n] = o
    return [a.astype(np.float32) for a in (y, *last)]


def averages(x, state, scale, reverse):
    """Decaying averages of scaled rows, and what each step's row does to the average before it."""
    own, made = state.astype(np.float64), {}
    order = range(T)
    for t in reversed(order) if reverse else order:
        row = x[t].astype(np.float64) * scale
        made[t] = (own * row, own * 0.5 + row)
        own = made[t][1]
    stacked = [np.stack([made[t][i] for t in range(T)]) for i in range(2)]
    return [a.astype(np.float32) for a in (own, *stacked)]


def cases():
    rng = np.random.default_rng(7)

    def draw(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    def clip(x):
        return np.clip(x, -0.4, 0.4)

    x, h, c, lengths = draw(T, N, I), draw(N, H), draw(N, H), np.array([4, 1, 2], np.int32)

    rows, scale = draw(T, N, H), draw(H)
    yield "loop", [rows, h, scale], averages(rows, h, scale, False)
    yield "loop_reverse", [rows, h, scale], averages(rows, h, scale, True)

    w, r, b = draw(H, I), draw(H, H), draw(H)
    yield "rnn", [x, h, w, r, b], run(lambda x, s: [np.tanh(w @ x + r @ s[0] + b)], x, [h])
    relu = lambda x, s: [np.maximum(clip(w @ x + r @ s[0]), 0)]
    yield "rnn_lengths_reverse_clip_relu", [x, h, w, r, lengths], run(relu, x, [h], lengths, True)

    w, r, bw, br = draw(3 * H, I), draw(3 * H, H), draw(3 * H), draw(3 * H)

    def gru(x, s, linear_before_reset, bound=lambda v: v):
        z, g, _ = np.split(sigmoid(bound(w @ x + r @ s[0] + bw + br)), 3)
        xs, rs = np.split(w @ x + bw, 3)[2], r[2 * H:]
        inner = g * (rs @ s[0] + br[2 * H:]) if linear_before_reset else rs @ (g * s[0]) + br[2 * H:]
        return [(1 - z) * np.tanh(bound(xs + inner)) + z * s[0]]

    yield "gru", [x, h, w, r, bw, br], run(lambda x, s: gru(x, s, False), x, [h])
    yield "gru_linear_lengths", [x, h, w, r, bw, br, lengths], run(lambda x, s: gru(x, s, True), x, [h], lengths)
    yield "gru_clip_reverse", [x, h, w, r, bw, br], run(lambda x, s: gru(x, s, False, clip), x, [h], None, True)

    w, r, b, p = draw(4 * H, I), draw(4 * H, H), draw(4 * H), draw(3 * H)
    pi, po, pf = np.split(p, 3)

    def lstm(x, s, coupled, bound=lambda v: v):
        i, o, f, g = np.split(w @ x + r @ s[0] + b, 4)
        i = sigmoid(bound(i + pi * s[1]))
        f = 1 - i if coupled else sigmoid(bound(f + pf * s[1]))
        new = f * s[1] + i * np.tanh(bound(g))
        return [sigmoid(bound(o + po * new)) * np.tanh(bound(new)), new]

    yield "lstm_peepholes", [x, h, c, w, r, b, p], run(lambda x, s: lstm(x, s, False), x, [h, c])
    yield ("lstm_coupled_lengths_reverse", [x, h, c, w, r, b, p, lengths],
           run(lambda x, s: lstm(x, s, True), x, [h, c], lengths, True))
    yield "lstm_clip", [x, h, c, w, r, b, p], run(lambda x, s: lstm(x, s, False, clip), x, [h, c])
