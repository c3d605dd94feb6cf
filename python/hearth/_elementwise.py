"""Elementwise functions of the array API standard: the library's ops under its names, and what they make."""

from . import _hearth
from ._dtypes import dtype_of, isdtype
from ._errors import CallError, OutOfRange
from ._hearth import Tensor
from ._reductions import as_tensor

ops = _hearth.ops

# The same name, or another one, and the same arguments.
SAME = {
    "abs": "abs", "acos": "acos", "acosh": "acosh", "add": "add", "asin": "asin", "asinh": "asinh", "atan": "atan",
    "atan2": "atan2", "atanh": "atanh", "bitwise_and": "bit_and", 
    "bitwise_left_shift": "shift_left", "bitwise_or": "bit_or", "bitwise_right_shift": "shift_right",
    "bitwise_xor": "bit_xor", "ceil": "ceil", "copysign": "copysign", "cos": "cos", "cosh": "cosh", "divide": "divide",
    "equal": "equal", "exp": "exp", "floor": "floor", "floor_divide": "floor_div", "greater": "greater",
    "greater_equal": "greater_equal", "less": "less", "less_equal": "less_equal",
    "log": "log", "log1p": "log1p", "log2": "log2", "matmul": "matmul", "maximum": "maximum", "minimum": "minimum",
    "multiply": "multiply", "negative": "neg", "not_equal": "not_equal", "reciprocal": "recip",
    "remainder": "floor_mod", "round": "round", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt",
    "square": "square", "subtract": "subtract", "tan": "tan", "tanh": "tanh", "trunc": "trunc", "softmax": "softmax",
}  # fmt: skip
_LN2, _LOG10_2, _LN10 = 0.6931471805599453, 0.30102999566398120, 2.302585092994046


def _is_float(x):
    return isdtype(x.dtype, "real floating")


def _both(a, b, what):
    """Two operands as tensors of one type; numbers take that of the other."""
    if isinstance(a, (bool, int, float)) and isinstance(b, (bool, int, float)):
        return as_tensor(a), as_tensor(b)
    if isinstance(a, (bool, int, float)):
        b = as_tensor(b)
        return ops.full((), a, b.dtype), b
    a = as_tensor(a)
    if isinstance(b, (bool, int, float)):
        return a, ops.full((), b, a.dtype)
    return a, as_tensor(b)


def _floats(a, b, what):
    a, b = _both(a, b, what)
    zero = ops.multiply(ops.add(a, b), 0)  # of both types
    kind = zero.dtype if _is_float(zero) else "float32"
    return ops.cast(a, kind), ops.cast(b, kind)


def _nothing(x):
    return ops.full(x.shape, False, "bool")


def isnan(x, /):
    """Whether each element is NaN."""
    x = as_tensor(x)
    return ops.is_nan(x) if _is_float(x) else _nothing(x)


def isinf(x, /):
    """Whether each element is an infinity."""
    x = as_tensor(x)
    return ops.is_inf(x) if _is_float(x) else _nothing(x)


def isfinite(x, /):
    """Whether each element is a number and no infinity."""
    x = as_tensor(x)
    if not _is_float(x):
        return ops.logical_not(_nothing(x))
    return ops.logical_not(ops.bit_or(ops.is_nan(x), ops.is_inf(x)))


def expm1(x, /):
    """exp(x) - 1, exact near 0 (Kahan's)."""
    x = as_tensor(x)
    x = x if _is_float(x) else ops.cast(x, "float32")
    kind = x.dtype
    wide = ops.cast(x, "float32") if kind in ("float16", "bfloat16") else x
    power = ops.exp(wide)
    less = ops.subtract(power, 1.0)
    made = ops.where(ops.equal(less, -1.0), less, ops.divide(ops.multiply(less, wide), ops.log(power)))
    made = ops.where(ops.equal(power, 1.0), wide, ops.where(ops.is_inf(power), power, made))
    return ops.cast(ops.where(ops.greater(ops.abs(wide), 1.0), less, made), kind)


def log10(x, /):
    """The logarithm to base 10."""
    x = as_tensor(x)
    return ops.multiply(ops.log2(x), _LOG10_2)


def hypot(x1, x2, /):
    """sqrt(x1**2 + x2**2), without overflow in between."""
    a, b = _floats(x1, x2, "hypot")
    a, b = ops.abs(a), ops.abs(b)
    great, small = ops.maximum(a, b), ops.minimum(a, b)
    ratio = ops.divide(small, ops.where(ops.equal(great, 0.0), 1.0, great))
    made = ops.multiply(great, ops.sqrt(ops.add(ops.multiply(ratio, ratio), 1.0)))
    return ops.where(ops.bit_or(ops.is_inf(a), ops.is_inf(b)), float("inf"), made)


def logaddexp(x1, x2, /):
    """log(exp(x1) + exp(x2))."""
    a, b = _floats(x1, x2, "logaddexp")
    made = ops.add(ops.maximum(a, b), ops.log1p(ops.exp(ops.neg(ops.abs(ops.subtract(a, b))))))
    return ops.where(ops.equal(a, b), ops.add(a, _LN2), made)


_BITS_OF = {"float16": "int16", "bfloat16": "int16", "float32": "int32", "float64": "int64"}


