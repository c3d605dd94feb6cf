"""Lengths of symbolic dimensions, as hearth.load() takes them."""

from collections import namedtuple

from ._errors import InvalidArgument

_Range = namedtuple("Range", "min max ends points multiple_of", defaults=((), (), 1))


class Range(_Range):
    """A dimension of min to max, both included.

    Args:
        min, max: the bounds.
        ends: ascending, the last is max. The range is compiled in parts, each up to one of these.
        points: ascending. Values that are compiled for themselves, beside the whole range.
        multiple_of: values are multiples of it.
    """

    __slots__ = ()


def _length(name, value):
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InvalidArgument(
            f"dims: {name!r} is {value!r}; expected a length, (min, max), [lengths at which parts end], a hearth.Range,"
            " or an expression of other dimensions such as 'past + seq'"
        )
    length = value.__index__()
    if not 0 <= length < 2**63:
        raise InvalidArgument(f"dims: {name!r} is {length}; expected a length from 0 on")
    return length


def _ascending(name, what, values, low, high):
    lengths = [_length(name, value) for value in values]
    for before, after in zip(lengths, lengths[1:]):
        if after <= before:
            raise InvalidArgument(f"dims: {name!r}: {what} {after} stands behind {before}; expected ascending lengths")
    for length in lengths:
        if not low <= length <= high:
            raise InvalidArgument(f"dims: {name!r}: {what} {length} lies outside of {low} to {high}")
    return lengths


def parse(dims):
    """Rows (name, min, max, ends, points, unit), and the expressions by name."""
    rows, expressions = [], {}
    for name, value in dict(dims or {}).items():
        if not isinstance(name, str):
            raise InvalidArgument(f"dims: {name!r} is no name of a dimension; expected a str")
        if isinstance(value, str):
            expressions[name] = value
            continue
        if isinstance(value, list):
            if not value:
                raise InvalidArgument(f"dims: {name!r} is []; expected at least one length")
            last = _length(name, value[-1])
            value = Range(min(1, _length(name, value[0])), last, ends=value)
        if isinstance(value, tuple) and not isinstance(value, Range):
            if len(value) != 2:
                raise InvalidArgument(f"dims: {name!r} is {value!r}; expected (min, max)")
            value = Range(*value)
        if not isinstance(value, Range):
            value = Range(value, value)
        low, high = _length(name, value.min), _length(name, value.max)
        if low > high:
            raise InvalidArgument(f"dims: {name!r} is {low} to {high}; expected min <= max")
        unit = _length(name, value.multiple_of)
        if unit < 1:
            raise InvalidArgument(f"dims: {name!r}: multiple_of is {unit}; expected 1 or more")
        ends = _ascending(name, "end", value.ends, low, high)
        points = _ascending(name, "point", value.points, low, high)
        rows.append((name, low, high, ends, points, unit))
    return rows, expressions
