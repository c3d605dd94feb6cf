"""Results whose length depends on the data, filled up with zeros to their bound, and that length."""
import numpy as np


def filled(array, bound, axis=0):
    """`array` with zeros behind, `bound` long along `axis`; and its own length."""
    missing = [(0, 0)] * array.ndim
    missing[axis] = (0, bound - array.shape[axis])
    return [np.pad(array, missing), np.int64(array.shape[axis])]


def unique(x, axis=None, sorted_order=True):
    values, first, inverse, counts = np.unique(x, True, True, True, axis=axis)
    if not sorted_order:
        order = np.argsort(first)
        place = np.argsort(order)
        values, first, inverse, counts = np.take(values, order, axis or 0), first[order], place[inverse], counts[order]
    n = x.size if axis is None else x.shape[axis]
    values, length = filled(values, n, axis or 0)
    return [values, filled(first, n)[0], inverse.reshape(-1), filled(counts, n)[0], length]


def suppressed(boxes, scores, most, iou, score):
    chosen = []
    for batch in range(scores.shape[0]):
        for label in range(scores.shape[1]):
            kept = []
            for box in np.argsort(-scores[batch, label], kind="stable"):
                if len(kept) == most or scores[batch, label, box] <= score:
                    break
                y1, x1, y2, x2 = boxes[batch, box]
                for other in kept:
                    v1, u1, v2, u2 = boxes[batch, other]
                    common = max(0, min(y2, v2) - max(y1, v1)) * max(0, min(x2, u2) - max(x1, u1))
                    if common / ((y2 - y1) * (x2 - x1) + (v2 - v1) * (u2 - u1) - common) > iou:
                        break
                else:
                    kept.append(box)
            chosen += [(batch, label, box) for box in kept]
    return np.array(chosen, np.int64).reshape(-1, 3)


def cases():
    rng = np.random.default_rng(14)
    x = rng.integers(-1, 2, (2, 3, 4)).astype(np.float32)
    yield "nonzero", [x], filled(np.array(np.nonzero(x)), 24, 1)
    flags = np.array([True, False, False, True, True])
    yield "nonzero_bool", [flags], filled(np.array(np.nonzero(flags)), 5, 1)
    yield "nonzero_none", [np.zeros((2, 2), np.int8)], [np.zeros((2, 4), np.int64), np.int64(0)]
    wide = rng.standard_normal((3, 5)).astype(np.float32)
    yield "compress", [wide, flags], filled(np.compress(flags, wide, 1), 5, 1)
    yield "compress_short", [wide, flags[:2]], filled(np.compress(flags[:2], wide, 0), 2, 0)
    yield "unique", [x], unique(x)
    yield "unique_unsorted", [x], unique(x, None, False)
    rows = rng.integers(0, 2, (6, 2)).astype(np.int32)
    yield "unique_rows", [rows], unique(rows, 0)
    yield "unique_columns", [rows.T.copy()], unique(rows.T, 1)
    yield "unique_rows_unsorted", [rows], unique(rows, 0, False)
    yield "unique_bool", [flags], unique(flags)
    odd = np.array([np.nan, 1, np.inf, np.nan, -0.0, 0.0, 1], np.float32)
    yield "unique_nan", [odd], unique(odd)
    corners = rng.uniform(0, 1, (2, 7, 2))
    boxes = np.concatenate([corners, corners + rng.uniform(0.3, 1, (2, 7, 2))], -1).astype(np.float32)
    scores = rng.uniform(0, 1, (2, 3, 7)).astype(np.float32)
    scores[0, 0, :3] = 0.75
    yield "suppression", [boxes, scores], filled(suppressed(boxes, scores, 4, 0.4, 0.2), 24)
