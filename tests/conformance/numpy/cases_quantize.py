"""Linear quantisation: numpy's rint, clip and wide integer sums."""
import numpy as np

RANGES = {np.uint8: (0, 255), np.int8: (-128, 127), np.uint16: (0, 65535), np.int16: (-32768, 32767)}


def quantize(x, scale, zero, dtype):
    low, high = RANGES[dtype]
    return np.clip(np.rint(x.astype(np.float64) / scale) + zero, low, high).astype(dtype)


def convolve(x, w, pad, stride):
    """Cross-correlation of integers, one place of the result at a time."""
    n, c, h, width = x.shape
    o, _, kh, kw = w.shape
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    out = np.zeros((n, o, (h + 2 * pad - kh) // stride + 1, (width + 2 * pad - kw) // stride + 1), np.int64)
    for i in range(out.shape[2]):
        for j in range(out.shape[3]):
            window = x[:, :, i * stride:i * stride + kh, j * stride:j * stride + kw]
            out[:, :, i, j] = np.tensordot(window, w, ((1, 2, 3), (1, 2, 3)))
    return out.astype(np.int32)


def cases():
    rng = np.random.default_rng(2)
    # Powers of two as scales: quotients are exact, so that halves are halves.
    x = np.concatenate([np.arange(-12, 12) / 8, [1e9, -1e9, 0.0]]).astype(np.float32)
    half = np.float32(0.25)
    for dtype in RANGES:
        zero = np.array(100 if dtype in (np.uint8, np.uint16) else -7, dtype)
        yield f"quantize_{np.dtype(dtype).name}", [x, half, zero], [quantize(x, half, zero, dtype)]
    yield "quantize_no_zero", [x, half], [quantize(x, half, 0, np.int8)]
    y = rng.standard_normal((2, 3, 4)).astype(np.float32) * 40
    scales, zeros = np.array([0.5, 0.25, 2], np.float32), np.array([3, 0, 200], np.uint8)
    q = quantize(y, scales[:, None], zeros[:, None].astype(np.int32), np.uint8)
    yield "quantize_axis", [y, scales, zeros], [q]
    yield "dequantize_axis", [q, scales, zeros], [
        ((q.astype(np.int32) - zeros[:, None].astype(np.int32)) * scales[:, None]).astype(np.float32)]
    i = rng.integers(-10**6, 10**6, (5,)).astype(np.int32)
    yield "dequantize_i32", [i, half], [(i * half).astype(np.float32)]
    for name, values in (("mixed", y), ("positive", abs(y) + 3), ("zeros", y * 0)):
        low, high = min(values.min(), 0), max(values.max(), 0)
        scale = np.float32(1 if high == low else (high - low) / 255)
        zero = np.uint8(np.clip(np.rint(-low / scale), 0, 255))
        yield f"dynamic_{name}", [values], [quantize(values, scale, np.float32(zero), np.uint8), scale, zero]

    def byte(dtype, *shape):
        low, high = RANGES[dtype]
        return rng.integers(low, high + 1, shape).astype(dtype)

    for left in (np.uint8, np.int8):
        for right in (np.uint8, np.int8):
            a, b = byte(left, 3, 9), byte(right, 9, 5)
            product = a.astype(np.int32) @ b.astype(np.int32)
            yield f"matmul_{np.dtype(left).name}_{np.dtype(right).name}", [a, b], [product]
    a, b = byte(np.uint8, 2, 3, 6), byte(np.int8, 6, 4)
    za, zb = np.array([[1], [0], [255]], np.uint8), np.array([-3, 0, 127, -128], np.int8)
    wide = [v.astype(np.int32) for v in (a, b, za, zb)]
    yield "matmul_zero_points", [a, b, za, zb], [(wide[0] - wide[2]) @ (wide[1] - wide[3])]
    yield "matmul_vector", [a[0, 0], b, np.uint8(7), zb], [(wide[0][0, 0] - 7) @ (wide[1] - wide[3])]
    x, w = byte(np.uint8, 1, 2, 5, 6), byte(np.int8, 3, 2, 3, 2)
    zw = np.array([5, -1, 0], np.int8)
    xi, wi = x.astype(np.int32), w.astype(np.int32)
    shifted = wi - zw.astype(np.int32)[:, None, None, None]
    yield "conv", [x, w], [convolve(xi, wi, 0, 1)]
    yield "conv_known_zero", [x, w, zw], [convolve(xi - 131, shifted, 1, 2)]
    yield "conv_computed_zero", [x, w, np.uint8(131), zw], [convolve(xi - 131, shifted, 1, 2)]
