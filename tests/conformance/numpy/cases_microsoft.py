"""Operators of com.microsoft, by the formulas of ONNX Runtime's operator documentation."""
import math

import numpy as np

erf = np.vectorize(math.erf)


def gelu(x):
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def normal(x, scale, bias=0.0, eps=1e-12):
    m = x.mean(-1, keepdims=True)
    return (x - m) / np.sqrt(((x - m) ** 2).mean(-1, keepdims=True) + eps) * scale + bias


def heads(x, n):
    b, s, w = x.shape
    return x.reshape(b, s, n, w // n).transpose(0, 2, 1, 3)


def attend(q, k, v, bias):
    """Heads in, [batch, sequence, hidden] out."""
    scores = np.einsum("bhtd,bhsd->bhts", q, k) / math.sqrt(q.shape[-1]) + bias
    e = np.exp(scores - scores.max(-1, keepdims=True))
    y = np.einsum("bhts,bhsd->bthd", e / e.sum(-1, keepdims=True), v)
    return y.reshape(y.shape[0], y.shape[1], -1)


def turn_halves(x, angle):
    """x [.., D] as D/2 complex numbers, element i with i + D/2."""
    half = x.shape[-1] // 2
    z = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * angle)
    return np.concatenate([z.real, z.imag], -1)


def cases():
    rng = np.random.default_rng(8)

    def draw(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    def single(arrays):
        return [np.asarray(a, np.float32) if np.asarray(a).dtype.kind == "f" else a for a in arrays]

    x, b = draw(2, 3, 4), draw(4)
    yield "gelu", [x], single([gelu(x)])
    yield "bias_gelu", [x, b], single([gelu(x + b)])
    inner = math.sqrt(2 / math.pi) * ((x + b) + 0.044715 * (x + b) ** 3)
    yield "fast_gelu", [x, b], single([0.5 * (x + b) * (1 + np.tanh(inner))])
    yield "quick_gelu", [x], single([x / (1 + np.exp(-1.5 * x))])

    skip, scale, bias = draw(2, 3, 4), draw(4), draw(4)
    total = x + skip + b
    yield "skip_layer_norm", [x, skip, scale, bias, b], single([normal(total, scale, bias), total])
    rms = total / np.sqrt((total ** 2).mean(-1, keepdims=True) + 1e-5) * scale
    yield "skip_simplified_layer_norm", [x, skip, scale, b], single([rms, total])
    yield "simplified_layer_norm", [x, scale], single([x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-5) * scale])

    ids, segments = rng.integers(0, 5, (2, 3)).astype(np.int32), rng.integers(0, 2, (2, 3)).astype(np.int32)
    words, places, kinds = draw(5, 4), draw(6, 4), draw(2, 4)
    mask = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    summed = words[ids] + places[np.arange(3)] + kinds[segments]
    yield ("embed_layer_norm", [ids, segments, words, places, kinds, scale, bias, mask],
           single([normal(summed, scale, bias), np.array([2, 3], np.int32), summed]))

    p, q = draw(2, 4, 3), draw(2, 5, 4)
    yield "fused_matmul", [p, q], single([0.5 * np.einsum("bki,bjk->bij", p, q)])

    angle = draw(8, 2).astype(np.float64)
    cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    h, offset = draw(2, 3, 8), np.array([2], np.int64)
    turned = turn_halves(heads(h, 2), angle[2:5]).transpose(0, 2, 1, 3).reshape(2, 3, 8)
    yield "rotary_embedding", [h, offset, cos, sin], single([turned])
    split, places = draw(2, 2, 3, 4), rng.integers(0, 8, (2, 3)).astype(np.int64)
    z = (split[..., 0::2] + 1j * split[..., 1::2]) * np.exp(1j * angle[places][:, None])
    yield ("rotary_embedding_interleaved", [split, places, cos, sin],
           single([np.stack([z.real, z.imag], -1).reshape(split.shape)]))

    # Two heads of two; queries and keys 4 wide, values 6.
    x, w, b = draw(2, 3, 5), draw(5, 14), draw(14)
    qh, kh, vh = (heads(part, 2) for part in np.split(x @ w + b, [4, 8], -1))
    later = np.where(np.tri(3) > 0, 0, -1e30)
    yield "attention_causal", [x, w, b], single([attend(qh, kh, vh, later)])
    seen = np.array([[1, 1, 0], [1, 0, 1]], np.int32)
    yield "attention_mask", [x, w, b, seen], single([attend(qh, kh, vh, (1 - seen[:, None, None]) * -10000.0)])
    lengths = np.array([2, 3], np.int32)
    short = (np.arange(3) >= lengths[:, None])[:, None, None] * -10000.0
    yield "attention_lengths", [x, w, b, lengths], single([attend(qh, kh, vh, short)])
    w, b, past = draw(5, 12), draw(12), draw(2, 2, 2, 2, 2)
    qh, kh, vh = (heads(part, 2) for part in np.split(x @ w + b, 3, -1))
    k_all, v_all = np.concatenate([past[0], kh], 2), np.concatenate([past[1], vh], 2)
    late = np.where(np.tri(3, 5, 2) > 0, 0, -1e30)
    yield "attention_past", [x, w, b, past], single([attend(qh, k_all, v_all, late), np.stack([k_all, v_all])])

    q, k, v, b, scores = draw(2, 3, 4), draw(2, 5, 4), draw(2, 5, 6), draw(14), draw(1, 2, 3, 5)
    padding = rng.integers(0, 2, (2, 5)).astype(np.int32)
    bq, bk, bv = np.split(b, [4, 8])
    y = attend(heads(q + bq, 2), heads(k + bk, 2), heads(v + bv, 2), scores + (1 - padding[:, None, None]) * -1000.0)
    yield "multi_head_attention", [q, k, v, b, padding, scores], single([y])

    q, k, v, last = draw(1, 3, 16), draw(1, 3, 8), draw(1, 3, 8), np.array([2], np.int32)
    total = np.array(3, np.int32)
    qh = turn_halves(heads(q, 4), angle[:3])
    kh, vh = turn_halves(heads(k, 2), angle[:3]), heads(v, 2)
    y = attend(qh, kh[:, [0, 0, 1, 1]], vh[:, [0, 0, 1, 1]], later)
    yield "group_query_attention", [q, k, v, last, total, cos, sin], single([y, kh, vh])

    yield from cached_attention(draw, single)
    yield from blocks_of_bits(rng, draw, single)


