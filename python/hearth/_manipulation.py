"""Functions of the array API standard that move elements: shapes, axes, indexing, joining."""

from . import _hearth
from ._elementwise import check_axis
from ._errors import CallError, InvalidArgument, OutOfRange
from ._hearth import Dim
from ._indexing import broadcast_shapes, check_range
from ._reductions import as_tensor

ops = _hearth.ops


def reshape(x, /, shape, *, copy=None):
    """The same elements in another shape; one length may be -1."""
    return ops.reshape(x, shape)


def permute_dims(x, /, axes):
    return ops.permute(x, axes)


def matrix_transpose(x, /):
    return ops.transpose(x)


def swapaxes(x, axis1, axis2, /):
    """x with two axes in each other's place."""
    x = as_tensor(x)
    order = list(range(x.ndim))
    a, b = check_axis(axis1, x.ndim, "swapaxes"), check_axis(axis2, x.ndim, "swapaxes")
    order[a], order[b] = order[b], order[a]
    return ops.permute(x, order)


def moveaxis(x, source, destination, /):
    """x with axes in other places; the others keep their order."""
    x = as_tensor(x)
    source = source if isinstance(source, (tuple, list)) else (source,)
    destination = destination if isinstance(destination, (tuple, list)) else (destination,)
    if len(source) != len(destination):
        raise InvalidArgument(f"moveaxis: {len(source)} axes to {len(destination)} places; expected as many")
    places = {check_axis(to, x.ndim, "moveaxis"): check_axis(of, x.ndim, "moveaxis") for of, to in zip(source, destination)}
    if len(places) != len(source) or len(set(places.values())) != len(source):
        raise InvalidArgument("moveaxis: an axis is given twice")
    rest = iter([axis for axis in range(x.ndim) if axis not in places.values()])
    return ops.permute(x, [places[i] if i in places else next(rest) for i in range(x.ndim)])


def expand_dims(x, /, axis=0):
    x = as_tensor(x)
    return ops.unsqueeze(x, check_axis(axis, x.ndim + 1, "expand_dims"))


def squeeze(x, /, axis=None):
    """x without axes of length 1: those that are given, or all of them."""
    x = as_tensor(x)
    return _hearth.tensor(x) if axis == () and axis is not None else ops.squeeze(x, () if axis is None else axis)


def broadcast_to(x, /, shape):
    return ops.expand(x, shape)


def broadcast_arrays(*arrays):
    """A list of the arrays, each in the shape that they have together."""
    arrays = [as_tensor(one) for one in arrays]
    shape = ()
    for one in arrays:
        shape = broadcast_shapes(shape, one.shape)
    return [ops.expand(one, shape) for one in arrays]


def concat(arrays, /, *, axis=0):
    arrays = [as_tensor(one) for one in arrays]
    if axis is None:
        return ops.cat([ops.reshape(one, (-1,)) for one in arrays], 0)
    kinds = {one.dtype for one in arrays}
    if len(kinds) > 1:
        from ._dtypes import result_type

        kind = result_type(*arrays)
        arrays = [one if one.dtype == kind else ops.cast(one, kind) for one in arrays]
    return ops.cat(arrays, axis)


def stack(arrays, /, *, axis=0):
    return ops.stack(list(arrays), axis)


def unstack(x, /, *, axis=0):
    """A tuple of x's parts along an axis."""
    x = as_tensor(x)
    axis = check_axis(axis, x.ndim, "unstack")
    if isinstance(x.shape[axis], Dim):
        raise CallError(f"unstack: axis {axis} has the length {x.shape[axis]}, which varies")
    return tuple(ops.select(x, axis, i) for i in range(x.shape[axis]))


