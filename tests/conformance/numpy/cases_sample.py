"""Images read at computed places, one place at a time."""
import itertools

import numpy as np

from cases_resize import keys, linear


def mirror(place, low, high):
    """Walks back and forth until it is inside."""
    if high == low:
        return low
    while not low <= place <= high:
        place = 2 * low - place if place < low else 2 * high - place
    return place


def grid_sample(x, grid, mode, padding, align):
    """x [N, C, s...], grid [N, out..., d]; the last axis of the grid counts from the last spatial axis."""
    lengths = x.shape[2:]
    out = np.zeros((x.shape[0], x.shape[1], *grid.shape[1:-1]))
    for n, *where in np.ndindex(grid.shape[:-1]):
        options = []  # per axis: (place, weight), a place of None is outside
        for length, coordinate in zip(lengths, grid[(n, *where)][::-1].astype(np.float64)):
            low, high = (0, length - 1) if align else (-0.5, length - 0.5)
            at = low + (coordinate + 1) / 2 * (high - low)
            if mode == "nearest":
                at = np.rint(at)
            if padding == "border" and mode != "cubic":  # PyTorch moves a cubic kernel's neighbours, not its place
                at = min(max(at, 0), length - 1)
            if padding == "reflection":
                at = mirror(at, low, high)
            kernel = {"nearest": lambda t: 1.0 * (t == 0), "linear": linear, "cubic": keys(-0.75)}[mode]
            axis = []
            for place in range(int(np.floor(at)) - 2, int(np.floor(at)) + 4):
                inside = place
                if padding == "zeros" and not 0 <= place < length:
                    inside = None
                elif padding == "reflection":
                    inside = int(round(min(max(mirror(place, low, high), 0), length - 1)))
                elif padding == "border":
                    inside = min(max(place, 0), length - 1)
                axis.append((inside, float(kernel(np.float64(at - place)))))
            options.append(axis)
        for taps in itertools.product(*options):
            if any(place is None for place, _ in taps):
                continue
            weight = np.prod([w for _, w in taps])
            out[(n, slice(None), *where)] += weight * x[(n, slice(None), *(place for place, _ in taps))]
    return out.astype(x.dtype)


def bilinear(image, y, x):
    h, w = image.shape[1:]
    if not (-1 <= y <= h and -1 <= x <= w):
        return 0
    y, x = min(max(y, 0), h - 1), min(max(x, 0), w - 1)
    total = 0
    for i in range(h):
        for j in range(w):
            total = total + linear(y - i) * linear(x - j) * image[:, i, j]
    return total


def roi_align(x, rois, batch, height, width, scale, samples, half_pixel):
    out = np.zeros((len(rois), x.shape[1], height, width))
    for r, (x1, y1, x2, y2) in enumerate(rois.astype(np.float64) * scale - (0.5 if half_pixel else 0)):
        h, w = y2 - y1, x2 - x1
        if not half_pixel:
            h, w = max(h, 1), max(w, 1)
        for i, j in np.ndindex(height, width):
            places = [(y1 + h * (i + (a + 0.5) / samples) / height, x1 + w * (j + (b + 0.5) / samples) / width)
                      for a in range(samples) for b in range(samples)]
            out[r, :, i, j] = sum(bilinear(x[batch[r]], *place) for place in places) / len(places)
    return out.astype(np.float32)


def deform_conv(x, w, offset, mask, bias, stride, pad, dilation, groups, offset_groups):
    _, channels, height, width = x.shape
    o, per_group, kh, kw = w.shape
    out = np.zeros((len(x), o, *offset.shape[2:]))
    for n, f, i, j in np.ndindex(out.shape):
        total = bias[f]
        for c in range(per_group):
            channel = f // (o // groups) * per_group + c
            group = channel // (channels // offset_groups)
            for a, b in np.ndindex(kh, kw):
                tap = (group * kh + a) * kw + b
                y = i * stride[0] - pad + a * dilation + offset[n, 2 * tap, i, j]
                z = j * stride[1] - pad + b * dilation + offset[n, 2 * tap + 1, i, j]
                value = sum(linear(y - r) * linear(z - s) * x[n, channel, r, s]
                            for r in range(height) for s in range(width))
                total += w[f, c, a, b] * mask[n, tap, i, j] * value
        out[n, f, i, j] = total
    return out.astype(np.float32)


