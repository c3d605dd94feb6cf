"""Arguments and results as trees of lists, tuples, dicts and dataclasses, with arrays as their leaves."""

import functools
import types

from ._errors import CallError
from ._hearth import Array, Dim, Tensor

_NUMBERS = {float: "float64", int: "int64"}
PLAIN = (bool, int, str, type(None), bytes, complex)


class Leaf:
    """The place of an array in the arguments, or of a tensor in the results."""

    __slots__ = ("place",)

    def __init__(self, place):
        self.place = place


def is_array(value):
    return isinstance(value, (Tensor, Array)) or hasattr(value, "__dlpack__") or isinstance(value, memoryview)


def _is_record(value):
    return hasattr(type(value), "__dataclass_fields__")


def flatten(value, what, leaves, other):
    """The value with a Leaf for every array, which `leaves` is given, and its key. `other` keys what is none, and
    the classes of dataclasses where it has `takes_classes`; numbers are arrays where it has `takes_numbers`."""
    kind = type(value)
    if kind in _NUMBERS and hasattr(other, "takes_numbers") or is_array(value):
        leaves.append(value)
        return Leaf(len(leaves) - 1), "a"
    if isinstance(value, (list, tuple)):
        pairs = [flatten(one, f"{what}[{i}]", leaves, other) for i, one in enumerate(value)]
        made = [tree for tree, _ in pairs]
        if isinstance(value, tuple):
            made = kind(*made) if hasattr(value, "_fields") else tuple(made)
        return made, (kind, *(key for _, key in pairs))
    if isinstance(value, dict):
        made, keys = {}, []
        for name, one in value.items():
            made[name], key = flatten(one, f"{what}[{name!r}]", leaves, other)
            keys.append((name, key))
        return made, (kind, *keys)
    if _is_record(value):
        made, keys = {}, []
        for name in value.__dataclass_fields__:
            made[name], key = flatten(getattr(value, name), f"{what}.{name}", leaves, other)
            keys.append((name, key))
        return _Record(kind, made), (other(kind, what) if hasattr(other, "takes_classes") else kind, *keys)
    return value, other(value, what)


def ends(names, args_tree, kwargs_tree):
    """[(name, Leaf or value)] of what the arguments hold, in their order: x, options.w, layers.0."""
    made = []

    def walk(tree, name):
        if isinstance(tree, (list, tuple)):
            pairs = enumerate(tree)
        elif isinstance(tree, dict):
            pairs = tree.items()
        elif isinstance(tree, _Record):
            pairs = tree.values.items()
        else:
            made.append((name, tree))
            return
        for word, one in pairs:
            walk(one, f"{name}.{word}")

    for i, one in enumerate(args_tree):
        walk(one, names[i] if i < len(names) else f"in{i}")
    for word, one in kwargs_tree.items():
        walk(one, word)
    return made


def leaf_names(names, args_tree, kwargs_tree):
    """What the leaves are called, in their order."""
    made = [(one.place, name) for name, one in ends(names, args_tree, kwargs_tree) if isinstance(one, Leaf)]
    return [name for _, name in sorted(made)]


class _Record:
    """A dataclass's values, before they are one again."""

    def __init__(self, kind, values):
        self.kind, self.values = kind, values


def unflatten(tree, leaves):
    if isinstance(tree, Leaf):
        return leaves[tree.place]
    if isinstance(tree, list):
        return [unflatten(one, leaves) for one in tree]
    if isinstance(tree, tuple):
        made = [unflatten(one, leaves) for one in tree]
        return type(tree)(*made) if hasattr(tree, "_fields") else tuple(made)
    if isinstance(tree, dict):
        return {name: unflatten(one, leaves) for name, one in tree.items()}
    if isinstance(tree, _Record):
        made = object.__new__(tree.kind)
        for name, one in tree.values.items():
            object.__setattr__(made, name, unflatten(one, leaves))
        return made
    return tree


# Arguments that are compared by what they are and hold, as captured values are: _guards.py.
GUARDED = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial, type)


def is_guarded(value):
    return isinstance(value, GUARDED) or type(value).__module__ == "hearth._jit"


def scalar_key(value, what):
    """The key of an argument that is no array: its type and value. Of functions and classes alone what never changes."""
    kind = type(value)
    if kind is float:
        return kind, value.hex()  # -0.0 is not 0.0, and NaN equals itself
    if kind is complex:
        return kind, value.real.hex(), value.imag.hex()
    if kind in PLAIN:
        return kind, value
    if kind is types.FunctionType:
        return kind, value.__code__
    if is_guarded(value):
        return (kind, getattr(value, "__name__", None))
    if kind is Dim:
        return kind, value._key
    if hasattr(kind, "_member_map_"):  # an enum's
        return kind, id(value)
    if kind.__module__ == "numpy" and hasattr(value, "tobytes"):  # a scalar
        return kind, str(value.dtype), value.tobytes()
    if kind.__module__ in ("numpy", "numpy.dtypes") or kind.__module__ == "torch" and kind.__name__ == "dtype":
        return kind, str(value)
    raise CallError(
        f"{what} is of type {kind.__name__}; a jitted function takes arrays, numbers, strings, functions, and lists,"
        " tuples, dicts and dataclasses of these"
    )


def array_key(array):
    if isinstance(array, Tensor):
        return array.dtype, array.shape
    if type(array) in _NUMBERS:
        return _NUMBERS[type(array)], ()
    shape, dtype = getattr(array, "shape", None), getattr(array, "dtype", None)
    if dtype is None:  # a memoryview
        return array.format, tuple(array.shape)
    return dtype, tuple(shape)