def signbit(x, /):
    """Whether the sign bit of each element is set: of -0.0, too."""
    x = as_tensor(x)
    return ops.less(ops.bitcast(x, _BITS_OF[x.dtype]), 0) if _is_float(x) else ops.less(x, 0)


def nextafter(x1, x2, /):
    """The next number after x1 in the direction of x2."""
    a, b = _floats(x1, x2, "nextafter")
    zero = ops.multiply(ops.add(ops.where(isfinite(a), a, 0.0), ops.where(isfinite(b), b, 0.0)), 0.0)
    a, b = ops.expand(a, zero.shape), ops.expand(b, zero.shape)
    kind = _BITS_OF[a.dtype]
    bits = ops.bitcast(a, kind)
    away = ops.equal(ops.less(a, b), ops.greater(a, 0.0))
    moved = ops.bitcast(ops.add(bits, ops.where(away, ops.full((), 1, kind), ops.full((), -1, kind))), a.dtype)
    least = ops.bitcast(ops.full((), 1, kind), a.dtype)
    moved = ops.where(ops.equal(a, 0.0), ops.copysign(ops.expand(least, a.shape), b), moved)
    moved = ops.where(ops.equal(a, b), b, moved)
    return ops.where(ops.bit_or(ops.is_nan(a), ops.is_nan(b)), float("nan"), moved)


def _truth(x):
    if isinstance(x, (bool, int, float)):
        return as_tensor(bool(x))
    x = as_tensor(x)
    return x if x.dtype == "bool" else ops.not_equal(x, 0)


def logical_and(x1, x2, /):
    """Whether both are true: what is not 0 is."""
    return ops.bit_and(_truth(x1), _truth(x2))


def logical_or(x1, x2, /):
    """Whether one of them is true: what is not 0 is."""
    return ops.bit_or(_truth(x1), _truth(x2))


def logical_xor(x1, x2, /):
    """Whether one of them alone is true: what is not 0 is."""
    return ops.bit_xor(_truth(x1), _truth(x2))


def logical_not(x, /):
    """Whether it is 0."""
    return ops.logical_not(_truth(x))


def sign(x, /):
    """-1, 0 or 1, as x is below 0, 0 (-0.0, too) or above it; NaN of NaN."""
    x = as_tensor(x)
    return ops.where(ops.equal(x, 0), 0, ops.sign(x)) if _is_float(x) else ops.sign(x)


def positive(x, /):
    """x."""
    return _hearth.tensor(as_tensor(x))


def real(x, /):
    """x, which has no imaginary part."""
    return positive(x)


def imag(x, /):
    """Zeros: x has no imaginary part."""
    x = as_tensor(x)
    return ops.full(x.shape, 0, x.dtype)


def bitwise_invert(x, /):
    """Every bit the other one; of bools their negation."""
    x = as_tensor(x)
    return ops.logical_not(x) if x.dtype == "bool" else ops.bitwise_not(x)


def conj(x, /):
    """x, which is its own conjugate."""
    return positive(x)


def pow(a, b, /):
    """a ** b."""
    if not isinstance(a, Tensor) and not isinstance(b, Tensor):
        a = as_tensor(a)
    return a**b


def clip(x, /, min=None, max=None):
    """x between two bounds, of which one may be left out."""
    x = as_tensor(x)
    for word, bound in (("min", min), ("max", max)):
        if isinstance(bound, (list, str)):
            raise CallError(f"clip: {word} is {bound!r}; expected a number or an array")
    if min is not None and max is not None and isinstance(min, (int, float)) and isinstance(max, (int, float)):
        if not (isinstance(min, float) or isinstance(max, float)) or _is_float(x):
            return ops.clip(x, min, max)
    for bound, op in ((min, ops.maximum), (max, ops.minimum)):
        if bound is not None:
            made = op(x, bound)
            x = ops.cast(made, x.dtype) if made.dtype != x.dtype else made
    return _hearth.tensor(x)


def where(condition, x1, x2, /):
    """x1 where the condition holds, else x2."""
    if isinstance(x1, (bool, int, float)) and isinstance(x2, (bool, int, float)):
        number = x1 + x2 if type(x1) is not type(x2) else x1
        x1 = ops.full((), x1, "bool" if isinstance(number, bool) else "int64" if isinstance(number, int) else "float32")
    return ops.where(condition, x1, x2)


def astype(x, dtype, /, *, copy=True, device=None):
    """x with elements of another type; the same tensor where they are of it and copy=False."""
    x, dtype = as_tensor(x), dtype_of(dtype)
    if x.dtype == dtype:
        return _hearth.tensor(x) if copy else x
    return ops.cast(x, dtype)


def check_axis(axis, ndim, what):
    if isinstance(axis, bool) or not hasattr(axis, "__index__"):
        raise CallError(f"{what}: axis is {axis!r}; expected an int")
    axis = axis.__index__()
    if not -ndim <= axis < ndim:
        raise OutOfRange(f"{what}: axis {axis} of an array of {ndim} axes")
    return axis % ndim


FUNCTIONS = {
    **{name: getattr(ops, op) for name, op in SAME.items()},
    **{one.__name__: one for one in (
        isnan, isinf, isfinite, expm1, log10, hypot, logaddexp, signbit, nextafter, logical_and, logical_or, logical_xor,
        logical_not, sign, positive, real, imag, conj, bitwise_invert, pow, clip, where, astype)},
}  # fmt: skip