def max_roi_pool(x, rois, height, width, scale):
    out = np.zeros((len(rois), x.shape[1], height, width), x.dtype)
    for r, (n, *corners) in enumerate(rois):
        x1, y1, x2, y2 = (int(np.sign(c) * np.floor(abs(c) + 0.5)) for c in np.array(corners) * scale)
        h, w = max(y2 - y1 + 1, 1), max(x2 - x1 + 1, 1)
        for i, j in np.ndindex(height, width):
            rows = range(max(y1 + i * h // height, 0), min(y1 - (-(i + 1) * h // height), x.shape[2]))
            columns = range(max(x1 + j * w // width, 0), min(x1 - (-(j + 1) * w // width), x.shape[3]))
            if len(rows) and len(columns):
                out[r, :, i, j] = x[int(n)][:, rows][:, :, columns].max((1, 2))
    return out


def cases():
    rng = np.random.default_rng(4)
    x = rng.standard_normal((2, 3, 4, 5)).astype(np.float32)
    grid = rng.uniform(-1.9, 1.9, (2, 3, 4, 2)).astype(np.float32)
    for mode in ("nearest", "linear", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (False, True):
                name = f"{mode}_{padding}" + ("_aligned" if align else "")
                yield name, [x, grid], [grid_sample(x, grid, mode, padding, align)]
    line = rng.standard_normal((1, 2, 6)).astype(np.float32)
    steps = rng.uniform(-1.5, 1.5, (1, 7, 1)).astype(np.float32)
    yield "linear_1d", [line, steps], [grid_sample(line, steps, "linear", "zeros", False)]
    box = rng.standard_normal((1, 1, 2, 3, 4)).astype(np.float32)
    inside = rng.uniform(-1.2, 1.2, (1, 5, 1, 1, 3)).astype(np.float32)
    yield "linear_3d", [box, inside], [grid_sample(box, inside, "linear", "border", False)]
    beyond = np.array([[[[np.inf, 0], [-np.inf, 1e30], [0.1, 0.2]]]], np.float32)
    yield "linear_infinite", [x[:1], beyond], [np.concatenate(
        [np.zeros((1, 3, 1, 2), np.float32), grid_sample(x[:1], beyond[:, :, 2:], "linear", "zeros", False)], 3)]

    theta = rng.standard_normal((2, 2, 3)).astype(np.float32)
    for name, rows, columns in (("affine", (np.arange(3) * 2 + 1) / 3 - 1, (np.arange(4) * 2 + 1) / 4 - 1),
                                ("affine_aligned", np.linspace(-1, 1, 3), np.linspace(-1, 1, 4))):
        out = np.zeros((2, 3, 4, 2))
        for i, j in np.ndindex(3, 4):
            out[:, i, j] = theta @ np.array([columns[j], rows[i], 1])
        yield name, [theta], [out.astype(np.float32)]

    image = rng.standard_normal((2, 4, 5, 6)).astype(np.float32)
    w = rng.standard_normal((2, 4, 2, 2)).astype(np.float32)
    plain = rng.standard_normal((2, 8, 4, 5)).astype(np.float32)
    yield "deform", [image, w, plain], [
        deform_conv(image, w, plain, np.ones((2, 4, 4, 5)), np.zeros(2), (1, 1), 0, 1, 1, 1)]
    grouped = rng.standard_normal((6, 2, 2, 3)).astype(np.float32)
    # Heights (5 + 2 - 3) // 2 + 1, widths (6 + 2 - 5) // 3 + 1; the windows are dilated by 2.
    moves = rng.uniform(-2, 2, (2, 2 * 6 * 2, 3, 2)).astype(np.float32)
    mask, bias = rng.random((2, 2 * 6, 3, 2)).astype(np.float32), rng.standard_normal(6).astype(np.float32)
    yield "deform_groups", [image, grouped, moves, bias, mask], [
        deform_conv(image, grouped, moves, mask, bias, (2, 3), 1, 2, 2, 2)]

    rois = np.array([[0, 0, 7, 6], [2.5, -4, 3, 9], [-9, -9, -8, -8], [1, 2, 1.25, 2.5]], np.float32)
    batch = np.array([0, 1, 1, 0], np.int64)
    yield "roi_align", [x, rois, batch], [roi_align(x, rois, batch, 2, 3, 0.5, 2, True)]
    yield "roi_align_whole", [x, rois, batch], [roi_align(x, rois, batch, 3, 2, 0.5, 1, False)]
    numbered = np.concatenate([batch[:, None].astype(np.float32), rois], 1)
    yield "max_roi_pool", [x, numbered], [max_roi_pool(x, numbered, 2, 3, 0.5)]
