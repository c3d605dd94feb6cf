"""Blocks of images, one element at a time."""
import numpy as np


def fold(x, image, kernel, strides, begin, end, dilations):
    out = np.zeros((x.shape[0], x.shape[1] // np.prod(kernel), *image), x.dtype)
    windows = [(s + b + e - ((k - 1) * d + 1)) // t + 1
               for s, b, e, k, d, t in zip(image, begin, end, kernel, dilations, strides)]
    columns = x.reshape(x.shape[0], out.shape[1], *kernel, *windows)
    for at in np.ndindex(*kernel, *windows):
        taps, window = at[:len(kernel)], at[len(kernel):]
        place = [w * t + k * d - b for w, t, k, d, b in zip(window, strides, taps, dilations, begin)]
        if all(0 <= p < s for p, s in zip(place, image)):
            out[(slice(None), slice(None), *place)] += columns[(slice(None), slice(None), *at)]
    return out


def cases():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((2, 12, 2, 3)).astype(np.float32)
    block_first, channel_first = np.zeros((2, 3, 4, 6), np.float32), np.zeros((2, 3, 4, 6), np.float32)
    for c, i, j, h, w in np.ndindex(3, 2, 2, 2, 3):
        block_first[:, c, 2 * h + i, 2 * w + j] = x[:, (i * 2 + j) * 3 + c, h, w]
        channel_first[:, c, 2 * h + i, 2 * w + j] = x[:, (c * 2 + i) * 2 + j, h, w]
    yield "depth_to_space", [x], [block_first]
    yield "space_to_depth", [block_first], [x]
    yield "pixel_shuffle", [x], [channel_first]
    yield "pixel_unshuffle", [channel_first], [x]
    yield "center_crop", [x], [x[:, 3:8, :, 1:2]]
    yield "center_pad", [x], [np.pad(x, ((0, 0), (0, 0), (1, 2), (0, 1)))]
    columns = rng.standard_normal((2, 2 * 6, 3 * 3)).astype(np.float32)
    yield "fold", [columns], [fold(columns, (5, 4), (3, 2), (1, 1), (0, 0), (0, 0), (1, 1))]
    # Windows of 2x2, dilated and strided, over an image padded on one side more than the other: 3 * 2 of them.
    wide = rng.standard_normal((1, 3 * 4, 3 * 2)).astype(np.float32)
    yield "fold_strided", [wide], [fold(wide, (5, 6), (2, 2), (2, 3), (1, 0), (1, 1), (2, 3))]
    whole = rng.integers(-99, 99, (1, 3, 4)).astype(np.int32)
    yield "fold_1d", [whole], [fold(whole, (6,), (3,), (1,), (0,), (0,), (1,))]
