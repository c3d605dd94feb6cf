"""Element types: hearth.float32 and its like, which equal numpy's, torch's and their names, and what the array API standard
says of types."""

import builtins
import sys
from collections import namedtuple

from ._errors import CallError, InvalidArgument


class DType:
    """An element type, such as hearth.float32: equal to its name ("float32"), to numpy's (numpy.float32, and its dtype) and
    to torch's (torch.float32). str() is its name; numpy takes it for a dtype."""

    __slots__ = ("name",)

    def __init__(self, name):
        object.__setattr__(self, "name", name)

    def __setattr__(self, name, value):
        raise AttributeError("a dtype is what it is")

    def __eq__(self, other):
        if type(other) is DType:
            return self.name == other.name
        name = other if isinstance(other, str) else _name_of(other)
        return NotImplemented if name is None else self.name == name

    def __hash__(self):
        return hash(self.name)

    def __str__(self):
        return self.name

    def __repr__(self):
        return f"hearth.{self.name}"

    def __reduce__(self):
        return known, (self.name,)

    @property
    def itemsize(self):
        """Bytes of an element."""
        return _BITS[self.name] // 8

    @property
    def dtype(self):
        """numpy's, which numpy asks for where a dtype is given."""
        import numpy

        if self.name in _NUMPY:
            return numpy.dtype(self.name)
        import ml_dtypes

        return numpy.dtype(getattr(ml_dtypes, self.name))


