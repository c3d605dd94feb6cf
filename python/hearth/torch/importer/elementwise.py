"""Element by element."""

import math

import torch
from hearth import ops

from .table import Unsupported, aten, dtype_name, is_float, lift, records

_FLOAT = "acos acosh asin asinh atan atanh cos cosh erf exp exp2 log log1p log2 rsqrt sigmoid sin sinh sqrt tan tanh".split()


@records(*(getattr(aten, name) for name in _FLOAT), aten.reciprocal)
def float_function(node, x):
    return getattr(ops, {"reciprocal": "recip"}.get(node.op, node.op))(lift(x, node.dtype))


@records(aten.abs, aten.neg, aten.relu)
def same_type(node, x):
    if x.dtype == "bool":
        raise Unsupported(f"{node.op} of bool")
    return getattr(ops, node.op)(x)


@records(aten.ceil, aten.floor, aten.trunc, aten.round.default)
def rounding(node, x):
    return getattr(ops, node.op)(x) if is_float(x.dtype) else x


@records(aten.round.decimals)
def round_decimals(node, x, decimals=0):
    if not is_float(x.dtype):
        return x
    scale = 10.0 ** abs(decimals)
    return ops.divide(ops.round(ops.multiply(x, scale)), scale) if decimals >= 0 else ops.multiply(ops.round(ops.divide(x, scale)), scale)


@records(aten.sign, aten.sgn)
def sign(node, x):
    if x.dtype == "bool":
        return x
    return ops.where(ops.is_nan(x), 0.0, ops.sign(x)) if is_float(x.dtype) else ops.sign(x)


@records(aten.signbit)
def signbit(node, x):
    if x.dtype == "bool" or str(x.dtype).startswith("u"):
        return ops.full(node.shape, 0, "bool")
    return ops.less(ops.copysign(1.0, x), 0.0) if is_float(x.dtype) else ops.less(x, 0)


@records(aten.log10)
def log10(node, x):
    return ops.multiply(ops.log(lift(x, node.dtype)), 1 / math.log(10))


@records(aten.expm1)
def expm1(node, x):
    """2 exp(x/2) sinh(x/2), which keeps the digits near 0; exp(x) - 1 where that would overflow in between."""
    x = lift(x, node.dtype)
    half = ops.multiply(x, 0.5)
    return ops.where(ops.greater(x, 1.0), ops.subtract(ops.exp(x), 1.0), ops.multiply(ops.multiply(ops.exp(half), ops.sinh(half)), 2.0))


@records(aten.isnan, aten.isinf)
def is_special(node, x):
    if not is_float(x.dtype):
        return ops.full(node.shape, 0, "bool")
    return ops.is_nan(x) if node.op == "isnan" else ops.is_inf(x)


@records(aten.isposinf, aten.isneginf)
def is_infinity(node, x):
    if not is_float(x.dtype):
        return ops.full(node.shape, 0, "bool")
    return ops.equal(x, math.inf if node.op == "isposinf" else -math.inf)


@records(aten.bitwise_not)
def bitwise_not(node, x):
    return ops.logical_not(x) if x.dtype == "bool" else ops.bitwise_not(x)


@records(aten.logical_not)
def logical_not(node, x):
    return ops.logical_not(lift(x, "bool"))


def _both(node, a, b):
    return lift(a, node.dtype), lift(b, node.dtype)


@records(aten.add.Tensor, aten.add.Scalar)
def add(node, a, b, alpha=1):
    a, b = _both(node, a, b)
    if node.dtype == "bool":
        return ops.bit_or(a, b)
    return ops.add(a, b if alpha == 1 else ops.multiply(b, lift(alpha, node.dtype)))


@records(aten.sub.Tensor, aten.sub.Scalar)
def subtract(node, a, b, alpha=1):
    a, b = _both(node, a, b)
    return ops.subtract(a, b if alpha == 1 else ops.multiply(b, lift(alpha, node.dtype)))


@records(aten.rsub.Tensor, aten.rsub.Scalar)
def subtract_from(node, a, b, alpha=1):
    return subtract(node, b, a, alpha)


@records(aten.mul.Tensor, aten.mul.Scalar)
def multiply(node, a, b):
    a, b = _both(node, a, b)
    return ops.bit_and(a, b) if node.dtype == "bool" else ops.multiply(a, b)


@records(aten.div.Tensor, aten.div.Scalar, aten.true_divide.Tensor)
def divide(node, a, b):
    return ops.divide(*_both(node, a, b))


