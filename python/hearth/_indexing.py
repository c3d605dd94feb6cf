"""t[index] and t[index] = value, as numpy means them: ints, slices, ..., None, and tensors of ints or bools."""

from . import _hearth
from ._errors import InvalidArgument, OutOfRange, TraceError
from ._hearth import Dim, Tensor

ops = _hearth.ops


def get(self, index):
    whole = _truth(index)
    if whole is not None:  # a new axis, of length 1 or 0
        return get(ops.unsqueeze(self, (0,)), slice(None) if whole else slice(0))
    parts, is_apart = _expand(self, index)
    if self.is_evaluated and all(isinstance(part, (int, slice, type(None))) for part in parts):
        return _on_host(self, parts)
    return _lazily(self, parts, is_apart)


def assign(self, index, value):
    """A new value under this name: other names of the tensor keep the old one."""
    if _hearth.current_trace() and not self._is_traced():
        raise TraceError(
            "t[i] = v in a trace changes a tensor that is no argument, which replays would not see: pass it as an"
            f" argument and return it (at {_hearth.location()})"
        )
    for length in self.shape:
        if isinstance(length, Dim):
            raise InvalidArgument(f"t[i] = v: the length {length} varies; use hearth.where or hearth.pad")
    whole = _truth(index)
    if whole is not None:
        if not whole:
            return
        index = ...
    size = 1
    for length in self.shape:
        size *= length
    places = get(ops.reshape(ops.iota((size,), 0, "int64"), self.shape), index)
    if isinstance(value, (bool, int, float)):
        value = ops.full((), value, self.dtype)
    elif not isinstance(value, Tensor):
        from ._tensor import tensor

        value = tensor(value, "float64" if self.dtype == "float64" and isinstance(value, (list, tuple)) else None)
    updates = ops.expand(ops.cast(value, self.dtype), places.shape)
    if size == 0 or 0 in places.shape:
        return
    flat = ops.scatter_elements(
        ops.reshape(self, (-1,)), ops.reshape(places, (-1,)), ops.reshape(updates, (-1,)), 0
    )
    self._rebind(ops.reshape(flat, self.shape))


def _expand(self, index):
    """One part for every axis, and None for new ones, arrays as tensors; and whether `...` stood between two of them."""
    parts = [_part(part) for part in (index if isinstance(index, tuple) else (index,))]
    dots = [i for i, part in enumerate(parts) if part is Ellipsis]
    if len(dots) > 1:
        raise InvalidArgument("an index has ... twice; expected once at most")
    count = sum(_axes_of(part) for part in parts)
    if count > self.ndim:
        raise OutOfRange(f"{count} indices for a tensor of {self.ndim} axes")
    at = dots[0] if dots else len(parts)
    is_apart = any(map(_is_advanced, parts[:at])) and any(map(_is_advanced, parts[at + 1 :]))
    parts[at : at + 1] = [slice(None)] * (self.ndim - count)
    made, used = [], 0
    for part in parts:
        used += _axes_of(part)
        if isinstance(part, Tensor) and part.dtype == "bool":
            made += _nonzero(self, part, used)
        else:
            made.append(part)
    return made, is_apart


def _truth(index):
    """The value of an index that is one bool, of an index that is none None."""
    if isinstance(index, bool):
        return index
    shape, dtype = getattr(index, "shape", None), getattr(index, "dtype", None)
    return bool(index) if shape == () and dtype == "bool" else None


def _axes_of(part):
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if isinstance(part, Tensor) and part.dtype == "bool" else 1


def _is_advanced(part):
    return isinstance(part, (int, Tensor))


def _part(part):
    if part is None or part is Ellipsis or isinstance(part, slice):
        return part
    if isinstance(part, bool):
        raise InvalidArgument("an index is one bool; use hearth.where")
    if not isinstance(part, (int, Tensor)):
        if isinstance(part, (list, tuple)):
            from ._tensor import tensor

            part = tensor(list(part)) if part else _hearth.from_flat([], [0], "int64")
        elif hasattr(part, "__index__") and not hasattr(part, "shape"):
            part = part.__index__()
        else:
            part = _hearth.tensor(part)
    if not isinstance(part, Tensor):
        return part
    if part.dtype == "bool":
        if part._is_traced():
            raise TraceError(
                "an index of bools gives as many elements as are true, which a trace does not know: use"
                f" hearth.where or hearth.ops.compress (at {_hearth.location()})"
            )
        return part
    if not part.dtype.name.startswith(("int", "uint")):
        raise InvalidArgument(f"an index is a tensor of {part.dtype}; expected ints or bools")
    return part.item() if not part.ndim and part.is_evaluated else part


def _nonzero(self, mask, used):
    """The places that are true, one tensor of ints for each of the mask's axes."""
    shape = self.shape[used - mask.ndim : used]
    if not all(isinstance(m, int) and m == 0 or _is_same(m, n) for m, n in zip(mask.shape, shape)):
        raise OutOfRange(f"an index of bools has the shape {list(mask.shape)}; the tensor has {list(shape)} there")
    found = []

    def walk(part, place):
        if isinstance(part, list):
            for i, one in enumerate(part):
                walk(one, (*place, i))
        elif part:
            found.append(place)

    walk(mask.tolist(), ())
    if not mask.ndim:  # numpy's: a new axis of length 1 or 0
        raise InvalidArgument("an index is one bool; use hearth.where")
    return [_hearth.from_flat([place[axis] for place in found], [len(found)], "int64") for axis in range(mask.ndim)]


