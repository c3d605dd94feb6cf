"""Pools and convolutions, one window at a time, and normalisations of images."""
import numpy as np


def windows(shape, kernel, strides, begin, end, dilations, ceil=False):
    """(place of the result, [places of the window inside x]), in row-major order."""
    counts = []
    for n, k, s, b, e, d in zip(shape, kernel, strides, begin, end, dilations):
        space = n + b + e - (k - 1) * d - 1
        count = (space + s - 1 if ceil else space) // s + 1
        if ceil and (count - 1) * s >= n + b:
            count -= 1
        counts.append(count)
    for at in np.ndindex(*counts):
        inside = []
        for tap in np.ndindex(*kernel):
            place = tuple(a * s - b + t * d for a, s, b, t, d in zip(at, strides, begin, tap, dilations))
            if all(0 <= p < n for p, n in zip(place, shape)):
                inside.append(place)
        yield at, inside


def pool(x, f, *how, **options):
    found = list(windows(x.shape[2:], *how, **options))
    out = np.zeros((*x.shape[:2], *(i + 1 for i in found[-1][0])))
    for at, inside in found:
        out[(..., *at)] = f(np.stack([x[(..., *place)] for place in inside], -1).astype(np.float64))
    return out.astype(x.dtype)


def positions(x, order, *how, **options):
    found = list(windows(x.shape[2:], *how, **options))
    out = np.zeros((*x.shape[:2], *(i + 1 for i in found[-1][0])), np.int64)
    spatial = x.shape[2:]
    for (n, c), (at, inside) in ((plane, w) for plane in np.ndindex(x.shape[:2]) for w in found):
        values = [x[(n, c, *place)] for place in inside]
        best = inside[int(np.argmax(values))]
        flat = np.ravel_multi_index(best, spatial, order=order)
        out[(n, c, *at)] = (n * x.shape[1] + c) * np.prod(spatial) + flat
    return out


def conv_transpose(x, w, strides, begin, end, dilations, extra, groups):
    """Each element of x adds its kernel to the result."""
    n, channels, *lengths = x.shape
    per_group = w.shape[1]
    kernel = w.shape[2:]
    full = [(i - 1) * s + (k - 1) * d + 1 + e for i, s, k, d, e in zip(lengths, strides, kernel, dilations, extra)]
    out = np.zeros((n, per_group * groups, *full))
    for c in range(channels):
        group = c // (channels // groups)
        into = slice(group * per_group, (group + 1) * per_group)
        for at in np.ndindex(*lengths, *kernel):
            place = [i * s + t * d for i, s, t, d in zip(at, strides, at[len(lengths):], dilations)]
            out[(slice(None), into, *place)] += np.outer(
                x[(slice(None), c, *at[:len(lengths)])], w[(c, slice(None), *at[len(lengths):])])
    cut = tuple(slice(b, f - e) for b, e, f in zip(begin, end, full))
    return out[(slice(None), slice(None), *cut)].astype(np.float32)