@records(aten.div.Tensor_mode, aten.div.Scalar_mode)
def divide_to_whole(node, a, b, rounding_mode=None):
    a, b = _both(node, a, b)
    if rounding_mode is None:
        return ops.divide(a, b)
    if not is_float(node.dtype):
        return (ops.trunc_div if rounding_mode == "trunc" else ops.floor_div)(a, b)
    if rounding_mode == "trunc":
        return ops.trunc(ops.divide(a, b))
    # The quotient of what the remainder leaves, as torch computes it: a / b may round up to a whole number.
    rest = ops.trunc_mod(a, b)
    exact = ops.divide(ops.subtract(a, rest), b)
    is_below = ops.bit_and(ops.not_equal(rest, 0.0), ops.not_equal(ops.less(b, 0.0), ops.less(rest, 0.0)))
    exact = ops.where(is_below, ops.subtract(exact, 1.0), exact)
    down = ops.floor(exact)
    down = ops.where(ops.greater(ops.subtract(exact, down), 0.5), ops.add(down, 1.0), down)
    quotient = ops.divide(a, b)
    down = ops.where(ops.equal(exact, 0.0), ops.copysign(ops.multiply(exact, 0.0), quotient), down)
    return ops.where(ops.equal(b, 0.0), quotient, down)


@records(aten.floor_divide.default, aten.floor_divide.Scalar)
def floor_divide(node, a, b):
    return divide_to_whole(node, a, b, "floor")


@records(aten.remainder.Tensor, aten.remainder.Scalar, aten.remainder.Scalar_Tensor)
def remainder(node, a, b):
    return ops.floor_mod(*_both(node, a, b))


@records(aten.fmod.Tensor, aten.fmod.Scalar)
def fmod(node, a, b):
    return ops.trunc_mod(*_both(node, a, b))


@records(aten.maximum, aten.minimum, aten.atan2, aten.copysign)
def of_two(node, a, b):
    if node.dtype == "bool":
        return (ops.bit_or if node.op == "maximum" else ops.bit_and)(a, b)
    return getattr(ops, node.op)(*_both(node, a, b))


@records(aten.fmax, aten.fmin)
def beside_nan(node, a, b):
    """The other one where one is no number."""
    a, b = _both(node, a, b)
    function = ops.maximum if node.op == "fmax" else ops.minimum
    if node.dtype == "bool":
        return (ops.bit_or if node.op == "fmax" else ops.bit_and)(a, b)
    if not is_float(node.dtype):
        return function(a, b)
    return ops.where(ops.is_nan(a), b, ops.where(ops.is_nan(b), a, function(a, b)))


@records(aten.bitwise_and, aten.bitwise_or, aten.bitwise_xor)
def of_bits(node, a, b):
    return getattr(ops, node.op.replace("wise", ""))(*_both(node, a, b))


@records(aten.bitwise_left_shift, aten.bitwise_right_shift)
def shift(node, a, b):
    a, b = _both(node, a, b)
    bits = int(node.dtype.lstrip("uint"))
    inside = ops.bit_and(ops.greater_equal(b, 0), ops.less(b, bits))
    if node.op == "bitwise_left_shift":
        return ops.where(inside, ops.shift_left(a, ops.where(inside, b, 0)), 0)
    return ops.shift_right(a, ops.where(inside, b, bits - 1))


@records(aten.logical_and, aten.logical_or, aten.logical_xor)
def logical(node, a, b):
    return getattr(ops, node.op.replace("logical", "bit"))(lift(a, "bool"), lift(b, "bool"))


@records(aten.pow.Tensor_Scalar, aten.pow.Tensor_Tensor, aten.pow.Scalar)
def power(node, a, b):
    base = lift(a, node.dtype)
    if not isinstance(b, (int, float)) or isinstance(b, bool):
        if not is_float(node.dtype):
            return _integer_power(node, base, lift(b, node.dtype))
        return ops.pow(base, lift(b, node.dtype))
    if b == 0.5 and is_float(node.dtype):
        return ops.sqrt(base)
    if math.isfinite(b) and b == int(b) and 0 < b <= 32:
        made = base
        for bit in bin(int(b))[3:]:
            made = ops.multiply(made, made)
            made = ops.multiply(made, base) if bit == "1" else made
        return made
    if not is_float(node.dtype):
        return _integer_power(node, base, lift(b, node.dtype))
    return ops.pow(base, float(b))


