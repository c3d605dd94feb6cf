"""Tensors by formula, triangles, running products, roll."""
import numpy as np


def cases():
    rng = np.random.default_rng(12)
    x = rng.standard_normal((2, 4, 5)).astype(np.float32)
    n = rng.integers(-3, 4, (3, 4)).astype(np.int32)
    yield "linspace", [], [np.linspace(-1, 2, 7, dtype=np.float32), np.linspace(5, 5, 1), np.linspace(0.1, 0.3, 11)]
    yield "eye", [], [np.eye(3, 5, 1, np.float32), np.eye(4, 3, -2, np.int64), np.eye(2, 2, 0, np.bool_)]
    yield "triu", [x], [np.triu(x), np.triu(x, 2), np.triu(x, -1), np.triu(x, 9)]
    yield "tril", [n], [np.tril(n), np.tril(n, 2), np.tril(n, -1), np.tril(n, -9)]
    a, b, c = (rng.integers(0, 9, k).astype(np.int32) for k in (2, 3, 4))
    yield "meshgrid_xy", [a, b, c], np.meshgrid(a, b, c)
    yield "meshgrid_ij", [a, b], np.meshgrid(a, b, indexing="ij")
    yield "roll", [x], [np.roll(x, 2, 1), np.roll(x, -7, 2), np.roll(x, 5, 2)]
    before = np.concatenate([np.ones_like(x[:, :1]), np.cumprod(x, 1)[:, :-1]], 1)
    after = np.cumprod(x[:, :, ::-1], 2)[:, :, ::-1]
    yield "cumprod", [x], [np.cumprod(x, 0), before, after]
    yield "cumprod_integers", [n], [np.cumprod(n, 1, dtype=np.int32)]
    yield "std_deviation", [x], [x.std(1), x.std((0, 2), ddof=1, keepdims=True), x.std()]
