"""Sorting, searching and sets of the array API standard. What has as many elements as the data says (nonzero, unique_*) is
computed at once, from values: an error in a trace."""

from collections import namedtuple

from . import _hearth
from ._dtypes import int64
from ._errors import CallError, InvalidArgument
from ._manipulation import take
from ._reductions import as_tensor

ops = _hearth.ops


def sort(x, /, *, axis=-1, descending=False, stable=True):
    x = as_tensor(x)
    return ops.sort(x, axis, descending) if x.ndim else x


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    x = as_tensor(x)
    return ops.cast(ops.argsort(x, axis, descending), int64)


def topk(x, k, /, *, axis=-1, largest=True):
    """(values, indices) of the k greatest elements along an axis, or the smallest, in order."""
    return ops.topk(x, k, axis, largest)


def _numpy(x, what):
    x = as_tensor(x)
    values = x._value(what)  # a TraceError in a trace
    try:
        import numpy
    except ImportError:
        raise CallError(f"{what} is computed by numpy, which is not installed") from None
    return numpy, values.__array__(copy=True)


def nonzero(x, /):
    """A tuple with the indices along each axis of the elements that are not 0."""
    x = as_tensor(x)
    if not x.ndim:
        raise InvalidArgument("nonzero: of a tensor without axes; expected one axis at least")
    _, values = _numpy(x, "nonzero()")
    return tuple(_hearth.tensor(one) for one in values.nonzero())


UniqueAll = namedtuple("UniqueAll", "values indices inverse_indices counts")
UniqueCounts = namedtuple("UniqueCounts", "values counts")
UniqueInverse = namedtuple("UniqueInverse", "values inverse_indices")


def _unique(x, what):
    numpy, values = _numpy(x, what)
    found = numpy.unique(values, return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
    made = [_hearth.tensor(numpy.asarray(one, order="C")) for one in found]
    made[2] = ops.reshape(made[2], values.shape)
    return made


def unique_all(x, /):
    """The different elements, where each stands first, which of them each element is, and how often each occurs."""
    return UniqueAll(*_unique(x, "unique_all()"))


def unique_counts(x, /):
    """The different elements, and how often each occurs."""
    values, _, _, counts = _unique(x, "unique_counts()")
    return UniqueCounts(values, counts)


def unique_inverse(x, /):
    """The different elements, and which of them each element is."""
    values, _, inverse, _ = _unique(x, "unique_inverse()")
    return UniqueInverse(values, inverse)


def unique_values(x, /):
    """The different elements."""
    return _unique(x, "unique_values()")[0]


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Where the elements of x2 would stand in x1, which is sorted: before equal ones, or behind them (side="right")."""
    if side not in ("left", "right"):
        raise InvalidArgument(f"searchsorted: side is {side!r}; expected 'left' or 'right'")
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if x1.ndim != 1:
        raise InvalidArgument(f"searchsorted: x1 has {x1.ndim} axes; expected 1")
    if sorter is not None:
        x1 = take(x1, sorter)
    before = (ops.less if side == "left" else ops.less_equal)(x1, ops.unsqueeze(x2, (-1,)))
    return ops.reduce_sum(ops.cast(before, int64), (-1,), False)


def isin(x1, x2, /, *, invert=False):
    """Whether each element of x1 is one of x2."""
    x1, x2 = as_tensor(x1), as_tensor(x2)
    found = ops.any(ops.equal(ops.unsqueeze(x1, (-1,)), ops.reshape(x2, (-1,))), (-1,), False)
    return ops.logical_not(found) if invert else found


FUNCTIONS = {one.__name__: one for one in (
    sort, argsort, topk, nonzero, unique_all, unique_counts, unique_inverse, unique_values, searchsorted, isin)}  # fmt: skip