def cases():
    rng = np.random.default_rng(6)
    x = rng.standard_normal((2, 3, 5, 6)).astype(np.float32)
    padded = ((3, 2), (2, 1), (1, 1), (1, 0), (1, 1))
    dilated = ((2, 3), (1, 2), (0, 2), (0, 1), (2, 2))
    yield "max_padded", [x], [pool(x, lambda v: v.max(-1), *padded), positions(x, "C", *padded)]
    yield "max_columns", [x], [pool(x, lambda v: v.max(-1), *dilated), positions(x, "F", *dilated)]
    # Ties, also with the padding's zeros: the first inside counts.
    u = rng.integers(0, 2, (1, 2, 4, 5)).astype(np.uint8)
    yield "max_ties", [u], [pool(u, lambda v: v.max(-1), *padded), positions(u, "C", *padded)]
    line = rng.standard_normal((1, 2, 8)).astype(np.float32)
    ceiled = ((3,), (2,), (0,), (0,), (1,))
    yield "max_ceil", [line], [pool(line, lambda v: v.max(-1), *ceiled, ceil=True),
                               positions(line, "C", *ceiled, ceil=True)]
    plain = ((2, 2), (2, 2), (0, 0), (0, 0), (1, 1))
    small, where = pool(x, lambda v: v.max(-1), *plain), positions(x, "C", *plain)
    back = np.zeros(x.size, np.float32)
    back[where.ravel()] = small.ravel()
    yield "max_unpool", [small, where], [back.reshape(x.shape)]
    for p in (1, 2, 3):
        yield f"lp_{p}", [x], [pool(x, lambda v: (abs(v)**p).sum(-1)**(1 / p), *padded)]
    yield "lp_ceil", [line], [pool(line, lambda v: (v * v).sum(-1)**0.5, *ceiled, ceil=True)]
    yield "global_lp", [x], [((abs(x.astype(np.float64))**3).sum((2, 3), keepdims=True)**(1 / 3)).astype(np.float32)]
    yield "average", [x], [pool(x, lambda v: v.mean(-1), *dilated)]
    yield "average_ceil", [line], [pool(line, lambda v: v.mean(-1), *ceiled, ceil=True)]

    # Windows of many elements, which are reduced along one axis after the other.
    large = ((5, 4), (1, 2), (2, 1), (2, 3), (1, 1))
    spread = ((4, 5), (2, 1), (1, 4), (2, 4), (1, 2))
    yield "max_large", [x], [pool(x, lambda v: v.max(-1), *large)]
    yield "max_large_dilated", [x], [pool(x, lambda v: v.max(-1), *spread)]
    yield "average_large", [x], [pool(x, lambda v: v.mean(-1), *large)]

    w = rng.standard_normal((3, 2, 2, 3)).astype(np.float32)
    yield "transposed", [x, w], [conv_transpose(x, w, (1, 1), (0, 0), (0, 0), (1, 1), (0, 0), 1)]
    yield "transposed_far", [x, w], [conv_transpose(x, w, (2, 3), (1, 0), (0, 1), (2, 1), (1, 2), 1)]
    y = rng.standard_normal((1, 4, 3)).astype(np.float32)
    v = rng.standard_normal((4, 3, 3)).astype(np.float32)
    yield "transposed_groups", [y, v], [conv_transpose(y, v, (2,), (1,), (1,), (1,), (0,), 2)]

    # Kernels that are no multiple of the stride, shorter than it, and a border that the extra results reach into.
    yield "transposed_uneven", [x, w], [conv_transpose(x, w, (3, 2), (1, 0), (0, 1), (1, 1), (2, 1), 1)]
    long = np.random.default_rng(7).standard_normal((4, 3, 7)).astype(np.float32)
    yield "transposed_long", [y, long], [conv_transpose(y, long, (3,), (0,), (4,), (1,), (1,), 2)]

    z = rng.standard_normal((2, 5, 3, 2)).astype(np.float32)
    for size in (3, 4):
        out = np.zeros(z.shape)
        for c in range(5):
            around = z[:, max(0, c - (size - 1) // 2):c + size // 2 + 1].astype(np.float64)
            out[:, c] = z[:, c] / (1.5 + 0.3 / size * (around**2).sum(1))**0.6
        yield f"lrn_{size}", [z], [out.astype(np.float32)]
    d = z.astype(np.float64)
    centred = d - d.mean((0, 2, 3), keepdims=True)
    yield "mean_variance", [z], [(centred / (d.std((0, 2, 3), keepdims=True) + 1e-9)).astype(np.float32)]
    for p in (1, 2):
        norm = (abs(d)**p).sum(1, keepdims=True)**(1 / p)
        yield f"lp_normalize_{p}", [z], [(d / norm).astype(np.float32)]
    yield "lp_normalize_zeros", [z * 0], [z * 0]
    scale, bias = rng.standard_normal((2, 5)).astype(np.float32)
    normal = centred / np.sqrt(d.var((0, 2, 3), keepdims=True) + 1e-3)
    yield "batch_training", [z, scale, bias], [
        (normal * scale[:, None, None] + bias[:, None, None]).astype(np.float32),
        d.mean((0, 2, 3)).astype(np.float32), d.var((0, 2, 3)).astype(np.float32)]
