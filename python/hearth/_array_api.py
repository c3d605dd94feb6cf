"""The functions, types and constants of the array API standard (2024.12), for real types."""

from . import _creation, _elementwise, _manipulation, _reductions, _searching
from ._dtypes import (  # noqa: F401
    __array_namespace_info__, bfloat16, bool, can_cast, e, finfo, float16, float32, float64, iinfo, inf, int8, int16, int32,
    int64, isdtype, nan, newaxis, pi, result_type, uint8, uint16, uint32, uint64)  # fmt: skip

__array_api_version__ = "2024.12"
_functions = {}
for _group in (_elementwise, _creation, _manipulation, _reductions, _searching):
    _functions.update(_group.FUNCTIONS)
globals().update(_functions)

LATER = ("linalg", "outer", "tensordot", "vecdot")  # of the package, loaded when they are asked for
__all__ = sorted(
    [*_functions, "__array_api_version__", "__array_namespace_info__", "bfloat16", "bool", "can_cast", "e", "finfo",
     "float16", "float32", "float64", "iinfo", "inf", "int16", "int32", "int64", "int8", "isdtype", "nan", "newaxis",
     "pi", "result_type", "uint16", "uint32", "uint64", "uint8"]
)  # fmt: skip
