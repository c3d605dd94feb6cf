"""The functions, types and constants of the array API standard (2024.12), for real types."""

from . import _creation, _elementwise, _manipulation, _reductions, _searching, linalg
from ._dtypes import (  # noqa: F401
    __array_namespace_info__, bfloat16, bool, can_cast, e, finfo, float16, float32, float64, iinfo, inf, int8, int16, int32,
    int64, isdtype, nan, newaxis, pi, result_type, uint8, uint16, uint32, uint64)  # fmt: skip
from .linalg import outer, tensordot, vecdot  # noqa: F401

__array_api_version__ = "2024.12"
_functions = {}
for _group in (_elementwise, _creation, _manipulation, _reductions, _searching):
    _functions.update(_group.FUNCTIONS)
globals().update(_functions)

__all__ = sorted(
    [*_functions, "__array_api_version__", "__array_namespace_info__", "bfloat16", "bool", "can_cast", "e", "finfo",
     "float16", "float32", "float64", "iinfo", "inf", "int16", "int32", "int64", "int8", "isdtype", "linalg", "nan", "newaxis",
     "outer", "pi", "result_type", "tensordot", "uint16", "uint32", "uint64", "uint8", "vecdot"]
)  # fmt: skip
