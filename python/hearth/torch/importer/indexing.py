"""Reading and writing by indices."""

import hearth
import torch
from hearth import ops

from .table import Unsupported, aten, axis_of, inverse, is_fixed, is_float, lift, records


@records(aten.embedding)
def embedding(node, table, indices, *_, **__):
    return ops.embedding(table, indices)


@records(aten.index_select)
def index_select(node, x, dim, index):
    if not x.ndim:
        return ops.reshape(x, node.shape)
    return ops.gather(x, index if index.ndim else ops.reshape(index, (1,)), axis_of(x, dim))


@records(aten.gather)
def gather(node, x, dim, index, sparse_grad=False):
    if not x.ndim or not index.ndim:
        x, index = ops.reshape(x, (1,)) if not x.ndim else x, ops.reshape(index, (1,)) if not index.ndim else index
        return ops.reshape(ops.gather_elements(x, index, 0), node.shape)
    return ops.gather_elements(x, index, axis_of(x, dim))


@records(aten.index.Tensor, aten._unsafe_index.Tensor)
def index(node, x, indices):
    if any(one is not None and one.dtype in ("bool", "uint8") for one in indices):
        raise Unsupported("an index of bools, by which the result's length depends on values")
    return x[tuple(slice(None) if one is None else one for one in indices)]


@records(aten.index_put, aten._unsafe_index_put)
def index_put(node, x, indices, values, accumulate=False):
    given = [one for one in indices if one is not None]
    if any(one.dtype in ("bool", "uint8") for one in given):
        return _put_where(node, x, indices, given, values, accumulate)
    if not is_fixed(*x.shape):
        raise Unsupported("index_put to a tensor whose lengths vary")
    if node.dtype == "bool":
        raise Unsupported("index_put of bools")
    axes = [i for i, one in enumerate(indices) if one is not None]
    rest = [i for i in range(x.ndim) if i not in axes]
    shape = torch.broadcast_shapes(*(tuple(one.shape) for one in given))
    places = []
    for axis, one in zip(axes, given):
        one = ops.cast(one, "int64")
        one = ops.where(ops.less(one, 0), ops.add(one, x.shape[axis]), one)
        places.append(ops.unsqueeze(ops.expand(one, shape), (-1,)))
    places = ops.cat(places, -1) if len(places) > 1 else places[0]
    # Where the indexed axes stand side by side the values' have their place, else they come first.
    before = axes[0] if axes == list(range(axes[0], axes[-1] + 1)) else 0
    kept = [x.shape[i] for i in rest]
    whole = (*kept[:before], *shape, *kept[before:])
    values = ops.expand(lift(values, node.dtype), whole)
    count = len(shape)
    values = ops.permute(values, [*range(before, before + count), *range(before), *range(before + count, len(whole))])
    order = axes + rest
    made = ops.scatter_nd(ops.permute(x, order), places, values, "add" if accumulate else "none")
    return ops.permute(made, inverse(order))


def _put_where(node, x, indices, given, values, accumulate):
    """One mask, and one value for all places."""
    if len(given) != 1 or indices[0] is None or given[0].dtype != "bool" or accumulate or values.ndim:
        raise Unsupported("index_put by bools with a value for each place")
    mask = ops.reshape(given[0], tuple(given[0].shape) + (1,) * (x.ndim - given[0].ndim))
    return ops.where(mask, lift(values, node.dtype), x)


def _places(x, index, updates):
    """Operands with axes, the updates cut to the indices' lengths."""
    if not x.ndim:
        x = ops.reshape(x, (1,))
    if not index.ndim:
        index = ops.reshape(index, (1,))
    if not isinstance(updates, hearth.Tensor) or not updates.ndim:
        updates = ops.expand(lift(updates, x.dtype), index.shape)
    for axis, (length, wanted) in enumerate(zip(updates.shape, index.shape)):
        if not (isinstance(length, hearth.Dim) or isinstance(wanted, hearth.Dim)) and length != wanted:
            low, high = [0] * updates.ndim, list(updates.shape)
            high[axis] = wanted
            updates = ops.shrink(updates, low, high)
    return x, index, updates


@records(aten.scatter.src, aten.scatter.value, aten.scatter_add)
def scatter(node, x, dim, index, source):
    if node.dtype == "bool":
        raise Unsupported(f"{node.op} of bools")
    x, index, source = _places(x, index, source)
    made = ops.scatter_elements(x, index, source, axis_of(x, dim), "add" if node.op == "scatter_add" else "none")
    return ops.reshape(made, node.shape)


_SCATTERS = {"sum": "add", "add": "add", "prod": "multiply", "multiply": "multiply", "amax": "maximum", "amin": "minimum"}
_IDENTITIES = {"add": 0, "multiply": 1}


def _least(dtype, greatest):
    """What an extreme begins with."""
    if is_float(dtype):
        return float("inf") if greatest else float("-inf")
    limits = torch.iinfo(getattr(torch, str(dtype)))
    return limits.max if greatest else limits.min


