"""Writes the types of the array API standard's functions, _array_api.pyi and linalg.pyi, of the package's own signatures:

    PYTHONPATH=build/release/python build/python/venv/bin/python python/ops/make_array_api.py python/hearth
"""
import inspect
import sys

import hearth
from hearth import _array_api, _dtypes, ops

TYPES = {
    "dtype": "DTypeLike", "kind": "DTypeLike | tuple[DTypeLike, ...]", "device": "str | None", "copy": "bool | None",
    "keepdims": "bool", "descending": "bool", "stable": "bool", "largest": "bool", "include_initial": "bool",
    "endpoint": "bool", "invert": "bool", "correction": "float", "shape": "ShapeLike", "indexing": "str", "side": "str",
    "axes": "Any", "parts": "int | Sequence[int]", "k": "int", "n": "int", "n_rows": "int | Dim", "n_cols": "int | Dim | None",
    "num": "int", "start": "float | Dim", "stop": "float | Dim | None", "step": "float", "shift": "int | Sequence[int]",
    "repetitions": "int | Sequence[int]", "source": "int | Sequence[int]", "destination": "int | Sequence[int]",
    "axis1": "int", "axis2": "int", "obj": "Any", "arrays": "Sequence[TensorLike]", "sorter": "TensorLike | None",
    "prepend": "TensorLike | None", "append": "TensorLike | None", "min": "TensorLike | None", "max": "TensorLike | None",
    "offset": "int", "ord": "Any", "upper": "bool", "mode": "str", "full_matrices": "bool", "rtol": "TensorLike | None",
    "type": "Any", "from_": "Any", "to": "DTypeLike",
}  # fmt: skip
AXES = {"sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "count_nonzero", "vector_norm", "squeeze", "flip", "roll"}
GIVES = {
    "unstack": "tuple[Tensor, ...]", "broadcast_arrays": "list[Tensor]", "meshgrid": "list[Tensor]", "split": "list[Tensor]",
    "nonzero": "tuple[Tensor, ...]", "unique_all": "UniqueAll", "unique_counts": "UniqueCounts", "unique_inverse": "UniqueInverse",
    "can_cast": "bool_", "isdtype": "bool_", "result_type": "DType", "finfo": "FInfo", "iinfo": "IInfo", "topk": "ops.TopK",
    "__array_namespace_info__": "Info", "eigh": "EighResult", "qr": "QRResult", "slogdet": "SlogdetResult", "svd": "SVDResult",
}  # fmt: skip
HEAD = '''# Made by python/ops/make_array_api.py.
from builtins import bool as bool_
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import Dim, Tensor
from . import linalg as linalg
from . import ops as ops
from ._typing import DTypeLike, ShapeLike, TensorLike

class DType:
    @property
    def name(self) -> str: ...
    @property
    def itemsize(self) -> int: ...
    def __eq__(self, other: object) -> bool_: ...
    def __hash__(self) -> int: ...

class FInfo(NamedTuple):
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType

class IInfo(NamedTuple):
    bits: int
    max: int
    min: int
    dtype: DType

class Info:
    def capabilities(self) -> dict[str, Any]: ...
    def default_device(self) -> str: ...
    def devices(self) -> list[str]: ...
    def default_dtypes(self, *, device: str | None = ...) -> dict[str, DType | None]: ...
    def dtypes(self, *, device: str | None = ..., kind: str | tuple[str, ...] | None = ...) -> dict[str, DType]: ...

class UniqueAll(NamedTuple):
    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor

class UniqueCounts(NamedTuple):
    values: Tensor
    counts: Tensor

class UniqueInverse(NamedTuple):
    values: Tensor
    inverse_indices: Tensor

__array_api_version__: str
'''
LINALG = '''# Made by python/ops/make_array_api.py.
from typing import Any, NamedTuple

from . import Tensor
from ._typing import DTypeLike, TensorLike

bool_ = bool

class EighResult(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class QRResult(NamedTuple):
    Q: Tensor
    R: Tensor

class SlogdetResult(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class SVDResult(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor

'''


def signature(name, function):
    parts, has_star, kinds = [], False, inspect.Parameter
    parameters = list(inspect.signature(function).parameters.values())
    for i, one in enumerate(parameters):
        kind = TYPES.get(one.name, "TensorLike")
        if one.name == "axis":
            kind = "int | tuple[int, ...] | None" if name in AXES else "int | None"
        if one.name == "arrays" and one.kind is kinds.VAR_POSITIONAL:
            kind = "TensorLike"
        kind = kind.replace("bool", "bool_")
        if one.kind is kinds.KEYWORD_ONLY and not has_star:
            parts.append("*")
            has_star = True
        if one.kind is kinds.VAR_POSITIONAL:
            has_star = True
            kind = "Any" if one.name != "arrays" else kind
        text = f"{'*' if one.kind is kinds.VAR_POSITIONAL else ''}{one.name}: {kind}"
        parts.append(text if one.default is kinds.empty else f"{text} = ...")
        after = parameters[i + 1].kind if i + 1 < len(parameters) else None
        if one.kind is kinds.POSITIONAL_ONLY and after is not kinds.POSITIONAL_ONLY:
            parts.append("/")
    return f"def {name}({', '.join(parts)}) -> {GIVES.get(name, 'Tensor')}: ..."


def text():
    lines = [HEAD]
    for name in sorted([*_array_api.__all__, *_array_api.LATER]):
        value = getattr(hearth, name)
        if isinstance(value, _dtypes.DType):
            lines.append(f"{name}: DType")
        elif isinstance(value, float):
            lines.append(f"{name}: float")
        elif name == "newaxis":
            lines.append("newaxis: None")
        elif inspect.isfunction(value):
            lines.append(signature(name, value))
        elif hasattr(ops, getattr(value, "__name__", "")):  # an op under the standard's name
            count = 2 if name in TWO else 1
            parts = ["x1: TensorLike", "x2: TensorLike"] if count == 2 else ["x: TensorLike"]
            more = ", axis: int = ..." if name == "softmax" else ""
            lines.append(f"def {name}({', '.join(parts)}, /{more}) -> Tensor: ...")
    return "\n".join(lines) + "\n"


TWO = {
    "add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "copysign", "divide",
    "equal", "floor_divide", "greater", "greater_equal", "less", "less_equal", "matmul", "maximum", "minimum", "multiply",
    "not_equal", "remainder", "subtract",
}  # fmt: skip

def text_of_linalg():
    return LINALG + "\n".join(signature(name, getattr(hearth.linalg, name)) for name in sorted(hearth.linalg.__all__)) + "\n"


FILES = {"_array_api.pyi": text, "linalg.pyi": text_of_linalg}

if __name__ == "__main__":
    for name, made in FILES.items():
        with open(f"{sys.argv[1]}/{name}", "w", encoding="utf-8") as file:
            file.write(made())
