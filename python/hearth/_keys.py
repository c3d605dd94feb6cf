"""Under what a jitted function keeps its plans: types and shapes of arrays, lengths that vary by name and bounds."""

import sys

from ._errors import InvalidArgument
from ._hearth import Dim, Tensor


def plain_key(args):
    """The key of numpy's arrays alone, which is made without walking them; None of others."""
    wanted, key = ndarray(), []
    for one in args:
        if type(one) is not wanted:
            return None
        key.append(one.dtype)
        key.append(one.shape)
    return tuple(key)


def sort(leaf):
    """Whether a leaf is a tensor, a Python number, or an array."""
    return type(leaf) if type(leaf) in (Tensor, int, float) else None


def shape_key(shape):
    return tuple(one._key if isinstance(one, Dim) else one for one in shape)


_found_ndarray = None


def ndarray():
    """numpy's, once somebody has imported it."""
    global _found_ndarray
    if _found_ndarray is None:
        numpy = sys.modules.get("numpy")
        _found_ndarray = getattr(numpy, "ndarray", None)
    return _found_ndarray


def dims_of(dims):
    made = {}
    for name, lengths in dict(dims or {}).items():
        if not isinstance(lengths, dict):
            lengths = dict(enumerate(lengths))
        made[name] = {axis: dim for axis, dim in lengths.items() if dim is not None}
        for axis, dim in made[name].items():
            if isinstance(dim, tuple) and len(dim) == 2 and all(isinstance(one, int) for one in dim):
                dim = made[name][axis] = Dim(f"{name}.{axis}", *dim)
            if not isinstance(dim, Dim):
                raise InvalidArgument(f"jit: dims of {name!r}, axis {axis}: {dim!r}; expected a hearth.Dim, or (min, max)")
    return made
