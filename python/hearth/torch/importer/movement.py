"""Shapes, parts and orders. What torch says of the result's shape is what it becomes."""

import hearth
from hearth import ops

from .table import Unsupported, aten, axis_of, is_fixed, is_float, lift, records


@records(aten.view.default, aten.reshape, aten._unsafe_view, aten.unsqueeze, aten.squeeze, aten._reshape_alias, aten.view_copy.default,
         aten.unsqueeze_copy, aten.squeeze_copy)
def reshape(node, x, *_):
    return ops.reshape(x, node.shape)


@records(aten.view.dtype)
def bitcast(node, x, dtype):
    return ops.bitcast(x, node.dtype)


@records(aten.expand, aten.expand_copy)
def expand(node, x, *_, **__):
    return ops.expand(x, node.shape)


@records(aten.permute, aten.permute_copy)
def permute(node, x, dims):
    return ops.permute(x, [axis_of(x, dim) for dim in dims])


@records(aten.t, aten.numpy_T)
def t(node, x):
    return ops.permute(x, range(x.ndim - 1, -1, -1)) if x.ndim > 1 else x


@records(aten.transpose.int)
def transpose(node, x, a, b):
    return ops.transpose(x, axis_of(x, a), axis_of(x, b)) if x.ndim else x


@records(aten.select.int, aten.select_copy.int)
def select(node, x, dim, index):
    axis, length = axis_of(x, dim), x.shape[axis_of(x, dim)]
    if isinstance(index, int):
        index = index + length if index < 0 else index
    return ops.reshape(_part(x, axis, index, index + 1), node.shape)


def _part(x, axis, begin, end):
    low, high = [0] * x.ndim, list(x.shape)
    low[axis], high[axis] = begin, end
    return ops.shrink(x, low, high)


@records(aten.slice.Tensor, aten.slice_copy.Tensor)
def slice_(node, x, dim=0, start=None, end=None, step=1):
    axis = axis_of(x, dim)
    length, wanted = x.shape[axis], node.shape[axis]
    start = 0 if start is None else start
    if isinstance(start, int) and start < 0:
        start = max(start + length, 0) if isinstance(length, int) else start + length
    if isinstance(start, int) and isinstance(length, int):
        start = min(start, length)
    if step == 1:
        return _part(x, axis, start, start + wanted)
    # The last element that a step leads to, and no further.
    part = _part(x, axis, start, start + (wanted - 1) * step + 1) if not is_fixed(wanted) or wanted else _part(x, axis, 0, 0)
    return part[(slice(None),) * axis + (slice(None, None, step),)]


@records(aten.narrow_copy)
def narrow_copy(node, x, dim, start, length):
    axis = axis_of(x, dim)
    start = start + x.shape[axis] if isinstance(start, int) and start < 0 else start
    return _part(x, axis, start, start + length)


@records(aten.split_with_sizes, aten.split_with_sizes_copy)
def split_with_sizes(node, x, sizes, dim=0):
    axis, at, parts = axis_of(x, dim), 0, []
    for size in sizes:
        parts.append(_part(x, axis, at, at + size))
        at = at + size
    return tuple(parts)


@records(aten.split.Tensor, aten.split_copy.Tensor)
def split(node, x, size, dim=0):
    return split_with_sizes(node, x, [node.length(one.shape[axis_of(x, dim)]) for one in node.fake], dim)


@records(aten.unbind.int, aten.unbind_copy.int)
def unbind(node, x, dim=0):
    axis = axis_of(x, dim)
    return tuple(ops.select(x, axis, i) for i in range(x.shape[axis]))


@records(aten.cat)
def cat(node, xs, dim=0):
    # torch passes over vectors of no elements, whatever the other shapes are.
    xs = [lift(x, node.dtype) for x in xs if not (x.ndim == 1 and len(node.shape) != 1 and is_fixed(x.shape[0]) and x.shape[0] == 0)]
    return ops.cat(xs, dim % len(node.shape))


@records(aten.stack)
def stack(node, xs, dim=0):
    return ops.stack([lift(x, node.dtype) for x in xs], dim % len(node.shape))


@records(aten.flip)
def flip(node, x, dims):
    return ops.flip(x, [axis_of(x, dim) for dim in dims]) if dims and x.ndim else x


