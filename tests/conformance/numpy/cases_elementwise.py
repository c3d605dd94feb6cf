"""Elementwise ops: numpy's own functions; activations by their formulas."""
import math

import numpy as np

erf = np.vectorize(math.erf)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.log1p(np.exp(-abs(x))) + np.maximum(x, 0)


ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0), "relu6": lambda x: np.clip(x, 0, 6), "hard_tanh": lambda x: np.clip(x, -1, 1),
    "leaky_relu": lambda x: np.where(x < 0, 0.1 * x, x), "elu": lambda x: np.where(x < 0, 0.7 * np.expm1(x), x),
    "celu": lambda x: np.maximum(x, 0) + np.minimum(0, 2 * np.expm1(x / 2)),
    "selu": lambda x: 1.0507009873554805 * np.where(x < 0, 1.6732632423543772 * np.expm1(x), x),
    "gelu": lambda x: x * 0.5 * (1 + erf(x / np.sqrt(2))),
    "gelu_tanh": lambda x: x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x * sigmoid(x), "mish": lambda x: x * np.tanh(softplus(x)), "softplus": softplus,
    "softsign": lambda x: x / (1 + abs(x)), "hard_sigmoid": lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    "hard_swish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1), "thresholded_relu": lambda x: np.where(x > 0.8, x, 0),
    "log_sigmoid": lambda x: -softplus(-x), "hard_shrink": lambda x: np.where(abs(x) <= 0.5, 0, x),
    "soft_shrink": lambda x: np.sign(x) * np.maximum(abs(x) - 0.5, 0), "tanh_shrink": lambda x: x - np.tanh(x),
    "glu": lambda x: x[:, :2] * sigmoid(x[:, 2:]), "softmin": lambda x: np.exp(-x) / np.exp(-x).sum(-1, keepdims=True),
    "hardmax": lambda x: np.eye(4)[x.argmax(-1)],
}
UNARY = {
    "neg": np.negative, "recip": np.reciprocal, "square": np.square, "exp": np.exp, "exp2": np.exp2, "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "tanh": np.tanh, "erf": erf, "sigmoid": sigmoid, "abs": np.abs, "floor": np.floor,
    "ceil": np.ceil, "round": np.round, "trunc": np.trunc, "sign": np.sign,
}
POSITIVE = {"sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "log": np.log, "log2": np.log2, "log1p": np.log1p}
FLOATS = {
    "maximum": np.maximum, "minimum": np.minimum, "less": np.less, "less_equal": np.less_equal, "greater": np.greater,
    "greater_equal": np.greater_equal, "equal": np.equal, "not_equal": np.not_equal, "floor_mod_float": np.mod,
    "trunc_mod_float": np.fmod, "floor_div_float": np.floor_divide,
}
INTEGERS = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "floor_div": np.floor_divide, "floor_mod": np.mod,
    "trunc_mod": np.fmod, "bit_and": np.bitwise_and, "bit_or": np.bitwise_or, "bit_xor": np.bitwise_xor,
}


def cases():
    rng = np.random.default_rng(2)
    x = (rng.standard_normal((3, 4)) * 2).astype(np.float32)
    wide = x.astype(np.float64)
    for name, f in ACTIVATIONS.items():
        yield name, [x], [f(wide).astype(np.float32)]
    for name, f in UNARY.items():
        yield name, [x], [f(wide).astype(np.float32)]
    for name, f in POSITIVE.items():
        yield name, [abs(x)], [f(abs(wide)).astype(np.float32)]
    y = rng.integers(-3, 4, (3, 1)).astype(np.float32)
    whole = np.round(x)
    for name, f in FLOATS.items():
        divisor = np.where(y == 0, 2, y).astype(np.float32)
        yield name, [whole, divisor], [f(whole, divisor)]
    a = rng.integers(-50, 50, (3, 4)).astype(np.int32)
    b = rng.choice([-7, -2, 1, 3, 5], (4,)).astype(np.int32)
    for name, f in INTEGERS.items():
        yield name, [a, b], [f(a, b)]
    yield "trunc_div", [a, b], [np.trunc(a / b).astype(np.int32)]
    yield "shift_left", [a, abs(b)], [np.left_shift(a, abs(b))]
    yield "shift_right", [a, abs(b)], [np.right_shift(a, abs(b))]
    yield "bitwise_not", [a], [np.invert(a)]
    yield "pow", [abs(x), y], [np.power(abs(wide), y).astype(np.float32)]
    yield "divide", [a, b], [(a.astype(np.float32) / b.astype(np.float32)).astype(np.float32)]
    special = np.array([np.nan, np.inf, -np.inf, 0, 1], np.float32)
    yield "is_nan", [special], [np.isnan(special)]
    yield "is_inf", [special], [np.isinf(special)]
    yield "logical_not", [x > 0], [x <= 0]
    yield "swiglu", [x, x[::-1].copy()], [(x * x[::-1] / (1 + np.exp(-1.7 * x.astype(np.float64)))).astype(np.float32)]
    yield "where", [x > 0, x, y], [np.where(x > 0, x, y)]
    yield "clip", [x], [np.clip(x, -1, 0.5)]
    yield "prelu", [x, np.array([0.1, 0.2, -0.3, 0], np.float32)], [np.where(x < 0, x * np.array([0.1, 0.2, -0.3, 0], np.float32), x)]
    yield "cast", [x], [x.astype(np.int32)]
    yield "bitcast", [x], [x.view(np.int32)]
    yield "contiguous", [x], [x.T]
