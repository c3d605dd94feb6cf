"""The table of the importer: an aten overload to the function that records it.

A function of the table takes the node at hand and the overload's arguments, in which tensors are hearth's and lengths ints or
Dims, and gives a tensor, or a tuple of them and None. The importer gives the result the dtype that torch says, and checks its
shape."""

import hearth
import torch
from hearth import ops

aten = torch.ops.aten
TABLE = {}

DTYPES = {
    torch.bool: "bool", torch.uint8: "uint8", torch.uint16: "uint16", torch.uint32: "uint32", torch.uint64: "uint64",
    torch.int8: "int8", torch.int16: "int16", torch.int32: "int32", torch.int64: "int64",
    torch.float16: "float16", torch.bfloat16: "bfloat16", torch.float32: "float32", torch.float64: "float64",
}  # fmt: skip


class Unsupported(Exception):
    """The node cannot be recorded; the text says why."""


def records(*overloads):
    """Enters a function for overloads, or for all of an op: @records(aten.relu, aten.add.Tensor)."""

    def enter(function):
        for one in overloads:
            for overload in [one] if isinstance(one, torch._ops.OpOverload) else overloads_of(one):
                TABLE[overload] = function
        return function

    return enter


def overloads_of(packet):
    """Those that compute: neither in place nor into an argument."""
    return [
        overload
        for overload in (getattr(packet, name) for name in packet.overloads())
        if not overload._schema.is_mutable and not any(argument.is_out for argument in overload._schema.arguments)
    ]


class Node:
    """The node at hand, as a function of the table sees it."""

    def __init__(self, node, shapes):
        self.node, self._shapes = node, shapes

    @property
    def target(self):
        return self.node.target

    @property
    def op(self):
        """"add" of aten.add.Tensor."""
        return self.node.target.overloadpacket.__name__

    @property
    def fake(self):
        """What torch says of the result."""
        return self.node.meta["val"]

    @property
    def dtype(self):
        return dtype_name(self.fake.dtype)

    @property
    def shape(self):
        return self._shapes.shape(self.fake)

    def length(self, value):
        """An int or a SymInt as hearth has it."""
        return self._shapes.length(value)

    def fake_argument(self, place):
        argument = self.node.args[place]
        return argument.meta["val"] if isinstance(argument, torch.fx.Node) else argument

    def uses(self, place):
        """Whether somebody reads this one of several results."""
        return any(user.args[1] == place for user in self.node.users)


def dtype_name(dtype):
    name = DTYPES.get(dtype)
    if name is None:
        raise Unsupported(f"elements of {dtype}")
    return name


def is_float(dtype):
    return str(dtype) in ("float16", "bfloat16", "float32", "float64")


def is_fixed(*lengths):
    return all(isinstance(length, int) for length in lengths)


def lift(value, dtype):
    """A tensor, number or length as a tensor of the dtype."""
    if isinstance(value, hearth.Tensor):
        return value if value.dtype == dtype else ops.cast(value, dtype)
    if isinstance(value, hearth.Dim):
        return ops.dim_value(value, dtype)
    if isinstance(value, complex):
        raise Unsupported("a complex number")
    if is_float(dtype):
        return ops.full((), float(value), dtype)
    if dtype == "bool":
        value = bool(value)
    return hearth.tensor(wrapped(int(value), dtype) if dtype != "bool" else value, dtype)


def wrapped(value, dtype):
    """A number as an integer dtype has it: torch wraps what does not fit."""
    bits = int(dtype.lstrip("uint"))
    value &= (1 << bits) - 1
    return value - (1 << bits) if not dtype.startswith("u") and value >= 1 << (bits - 1) else value


def axis_of(x, dim):
    """An axis from 0 on; 0 of a tensor without axes."""
    return dim % x.ndim if x.ndim else 0


def axes_of(x, dims):
    """The axes of a reduction; all where torch says none."""
    if dims is None:
        return tuple(range(x.ndim))
    dims = [dims] if isinstance(dims, int) else list(dims)
    return tuple(dim % x.ndim for dim in dims) if dims and x.ndim else tuple(range(x.ndim))


def inverse(order):
    back = [0] * len(order)
    for to, source in enumerate(order):
        back[source] = to
    return back
