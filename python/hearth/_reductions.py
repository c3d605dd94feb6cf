"""Reductions and running sums, as methods and as functions of the array API standard: over an axis, several, or all; axis=()
is over none. `dim` and `keepdim` are torch's words for `axis` and `keepdims`."""

from . import _hearth
from ._dtypes import dtype_of, float32, int64, isdtype, uint64
from ._errors import CallError, InvalidArgument
from ._hearth import Dim, Tensor

ops = _hearth.ops


def as_tensor(x):
    return x if isinstance(x, Tensor) else _hearth.tensor(x)


def _words(name, axis, keepdims, dim, keepdim, out=None):
    if dim is not None:
        if axis is not None:
            raise CallError(f"{name}: axis and dim are the same; give one of them")
        axis = dim
    if out is not None:
        raise CallError(f"{name}: out is not taken; the result is a tensor of its own")
    return tuple(axis) if isinstance(axis, list) else axis, keepdims or bool(keepdim)


def _accumulator(x, dtype):
    """Of sums and products: the type that is asked for, else integers in 64 bits."""
    if dtype is not None:
        return dtype_of(dtype)
    if x.dtype in ("uint8", "uint16", "uint32", "uint64"):
        return uint64
    return x.dtype if isdtype(x.dtype, "real floating") or x.dtype.name.startswith("float8") else int64


def _cast(x, dtype):
    return x if x.dtype == dtype else ops.cast(x, dtype)


def _over(op, x, axis, keepdims, *more):
    return op(x, () if axis is None else axis, keepdims, *more)


def _totals(name, op):
    def method(self, axis=None, keepdims=False, dtype=None, *, dim=None, keepdim=None, out=None):
        axis, keepdims = _words(name, axis, keepdims, dim, keepdim, out)
        x = _cast(self, _accumulator(self, dtype))
        return as_copy(x) if axis == () else _cast(_over(op, x, axis, keepdims), x.dtype)

    return method


def as_copy(x):
    return _hearth.tensor(x)


def _extreme(name, op):
    def method(self, axis=None, keepdims=False, *, dim=None, keepdim=None, out=None):
        axis, keepdims = _words(name, axis, keepdims, dim, keepdim, out)
        return as_copy(self) if axis == () else _over(op, self, axis, keepdims)

    return method


def _truth(name, op):
    def method(self, axis=None, keepdims=False, *, dim=None, keepdim=None, out=None):
        axis, keepdims = _words(name, axis, keepdims, dim, keepdim, out)
        return _cast(self, "bool") if axis == () else _over(op, self, axis, keepdims)

    return method


def _mean(self, axis=None, keepdims=False, dtype=None, *, dim=None, keepdim=None, out=None):
    axis, keepdims = _words("mean", axis, keepdims, dim, keepdim, out)
    x = self if dtype is None else _cast(self, dtype)
    if axis == ():
        return as_copy(x) if isdtype(x.dtype, "real floating") else _cast(x, float32)
    nothing = _of_nothing(x, axis, keepdims)
    return _over(ops.mean, x, axis, keepdims) if nothing is None else nothing


def _of_nothing(x, axis, keepdims):
    """The mean of no elements, NaN; None where there are some."""
    if not isinstance(_count(x, axis), int) or _count(x, axis):
        return None
    zero = _over(ops.reduce_sum, x if isdtype(x.dtype, "real floating") else _cast(x, float32), axis, keepdims)
    return ops.full(zero.shape, float("nan"), zero.dtype)


def _spread(name, op):
    def method(self, axis=None, correction=None, keepdims=False, *, ddof=None, dim=None, keepdim=None, dtype=None, out=None):
        axis, keepdims = _words(name, axis, keepdims, dim, keepdim, out)
        if correction is not None and ddof is not None:
            raise CallError(f"{name}: correction and ddof are the same; give one of them")
        correction = ddof if correction is None else correction
        correction = 0 if correction is None else correction
        x = self if dtype is None else _cast(self, dtype)
        if axis == ():  # of one element each
            x = x if isdtype(x.dtype, "real floating") else _cast(x, float32)
            return ops.divide(ops.multiply(ops.subtract(x, x), 0.0), 1.0 - correction) if correction < 1 else ops.full(x.shape, float("nan"), x.dtype)
        nothing = _of_nothing(x, axis, keepdims)
        if nothing is not None:
            return nothing
        count = _count(x, axis) if correction > 0 else 1
        if isinstance(count, int) and correction >= count > 0:  # nothing is left to divide by
            return ops.multiply(_over(ops.variance, x, axis, keepdims, 0), float("nan"))
        if correction == int(correction):
            return _over(op, x, axis, keepdims, int(correction))
        if isinstance(count, Dim):
            raise InvalidArgument(f"{name}: correction is {correction}, of {count} elements; expected an int")
        count = _count(x, axis)
        scaled = ops.multiply(_over(ops.variance, x, axis, keepdims, 0), count / (count - correction))
        return scaled if name == "var" else ops.sqrt(scaled)

    return method


