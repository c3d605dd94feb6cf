"""Every op of the C++ library, by its name there; docs/python_ops.md lists them."""

from ._hearth import ops as _ops

globals().update({name: getattr(_ops, name) for name in dir(_ops) if not name.startswith("_")})
from ._words import einsum  # noqa: E402

__all__ = [name for name in dir(_ops) if not name.startswith("_")]
