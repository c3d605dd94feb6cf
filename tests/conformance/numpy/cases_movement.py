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
    yield "pad_edge", [x], [np.pad(x, ((1, 2), (0, 0), (2, 2)), "edge")]
    yield "pad_reflect", [x], [np.pad(x, ((1, 2), (0, 0), (2, 2)), "reflect")]
    yield "expand", [y], [np.broadcast_to(y, (2, 3, 4, 5))]
    yield "cat", [x, x + 1], [np.concatenate([x, x + 1], 1)]
    yield "stack", [x, x + 1], [np.stack([x, x + 1], 2)]
    yield "split", [x], list(np.split(x, [1, 3], axis=2))
    yield "tile", [y], [np.tile(y, (2, 3, 1))]
    yield "repeat_interleave", [y], [np.repeat(y, 3, 2)]
    yield "unfold", [x], [np.lib.stride_tricks.sliding_window_view(x, 3, 2)[:, :, ::2]]
