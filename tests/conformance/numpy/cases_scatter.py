"""Writing by index, gathering by coordinates, sorting: loops and numpy's own sorts."""
import numpy as np

COMBINE = {
    "none": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "min": np.minimum,
    "max": np.maximum,
}


def scatter_elements(data, indices, updates, axis, reduction):
    result = data.copy()
    for place in np.ndindex(indices.shape):
        target = list(place)
        target[axis] = indices[place]
        if not -data.shape[axis] <= indices[place] < data.shape[axis]:
            continue
        result[tuple(target)] = COMBINE[reduction](result[tuple(target)], updates[place])
    return result


def scatter_nd(data, indices, updates, reduction):
    result = data.copy()
    for place in np.ndindex(indices.shape[:-1]):
        target = tuple(indices[place])
        if all(-n <= i < n for i, n in zip(target, data.shape)):
            result[target] = COMBINE[reduction](result[target], updates[place])
    return result


def gather_nd(data, indices, batch):
    if batch:
        return np.stack([gather_nd(d, i, batch - 1) for d, i in zip(data, indices)])
    return data[tuple(np.moveaxis(indices, -1, 0))]


def cases():
    rng = np.random.default_rng(13)
    data = rng.standard_normal((4, 5, 3)).astype(np.float32)
    indices = rng.integers(-6, 6, (3, 4, 2))
    updates = rng.standard_normal((3, 4, 2)).astype(np.float32)
    updates[0, 0, 0] = np.inf
    for reduction in COMBINE:
        yield "elements_" + reduction, [data, indices, updates], [
            scatter_elements(data, indices, updates, 1, reduction)]
    small = rng.integers(-100, 100, (6,)).astype(np.int8)
    spots = rng.integers(-6, 6, (9,)).astype(np.int32)
    values = rng.integers(-100, 100, (9,)).astype(np.int8)
    with np.errstate(all="ignore"):
        yield "elements_i8", [small, spots, values], [
            scatter_elements(small, spots, values, 0, r) for r in ("none", "add", "mul", "min", "max")]
    flags = np.array([True, False, False, True])
    yield "elements_bool", [flags, np.array([1, -1]), np.array([True, False])], [np.array([True, True, False, False])]

    coordinates = np.stack([rng.integers(-5, 5, (2, 3)), rng.integers(-6, 6, (2, 3))], -1)
    rows = rng.standard_normal((2, 3, 3)).astype(np.float32)
    for reduction in COMBINE:
        yield "nd_" + reduction, [data, coordinates, rows], [scatter_nd(data, coordinates, rows, reduction)]
    cell = np.array([[0, 1, 2], [3, 4, 0], [0, 1, 2]])
    three = np.float32([7, 8, 9])
    yield "nd_cells", [data, cell, three], [scatter_nd(data, cell, three, "none"), scatter_nd(data, cell, three, "add")]

    along = rng.integers(-5, 5, (4, 7, 3))
    yield "gather_elements", [data, along], [np.take_along_axis(data, along, 1)]
    yield "gather_elements_part", [data, along[:2, :, 1:]], [np.take_along_axis(data[:2, :, :2], along[:2, :, 1:], 1)]
    classes = rng.integers(-3, 4, (2, 3))  # 3 is no class
    hot = np.concatenate([np.eye(3, dtype=bool), np.zeros((1, 3), bool)])[np.where(classes < 0, classes + 3, classes)]
    yield "one_hot", [classes], [hot.swapaxes(1, 2)]
    inside = np.stack([rng.integers(-4, 4, (2, 3)), rng.integers(-5, 5, (2, 3))], -1)
    yield "gather_nd", [data, inside], [gather_nd(data, inside, 0)]
    cells = np.stack([rng.integers(-n, n, 6) for n in data.shape], -1)
    yield "gather_nd_cells", [data, cells], [gather_nd(data, cells, 0)]
    batched = rng.integers(-5, 5, (4, 2, 1))
    yield "gather_nd_batch", [data, batched], [gather_nd(data, batched, 1)]
    deep = rng.integers(-3, 3, (4, 5, 1))
    yield "gather_nd_batches", [data, deep], [gather_nd(data, deep, 2)]

    few = rng.integers(-3, 3, (3, 7)).astype(np.int32)
    yield "sort_integers", [few], [np.sort(few, 0), -np.sort(-few, 1)]
    yield "argsort_ties", [few], [np.argsort(few, 1, "stable"), np.argsort(-few, 1, "stable")]
    odd = np.array([[2, np.nan, -np.inf, 0.0, -0.0, np.inf, np.nan, 2]], np.float32)
    yield "sort_nan", [odd], [np.sort(odd, 1), np.argsort(odd, 1, "stable"), odd[:, [1, 6, 5, 0, 7, 3, 4, 2]]]
    yield "sort_bytes", [few.astype(np.uint8)], [np.sort(few.astype(np.uint8), -1)]
    best = np.argsort(-data, 1, "stable")[:, :2]
    least = np.argsort(data, 2, "stable")[:, :, :1]
    yield "topk_none", [data], [data[:, :0], np.zeros((4, 0, 3), np.int64)]
    yield "scatter_nothing", [data, np.zeros((4, 0, 3), np.int64), data[:, :0]], [data]
    truths = few > 0
    yield "sort_bool", [truths], [np.sort(truths, 1), np.argsort(truths, 1, "stable")]
    halves = data.astype(np.float16)
    yield "sort_f16", [halves], [np.sort(halves, 0)]
    yield "topk", [data], [np.take_along_axis(data, best, 1), best, np.take_along_axis(data, least, 2), least]

    # Rows long enough for a sorting network: many ties, NaN of both signs, both zeros, infinities.
    long = np.round(rng.standard_normal((3, 500)) * 20).astype(np.float32) / 4
    long[0, :7] = [np.nan, -np.inf, -0.0, 0.0, np.inf, -np.nan, -0.0]
    yield "sort_long", [long], [np.take_along_axis(long, np.argsort(long, 1, "stable"), 1)]
    yield "argsort_long", [long], [np.argsort(long, 1, "stable"), np.argsort(long, 0, "stable")]
    falling = long.shape[1] - 1 - np.argsort(long[:, ::-1], 1, "stable")[:, ::-1]
    yield "argsort_long_falling", [long], [falling]
    for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float64"):
        kind = np.dtype(name)
        if kind.kind == "f":
            x = (rng.standard_normal((2, 300)) * 50).round(1).astype(kind)
        else:
            info = np.iinfo(kind)
            x = rng.integers(info.min, info.max, (2, 300), kind, endpoint=True)
            x[:, 40:80] = x[:, :40]
            x[:, 9], x[:, 11] = info.max, info.min
        order = np.argsort(x, 1, "stable")
        falling = x.shape[1] - 1 - np.argsort(x[:, ::-1], 1, "stable")[:, ::-1]
        yield "order_" + name, [x], [np.sort(x, 1), order, falling]
    truths = rng.integers(0, 2, (300,)).astype(bool)
    yield "order_bool", [truths], [np.sort(truths), np.argsort(truths, 0, "stable")]
    scores = rng.integers(0, 900, (2, 3, 4099)).astype(np.float32)
    scores[..., 5::800], scores[..., 7::800] = -0.0, 0.0
    for count in (1, 5, 50, 1000):
        best = np.argsort(-scores, 2, "stable")[..., :count]
        least = np.argsort(scores, 2, "stable")[..., :count]
        yield f"topk_long_{count}", [scores], [
            np.take_along_axis(scores, best, 2), best, np.take_along_axis(scores, least, 2), least]
    wide = rng.integers(-(1 << 60), 1 << 60, (700,))
    best = np.argsort(-wide, kind="stable")[:3]
    yield "topk_long_i64", [wide], [wide[best], best]