def _count(x, axis):
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    count = 1
    for one in axes:
        if not -x.ndim <= one < x.ndim:
            return 1  # the op says it
        count = count * x.shape[one]
    return count


def _place(name, op):
    def method(self, axis=None, keepdims=False, *, dim=None, keepdim=None, out=None):
        axis, keepdims = _words(name, axis, keepdims, dim, keepdim, out)
        if axis is None:
            found = op(ops.reshape(self, (-1,)), 0)
            return ops.reshape(found, (1,) * self.ndim) if keepdims else found
        return op(self, axis, keepdims)

    return method


def _count_nonzero(self, axis=None, keepdims=False):
    return METHODS["sum"](ops.cast(ops.not_equal(self, 0) if self.dtype != "bool" else self, int64), axis, keepdims)


def _running(name, op, neutral):
    def method(self, axis=None, dtype=None, include_initial=False, *, dim=None, out=None):
        axis, _ = _words(name, axis, False, dim, None, out)
        if axis is None:
            if self.ndim > 1:
                raise CallError(f"{name}: of {self.ndim} axes; give axis=, or reshape it to one")
            axis = 0
        if not self.ndim:
            raise CallError(f"{name}: of a tensor without axes; expected one axis at least")
        x = _cast(self, _accumulator(self, dtype))
        made = _cast(op(x, axis), x.dtype)
        if not include_initial:
            return made
        shape = list(x.shape)
        shape[axis] = 1
        return ops.cat([ops.full(tuple(shape), neutral, x.dtype), made], axis)

    return method


METHODS = {
    "sum": _totals("sum", ops.reduce_sum),
    "prod": _totals("prod", ops.reduce_prod),
    "max": _extreme("max", ops.reduce_max),
    "min": _extreme("min", ops.reduce_min),
    "any": _truth("any", ops.any),
    "all": _truth("all", ops.all),
    "mean": _mean,
    "var": _spread("var", ops.variance),
    "std": _spread("std", ops.std_deviation),
    "argmax": _place("argmax", ops.argmax),
    "argmin": _place("argmin", ops.argmin),
    "count_nonzero": _count_nonzero,
    "cumsum": _running("cumsum", ops.cumsum, 0),
    "cumprod": _running("cumprod", ops.cumprod, 1),
}
for _name, _method in METHODS.items():
    _method.__name__ = _method.__qualname__ = _name


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """The sum over axes, or of all elements; integers are summed in 64 bits."""
    return METHODS["sum"](as_tensor(x), axis, keepdims, dtype)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product over axes, or of all elements; of integers in 64 bits."""
    return METHODS["prod"](as_tensor(x), axis, keepdims, dtype)


def max(x, /, *, axis=None, keepdims=False):
    """The greatest element."""
    return METHODS["max"](as_tensor(x), axis, keepdims)


def min(x, /, *, axis=None, keepdims=False):
    """The smallest element."""
    return METHODS["min"](as_tensor(x), axis, keepdims)


def any(x, /, *, axis=None, keepdims=False):
    """Whether one element is not 0."""
    return METHODS["any"](as_tensor(x), axis, keepdims)


def all(x, /, *, axis=None, keepdims=False):
    """Whether no element is 0."""
    return METHODS["all"](as_tensor(x), axis, keepdims)


def mean(x, /, *, axis=None, keepdims=False):
    """The mean over axes, or of all elements."""
    return METHODS["mean"](as_tensor(x), axis, keepdims)


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The variance: the squares of what differs from the mean, summed and divided by the count less `correction`."""
    return METHODS["var"](as_tensor(x), axis, correction, keepdims)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The square root of the variance."""
    return METHODS["std"](as_tensor(x), axis, correction, keepdims)


def argmax(x, /, *, axis=None, keepdims=False):
    """Where the greatest element is, the first of equal ones; without an axis among all elements in order."""
    return METHODS["argmax"](as_tensor(x), axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """Where the smallest element is, the first of equal ones; without an axis among all elements in order."""
    return METHODS["argmin"](as_tensor(x), axis, keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """How many elements are not 0."""
    return METHODS["count_nonzero"](as_tensor(x), axis, keepdims)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """Running sums along an axis, which may be left out of what has one. Integers are summed in 64 bits."""
    return METHODS["cumsum"](as_tensor(x), axis, dtype, include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """Running products along an axis, which may be left out of what has one."""
    return METHODS["cumprod"](as_tensor(x), axis, dtype, include_initial)


FUNCTIONS = {one.__name__: one for one in (
    sum, prod, max, min, any, all, mean, var, std, argmax, argmin, count_nonzero, cumulative_sum, cumulative_prod)}  # fmt: skip
