"""Reductions and row functions."""
import numpy as np


def log_sum(x, axis, keepdims=False):
    top = x.max(axis, keepdims=True)
    total = np.log(np.exp(x - top).sum(axis, keepdims=True)) + top
    return total if keepdims else total.squeeze(axis)


def cases():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, 3, 5)).astype(np.float32)
    wide = x.astype(np.float64)
    i = rng.integers(-5, 6, (3, 4)).astype(np.int8)
    f32 = np.float32
    yield "reduce_sum", [x], [wide.sum((0, 2)).astype(f32)]
    yield "reduce_sum_all", [x], [wide.sum().astype(f32)]
    yield "reduce_sum_small_integers", [i], [i.sum(1, keepdims=True, dtype=np.int32)]
    yield "reduce_prod", [x], [wide.prod(1).astype(f32)]
    yield "reduce_max", [x], [x.max(-1)]
    yield "reduce_min", [i], [i.min(0)]
    yield "mean", [x], [wide.mean((1, 2), keepdims=True).astype(f32)]
    yield "variance", [x], [wide.var(2).astype(f32)]
    yield "variance_corrected", [x], [wide.var(2, ddof=1).astype(f32)]
    yield "lp_norm", [x], [((abs(wide)**3).sum(1)**(1 / 3)).astype(f32)]
    yield "any", [x > 1], [(x > 1).any(1)]
    yield "all", [x > -1], [(x > -1).all(2)]
    ties = np.array([[1, 3, 3, 0], [2, 2, -1, -1]], f32)
    yield "argmax", [ties], [ties.argmax(1)]
    yield "argmin_last", [ties], [3 - ties[:, ::-1].argmin(1)]
    yield "cumsum", [x], [wide.cumsum(2).astype(f32)]
    yield "cumsum_exclusive_reverse", [x], [(wide[:, :, ::-1].cumsum(2)[:, :, ::-1] - wide).astype(f32)]
    long = rng.uniform(0.5, 1.5, (2, 777, 3)).astype(f32)
    sums = long.astype(np.float64).cumsum(1)
    yield "cumsum_long", [long], [sums.astype(f32)]
    yield "cumsum_long_exclusive", [long], [(sums - long).astype(f32)]
    yield "cumsum_long_reverse", [long], [long[:, ::-1].astype(np.float64).cumsum(1)[:, ::-1].astype(f32)]
    counts = rng.integers(-100, 100, (1000,)).astype(np.int8)
    yield "cumsum_long_i8", [counts], [counts.cumsum(dtype=np.int8)]
    near_one = (1 + rng.standard_normal((130,)) / 100).astype(f32)
    yield "cumprod_long", [near_one], [near_one.astype(np.float64).cumprod().astype(f32)]
    yield "softmax", [x], [np.exp(wide - log_sum(wide, 1, True)).astype(f32)]
    yield "log_softmax", [x], [(wide - log_sum(wide, -1, True)).astype(f32)]
    yield "logsumexp", [x * 50], [log_sum(wide * 50, 2).astype(f32)]
