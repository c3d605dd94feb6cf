"""Movement ops: which element stands where."""
import numpy as np


def cases():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((3, 4, 5)).astype(np.float32)
    y = rng.integers(-9, 9, (3, 1, 5)).astype(np.int32)
    yield "permute", [x], [x.transpose(2, 0, 1)]
    yield "transpose", [x], [x.swapaxes(0, 1)]
    yield "flip", [x], [np.flip(x, (0, 2))]
    yield "slice_steps", [x], [x[2:0:-1, :, 1:5:2]]
    yield "pad", [x], [np.pad(x, ((1, 0), (0, 2), (3, 1)), constant_values=2.5)]
    longs = np.array([[-2**63, 2**53 + 1], [7, 2**63 - 1]], np.int64)
    yield "pad_integer", [longs], [np.pad(longs, ((1, 0), (0, 2)), constant_values=2**63 - 1)]
    words = np.array([0, 2**64 - 2], np.uint64)
    yield "pad_integer_u64", [words], [np.concatenate([words, np.array([2**64 - 1], np.uint64)])]
    yield "pad_edge", [x], [np.pad(x, ((1, 2), (0, 0), (2, 2)), "edge")]
    yield "pad_reflect", [x], [np.pad(x, ((1, 2), (0, 0), (2, 2)), "reflect")]
    yield "expand", [y], [np.broadcast_to(y, (2, 3, 4, 5))]
    yield "cat", [x, x + 1], [np.concatenate([x, x + 1], 1)]
    yield "stack", [x, x + 1], [np.stack([x, x + 1], 2)]
    yield "split", [x], list(np.split(x, [1, 3], axis=2))
    yield "tile", [y], [np.tile(y, (2, 3, 1))]
    yield "repeat_interleave", [y], [np.repeat(y, 3, 2)]
    yield "unfold", [x], [np.lib.stride_tricks.sliding_window_view(x, 3, 2)[:, :, ::2]]
    yield "reshape", [x], [x.reshape(5, 12)]
    yield "flatten", [x], [x.reshape(12, 5)]
    yield "squeeze", [y], [y.squeeze(1)]
    yield "unsqueeze", [x], [x[:, None, :, :, None]]
    yield "shrink", [x], [x[1:3, 0:2, 2:5]]
    yield "select", [x], [x[:, -2]]
    yield "split_every", [x], [x[:, :, :2], x[:, :, 2:4], x[:, :, 4:]]
    yield "creation", [x], [np.arange(7), np.broadcast_to(np.arange(4), (3, 4)).astype(np.int32), np.full((2, 2), 1.5, np.float32), x]
