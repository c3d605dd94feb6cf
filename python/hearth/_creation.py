"""Functions of the array API standard that make arrays."""

import math

from . import _hearth
from ._dtypes import dtype_of, float32, float64, int64, isdtype
from ._errors import CallError, InvalidArgument
from ._hearth import Dim, Tensor
from ._reductions import as_tensor

ops = _hearth.ops


def check_device(device):
    if device not in (None, "cpu"):
        raise InvalidArgument(f"device is {device!r}; tensors are on the 'cpu'; a jitted function takes device=")


def asarray(obj, /, dtype=None, device=None, *, copy=None):
    """A tensor of an array, a number, or nested lists of numbers, whose elements are copied; a tensor is itself.

    Raises:
        InvalidArgument: copy=False of what is no tensor.
    """
    from ._tensor import tensor

    check_device(device)
    if copy is not True and isinstance(obj, Tensor) and (dtype is None or obj.dtype == dtype_of(dtype)):
        return obj
    if copy is False:
        raise InvalidArgument("asarray: copy=False: a tensor has elements of its own, which are copied")
    return tensor(obj, dtype)


def from_dlpack(x, /, *, device=None, copy=None):
    """A tensor of an array of another library, whose elements are copied."""
    check_device(device)
    if isinstance(x, Tensor):
        return _hearth.tensor(x)
    if copy is False:
        raise BufferError("from_dlpack: copy=False: a tensor has elements of its own, which are copied")
    if not hasattr(x, "__dlpack__"):
        raise CallError(f"from_dlpack: {type(x).__name__} has no __dlpack__")
    return _hearth.tensor(x)


def full(shape, fill_value, *, dtype=None, device=None):
    """Every element `fill_value`; its dtype by default float32, int64 or bool, as it is."""
    check_device(device)
    if dtype is None:
        dtype = "bool" if isinstance(fill_value, bool) else "int64" if isinstance(fill_value, int) else float32
        if isinstance(fill_value, Tensor):
            dtype = fill_value.dtype
    if isinstance(fill_value, Tensor):
        return ops.expand(ops.cast(fill_value, dtype), shape if isinstance(shape, tuple) else (shape,))
    return ops.full(shape, fill_value, dtype)


def zeros(shape, *more, dtype=float32, device=None):
    """Zeros of a shape."""
    return full(_shape(shape, more), 0, dtype=float32 if dtype is None else dtype, device=device)


def ones(shape, *more, dtype=float32, device=None):
    """Ones of a shape."""
    return full(_shape(shape, more), 1, dtype=float32 if dtype is None else dtype, device=device)


def empty(shape, *more, dtype=float32, device=None):
    """Zeros: a lazy tensor has no memory whose contents could be left as they are."""
    return zeros(shape, *more, dtype=dtype, device=device)


def _shape(shape, more):
    return (shape, *more) if more else shape  # ones(3, 4), as torch writes it


def full_like(x, /, fill_value, *, dtype=None, device=None):
    x = as_tensor(x)
    return full(x.shape, fill_value, dtype=x.dtype if dtype is None else dtype, device=device)


def zeros_like(x, /, *, dtype=None, device=None):
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x, /, *, dtype=None, device=None):
    return full_like(x, 1, dtype=dtype, device=device)


def empty_like(x, /, *, dtype=None, device=None):
    """Zeros of x's shape, as empty() gives them."""
    return full_like(x, 0, dtype=dtype, device=device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=float32, device=None):
    check_device(device)
    n_cols = n_rows if n_cols is None else n_cols
    if isinstance(n_rows, int) and isinstance(n_cols, int):
        k = max(-n_rows, min(n_cols, k))  # beyond them there are no ones
    return ops.eye(n_rows, n_cols, k, float32 if dtype is None else dtype)


def linspace(start, stop, /, num, *, dtype=float32, device=None, endpoint=True):
    """`num` numbers from start to stop, which is the last one unless endpoint=False."""
    check_device(device)
    dtype = float32 if dtype is None else dtype_of(dtype)
    if num < 0:
        raise InvalidArgument(f"linspace: num is {num}; expected 0 or more")
    if isdtype(dtype, "integral") or dtype == float64 or dtype == float32:
        steps = max(1, num - 1 if endpoint else num)
        made = ops.add(ops.multiply(ops.arange(num, float64), (float(stop) - float(start)) / steps), float(start))
        if endpoint and num > 1:
            made = ops.where(ops.equal(ops.arange(num, "int64"), num - 1), float(stop), made)
        return ops.cast(ops.floor(made) if isdtype(dtype, "integral") else made, dtype)
    return ops.linspace(start, stop if endpoint else start + (stop - start) * (max(0, num - 1) / max(1, num)), num, dtype)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """Numbers from start to before stop, by step. start and stop may be lengths that vary: arange(n), arange(2, n, 2)."""
    check_device(device)
    if stop is None:
        start, stop = 0, start
    if isinstance(step, Dim):
        raise CallError("arange: step is a length that varies; expected a number")
    if not step:
        raise InvalidArgument("arange: step is 0")
    if isinstance(start, Dim) or isinstance(stop, Dim):
        return _arange_of_lengths(start, stop, step, dtype)
    start, stop, step = (one.item() if hasattr(one, "item") else one for one in (start, stop, step))
    whole = all(isinstance(one, int) for one in (start, stop, step))
    if dtype is None:
        dtype = int64 if whole else float32
    dtype = dtype_of(dtype)
    if whole:
        count = max(0, -((start - stop) // step))
        made = ops.arange(count, int64)
    else:
        count = max(0, math.ceil((stop - start) / step))
        made = ops.arange(count, float64)
    made = made if step == 1 else ops.multiply(made, step)
    made = made if start == 0 else ops.add(made, start)
    return made if made.dtype == dtype else ops.cast(made, dtype)


def _arange_of_lengths(start, stop, step, dtype):
    if not all(isinstance(one, (int, Dim)) for one in (start, stop, step)):
        raise CallError(f"arange: from {start} to {stop} by {step}; of lengths that vary, the others are ints")
    count = (stop - start + step - 1) // step if step > 0 else (start - stop - step - 1) // -step
    if isinstance(count, int):
        count = max(0, count)
    elif count.min < 0:
        raise InvalidArgument(f"arange: from {start} to {stop} by {step} has {count} numbers, which may be less than 0; "
                              "raise the length's lower bound")  # fmt: skip
    made = ops.multiply(ops.arange(count, int64), step)
    made = ops.add(made, start)
    return made if dtype is None else ops.cast(made, dtype)


def meshgrid(*arrays, indexing="xy"):
    if indexing not in ("xy", "ij"):
        raise InvalidArgument(f"meshgrid: indexing is {indexing!r}; expected 'xy' or 'ij'")
    arrays = [as_tensor(one) for one in arrays]
    if len(arrays) < 2:
        return arrays
    return list(ops.meshgrid(arrays, "cartesian" if indexing == "xy" else "matrix"))


def tril(x, /, *, k=0):
    """The lower triangle of each matrix, up to the k-th diagonal above the main one."""
    return ops.tril(as_tensor(x), k)


def triu(x, /, *, k=0):
    """The upper triangle of each matrix, from the k-th diagonal above the main one on."""
    return ops.triu(as_tensor(x), k)


FUNCTIONS = {one.__name__: one for one in (
    asarray, from_dlpack, full, zeros, ones, empty, full_like, zeros_like, ones_like, empty_like, eye, linspace, arange,
    meshgrid, tril, triu)}  # fmt: skip
