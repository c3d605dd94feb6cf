"""Sums, extremes, scans and orders."""

import math

import hearth
from hearth import ops

from .table import Unsupported, aten, axes_of, axis_of, is_fixed, lift, records

_REDUCTIONS = {"sum": "reduce_sum", "mean": "mean", "amax": "reduce_max", "amin": "reduce_min", "prod": "reduce_prod",
               "any": "any", "all": "all"}  # fmt: skip


def _with_axes(x, dim):
    """A tensor that has axes, and those of the reduction."""
    return (x, axes_of(x, dim)) if x.ndim else (ops.reshape(x, (1,)), (0,))


@records(aten.sum, aten.mean, aten.amax, aten.amin, aten.prod, aten.any, aten.all)
def reduction(node, x, dim=None, keepdim=False, dtype=None):
    x, axes = _with_axes(lift(x, node.dtype), dim)
    if node.op in ("amax", "amin") and node.dtype == "bool":
        return ops.reshape((ops.any if node.op == "amax" else ops.all)(x, axes), node.shape)
    return ops.reshape(getattr(ops, _REDUCTIONS[node.op])(x, axes), node.shape)


@records(aten.max.default, aten.min.default)
def extreme(node, x):
    x, axes = _with_axes(x, None)
    if node.dtype == "bool":
        return ops.reshape((ops.any if node.op == "max" else ops.all)(x, axes), node.shape)
    return ops.reshape((ops.reduce_max if node.op == "max" else ops.reduce_min)(x, axes), node.shape)


@records(aten.max.dim, aten.min.dim)
def extreme_and_place(node, x, dim, keepdim=False):
    if x.dtype == "bool":
        raise Unsupported(f"{node.op} of bools with places")
    values, places = node.fake
    x, (axis,) = _with_axes(x, dim)
    shape = node._shapes.shape(values)
    made = (ops.reduce_max if node.op == "max" else ops.reduce_min)(x, axis)
    place = (ops.argmax if node.op == "max" else ops.argmin)(x, axis)
    return ops.reshape(made, shape), ops.reshape(place, shape)


@records(aten.aminmax)
def both_extremes(node, x, *, dim=None, keepdim=False):
    shape = node._shapes.shape(node.fake[0])
    if x.dtype == "bool":
        raise Unsupported("aminmax of bools")
    x, axes = _with_axes(x, dim)
    return ops.reshape(ops.reduce_min(x, axes), shape), ops.reshape(ops.reduce_max(x, axes), shape)


@records(aten.argmax, aten.argmin)
def place(node, x, dim=None, keepdim=False):
    if x.dtype == "bool":
        raise Unsupported(f"{node.op} of bools")
    if dim is None or not x.ndim:
        x, dim = ops.reshape(x, (-1,)), 0
    return ops.reshape((ops.argmax if node.op == "argmax" else ops.argmin)(x, axis_of(x, dim)), node.shape)


def _correction(rest, correction):
    """Of var.correction, and of var.dim, whose argument is whether it is 1."""
    given = rest if correction is None else correction
    value = 1 if given is None else int(given)
    if given is not None and value != given:
        raise Unsupported(f"correction={given}")
    return value


