"""Resizing by matrices: row i of an axis's matrix is the interpolation kernel centred at position i, over the input
with its edges repeated far enough."""
import numpy as np

FAR = 64  # repeats of an edge


def linear(t):
    return np.maximum(0, 1 - abs(t))


def keys(a):
    def cubic(t):
        t = abs(t)
        inner = (a + 2) * t**3 - (a + 3) * t**2 + 1
        outer = a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a
        return np.where(t <= 1, inner, np.where(t < 2, outer, 0))
    return cubic


def matrix(n, positions, kernel, shrink=1.0, exclude_outside=False):
    j = np.arange(-FAR, n + FAR)
    w = kernel((j[None] - np.asarray(positions, np.float64)[:, None]) * shrink)
    if exclude_outside:
        w = w * ((j >= 0) & (j < n))
    if exclude_outside or shrink != 1:
        w = w / w.sum(1, keepdims=True)
    inside = np.zeros((len(positions), n))
    for column, place in enumerate(np.clip(j, 0, n - 1)):
        inside[:, place] += w[:, column]
    return inside


def apply(x, first, second):
    return np.einsum("ij,bjk,lk->bil", first, x.astype(np.float64), second).astype(np.float32)


def half_pixel(n, m):
    return (np.arange(m) + 0.5) * n / m - 0.5


def take(x, rows, columns):
    return x[:, np.clip(rows, 0, x.shape[1] - 1).astype(int)][:, :, np.clip(columns, 0, x.shape[2] - 1).astype(int)]


def cases():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, 4, 5)).astype(np.float32)
    bytes_ = rng.integers(0, 255, (1, 3, 4)).astype(np.uint8)
    up, down = (7, 9), (3, 2)
    yield "nearest_repeats", [bytes_], [np.repeat(np.repeat(bytes_, 2, 1), 3, 2)]
    rows, columns = half_pixel(4, 7), half_pixel(5, 9)
    yield "nearest_prefer_floor", [x], [take(x, np.ceil(rows - 0.5), np.ceil(columns - 0.5))]
    yield "nearest_prefer_ceil", [x], [take(x, np.floor(rows + 0.5), np.floor(columns + 0.5))]
    asymmetric = np.arange(7) * 4 / 7, np.arange(9) * 5 / 9
    yield "nearest_floor_asymmetric", [x], [take(x, np.floor(asymmetric[0]), np.floor(asymmetric[1]))]
    yield "nearest_ceil_tf", [x], [take(x, np.ceil(rows + 0.5), np.ceil(columns + 0.5))]
    for name, kernel in (("linear", linear), ("cubic", keys(-0.75))):
        for shape, (h, w) in (("up", up), ("down", down)):
            yield f"{name}_{shape}", [x], [
                apply(x, matrix(4, half_pixel(4, h), kernel), matrix(5, half_pixel(5, w), kernel))]
        shrinks = down[0] / 4, down[1] / 5
        yield f"{name}_antialias", [x], [apply(x, matrix(4, half_pixel(4, down[0]), kernel, shrinks[0]),
                                               matrix(5, half_pixel(5, down[1]), kernel, shrinks[1]))]
    yield "cubic_exclude", [x], [apply(x, matrix(4, half_pixel(4, 7), keys(-0.5), 1, True),
                                       matrix(5, half_pixel(5, 9), keys(-0.5), 1, True))]
    yield "linear_align_corners", [x], [
        apply(x, matrix(4, np.linspace(0, 3, 7), linear), matrix(5, np.linspace(0, 4, 9), linear))]
    yield "linear_pytorch_one", [x], [apply(x, matrix(4, [0], linear), matrix(5, half_pixel(5, 2), linear))]
    # A scale of 2.3 gives 9 places of 9.2: the lost 0.1 at each end.
    symmetric = (np.arange(9) + 0.5) / 2.3 - 0.5 + 2 * (1 - 9 / 9.2)
    yield "linear_symmetric", [x], [apply(x, matrix(4, symmetric, linear), np.eye(5))]
    crop = 0.4 * 3 + np.linspace(0, (1.2 - 0.4) * 3, 5)
    cropped = apply(x, matrix(4, crop, linear), np.eye(5))
    cropped[:, crop > 3] = 7.5
    yield "linear_crop", [x], [cropped]
    yield "linear_f64", [x.astype(np.float64)], [np.einsum(
        "ij,bjk->bik", matrix(4, half_pixel(4, 7), linear), x.astype(np.float64))]
