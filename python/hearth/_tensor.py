"""hearth.Tensor's methods and operators, over the ops of the C++ library."""

from . import _dtypes, _hearth, _indexing, _pickling, _words
from ._errors import CallError, Error, InvalidArgument
from ._hearth import Dim, Tensor
from ._reductions import METHODS as _REDUCTIONS

ops = _hearth.ops


def tensor(data, dtype=None):
    """A tensor of an array, a number, or nested lists of numbers, whose elements are copied.

    Args:
        data: of numpy, torch, or anything with a buffer or __dlpack__; Python floats make float32, ints int64.
        dtype: "float32", numpy.float32, torch.float32, …; None: the array's own.
    """
    if isinstance(data, (list, tuple)):
        return _of_lists(data, dtype)
    return _hearth.tensor(data, dtype)


def _of_lists(data, dtype):
    flat, shape = [], []

    def walk(part, depth):
        if isinstance(part, (list, tuple)):
            if depth == len(shape):
                if flat:
                    raise InvalidArgument("data: numbers and lists are mixed; expected lists of one length")
                shape.append(len(part))
            elif shape[depth] != len(part):
                raise InvalidArgument(f"data: a list of {len(part)} beside one of {shape[depth]}; expected one length")
            for one in part:
                walk(one, depth + 1)
            return
        if isinstance(part, Tensor):
            part = part.item()
        if depth != len(shape) or not isinstance(part, (bool, int, float)):
            raise InvalidArgument(f"data: {part!r} stands where a number is expected")
        flat.append(part)

    walk(data, 0)
    kind = dtype
    if kind is None:
        kinds = {type(number) for number in flat} or {float}
        kind = "float32" if float in kinds else "int64" if int in kinds else "bool"
    else:
        kind = _dtypes.dtype_of(kind).name
    if kind.startswith("float") or kind == "bfloat16":
        flat = [float(number) for number in flat]
    elif kind == "bool":
        flat = [bool(number) for number in flat]
    return _hearth.from_flat(flat, shape, kind)


def parameter(data, name=None, *, copy=True):
    """A tensor of weights.

    Args:
        data: an array; with copy=True also numbers and nested lists of them; with copy=False also a hearth.Tensor.
        name: what graphs know it by, and Function.rebind; two of one name in a graph are an error.
        copy: False: the elements are read where they lie, dense in C order, and `data` is kept alive. They must stay as they
            are while the tensor and functions of it live: what is written to them later is seen by some functions and not
            by others. What has changed is made a parameter anew, and bound by Function.rebind.
    """
    if not copy:
        return _hearth.parameter(data, name, copy=False)
    if getattr(data, "requires_grad", False) is True and hasattr(data, "detach"):  # of torch.nn, whose values are copied
        data = data.detach()
    return _hearth.parameter(data, name)


def evaluate(*tensors):
    """Computes them together, at once; each keeps its value. Gives the tensor, or a tuple of them."""
    for one in tensors:
        if not isinstance(one, Tensor):
            raise CallError(f"evaluate: {type(one).__name__} is no hearth.Tensor")
    _hearth.evaluate(*tensors)
    return tensors[0] if len(tensors) == 1 else tensors


# Operators. What is no operand is left to the other side.
def _is_operand(other):
    return isinstance(other, (Tensor, bool, int, float, Dim)) or hasattr(other, "__dlpack__") or _is_buffer(other)


def _is_buffer(other):
    try:
        memoryview(other)
    except TypeError:
        return False
    return True


def _operator(op, plain=None):
    def forward(self, other):
        if plain is not None:
            known = _host_scalars(self, other)
            if known is not None:
                return _hearth.tensor(plain(*known))
        return op(self, other) if _is_operand(other) else NotImplemented

    def backward(self, other):
        return op(other, self) if _is_operand(other) else NotImplemented

    return forward, backward