def _position(part, length, axis):
    if isinstance(length, Dim):
        return part
    if not -length <= part < length:
        raise OutOfRange(f"index {part} is out of bounds for axis {axis} of length {length}")
    return part + length if part < 0 else part


def _on_host(self, parts):
    array = self._value("an index")
    strides, step = [], 1
    for length in reversed(array.shape):
        strides.insert(0, step)
        step *= length
    offset, shape, kept, axis = 0, [], [], 0
    for part in parts:
        if part is None:
            shape.append(1)
            kept.append(0)
            continue
        if isinstance(part, int):
            offset += _position(part, array.shape[axis], axis) * strides[axis]
        else:
            begin, end, step = part.indices(array.shape[axis])
            count = len(range(begin, end, step))
            offset += begin * strides[axis] if count else 0
            shape.append(count)
            kept.append(step * strides[axis])
        axis += 1
    if 0 in shape:
        offset = 0
    return _hearth.tensor_of_array(array._part(offset, shape, kept))


def _lazily(self, parts, is_apart=False):
    x, axis, taken, place, tensors, where = self, 0, 0, 0, [], []
    slices, selected, fresh = [], [], []
    for part in parts:
        if part is None:
            fresh.append(place)
            place += 1
            continue
        if isinstance(part, slice):
            if part != slice(None):
                slices.append(_slice(part, self.shape[axis], axis))
            place += 1
        elif isinstance(part, int):
            selected.append((axis, _position(part, self.shape[axis], axis)))
        else:
            where.append((axis, place))
            tensors.append(part)
            place += 1
        axis += 1
    if selected and tensors:  # numpy counts numbers among the index arrays
        return _lazily(self, [_hearth.tensor(part) if isinstance(part, int) else part for part in parts], is_apart)
    if slices:
        x = ops.slice(x, slices)
    for taken, (axis, position) in enumerate(selected):
        x = ops.select(x, axis - taken, position)
    if not tensors:
        return ops.unsqueeze(x, fresh) if fresh else x
    if fresh:
        x = ops.unsqueeze(x, fresh)
    return _gather(x, [place for _, place in where], tensors, is_apart)


def _slice(part, length, axis):
    step = 1 if part.step is None else part.step.__index__()
    if step == 0:
        raise InvalidArgument("a slice's step is 0")
    if not isinstance(length, Dim):
        begin, end, step = part.indices(length)
        return (axis, begin, None if step < 0 and end < 0 else end, step) if end >= 0 else _backwards(axis, begin, step)
    begin = None if part.start is None else part.start.__index__()
    end = None if part.stop is None else part.stop.__index__()
    if step < 0:
        raise InvalidArgument(f"a slice's step is {step} along an axis whose length varies; use hearth.flip")
    return (axis, 0 if begin is None else begin, end, step)


def _backwards(axis, begin, step):
    return (axis, begin, -(2**63), step)  # to before the first element


def _gather(x, axes, tensors, is_apart):
    """x[..., i, ..., j, ...]: index arrays broadcast together; side by side they stand where they were, else in front."""
    shape = tensors[0].shape
    for other in tensors[1:]:
        shape = broadcast_shapes(shape, other.shape)
    adjacent = not is_apart and axes == list(range(axes[0], axes[0] + len(axes)))
    if any(isinstance(length, int) and length == 0 for length in shape):  # there is nothing to take
        rest = [length for axis, length in enumerate(x.shape) if axis not in axes]
        before = axes[0] if adjacent else 0
        return ops.full((*rest[:before], *shape, *rest[before:]), 0, x.dtype)
    made = []
    for axis, index in zip(axes, tensors):
        length = x.shape[axis]
        index = ops.cast(index, "int64")
        if index.is_evaluated or not index._is_traced():
            check_range(tensors[len(made)], length, axis)
        if not isinstance(length, Dim):
            index = ops.where(ops.less(index, 0), ops.add(index, length), index)
        made.append(ops.unsqueeze(ops.expand(index, shape), (-1,)))
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    front = ops.permute(x, [*axes, *rest]) if axes + rest != list(range(x.ndim)) else x
    found = ops.gather_nd(front, ops.cat(made, -1) if len(made) > 1 else made[0])
    before = axes[0] if adjacent else 0
    if not before:
        return found
    n = len(shape)
    order = [*range(n, n + before), *range(n), *range(n + before, n + len(rest))]
    return ops.permute(found, order)


def broadcast_shapes(a, b):
    n = max(len(a), len(b))
    a, b = (1,) * (n - len(a)) + tuple(a), (1,) * (n - len(b)) + tuple(b)
    if any(not (_is_one(x) or _is_one(y) or _is_same(x, y)) for x, y in zip(a, b)):
        raise OutOfRange(f"the shapes {list(a)} and {list(b)} do not broadcast")
    return tuple(y if _is_one(x) else x for x, y in zip(a, b))


def _is_one(length):
    return isinstance(length, int) and length == 1


def _is_same(x, y):
    """Of lengths, which may vary: whether they are one, not whether they may be equal."""
    return x._is_same(y) if isinstance(x, Dim) else y._is_same(x) if isinstance(y, Dim) else x == y


def check_range(index, length, axis):
    """Of an index whose values are known."""
    if isinstance(length, Dim) or not index.is_evaluated:
        return

    def walk(part):
        if isinstance(part, list):
            for one in part:
                walk(one)
        elif not -length <= part < length:
            raise OutOfRange(f"index {part} is out of bounds for axis {axis} of length {length}")

    walk(index.tolist())