@records(aten.var, aten.std, aten.var_mean)
def variance(node, x, dim=None, unbiased=None, keepdim=False, *, correction=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    fakes = node.fake if node.op == "var_mean" else (node.fake,)
    shape = node._shapes.shape(fakes[0])
    x, axes = _with_axes(x, dim)
    correction = _correction(unbiased, correction)
    count = math.prod(x.shape[axis] for axis in axes) if is_fixed(*(x.shape[axis] for axis in axes)) else None
    if count is None or count - correction <= 0:
        raise Unsupported("a variance of as few elements as its correction, or of a length that varies")
    made = (ops.std_deviation if node.op == "std" else ops.variance)(x, axes, correction=correction)
    made = ops.reshape(made, shape)
    return (made, ops.reshape(ops.mean(x, axes), shape)) if node.op == "var_mean" else made


@records(aten.linalg_vector_norm, aten.norm.ScalarOpt_dim, aten.norm.Scalar)
def vector_norm(node, x, order=2, dim=None, keepdim=False, *, dtype=None):
    x, axes = _with_axes(lift(x, node.dtype), dim)
    order = 2 if order is None else order
    if order in (math.inf, -math.inf):
        made = (ops.reduce_max if order > 0 else ops.reduce_min)(ops.abs(x), axes)
    elif order == 0:
        made = ops.reduce_sum(ops.cast(ops.not_equal(x, 0.0), node.dtype), axes)
    elif order == 1:
        made = ops.reduce_sum(ops.abs(x), axes)
    elif order == 2:
        made = ops.sqrt(ops.reduce_sum(ops.multiply(x, x), axes))
    else:
        made = ops.pow(ops.reduce_sum(ops.pow(ops.abs(x), float(order)), axes), 1.0 / order)
    return ops.reshape(made, node.shape)


@records(aten.cumsum, aten.cumprod)
def scan(node, x, dim, *, dtype=None):
    x = lift(x, node.dtype)
    return getattr(ops, node.op)(x, axis_of(x, dim)) if x.ndim else x


def _finite(x):
    return ops.where(ops.is_inf(x), 0.0, x)


@records(aten.logsumexp)
def logsumexp(node, x, dim, keepdim=False):
    x, axes = _with_axes(lift(x, node.dtype), dim)
    greatest = ops.reduce_max(x, axes, True)
    shift = _finite(greatest)
    made = ops.add(ops.log(ops.reduce_sum(ops.exp(ops.subtract(x, shift)), axes, True)), shift)
    return ops.reshape(made, node.shape)


@records(aten._softmax, aten._log_softmax, aten._safe_softmax, aten.softmax.int, aten.log_softmax.int)
def softmax(node, x, dim, *_, **__):
    function = ops.log_softmax if "log_softmax" in node.op else ops.softmax
    x = lift(x, node.dtype)
    if not x.ndim:
        return ops.reshape(function(ops.reshape(x, (1,)), 0), ())
    axis = axis_of(x, dim)
    made = function(x, axis)
    if node.op == "_safe_softmax":
        made = ops.where(ops.all(ops.equal(x, -math.inf), axis, True), 0.0, made)
    return made


def _ordered(x, axis, descending):
    if x.dtype == "bool":
        values, places = _ordered(ops.cast(x, "uint8"), axis, descending)
        return ops.cast(values, "bool"), places
    return ops.sort(x, axis, descending), ops.argsort(x, axis, descending)


@records(aten.sort.default)
def sort(node, x, dim=-1, descending=False):
    if not x.ndim:
        return x, lift(0, "int64")
    return _ordered(x, axis_of(x, dim), descending)


@records(aten.sort.stable)
def stable_sort(node, x, *, stable=None, dim=-1, descending=False):
    return sort(node, x, dim, descending)


@records(aten.argsort)
def argsort(node, x, dim=-1, descending=False, *, stable=False):
    return sort(node, x, dim, descending)[1]


@records(aten.topk)
def topk(node, x, k, dim=-1, largest=True, sorted=True):
    if not x.ndim or isinstance(k, hearth.Dim):
        raise Unsupported("topk of a number, or of a length that varies")
    made = ops.topk(x, k, axis_of(x, dim), largest)
    return made[0], made[1]


@records(aten.dist)
def dist(node, a, b, p=2):
    return vector_norm(node, ops.subtract(lift(a, node.dtype), lift(b, node.dtype)), p)


@records(aten.count_nonzero)
def count_nonzero(node, x, dim=None):
    x, axes = _with_axes(lift(x, "bool"), dim)
    return ops.reshape(ops.reduce_sum(ops.cast(x, "int64"), axes), node.shape)