def split(x, parts, /, axis=0):
    """numpy's: a list of `parts` equal parts along an axis, or of what lies between the indices that are given."""
    x = as_tensor(x)
    axis = check_axis(axis, x.ndim, "split")
    length = x.shape[axis]
    if isinstance(parts, int):
        if isinstance(length, Dim) or parts < 1 or length % parts:
            raise InvalidArgument(f"split: {parts} equal parts of axis {axis}, whose length is {length}; give the indices")
        parts = [length // parts * i for i in range(1, parts)]
    bounds = [0, *parts, None]
    return [x[(slice(None),) * axis + (slice(a, b),)] for a, b in zip(bounds, bounds[1:])]


def flip(x, /, *, axis=None):
    x = as_tensor(x)
    if axis == () and axis is not None:
        return _hearth.tensor(x)
    return ops.flip(x, tuple(range(x.ndim)) if axis is None else axis) if x.ndim else x


def roll(x, /, shift, *, axis=None):
    """x with elements moved along axes, those beyond the end to the beginning; without an axis along all of them as one."""
    x = as_tensor(x)
    shifts = tuple(shift) if isinstance(shift, (tuple, list)) else (shift,)
    if axis is None:
        if len(shifts) != 1:
            raise CallError(f"roll: {len(shifts)} shifts without an axis; give axis= as many")
        return ops.reshape(ops.roll(ops.reshape(x, (-1,)), shifts[0], 0), x.shape)
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise CallError(f"roll: {len(shifts)} shifts along {len(axes)} axes; expected one for each")
    if not shifts or not axes:
        return _hearth.tensor(x)
    count = max(len(shifts), len(axes))
    for one, along in zip(shifts * (count // len(shifts)), axes * (count // len(axes))):
        x = ops.roll(x, one, along)
    return x


def tile(x, repetitions, /):
    """x repeated along its axes; what has fewer of them than the other gets new ones in front."""
    x = as_tensor(x)
    counts = tuple(repetitions) if isinstance(repetitions, (tuple, list)) else (repetitions,)
    if len(counts) < x.ndim:
        counts = (1,) * (x.ndim - len(counts)) + counts
    if len(counts) > x.ndim:
        x = ops.reshape(x, (1,) * (len(counts) - x.ndim) + tuple(x.shape))
    return ops.tile(x, counts) if counts else x


def repeat(x, repeats, /, *, axis=None):
    """Each element as often as `repeats` says: a number, or one for each element along the axis, whose values are read."""
    x = as_tensor(x)
    if axis is None:
        x, axis = ops.reshape(x, (-1,)), 0
    axis = check_axis(axis, x.ndim, "repeat")
    if not isinstance(repeats, int):
        counts = as_tensor(repeats).tolist()
        counts = counts if isinstance(counts, list) else [counts]
        if len(counts) == 1:
            repeats = counts[0]
        else:
            if len(counts) != x.shape[axis]:
                raise InvalidArgument(f"repeat: {len(counts)} counts for axis {axis} of length {x.shape[axis]}")
            places = [i for i, count in enumerate(counts) for _ in range(count)]
            return take(x, _hearth.from_flat(places, [len(places)], "int64"), axis=axis)
    return ops.repeat_interleave(x, repeats, axis)


def take(x, indices, /, *, axis=None):
    """The elements at the indices along an axis, which may be left out of what has one; -1 is the last. An index beyond the
    end is an IndexError where indices are known; of indices that a trace computes it takes the nearest element."""
    x = as_tensor(x)
    if axis is None:
        if x.ndim != 1:
            raise CallError(f"take: of {x.ndim} axes; give axis=, or reshape it to one")
        axis = 0
    axis = check_axis(axis, x.ndim, "take")
    indices, length = _indices(indices, "take"), x.shape[axis]
    if not indices._is_traced():
        check_range(indices, length, axis)
    if any(isinstance(one, int) and one == 0 for one in indices.shape):  # there is nothing to take
        return ops.full((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), 0, x.dtype)
    return ops.gather(x, _from_front(indices, length), axis)


def _indices(indices, what):
    if isinstance(indices, (list, tuple)):
        from ._tensor import tensor

        indices = tensor(list(indices)) if indices else _hearth.from_flat([], [0], "int64")
    indices = as_tensor(indices)
    if not indices.dtype.name.startswith(("int", "uint")):
        raise InvalidArgument(f"{what}: indices are {indices.dtype}; expected ints")
    return indices


def _from_front(indices, length):
    if isinstance(length, Dim) or indices.dtype.name.startswith("uint"):
        return indices
    indices = ops.cast(indices, "int64")
    return ops.where(ops.less(indices, 0), ops.add(indices, length), indices)


def take_along_axis(x, indices, /, *, axis=-1):
    """For each place the element at its index along an axis; indices broadcast with x along the others."""
    x = as_tensor(x)
    axis = check_axis(axis, x.ndim, "take_along_axis")
    indices = _indices(indices, "take_along_axis")
    if indices.ndim != x.ndim:
        raise OutOfRange(f"take_along_axis: indices of {indices.ndim} axes for an array of {x.ndim}")
    shape = broadcast_shapes(tuple(1 if i == axis else n for i, n in enumerate(x.shape)),
                             tuple(1 if i == axis else n for i, n in enumerate(indices.shape)))  # fmt: skip
    of_x, of_indices = list(shape), list(shape)
    of_x[axis], of_indices[axis] = x.shape[axis], indices.shape[axis]
    length = x.shape[axis]
    if not indices._is_traced():
        check_range(indices, length, axis)
    return ops.gather_elements(ops.expand(x, of_x), ops.expand(_from_front(indices, length), of_indices), axis)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """The differences of neighbours along an axis, n times."""
    x = as_tensor(x)
    axis = check_axis(axis, x.ndim, "diff")
    parts = [one for one in (prepend, x, append) if one is not None]
    x = concat(parts, axis=axis) if len(parts) > 1 else x
    front = (slice(None),) * axis
    for _ in range(n):
        x = ops.subtract(x[front + (slice(1, None),)], x[front + (slice(None, -1),)])
    return x


FUNCTIONS = {one.__name__: one for one in (
    reshape, permute_dims, matrix_transpose, swapaxes, moveaxis, expand_dims, squeeze, broadcast_to, broadcast_arrays, concat,
    stack, unstack, split, flip, roll, tile, repeat, take, take_along_axis, diff)}  # fmt: skip