def _integer_power(node, base, exponent):
    """By squares; 1/base, which is 0 but for 1 and -1, where the exponent is negative."""
    made, square, left = lift(1, node.dtype), base, exponent
    for _ in range(6):  # exponents from 64 on overflow for all but -1, 0 and 1
        made = ops.where(ops.equal(ops.bit_and(left, 1), 1), ops.multiply(made, square), made)
        square, left = ops.multiply(square, square), ops.shift_right(left, 1)
    if node.dtype.startswith("u"):
        raise Unsupported("a power of unsigned integers")
    one, zero, minus = (lift(value, node.dtype) for value in (1, 0, -1))
    small = ops.bit_and(ops.greater_equal(exponent, zero), ops.less(exponent, lift(64, node.dtype)))
    is_even = ops.equal(ops.bit_and(exponent, one), zero)
    of_minus = ops.where(ops.equal(base, minus), ops.where(is_even, one, minus), zero)
    return ops.where(small, made, ops.where(ops.equal(base, one), one, of_minus))


_COMPARISONS = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}


@records(*(getattr(getattr(aten, name), kind) for name in _COMPARISONS for kind in ("Tensor", "Scalar")))
def compare(node, a, b):
    of = [1 if isinstance(one, torch.SymInt) else one for one in (node.fake_argument(0), node.fake_argument(1))]
    common = dtype_name(torch.result_type(*of))
    if isinstance(b, float) and not is_float(common):
        common = "float32"
    return getattr(ops, _COMPARISONS[node.op])(lift(a, common), lift(b, common))


@records(aten.where.self, aten.where.ScalarSelf, aten.where.ScalarOther, aten.where.Scalar)
def where(node, condition, a, b):
    return ops.where(lift(condition, "bool"), lift(a, node.dtype), lift(b, node.dtype))


@records(aten.masked_fill)
def masked_fill(node, x, mask, value):
    return ops.where(mask, lift(value, node.dtype), x)


@records(aten.clamp, aten.clamp_min, aten.clamp_max)
def clamp(node, x, low=None, high=None, **bounds):
    if node.op == "clamp_max":
        low, high = None, low
    low, high = bounds.get("min", low), bounds.get("max", high)
    x = lift(x, node.dtype)
    if low is not None:
        x = ops.maximum(x, lift(low, node.dtype))
    return x if high is None else ops.minimum(x, lift(high, node.dtype))


@records(aten.gelu)
def gelu(node, x, approximate="none"):
    return ops.gelu(x, approximate == "tanh")


@records(aten.silu, aten.mish)
def gate(node, x):
    return getattr(ops, node.op)(x)


@records(aten.hardswish)
def hardswish(node, x):
    return ops.hard_swish(x)


@records(aten.hardsigmoid)
def hardsigmoid(node, x):
    return ops.hard_sigmoid(x, 1 / 6, 0.5)


@records(aten.hardtanh)
def hardtanh(node, x, min_val=-1, max_val=1):
    return clamp(node, x, min_val, max_val)


@records(aten.elu)
def elu(node, x, alpha=1, scale=1, input_scale=1):
    if input_scale == 1:
        made = ops.elu(x, float(alpha))
    else:
        below = ops.multiply(ops.subtract(ops.exp(ops.multiply(x, float(input_scale))), 1.0), float(alpha))
        made = ops.where(ops.greater(x, 0), x, below)
    return made if scale == 1 else ops.multiply(made, float(scale))


@records(aten.leaky_relu)
def leaky_relu(node, x, negative_slope=0.01):
    return ops.leaky_relu(x, float(negative_slope))


@records(aten._to_copy, aten.to.dtype)
def to_copy(node, x, *_, **__):
    return ops.cast(x, node.dtype)


@records(aten.clone, aten.alias, aten.detach, aten.lift_fresh_copy, aten.lift_fresh, aten.contiguous, aten.alias_copy)
def same(node, x, *_, **__):
    return x


@records(aten.copy)
def copy(node, x, source, non_blocking=False):
    return ops.expand(ops.cast(source, node.dtype), node.shape)


@records(aten._assert_scalar, aten._assert_tensor_metadata, aten._assert_async, aten.sym_constrain_range_for_size,
         aten.sym_constrain_range)
def nothing(node, *_, **__):
    """What the guards of Dynamo and torch.export have checked."""