def cached_attention(draw, single):
    """Two tokens behind a past of five, of one item; then one token behind pasts of five and three in room for six."""
    num_heads, num_keys, size = 4, 2, 4
    angle = np.arange(12)[:, None] / 10.0 ** np.arange(size // 2)
    cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    for name, batch, fresh, pasts, room in (("follows", 1, 2, [5], 5), ("ragged", 2, 1, [5, 3], 6)):
        q, k = draw(batch, fresh, num_heads * size), draw(batch, fresh, num_keys * size)
        # Values far from zero, so that what rounding of keys in half precision does to a mean of them stays small.
        v = (2 + 0.25 * draw(batch, fresh, num_keys * size)).astype(np.float32)
        past_k = draw(batch, num_keys, room, size)
        past_v = (2 + 0.25 * draw(batch, num_keys, room, size)).astype(np.float32)
        rows = []
        for item, past in enumerate(pasts):
            turn = angle[past:past + fresh]
            one = slice(item, item + 1)
            qh = turn_halves(heads(q[one], num_heads), turn)
            kh = np.concatenate([past_k[one, :, :past], turn_halves(heads(k[one], num_keys), turn)], 2)
            vh = np.concatenate([past_v[one, :, :past], heads(v[one], num_keys)], 2)
            place = past + np.arange(fresh)[:, None]
            unseen = np.where(np.arange(past + fresh) <= place, 0, -np.inf)
            rows.append(attend(qh, kh[:, [0, 0, 1, 1]], vh[:, [0, 0, 1, 1]], unseen))
        last = np.array([past + fresh - 1 for past in pasts], np.int32)
        total = np.array(max(pasts) + fresh, np.int32)
        inputs = [past_k, past_v, last, total, cos, sin]
        y = np.concatenate(rows, 0)
        yield f"group_query_attention_{name}", [q, k, v, *inputs], single([y])
        if name == "follows":
            packed = np.concatenate([q, k, v], -1)
            yield "group_query_attention_packed", [packed, *inputs], single([y, kh, vh])


def blocks_of_bits(rng, draw, single):
    """MatMulNBits: columns of weights in blocks along the rows of the product, the lowest bits of a byte first."""
    for bits, block, deep, columns, kind in ((4, 16, 40, 5, "none"), (4, 32, 64, 3, "packed"), (4, 16, 48, 4, "packed"),
                                             (8, 16, 32, 3, "float"), (2, 16, 32, 3, "packed")):
        blocks, per = -(-deep // block), 8 // bits
        numbers = rng.integers(0, 2 ** bits, (columns, blocks, block))
        shifts = bits * np.arange(per)

        def packed(x):
            padded = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, -x.shape[-1] % per)])
            parts = padded.reshape(*x.shape[:-1], -1, per) << shifts
            return parts.sum(-1).astype(np.uint8)

        x, scales = draw(3, deep), draw(columns, blocks)
        inputs, zero = [x, packed(numbers), scales.reshape(-1)], 2.0 ** (bits - 1)
        if kind == "packed":
            zeros = rng.integers(0, 2 ** bits, (columns, blocks))
            inputs.append(packed(zeros).reshape(-1))
            zero = zeros[..., None]
        elif kind == "float":
            zeros = draw(columns, blocks)
            inputs.append(zeros)
            zero = zeros[..., None]
        weights = ((numbers - zero) * scales[..., None]).reshape(columns, -1)[:, :deep]
        yield f"matmul_nbits_{bits}_{block}_{kind}", inputs, single([x.astype(np.float64) @ weights.T])
