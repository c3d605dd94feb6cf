"""What users of torch and numpy type: their methods and functions where one thing alone can be meant, by tables; for the
others an AttributeError that names ours."""

import builtins
from collections import namedtuple

from . import _elementwise, _hearth, _manipulation, _searching
from ._dtypes import dtype_of
from ._errors import CallError, InvalidArgument
from ._hearth import Dim, Tensor
from ._reductions import METHODS as REDUCTIONS
from ._reductions import as_tensor

ops = _hearth.ops
Sorted = namedtuple("Sorted", "values indices")
Sorted.__doc__ = "What t.sort(), t.topk() and t.max(dim) of torch give."


def _axis(axis, dim, default=None):
    if dim is not None:
        return dim
    return default if axis is None else axis


def _unary(op):
    return lambda self: op(self)


def _binary(op):
    return lambda self, other: op(self, other)


def _along(op, default):
    return lambda self, axis=None, *, dim=None: op(self, _axis(axis, dim, default))


def _itself(self, *_, **__):
    return self


def _transpose(self, *axes):
    """All axes in reverse order, in the order that a tuple says, or with two axes swapped: transpose(1, 2), as torch has it."""
    if len(axes) == 2:
        return _manipulation.swapaxes(self, *axes)
    if len(axes) == 1 and isinstance(axes[0], (tuple, list)):
        axes = tuple(axes[0])
    return ops.permute(self, axes or tuple(range(self.ndim))[::-1])


def _matrix(self):
    if self.ndim > 2:
        raise InvalidArgument(f"t: of {self.ndim} axes; expected a matrix; use mT or transpose()")
    return _transpose(self)


def _flatten(self, start=0, end=-1, *, start_dim=None, end_dim=None):
    """One axis of those from start to end."""
    start, end = (start if start_dim is None else start_dim), (end if end_dim is None else end_dim)
    if not self.ndim:
        return ops.reshape(self, (1,))
    start = _elementwise.check_axis(start, self.ndim, "flatten")
    end = _elementwise.check_axis(end, self.ndim, "flatten")
    return ops.reshape(self, (*self.shape[:start], -1, *self.shape[end + 1 :]))


def _view(self, *shape):
    """reshape(), or the elements' bits as a type of as many."""
    if len(shape) == 1 and not isinstance(shape[0], (int, tuple, list, Dim)):
        return ops.bitcast(self, dtype_of(shape[0]))
    return ops.reshape(self, shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape)


def _to(self, *what, dtype=None, device=None, copy=False, non_blocking=False):
    """Of another type; values are in host memory."""
    from ._creation import check_device

    for one in (*what, device):
        name = str(one)
        if one is None or name == "cpu":
            continue
        if name.startswith(("cuda", "hip", "vulkan", "xpu", "mps")):
            check_device(name)
        dtype = one.dtype if isinstance(one, Tensor) else one
    return self if dtype is None else _elementwise.astype(self, dtype, copy=False)


def _split(self, size, axis=None, *, dim=None):
    """torch's: a tuple of parts of `size` elements, the last of which may have fewer, or of the sizes that a list says."""
    axis = _elementwise.check_axis(_axis(axis, dim, 0), self.ndim, "split")
    if isinstance(size, int):
        return tuple(ops.split_every(self, size, axis))
    return tuple(ops.split(self, list(size), axis))


