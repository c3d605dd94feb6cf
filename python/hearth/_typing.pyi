from collections.abc import Sequence
from typing import Any, Protocol, SupportsIndex, TypeAlias

from . import Array, Dim, Tensor

class SupportsDLPack(Protocol):
    def __dlpack__(self) -> Any: ...

class SupportsArray(Protocol):
    def __array__(self) -> Any: ...

ArrayLike: TypeAlias = Array | Tensor | SupportsDLPack | SupportsArray | memoryview | bytes | bytearray
TensorLike: TypeAlias = ArrayLike | bool | int | float
DTypeLike: TypeAlias = Any  # "float32", numpy.float32, numpy.dtype, torch.float32
ShapeLike: TypeAlias = SupportsIndex | Dim | Sequence[SupportsIndex | Dim]