@records(aten.repeat)
def repeat(node, x, repeats):
    x = ops.reshape(x, (1,) * (len(repeats) - x.ndim) + tuple(x.shape))
    fixed = [1 if isinstance(count, hearth.Dim) else count for count in repeats]
    if any(isinstance(count, hearth.Dim) and not (is_fixed(length) and length == 1) for length, count in zip(x.shape, repeats)):
        raise Unsupported("repeats by a length that varies")
    return ops.expand(ops.tile(x, fixed), node.shape)


@records(aten.roll)
def roll(node, x, shifts, dims=()):
    if not dims:
        return ops.reshape(ops.roll(ops.reshape(x, (-1,)), shifts[0], 0), x.shape) if x.ndim else x
    for shift, dim in zip(shifts, dims):
        if is_fixed(x.shape[axis_of(x, dim)]) and x.shape[axis_of(x, dim)] == 0:
            return x
        x = ops.roll(x, shift, axis_of(x, dim))
    return x


@records(aten.unfold, aten.unfold_copy)
def unfold(node, x, dim, size, step):
    if not x.ndim:
        raise Unsupported("windows of a tensor without axes")
    return ops.unfold(x, axis_of(x, dim), size, step)


@records(aten.constant_pad_nd)
def constant_pad(node, x, pad, value=0):
    before, after = [0] * x.ndim, [0] * x.ndim
    for i in range(len(pad) // 2):
        before[-1 - i], after[-1 - i] = pad[2 * i], pad[2 * i + 1]
    for axis in range(x.ndim):  # less than none is a part
        cut = [max(-n, 0) if is_fixed(n) else 0 for n in (before[axis], after[axis])]
        if any(cut):
            x = _part(x, axis, cut[0], x.shape[axis] - cut[1])
            before[axis], after[axis] = [max(n, 0) if is_fixed(n) else n for n in (before[axis], after[axis])]
    if is_float(x.dtype):
        return ops.pad(x, before, after, float(value))
    if x.dtype == "bool":
        return ops.cast(ops.pad_integer(ops.cast(x, "uint8"), before, after, int(bool(value))), "bool")
    return ops.pad_integer(x, before, after, int(value))


@records(aten.reflection_pad1d, aten.reflection_pad2d, aten.reflection_pad3d, aten.replication_pad1d, aten.replication_pad2d,
         aten.replication_pad3d)
def pad_from_inside(node, x, pad):
    before, after = [0] * x.ndim, [0] * x.ndim
    for i in range(len(pad) // 2):
        before[-1 - i], after[-1 - i] = pad[2 * i], pad[2 * i + 1]
    if any(not is_fixed(n) or n < 0 for n in pad):
        raise Unsupported("padding by less than none, or by a length that varies")
    return (ops.pad_reflect if node.op.startswith("reflection") else ops.pad_edge)(x, before, after)


@records(aten.diagonal, aten.diagonal_copy)
def diagonal(node, x, offset=0, dim1=0, dim2=1):
    a, b = axis_of(x, dim1), axis_of(x, dim2)
    x = ops.permute(x, [axis for axis in range(x.ndim) if axis not in (a, b)] + [a, b])
    if not is_fixed(*x.shape):
        raise Unsupported("a diagonal of a length that varies")
    rows, columns = x.shape[-2:]
    length = node.shape[-1]
    if length == 0:
        return ops.full(node.shape, 0, node.dtype)
    start = max(offset, 0) + max(-offset, 0) * columns
    flat = ops.reshape(x, (*x.shape[:-2], rows * columns))
    return ops.gather(flat, ops.add(ops.multiply(ops.arange(length, "int64"), columns + 1), start), flat.ndim - 1)


@records(aten.as_strided, aten.as_strided_copy)
def as_strided(node, x, size, stride, storage_offset=None):
    """The elements at computed places, of an operand that torch has in C order."""
    fake = node.fake_argument(0)
    if not is_fixed(*x.shape, *size, *stride) or not fake.is_contiguous() or fake.storage_offset() != 0:
        raise Unsupported("as_strided of what is not in C order, or varies")
    places = ops.full(tuple(size), storage_offset or 0, "int64")
    for axis, step in enumerate(stride):
        places = ops.add(places, ops.multiply(ops.iota(tuple(size), axis, "int64"), step))
    return ops.gather(ops.reshape(x, (-1,)), places, 0)
