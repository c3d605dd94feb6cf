"""What attention should give, in numpy's float64, and 16-bit numbers for it. Arrays are (batch, head, row, column).

fp16 is numpy's float16, bf16 is uint16 holding the upper half of a float32.
"""
import numpy as np

NO_MASK, TOP_LEFT, BOTTOM_RIGHT, WINDOW = range(4)


def rounded(values, dtype):
    """`values` as the 16-bit numbers that a kernel is given."""
    values = np.asarray(values, np.float32)
    if dtype == "fp16":
        return values.astype(np.float16)
    words = values.view(np.uint32)
    return ((words + 0x7fff + ((words >> 16) & 1)) >> 16).astype(np.uint16)


def exact(numbers, dtype):
    """The values of 16-bit numbers."""
    if dtype == "fp16":
        return numbers.astype(np.float64)
    return (numbers.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def tolerance(dtype, largest):
    """Of a result that is a mean of values up to `largest`: it is rounded once to 11 (fp16) or 8 (bf16) bits, at most
    half a unit in the last place; sums before that are of float32, whose error is far below."""
    return largest * (2.0 ** -11 if dtype == "fp16" else 2.0 ** -8) + 1e-5


def visible(rows, columns, mask_type, left, right):
    """True where row i may look at column j."""
    if mask_type == NO_MASK:
        return np.ones((rows, columns), bool)
    i = np.arange(rows)[:, None] + (0 if mask_type == TOP_LEFT else columns - rows)
    j = np.arange(columns)[None, :]
    seen = np.ones((rows, columns), bool)
    if right >= 0:
        seen &= j <= i + right
    if left >= 0:
        seen &= j >= i - left
    return seen


def attention(q, k, v, scale, mask=(NO_MASK, -1, -1), bias=None, soft_cap=None):
    """(o, lse, p); k and v may have fewer heads than q. A row that sees nothing is 0, its lse minus infinity."""
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    s = np.einsum("bhid,bhjd->bhij", q, k) * scale
    if soft_cap is not None:
        s = soft_cap * np.tanh(s / soft_cap)
    if bias is not None:
        s = s + bias
    s = np.where(visible(q.shape[2], k.shape[2], *mask), s, -np.inf)
    top = s.max(-1, keepdims=True)
    p = np.exp(s - np.where(np.isfinite(top), top, 0))
    total = p.sum(-1, keepdims=True)
    p = p / np.where(total > 0, total, 1)
    with np.errstate(divide="ignore"):
        lse = np.where(np.isfinite(top), top, 0)[..., 0] + np.log(total[..., 0])
    return np.einsum("bhij,bhjd->bhid", p, v), lse, p


def attention_gradients(q, k, v, do, scale, mask=(NO_MASK, -1, -1), bias=None):
    """(dq, dk, dv); dk and dv have q's number of heads, as the kernels give them."""
    o, _, p = attention(q, k, v, scale, mask, bias)
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    dv = np.einsum("bhij,bhid->bhjd", p, do)
    dp = np.einsum("bhid,bhjd->bhij", do, v)
    ds = p * (dp - (do * o).sum(-1, keepdims=True))
    return np.einsum("bhij,bhjd->bhid", ds, k) * scale, np.einsum("bhij,bhid->bhjd", ds, q) * scale, dv


def alibi_bias(slopes, rows, columns):
    away = np.abs(np.arange(rows)[:, None] + (columns - rows) - np.arange(columns)[None, :])
    return -slopes[None, :, None, None] * away