_BITS = {
    "bool": 8, "int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64,
    "float16": 16, "bfloat16": 16, "float32": 32, "float64": 64, "float8_e4m3fn": 8, "float8_e4m3fnuz": 8, "float8_e5m2": 8,
    "float8_e5m2fnuz": 8,
}  # fmt: skip
_NUMPY = frozenset(name for name in _BITS if not name.startswith(("bfloat", "float8")))
_KNOWN = {name: DType(name) for name in _BITS}
bool, int8, int16, int32, int64 = (_KNOWN[name] for name in ("bool", "int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = (_KNOWN[name] for name in ("uint8", "uint16", "uint32", "uint64"))
float16, bfloat16, float32, float64 = (_KNOWN[name] for name in ("float16", "bfloat16", "float32", "float64"))
e, pi, inf, nan, newaxis = 2.718281828459045, 3.141592653589793, float("inf"), float("nan"), None

_SIGNED, _UNSIGNED = ("int8", "int16", "int32", "int64"), ("uint8", "uint16", "uint32", "uint64")
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_KINDS = {
    "bool": ("bool",),
    "signed integer": _SIGNED,
    "unsigned integer": _UNSIGNED,
    "integral": _SIGNED + _UNSIGNED,
    "real floating": _FLOATS,
    "complex floating": (),
    "numeric": _SIGNED + _UNSIGNED + _FLOATS,
}


def known(name):
    """The dtype object of a name that the library gives."""
    return _KNOWN.get(name) or _KNOWN.setdefault(name, DType(name))


def _type_of(value):
    """An array's type, or a type itself."""
    return value if type(value) in (DType, str) else getattr(value, "dtype", value)


def _name_of(other):
    kind = type(other)
    if kind is type:
        module = other.__module__
        if other is builtins.bool:
            return "bool"
        return other.__name__.rstrip("_") if module in ("numpy", "ml_dtypes") else None
    if kind.__module__ == "torch" and kind.__name__ == "dtype":
        return str(other).partition(".")[2]
    if kind.__module__.startswith("numpy") and kind.__name__ != "ndarray":
        name = getattr(other, "name", None)
        return name if isinstance(name, str) else None
    return None


def dtype_of(value, what="dtype"):
    """The dtype object of a dtype, its name, or numpy's or torch's."""
    if type(value) is DType:
        return value
    from . import _hearth

    name = value if isinstance(value, str) else _name_of(value)
    if name in _KNOWN:
        return _KNOWN[name]
    return known(_hearth.dtype_name(value, what))


_FINFO = {  # bits, eps, max, smallest normal, digits
    "float16": (16, 2.0**-10, 65504.0, 2.0**-14),
    "bfloat16": (16, 2.0**-7, (2 - 2.0**-7) * 2.0**127, 2.0**-126),
    "float32": (32, 2.0**-23, (2 - 2.0**-23) * 2.0**127, 2.0**-126),
    "float64": (64, 2.0**-52, sys.float_info.max, 2.0**-1022),
}
FInfo = namedtuple("FInfo", "bits eps max min smallest_normal dtype")
IInfo = namedtuple("IInfo", "bits max min dtype")
FInfo.__doc__, IInfo.__doc__ = "Limits of a floating type.", "Limits of an integer type."


def finfo(type, /):
    """Limits of a floating type, or of an array's."""
    of = dtype_of(_type_of(type), "finfo: type")
    if of not in _FINFO:
        raise InvalidArgument(f"finfo: {of!r} is no floating type; use hearth.iinfo")
    bits, eps, most, smallest = _FINFO[of]
    return FInfo(bits, eps, most, -most, smallest, of)


def iinfo(type, /):
    """Limits of an integer type, or of an array's."""
    of = dtype_of(_type_of(type), "iinfo: type")
    if of not in _KINDS["integral"]:
        raise InvalidArgument(f"iinfo: {of!r} is no integer type; use hearth.finfo")
    bits = _BITS[of]
    if of in _SIGNED:
        return IInfo(bits, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), of)
    return IInfo(bits, 2**bits - 1, 0, of)


def isdtype(dtype, kind):
    """Whether a type is of a kind ("bool", "integral", "real floating", …), is another type, or one of several of them."""
    of = dtype_of(dtype, "isdtype: dtype")
    if isinstance(kind, tuple):
        return any(isdtype(of, one) for one in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return of in _KINDS[kind]
    if isinstance(kind, str) and kind not in _KNOWN:
        raise InvalidArgument(f"isdtype: kind is {kind!r}; expected a dtype, or one of {', '.join(map(repr, _KINDS))}")
    return of == kind


# Numbers of Python take the type that they meet.
def _promoted(a, b):
    if a == b:
        return a
    kinds = [next(kind for kind in ("bool", "signed integer", "unsigned integer", "real floating") if one in _KINDS[kind])
             for one in (a, b)]  # fmt: skip
    if "bool" in kinds and kinds[0] != kinds[1]:
        raise CallError(f"result_type: {a!r} and {b!r} have no type in common; convert one of them")
    if kinds[0] == kinds[1]:
        if _BITS[a] == _BITS[b]:  # float16 and bfloat16
            return float32
        return a if _BITS[a] > _BITS[b] else b
    if "real floating" in kinds:
        raise CallError(f"result_type: {a!r} and {b!r} have no type in common; convert one of them")
    signed, unsigned = (a, b) if kinds[0] == "signed integer" else (b, a)
    if _BITS[unsigned] >= 64:
        raise CallError(f"result_type: {a!r} and {b!r} have no type in common; convert one of them")
    return known(f"int{max(_BITS[signed], 2 * _BITS[unsigned])}")


def result_type(*arrays_and_dtypes):
    """The type that arrays, types and Python numbers have together, by the standard's table."""
    found, numbers = [], []
    for one in arrays_and_dtypes:
        if isinstance(one, (builtins.bool, int, float)):
            numbers.append(one)
        else:
            found.append(dtype_of(_type_of(one), "result_type"))
    if not found:
        raise CallError("result_type: expected an array or a dtype at least")
    made = found[0]
    for one in found[1:]:
        made = _promoted(made, one)
    for number in numbers:
        allowed = _FLOATS if isinstance(number, float) else _KINDS["bool"] if number is True or number is False else ()
        if isinstance(number, (float, builtins.bool)) and made not in allowed or type(number) is int and made == "bool":
            raise CallError(f"result_type: {number!r} does not go with {made!r}; convert one of them")
    return made


def can_cast(from_, to, /):
    """Whether every value of a type, or of an array's type, is one of another: by the standard's table."""
    a, b = dtype_of(_type_of(from_), "can_cast: from_"), dtype_of(to, "can_cast: to")
    try:
        return _promoted(a, b) == b
    except CallError:
        return False


class Info:
    """What hearth.__array_namespace_info__() gives: the standard's inspection of what there is."""

    def capabilities(self):
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 16}

    def default_device(self):
        return "cpu"

    def devices(self):
        return ["cpu"]

    def default_dtypes(self, *, device=None):
        return {"real floating": float32, "complex floating": None, "integral": int64, "indexing": int64}

    def dtypes(self, *, device=None, kind=None):
        kinds = ("numeric", "bool") if kind is None else kind if isinstance(kind, tuple) else (kind,)
        for one in kinds:
            if one not in _KINDS:
                raise InvalidArgument(f"dtypes: kind is {one!r}; expected one of {', '.join(map(repr, _KINDS))}")
        names = [name for one in kinds for name in _KINDS[one]]
        return {name: _KNOWN[name] for name in names if name not in ("float16", "bfloat16")}


def __array_namespace_info__():
    """The array API standard's inspection: capabilities(), default_dtypes(), dtypes(), devices()."""
    return Info()
