"""Functions under the names of the array API standard (2024.12), where there is an op for them."""

import builtins

from . import _hearth
from ._hearth import Tensor
from ._tensor import tensor

_ops = _hearth.ops
_float = "float32"

# The same name, or another one, and the same arguments.
_SAME = {
    "abs": "abs", "acos": "acos", "acosh": "acosh", "add": "add", "asin": "asin", "asinh": "asinh", "atan": "atan",
    "atan2": "atan2", "atanh": "atanh", "bitwise_and": "bit_and", "bitwise_invert": "bitwise_not",
    "bitwise_left_shift": "shift_left", "bitwise_or": "bit_or", "bitwise_right_shift": "shift_right",
    "bitwise_xor": "bit_xor", "ceil": "ceil", "copysign": "copysign", "cos": "cos", "cosh": "cosh", "divide": "divide",
    "equal": "equal", "exp": "exp", "floor": "floor", "floor_divide": "floor_div", "greater": "greater",
    "greater_equal": "greater_equal", "isinf": "is_inf", "isnan": "is_nan", "less": "less", "less_equal": "less_equal",
    "log": "log", "log1p": "log1p", "log2": "log2", "logical_and": "bit_and", "logical_not": "logical_not",
    "logical_or": "bit_or", "logical_xor": "bit_xor", "matmul": "matmul", "maximum": "maximum", "minimum": "minimum",
    "multiply": "multiply", "negative": "neg", "not_equal": "not_equal", "reciprocal": "recip",
    "remainder": "floor_mod", "round": "round", "sign": "sign", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt",
    "square": "square", "subtract": "subtract", "tan": "tan", "tanh": "tanh", "trunc": "trunc", "where": "where",
    "tril": "tril", "triu": "triu", "softmax": "softmax",
}  # fmt: skip
globals().update({name: getattr(_ops, op) for name, op in _SAME.items()})


def _method(name):
    def function(x, /, *args, **kwargs):
        return getattr(x if isinstance(x, Tensor) else tensor(x), name)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Tensor.{name}() of x."
    return function


_METHODS = ("all", "any", "argmax", "argmin", "astype", "clip", "max", "mean", "min", "prod", "std", "sum", "var")
globals().update({name: _method(name) for name in _METHODS})


def pow(a, b, /):
    """a ** b."""
    return (a if isinstance(a, Tensor) else tensor(a)) ** b


def reshape(x, /, shape):
    return _ops.reshape(x, shape)


def permute_dims(x, /, axes):
    return _ops.permute(x, axes)


def matrix_transpose(x, /):
    return _ops.transpose(x)


def expand_dims(x, /, *, axis=0):
    return _ops.unsqueeze(x, axis)


def squeeze(x, /, axis=None):
    return _ops.squeeze(x, () if axis is None else axis)


def broadcast_to(x, /, shape):
    return _ops.expand(x, shape)


def concat(arrays, /, *, axis=0):
    if axis is None:
        return _ops.cat([_ops.reshape(one, (-1,)) for one in arrays], 0)
    return _ops.cat(arrays, axis)


def stack(arrays, /, *, axis=0):
    return _ops.stack(arrays, axis)


def flip(x, /, *, axis=None):
    return _ops.flip(x, tuple(range(tensor(x).ndim)) if axis is None else axis)


def roll(x, /, shift, *, axis=None):
    x = tensor(x)
    if axis is None:
        return _ops.reshape(_ops.roll(_ops.reshape(x, (-1,)), shift, 0), x.shape)
    shifts = shift if isinstance(shift, tuple) else (shift,)
    axes = axis if isinstance(axis, tuple) else (axis,)
    for one, along in zip(shifts * len(axes) if len(shifts) == 1 else shifts, axes):
        x = _ops.roll(x, one, along)
    return x


def tile(x, repetitions, /):
    return _ops.tile(x, repetitions)


def repeat(x, repeats, /, *, axis=None):
    if axis is None:
        return _ops.repeat_interleave(_ops.reshape(x, (-1,)), repeats, 0)
    return _ops.repeat_interleave(x, repeats, axis)


def take(x, indices, /, *, axis=None):
    return _ops.gather(x, indices, 0 if axis is None else axis)


def take_along_axis(x, indices, /, *, axis=-1):
    return _ops.gather_elements(x, indices, axis)


def sort(x, /, *, axis=-1, descending=False):
    return _ops.sort(x, axis, descending)


def argsort(x, /, *, axis=-1, descending=False):
    return _ops.argsort(x, axis, descending)


def cumulative_sum(x, /, *, axis=None):
    return _ops.cumsum(x, 0 if axis is None else axis)


def cumulative_prod(x, /, *, axis=None):
    return _ops.cumprod(x, 0 if axis is None else axis)


def _full(shape, value, dtype):
    return _ops.full(shape, value, dtype)


def full(shape, fill_value, *, dtype=None):
    """Every element `fill_value`; its dtype by default float32, int64 or bool, as it is."""
    if dtype is None:
        dtype = "bool" if isinstance(fill_value, bool) else "int64" if isinstance(fill_value, int) else _float
    return _full(shape, fill_value, dtype)


def zeros(shape, *, dtype=_float):
    return _full(shape, 0, dtype)


def ones(shape, *, dtype=_float):
    return _full(shape, 1, dtype)


def full_like(x, /, fill_value, *, dtype=None):
    return _full(x.shape, fill_value, dtype or x.dtype)


def zeros_like(x, /, *, dtype=None):
    return full_like(x, 0, dtype=dtype)


def ones_like(x, /, *, dtype=None):
    return full_like(x, 1, dtype=dtype)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=_float):
    return _ops.eye(n_rows, n_rows if n_cols is None else n_cols, k, dtype)


def linspace(start, stop, /, num, *, dtype=_float):
    return _ops.linspace(start, stop, num, dtype)


def arange(start, /, stop=None, step=1, *, dtype=None):
    """Numbers from start to before stop, by step. One length may be a Dim: arange(n)."""
    if stop is None:
        start, stop = 0, start
    if isinstance(stop, _hearth.Dim):
        made = _ops.arange(stop, dtype or "int64")
        return made if start == 0 and step == 1 else made[start:] * step
    whole = builtins.all(isinstance(one, int) for one in (start, stop, step))
    count = builtins.max(0, -int((start - stop) // step)) if step else 0
    if dtype is None:
        dtype = "int64" if whole else _float
    made = _ops.arange(count, dtype)
    made = made if step == 1 else made * step
    return made if start == 0 else made + start


def meshgrid(*arrays, indexing="xy"):
    return _ops.meshgrid(arrays, "cartesian" if indexing == "xy" else "matrix")


__all__ = sorted(
    [*_SAME, *_METHODS]
    + [
        name
        for name, value in globals().items()
        if callable(value) and not name.startswith("_") and name not in ("Tensor", "tensor", "builtins") and name not in _SAME
        and name not in _METHODS
    ]
)