def _host_scalars(self, other):
    """Both as Python numbers, where they are known: comparing elements compiles nothing."""
    if type(other) not in (bool, int, float):
        if type(other) is not Tensor or not other.is_evaluated or other.ndim:
            return None
        other = other.item()
    if not self.is_evaluated or self.ndim or self.dtype not in ("float32", "float64", "int32", "int64", "bool"):
        return None
    if self.dtype == "float32" and type(other) is float:
        other = _hearth.tensor(other, "float32").item()
    return self.item(), other


def _pow(a, b):
    integers = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    if isinstance(a, Tensor) and a.dtype in integers and isinstance(b, int) and not isinstance(b, bool) and 0 <= b <= 64:
        result, base = None, a  # numpy's: integers stay integers
        if b == 0:
            return ops.add(ops.multiply(a, 0), 1)
        while b:
            if b & 1:
                result = base if result is None else ops.multiply(result, base)
            b >>= 1
            base = ops.multiply(base, base) if b else base
        return result
    return ops.pow(a, b)


def _matmul(a, b):
    return ops.matmul(a, b)


def _shape_argument(shape):
    return shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape


def _reshape(self, *shape):
    """The same elements in another shape; one length may be -1."""
    return ops.reshape(self, _shape_argument(shape))


def _permute(self, *axes):
    return ops.permute(self, _shape_argument(axes))


def _astype(self, dtype, copy=True):
    return ops.cast(self, dtype)


def _numpy(self):
    """A numpy array of the value; the tensor keeps its own."""
    return self.__array__()


def _array(self, dtype=None, copy=None):
    return self._value("numpy.asarray()").__array__(dtype=dtype, copy=True if copy is None else copy)


def _dlpack(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    """A capsule of a copy of the value.

    Raises:
        BufferError: copy=False: other tensors may have the value's memory.
    """
    if copy is False:
        raise BufferError("__dlpack__: copy=False: other tensors may have a value's memory; it is copied")
    value = self._value("__dlpack__()")
    return value.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=True)


def _tolist(self):
    return self._value("tolist()").tolist()


def _len(self):
    if not self.ndim:
        raise TypeError("len() of a tensor without axes")
    return self.shape[0]


def _iter(self):
    if not self.ndim:
        raise TypeError("iteration over a tensor without axes")
    if not self._is_traced() and not isinstance(self.shape[0], Dim):
        self._value("iteration")  # once, and not an element at a time
    return iter([self[i] for i in range(self.shape[0])])


def _bool(self):
    return bool(_one(self, "bool()"))


def _one(self, what):
    value = self._value(what)
    if value.size != 1:
        raise InvalidArgument(f"{what} of a tensor of {value.size} elements is ambiguous; use hearth.any or hearth.all")
    return value.item()


def _index(self):
    if self.ndim or self.dtype.name.startswith("float") or self.dtype in ("bfloat16", "bool"):
        raise TypeError(f"a tensor of {self.dtype} with {self.ndim} axes is no index")
    return _one(self, "an index")


def _repr(self):
    """With its elements, computed once and kept, where they are few. A trace's have none."""
    text = f"hearth.Tensor({self.dtype}, [{', '.join(map(str, self.shape))}]"
    if self._is_traced() or any(isinstance(length, Dim) for length in self.shape):
        return text + ")"
    if not self.is_evaluated and self.size <= _FEW:
        try:
            evaluate(self)
        except Error:  # of a trace that has ended, or no daemon answers
            return text + ")"
    if not self.is_evaluated or self.size > _FEW:
        return text + ")"
    return f"{text}, {self._value('repr()').tolist()})"


def _format(self, spec):
    return format(_one(self, "format()"), spec) if spec else str(self)


_FEW = 64  # elements that are printed


def _refuse_context(self, *_):
    raise InvalidArgument("a lazy tensor has no memory of its own to write to; rebind it: t[i] = v")