def _chunk(self, chunks, axis=None, *, dim=None):
    """A tuple of `chunks` parts along an axis, the last of which may be shorter, or lack."""
    axis = _elementwise.check_axis(_axis(axis, dim, 0), self.ndim, "chunk")
    length = self.shape[axis]
    if isinstance(length, Dim):
        raise InvalidArgument(f"chunk: axis {axis} has the length {length}, which varies; use hearth.ops.split")
    return _split(self, builtins.max(1, -(-length // chunks)), axis)


def _clamp(self, min=None, max=None):
    return _elementwise.clip(self, min, max)


def _clip(self, low=None, high=None, *, min=None, max=None):
    return _elementwise.clip(self, low if min is None else min, high if max is None else max)


def _topk(self, k, axis=None, largest=True, sorted=True, *, dim=None):
    """(values, indices) of the k greatest elements, or the smallest, in order."""
    return ops.topk(self, k, _axis(axis, dim, -1), largest)


def _sort(self, axis=None, descending=False, *, dim=None):
    """torch's: (values, indices). hearth.sort gives the values alone."""
    axis = _axis(axis, dim, -1)
    return Sorted(ops.sort(self, axis, descending), _searching.argsort(self, axis=axis, descending=descending))


def _argsort(self, axis=None, descending=False, *, dim=None):
    return _searching.argsort(self, axis=_axis(axis, dim, -1), descending=descending)


def _masked_fill(self, mask, value):
    """The value where the mask is true."""
    return ops.where(mask, value, self)


def _where(self, condition, other):
    return ops.where(condition, self, other)


def _index_select(self, dim, index):
    return _manipulation.take(self, index, axis=dim)


def _gather(self, dim, index):
    """torch's: for each place the element at its index along an axis."""
    return ops.gather_elements(self, index, dim)


def _norm(self, p=2, axis=None, keepdims=False, *, dim=None, keepdim=None):
    from . import linalg

    return linalg.vector_norm(self, axis=_axis(axis, dim), keepdims=keepdims or bool(keepdim), ord=2 if p == "fro" else p)


def _round(self, decimals=0):
    if decimals == 0:
        return ops.round(self)
    scale = 10.0**decimals
    return ops.divide(ops.round(ops.multiply(self, scale)), scale)


def _logsumexp(self, axis=None, keepdims=False, *, dim=None, keepdim=None):
    axis = _axis(axis, dim)
    return ops.logsumexp(self, () if axis is None else axis, keepdims or bool(keepdim))


def _unsqueeze(self, axis=None, *, dim=None):
    return ops.unsqueeze(self, _axis(axis, dim, 0))


def _squeeze(self, axis=None, *, dim=None):
    """Without axes of length 1: those that are given, or all of them."""
    return _manipulation.squeeze(self, _axis(axis, dim))


def _flip(self, *axes, dims=None):
    axes = dims if dims is not None else axes[0] if len(axes) == 1 else axes
    return _manipulation.flip(self, axis=tuple(axes) if isinstance(axes, (tuple, list)) else axes or None)


def _repeat(self, *_, **__):
    raise AttributeError("Tensor.repeat is numpy's repeat of elements or torch's of the whole: use hearth.repeat or hearth.tile")


class _Size(int):
    """How many elements there are; called, torch's size(): the shape, or the length of an axis."""

    def __new__(cls, count, shape):
        made = int.__new__(cls, count)
        made._shape = shape
        return made

    def __call__(self, dim=None):
        return self._shape if dim is None else self._shape[dim]

    def __reduce__(self):
        return int, (int(self),)


def _size(self):
    count = 1
    for length in self.shape:
        count = count * length
    return count if isinstance(count, Dim) else _Size(count, self.shape)


def _numel(self):
    count = _size(self)
    return count if isinstance(count, Dim) else int(count)


_F = _elementwise.FUNCTIONS
_UNARY = (
    "exp log log2 log10 log1p expm1 sqrt square sign floor ceil trunc sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh"
    " isnan isinf isfinite logical_not reciprocal signbit"
).split()
_OF_OPS = "relu sigmoid rsqrt erf exp2 gelu silu softplus softsign hard_swish mish relu6".split()
_PAIRS = {
    "add": "add", "sub": "subtract", "subtract": "subtract", "mul": "multiply", "multiply": "multiply", "div": "divide",
    "divide": "divide", "true_divide": "divide", "floor_divide": "floor_divide", "remainder": "remainder", "matmul": "matmul",
    "mm": "matmul", "bmm": "matmul", "dot": "matmul", "maximum": "maximum", "minimum": "minimum", "eq": "equal",
    "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "logical_and": "logical_and",
    "logical_or": "logical_or", "logical_xor": "logical_xor", "pow": "pow", "atan2": "atan2", "hypot": "hypot",
}  # fmt: skip
_CASTS = {"half": "float16", "float": "float32", "double": "float64", "bfloat16": "bfloat16", "int": "int32", "long": "int64",
          "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool"}  # fmt: skip

METHODS = {
    **{name: _unary(_F[name]) for name in _UNARY},
    **{name: _unary(getattr(ops, name)) for name in _OF_OPS},
    **{name: _binary(_F[op]) for name, op in _PAIRS.items()},
    **{name: (lambda kind: lambda self: _elementwise.astype(self, kind, copy=False))(kind) for name, kind in _CASTS.items()},
    **{name: _itself for name in ("contiguous", "detach", "cpu")},
    "clone": lambda self: _hearth.tensor(self),
    "copy": lambda self: _hearth.tensor(self),
    "abs": lambda self: ops.abs(self), "absolute": lambda self: ops.abs(self), "neg": lambda self: ops.neg(self),
    "negative": lambda self: ops.neg(self), "round": _round, "softmax": _along(ops.softmax, -1),
    "log_softmax": _along(ops.log_softmax, -1), "logsumexp": _logsumexp, "transpose": _transpose,
    "swapaxes": lambda self, a, b: _manipulation.swapaxes(self, a, b), "swapdims": lambda self, a, b: _manipulation.swapaxes(self, a, b),
    "moveaxis": lambda self, a, b: _manipulation.moveaxis(self, a, b), "movedim": lambda self, a, b: _manipulation.moveaxis(self, a, b),
    "t": _matrix, "flatten": _flatten, "view": _view, "to": _to, "type": _to, "split": _split, "chunk": _chunk, "clamp": _clamp,
    "clip": _clip, "topk": _topk, "sort": _sort, "argsort": _argsort, "masked_fill": _masked_fill, "where": _where,
    "index_select": _index_select, "gather": _gather, "take": lambda self, i, axis=None: _manipulation.take(self, i, axis=axis),
    "norm": _norm, "unsqueeze": _unsqueeze, "squeeze": _squeeze, "flip": _flip, "repeat": _repeat,
    "roll": lambda self, shifts, axis=None, *, dims=None: _manipulation.roll(self, shifts, axis=_axis(axis, dims)),
    "tile": lambda self, *counts: _manipulation.tile(self, counts[0] if len(counts) == 1 else counts),
    "repeat_interleave": lambda self, n, axis=None, *, dim=None: _manipulation.repeat(self, n, axis=_axis(axis, dim)),
    "unbind": lambda self, axis=0, *, dim=None: _manipulation.unstack(self, axis=_axis(None, dim, axis)),
    "tril": lambda self, k=0: ops.tril(self, k), "triu": lambda self, k=0: ops.triu(self, k),
    "numel": _numel, "nelement": _numel, "dim": lambda self: self.ndim, "nonzero": lambda self: _searching.nonzero(self),
    "expand_as": lambda self, other: ops.expand(self, other.shape), "view_as": lambda self, other: ops.reshape(self, other.shape),
    "type_as": lambda self, other: _elementwise.astype(self, other.dtype, copy=False),
    "amax": REDUCTIONS["max"], "amin": REDUCTIONS["min"],
}  # fmt: skip

_TENSOR_HINTS = {
    "cuda": "a jitted or loaded function takes device=\"cuda\"", "backward": "there are no gradients; train with torch",
    "grad": "there are no gradients; train with torch", "data": "use the tensor itself", "scatter": "use hearth.ops.scatter_elements",
    "fill": "use hearth.full_like, or t[...] = v", "put": "use t[i] = v", "resize": "use reshape(), or hearth.ops.pad",
}  # fmt: skip


def missing(self, name):
    """The error about an attribute that a tensor has not."""
    hint = _TENSOR_HINTS.get(name.rstrip("_"))
    if hint is None and name.endswith("_") and not name.startswith("_") and hasattr(Tensor, name[:-1]):
        hint = f"tensors keep their values: use x = x.{name[:-1]}(...)"
    if hint is None and not name.startswith("_"):
        if name in _F or hasattr(ops, name) or name in _FUNCTIONS:
            place = "hearth" if name in _F or name in _FUNCTIONS else "hearth.ops"
            hint = f"use {place}.{name}(x, ...)"
        else:
            import difflib

            close = difflib.get_close_matches(name, [one for one in dir(Tensor) if not one.startswith("_")], n=1)
            hint = f"did you mean {close[0]!r}?" if close else "docs/python.md says what there is"
    raise AttributeError(f"'hearth.Tensor' has no attribute {name!r}" + (f"; {hint}" if hint else ""))


def einsum(equation, *operands):
    """numpy's: einsum("ij,jk->ik", a, b); the operands may be a list, too."""
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    return ops.einsum(equation, list(operands))


def transpose(x, *axes):
    return _transpose(as_tensor(x), *axes)


def cumsum(x, axis=None, dtype=None):
    """numpy's: running sums along an axis, or of all elements in order."""
    x = as_tensor(x)
    return REDUCTIONS["cumsum"](ops.reshape(x, (-1,)) if axis is None else x, 0 if axis is None else axis, dtype)


def cumprod(x, axis=None, dtype=None):
    """numpy's: running products along an axis, or of all elements in order."""
    x = as_tensor(x)
    return REDUCTIONS["cumprod"](ops.reshape(x, (-1,)) if axis is None else x, 0 if axis is None else axis, dtype)


def dot(a, b):
    """The product of vectors or matrices."""
    return ops.matmul(a, b)


_FUNCTIONS = {"einsum": einsum, "transpose": transpose, "cumsum": cumsum, "cumprod": cumprod, "dot": dot}
_RENAMED = {
    "array": "tensor", "as_tensor": "asarray", "from_numpy": "tensor", "cat": "concat", "concatenate": "concat", "absolute": "abs",
    "amax": "max", "amin": "min", "power": "pow", "true_divide": "divide", "mod": "remainder", "arcsin": "asin",
    "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "invert": "bitwise_invert", "clamp": "clip", "ravel": "flatten", "movedim": "moveaxis", "unsqueeze": "expand_dims",
    "permute": "permute_dims", "mul": "multiply", "sub": "subtract", "div": "divide", "eq": "equal", "ne": "not_equal",
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "from_dlpack": "from_dlpack",
}  # fmt: skip
_HINTS = {
    "random": "use hearth.ops.random_normal, random_uniform and others, with a key: hearth.ops.random_key(0)",
    "nn": "layers are functions in hearth.ops: linear, conv, layer_norm, lstm, scaled_dot_product_attention",
    "InferenceSession": "use hearth.load(path)",
    "compile": "use hearth.jit(f), or hearth.load(path) of a model", "Tensor": "use hearth.tensor(data)",
    "fft": "use hearth.ops.dft and hearth.ops.stft, of real pairs", "no_grad": "there are no gradients",
    "vstack": "use hearth.concat(arrays, axis=0)", "hstack": "use hearth.concat(arrays, axis=1)",
    "complex64": "complex types are not there", "complex128": "complex types are not there", "int": "use hearth.int32 or int64",
    "float": "use hearth.float32 or float64", "double": "use hearth.float64", "half": "use hearth.float16",
}  # fmt: skip


def function(name):
    """The function that a module's user calls `name`; None where there is none."""
    import hearth

    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    if name in _RENAMED:
        return getattr(hearth, _RENAMED[name]) if _RENAMED[name] != "flatten" else lambda x: as_tensor(x).ravel()
    return getattr(ops, name, None)


def missing_function(name):
    """The words about a name that the package has not."""
    hint = _HINTS.get(name)
    if hint is None:
        import difflib

        import hearth

        close = difflib.get_close_matches(name, [*hearth.__all__, *_RENAMED, *_FUNCTIONS], n=1)
        hint = f"did you mean {close[0]!r}?" if close else None
    return f"module 'hearth' has no attribute {name!r}" + (f"; {hint}" if hint else "")


# numpy's functions of elements, which it hands to whoever has __array_ufunc__.
_UFUNCS = {"true_divide": "divide", "power": "pow", "absolute": "abs", "invert": "bitwise_invert", "left_shift": "bitwise_left_shift",
           "right_shift": "bitwise_right_shift", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2",
           "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "conjugate": "conj", "fmod": None, "rint": "round",
           "float_power": None}  # fmt: skip


def array_ufunc(self, ufunc, method, *inputs, **options):
    """numpy.sin(t) is hearth.sin(t)."""
    name = _UFUNCS.get(ufunc.__name__, ufunc.__name__)
    found = _F.get(name)
    if method != "__call__" or found is None or options or any(type(one).__name__ == "MaskedArray" for one in inputs):
        what = f"numpy.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
        raise CallError(f"{what} of a hearth.Tensor is not computed; use a function of hearth, or numpy.asarray(t)")
    return found(*inputs)


