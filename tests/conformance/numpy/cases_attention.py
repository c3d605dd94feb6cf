"""Attention and what stands before it."""
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attend(q, k, v, bias=0.0, scale=None):
    scores = np.einsum("bhtd,bhsd->bhts", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    return np.einsum("bhts,bhsd->bhtd", softmax(scores + bias), v)


def turn(x, angle):
    """Pairs as complex numbers."""
    z = (x[..., 0] + 1j * x[..., 1]) * np.exp(1j * angle)
    return np.stack([z.real, z.imag], -1)


def linear_attend(q, k, v, past, decay=None, beta=None, scale=None):
    """Step by step in f64, as the papers write it: (y, state)."""
    state = past.astype(np.float64)
    shared = q.shape[1] // k.shape[1]
    y = np.zeros((*q.shape[:3], v.shape[3]))
    for t in range(q.shape[2]):
        key, value = k[:, :, t].astype(np.float64), v[:, :, t].astype(np.float64)
        if decay is not None:
            state = state * np.exp(decay[:, :, t].astype(np.float64))[..., None]
        if beta is not None:
            value = beta[:, :, t] * (value - np.einsum("bhd,bhde->bhe", key, state))
        state = state + np.einsum("bhd,bhe->bhde", key, value)
        for head in range(q.shape[1]):
            y[:, head, t] = np.einsum("bd,bde->be", q[:, head, t], state[:, head // shared])
    return y * (q.shape[-1] ** -0.5 if scale is None else scale), state


def convolve_causally(x, w, bias, past):
    full = np.concatenate([past, x], 2).astype(np.float64)
    y = np.zeros(x.shape)
    for t in range(x.shape[2]):
        y[:, :, t] = (full[:, :, t:t + w.shape[2]] * w[:, 0]).sum(-1) + bias
    return y, full[:, :, full.shape[2] - (w.shape[2] - 1):]


def cases():
    rng = np.random.default_rng(6)

    def draw(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    table, ids = draw(7, 3), rng.integers(0, 7, (2, 4)).astype(np.int32)
    yield "embedding", [table, ids], [table[ids]]

    x, angle = draw(2, 3, 4, 6), draw(4, 2).astype(np.float64)
    cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    halves = np.stack([x[..., 0:2], x[..., 2:4]], -1)
    turned = turn(halves, angle)
    yield "rotary", [x, cos, sin], [np.concatenate([turned[..., 0], turned[..., 1], x[..., 4:]], -1).astype(np.float32)]
    neighbours = turn(x[..., :4].reshape(2, 3, 4, 2, 2), angle).reshape(2, 3, 4, 4)
    yield "rotary_interleaved", [x, cos, sin], [np.concatenate([neighbours, x[..., 4:]], -1).astype(np.float32)]

    q, k, v = draw(2, 4, 3, 5), draw(2, 4, 6, 5), draw(2, 4, 6, 2)
    yield "attention", [q, k, v], [attend(q, k, v)]
    bias = draw(2, 1, 3, 6)
    yield "attention_bias", [q, k, v, bias], [attend(q, k, v, bias, 0.3)]
    seen = rng.random((2, 1, 3, 6)) < 0.6
    seen[0, 0, 1] = False  # sees nothing
    y = attend(q, k, v, np.where(seen, 0, -1e30))
    y[0, :, 1] = 0
    yield "attention_mask", [q, k, v, seen], [y.astype(np.float32)]
    late = np.where(np.tri(3, 6, 3) > 0, 0, -1e30)
    yield "attention_causal", [q, k, v], [attend(q, k, v, late).astype(np.float32)]
    few_k, few_v = draw(2, 2, 6, 5), draw(2, 2, 6, 2)
    yield "attention_groups", [q, few_k, few_v], [attend(q, few_k[:, [0, 0, 1, 1]], few_v[:, [0, 0, 1, 1]])]

    place, key = np.arange(3)[:, None] + 2, np.arange(6)  # of queries behind two keys of before
    for name, seen in (("left", key >= place - 1), ("right", key <= place + 1), ("both", (key >= place) & (key <= place + 1))):
        yield f"window_{name}", [q, k, v], [attend(q, k, v, np.where(seen, 0, -1e30)).astype(np.float32)]
    wide = np.where((key >= place - 1) & (key <= place), 0, -1e30)
    yield "window_causal_bias", [q, k, v, bias], [attend(q, k, v, wide + bias).astype(np.float32)]

    # Scores that fall with the distance, and weights of which each second is taken away.
    distance = np.abs(np.arange(3)[:, None] - key).astype(np.float32)
    scores = np.einsum("bhtd,bhsd->bhts", q, few_k[:, [0, 0, 1, 1]]) * 0.4 - distance
    weights = softmax(scores) * (key % 2)
    flexed = np.einsum("bhts,bhsd->bhtd", weights, few_v[:, [0, 0, 1, 1]])
    yield "flex", [q, few_k, few_v, distance], [flexed.astype(np.float32)]

    q, k, v, past = draw(2, 4, 5, 3), draw(2, 2, 5, 3), draw(2, 2, 5, 4), draw(2, 2, 3, 4)
    beta = 1 / (1 + np.exp(-draw(2, 2, 5, 1)))
    for name, decay, beta_of in (("linear", None, None), ("gated", -np.abs(draw(2, 2, 5, 3)), None), ("delta", None, beta),
                                 ("gated_delta", -np.abs(draw(2, 2, 5, 1)), beta[:, :1])):
        extra = [x for x in (decay, beta_of) if x is not None]
        y, state = linear_attend(q, k, v, past, decay, beta_of)
        yield f"linear_attention_{name}", [q, k, v, past, *extra], [y.astype(np.float32), state.astype(np.float32)]
    y, state = linear_attend(q[:, :, :1], k[:, :, :1], v[:, :, :1], 0 * past, scale=0.7)
    yield "linear_attention_one_step", [q[:, :, :1], k[:, :, :1], v[:, :, :1]], [y.astype(np.float32), state.astype(np.float32)]

    x, w, bias, past = draw(2, 3, 5), draw(3, 1, 4), draw(3), draw(2, 3, 3)
    y, state = convolve_causally(x, w, bias, past)
    yield "causal_conv", [x, w, bias, past], [y.astype(np.float32), state.astype(np.float32)]
    y, state = convolve_causally(x[:, :, :1], w, 0, 0 * past)  # shorter than the window
    yield "causal_conv_plain", [x[:, :, :1], w], [y.astype(np.float32), state.astype(np.float32)]
