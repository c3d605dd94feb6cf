"""New tensors."""

import hearth
from hearth import ops

from .table import aten, is_float, lift, records


@records(aten.full, aten.full_like)
def full(node, _, value, *__, **___):
    return ops.expand(lift(value, node.dtype), node.shape)


@records(aten.new_full)
def new_full(node, like, _, value, **__):
    return full(node, like, value)


@records(aten.fill)
def fill(node, _, value):
    return ops.expand(lift(value, node.dtype), node.shape)


@records(aten.zeros, aten.zeros_like, aten.new_zeros, aten.empty.memory_format, aten.empty_like, aten.empty_strided, aten.new_empty,
         aten.new_empty_strided, aten.empty_permuted)
def zeros(node, *_, **__):
    return ops.full(node.shape, 0, node.dtype)


@records(aten.ones, aten.ones_like, aten.new_ones)
def ones(node, *_, **__):
    return ops.full(node.shape, 1, node.dtype)


@records(aten.scalar_tensor)
def scalar_tensor(node, value, **_):
    return lift(value, node.dtype)


@records(aten.eye)
def eye(node, n, m=None, **_):
    return ops.eye(n, n if m is None else m, 0, node.dtype)


@records(aten.arange)
def arange(node, *bounds, **_):
    start, step = bounds[0] if len(bounds) > 1 else 0, bounds[2] if len(bounds) > 2 else 1
    (length,) = node.shape
    whole = not is_float(node.dtype) and not isinstance(start, float) and not isinstance(step, float)
    kind = node.dtype if whole or node.dtype == "float64" else "float32"
    if whole and kind not in ("int32", "int64"):
        kind = "int64"
    made = ops.arange(length, kind)
    if isinstance(step, hearth.Dim) or step != 1:
        made = ops.multiply(made, lift(step, kind))
    return ops.add(made, lift(start, kind)) if isinstance(start, hearth.Dim) or start != 0 else made


@records(aten.tril, aten.triu)
def triangle(node, x, diagonal=0):
    """Compares places of rows and columns, whatever the lengths."""
    rows, columns = ops.iota(x.shape, x.ndim - 2, "int64"), ops.iota(x.shape, x.ndim - 1, "int64")
    edge = ops.subtract(columns, rows)
    inside = ops.less_equal(edge, diagonal) if node.op == "tril" else ops.greater_equal(edge, diagonal)
    return ops.where(inside, x, lift(0, node.dtype))