@records(aten.scatter_reduce.two, aten.scatter.reduce)
def scatter_reduce(node, x, dim, index, source, reduce, *, include_self=True):
    if node.dtype == "bool" or not is_fixed(*x.shape):
        raise Unsupported("scatter_reduce of bools, or to lengths that vary")
    x, index, source = _places(x, index, source)
    axis, shape = axis_of(x, dim), x.shape
    name = "add" if reduce == "mean" else _SCATTERS.get(reduce)
    if name is None:
        raise Unsupported(f"scatter_reduce {reduce!r}")
    count = ops.scatter_elements(ops.full(shape, 0, "int64"), index, ops.full(index.shape, 1, "int64"), axis, "add")
    start = x
    if not include_self:
        identity = _IDENTITIES[name] if name in _IDENTITIES else _least(node.dtype, name == "minimum")
        start = ops.where(ops.greater(count, 0), lift(identity, node.dtype), x)
    made = ops.scatter_elements(start, index, source, axis, name)
    if reduce == "mean":
        divisor = ops.add(count, 1) if include_self else ops.maximum(count, 1)
        divisor = ops.cast(divisor, node.dtype)
        made = ops.divide(made, divisor) if is_float(node.dtype) else ops.floor_div(made, divisor)
    return ops.reshape(made, node.shape)


@records(aten.slice_scatter)
def slice_scatter(node, x, source, dim=0, start=None, end=None, step=1):
    axis = axis_of(x, dim)
    length = x.shape[axis]
    if not is_fixed(length):
        raise Unsupported("slice_scatter to a length that varies")
    source = lift(source, node.dtype)
    start, end, step = slice(start, None if end is not None and end >= length else end, step).indices(length)
    if step == 1:
        parts = [_rows(x, axis, 0, start), source, _rows(x, axis, max(end, start), length)]
        return ops.cat([one for one in parts if one is not None], axis)
    places = ops.iota(x.shape, axis, "int64")
    steps = ops.subtract(places, start)
    inside = ops.bit_and(ops.equal(ops.floor_mod(steps, step), 0), ops.bit_and(ops.greater_equal(places, start), ops.less(places, end)))
    count = max(0, -(-(end - start) // step))
    if not count:
        return x
    (vector,) = [ops.clip(ops.floor_div(ops.subtract(ops.arange(length, "int64"), start), step), 0, count - 1)]
    return ops.where(inside, ops.gather(source, vector, axis), x)


def _rows(x, axis, begin, end):
    if begin >= end:
        return None
    low, high = [0] * x.ndim, list(x.shape)
    low[axis], high[axis] = begin, end
    return ops.shrink(x, low, high)


@records(aten.diagonal_scatter)
def diagonal_scatter(node, x, source, offset=0, dim1=0, dim2=1):
    a, b = axis_of(x, dim1), axis_of(x, dim2)
    if not is_fixed(*x.shape):
        raise Unsupported("diagonal_scatter to lengths that vary")
    order = [axis for axis in range(x.ndim) if axis not in (a, b)] + [a, b]
    x = ops.permute(x, order)
    rows, columns = (ops.iota(x.shape, axis, "int64") for axis in (x.ndim - 2, x.ndim - 1))
    source = lift(source, node.dtype)
    length = source.shape[-1]
    if not length:
        return ops.permute(x, inverse(order))
    places = ops.clip(ops.subtract(ops.arange(x.shape[-2], "int64"), max(-offset, 0)), 0, length - 1)
    values = ops.unsqueeze(ops.gather(source, places, source.ndim - 1), (-1,))
    made = ops.where(ops.equal(ops.subtract(columns, rows), offset), ops.expand(values, x.shape), x)
    return ops.permute(made, inverse(order))


@records(aten.select_scatter)
def select_scatter(node, x, source, dim, index):
    axis = axis_of(x, dim)
    index = index + x.shape[axis] if index < 0 else index
    here = ops.equal(ops.iota(x.shape, axis, "int64"), index)
    return ops.where(here, ops.expand(ops.unsqueeze(lift(source, node.dtype), (axis,)), x.shape), x)


@records(aten.bucketize.Tensor, aten.searchsorted.Tensor, aten.bucketize.Scalar, aten.searchsorted.Scalar)
def searchsorted(node, a, b, *, out_int32=False, right=False, side=None, sorter=None):
    """How many boundaries are less, or at most, the value."""
    bounds, values = (b, a) if node.op == "bucketize" else (a, b)
    right = right or side == "right"
    if sorter is not None or not isinstance(values, hearth.Tensor):
        raise Unsupported("searchsorted with a sorter, or of a number")
    common = "float64" if "float64" in (bounds.dtype, values.dtype) else "float32" if is_float(bounds.dtype) or is_float(values.dtype) else "int64"
    bounds, wide = lift(bounds, common), ops.unsqueeze(lift(values, common), (-1,))
    if bounds.ndim > 1:
        bounds = ops.unsqueeze(bounds, (-2,))
    found = (ops.less_equal if right else ops.less)(bounds, wide)
    if is_float(common):
        found = ops.bit_or(found, ops.is_nan(wide))
    return ops.reduce_sum(ops.cast(found, "int64"), found.ndim - 1)
