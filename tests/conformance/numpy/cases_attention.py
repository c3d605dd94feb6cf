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