def _namespace(self, *, api_version=None):
    """The package, whose functions are those of the array API standard."""
    import hearth

    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise InvalidArgument(f"__array_namespace__: api_version is {api_version!r}; expected '2024.12' or earlier")
    return hearth


def _to_device(self, device, /, *, stream=None):
    """The tensor: values are in host memory; a jitted function takes device=."""
    from ._creation import check_device

    check_device(device)
    if stream is not None:
        raise InvalidArgument("to_device: stream: host memory has none; expected None")
    return self


_METHODS = {
    **_words.METHODS,
    **_REDUCTIONS,
    "reshape": _reshape,
    "permute": _permute,
    "ravel": lambda self: ops.reshape(self, (-1,)),
    "expand": lambda self, *shape: ops.expand(self, _shape_argument(shape)),
    "astype": _astype,
    "numpy": _numpy,
    "tolist": _tolist,
    "evaluate": lambda self: evaluate(self),
    "__array__": _array,
    "__dlpack__": _dlpack,
    "__dlpack_device__": lambda self: (1, 0),
    "__len__": _len,
    "__iter__": _iter,
    "__bool__": _bool,
    "__float__": lambda self: float(_one(self, "float()")),
    "__int__": lambda self: int(_one(self, "int()")),
    "__index__": _index,
    "__repr__": _repr,
    "__format__": _format,
    "__hash__": object.__hash__,
    "__neg__": lambda self: ops.neg(self),
    "__pos__": lambda self: self,
    "__abs__": lambda self: ops.abs(self),
    "__invert__": lambda self: ops.logical_not(self) if self.dtype == "bool" else ops.bitwise_not(self),
    "__reduce__": _pickling.reduce_tensor,
    "__copy__": lambda self: _hearth.tensor(self),
    "__deepcopy__": lambda self, memo: _hearth.tensor(self),
    "__complex__": lambda self: complex(_one(self, "complex()")),
    "__array_namespace__": _namespace,
    "to_device": _to_device,
    "__getitem__": _indexing.get,
    "__setitem__": _indexing.assign,
}
for _name, _op in (
    ("add", ops.add),
    ("sub", ops.subtract),
    ("mul", ops.multiply),
    ("truediv", ops.divide),
    ("floordiv", ops.floor_div),
    ("mod", ops.floor_mod),
    ("pow", _pow),
    ("matmul", _matmul),
    ("and", ops.bit_and),
    ("or", ops.bit_or),
    ("xor", ops.bit_xor),
    ("lshift", ops.shift_left),
    ("rshift", ops.shift_right),
):
    _METHODS[f"__{_name}__"], _METHODS[f"__r{_name}__"] = _operator(_op)
for _name, _op, _plain in (
    ("lt", ops.less, lambda a, b: a < b),
    ("le", ops.less_equal, lambda a, b: a <= b),
    ("gt", ops.greater, lambda a, b: a > b),
    ("ge", ops.greater_equal, lambda a, b: a >= b),
    ("eq", ops.equal, lambda a, b: a == b),
    ("ne", ops.not_equal, lambda a, b: a != b),
):
    _METHODS[f"__{_name}__"], _ = _operator(_op, _plain)
for _name, _method in _METHODS.items():
    setattr(Tensor, _name, _method)
Tensor.T = property(lambda self: self.transpose(), doc="All axes in reverse order.")
Tensor.mT = property(lambda self: ops.transpose(self), doc="The last two axes swapped.")
Tensor.size = property(_words._size, doc="The number of elements; size() and size(0) are torch's.")
Tensor.itemsize = property(lambda self: self.dtype.itemsize, doc="Bytes of an element.")
Tensor.nbytes = property(lambda self: self.size * self.dtype.itemsize, doc="Bytes of all elements.")
Tensor.device = property(lambda self: "cpu", doc="\"cpu\": values are in host memory.")
Tensor.__array_ufunc__ = _words.array_ufunc
Tensor.__getattr__ = _words.missing
