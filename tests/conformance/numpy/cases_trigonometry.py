"""Inverse trigonometric and hyperbolic functions: numpy in the next wider type, rounded once."""
import numpy as np

INF, NAN = np.inf, np.nan


def points(rng, low, high, count=400):
    """Points of every magnitude between low and high, both signs."""
    magnitudes = np.exp(rng.uniform(np.log(low), np.log(high), count))
    return np.concatenate([magnitudes, -magnitudes, [0.0, -0.0, INF, -INF, NAN]]).astype(np.float32)


def cases():
    rng = np.random.default_rng(11)
    everywhere = points(rng, 1e-30, 1e30)
    moderate = points(rng, 1e-20, 88)
    unit = np.concatenate([points(rng, 1e-20, 1), rng.uniform(-1, 1, 400), [1, -1, 0.5, -0.5, 1.5]]).astype(np.float32)
    beyond_one = np.concatenate([1 + np.exp(rng.uniform(-15, 60, 400)), [1, 0.5, -1, -2e30, INF, NAN]])
    beyond_one = beyond_one.astype(np.float32)
    over = np.array([88.8, 89.3, -89.3, 89.5, -90, 1e30], np.float32)
    domains = {
        "asin": (np.arcsin, unit),
        "acos": (np.arccos, unit),
        "atan": (np.arctan, everywhere),
        "sinh": (np.sinh, np.concatenate([moderate, over])),
        "cosh": (np.cosh, np.concatenate([moderate, over])),
        "asinh": (np.arcsinh, everywhere),
        "acosh": (np.arccosh, beyond_one),
        "atanh": (np.arctanh, unit),
        "log1p": (np.log1p, np.concatenate([everywhere, unit])),
    }
    with np.errstate(all="ignore"):
        for name, (function, x) in domains.items():
            yield name, [x], [function(x.astype(np.float64)).astype(np.float32)]
            wide = function(x.astype(np.longdouble)).astype(np.float64)
            yield name + "_f64", [x.astype(np.float64)], [wide]
        x16 = rng.uniform(-1, 1, 50).astype(np.float16)
        yield "asin_f16", [x16], [np.arcsin(x16.astype(np.float64)).astype(np.float16)]
        yield "sinh_integers", [np.arange(-3, 4)], [np.sinh(np.arange(-3, 4)).astype(np.float32)]
    special = np.array([0.0, -0.0, 1.0, -1.0, INF, -INF, NAN], np.float32)
    y, x = np.meshgrid(np.concatenate([special, everywhere[:20]]), np.concatenate([special, everywhere[395:405]]))
    yield "atan2", [y, x], [np.arctan2(y.astype(np.float64), x.astype(np.float64)).astype(np.float32)]
    yield "copysign", [y, x], [np.copysign(y, x)]
    # 1 / x tells the zeros apart.
    zeros = np.array([0.0, -0.0], np.float32)
    yield "zeros_keep_their_sign", [zeros], [np.array([INF, -INF], np.float32)] * 6
    a, b = (rng.standard_normal((3, 4)).astype(np.float32) for _ in range(2))
    yield "lerp", [a, b, np.float32(0.25)], [a * np.float32(0.75) + b * np.float32(0.25)]
