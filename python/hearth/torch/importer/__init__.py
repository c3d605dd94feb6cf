"""An FX graph of aten ops as a hearth.Graph."""

import operator

import hearth
import torch
from hearth import ops

from ..shapes import Shapes
from . import creation, elementwise, indexing, linear, movement, normalization, reduction, windows  # noqa: F401
from .table import TABLE, Node, Unsupported, dtype_name, inverse, lift

# What a function of the table may raise for arguments that it cannot record.
_NOT_RECORDED = (Unsupported, NotImplementedError, hearth.Error, ValueError, TypeError, IndexError, AttributeError, OverflowError)


class Recording:
    """What record() makes of a graph.

    Attributes:
        graph: the hearth.Graph; None where a node could not be recorded, or nothing is computed.
        unsupported: the reason by FX node.
        inputs: (place, order) of the placeholders that calls give, in the order of graph's inputs: `order` is the
            permutation in which they are given, or None.
        results: a row for each result: ("out", place, order, strides), where `order` is the permutation that it is recorded in, and
            `strides` those of a result that has gaps in eager, else None; ("argument", place); ("length", sympy expression);
            ("value", value).
        shapes: the Shapes that it was recorded with.
    """

    def __init__(self, shapes):
        self.graph, self.unsupported, self.inputs, self.results, self.shapes = None, {}, [], [], shapes
        self.is_single = False


def decompositions(base):
    """The decompositions of `base` that have no entry of their own here."""
    return {overload: function for overload, function in base.items() if overload not in TABLE}


def record(graph_module, parameters, *, names=None, orders=None, values=None, unify=False, ranges=None, outputs=None):
    """Records all of it; goes on behind what cannot be recorded, to name all that cannot.

    Args:
        parameters: by place, the hearth tensor of a placeholder that is a weight.
        names: of the other placeholders, by place; else "inN".
        orders: by place, the permutation in which a placeholder's tensor lies densely in memory.
        values, unify, ranges: of Shapes.
        outputs: names of the results; else "outN".
    """
    shapes = Shapes(values, unify, ranges)
    made = Recording(shapes)
    recorded, place = {}, 0
    tracer = hearth.Tracer()
    with tracer:
        for node in graph_module.graph.nodes:
            if node.op == "placeholder":
                name = (names or {}).get(place, f"in{place}")
                recorded[node] = _placeholder(tracer, node, place, name, parameters, (orders or {}).get(place), made)
                place += 1
            elif node.op == "get_attr":
                recorded[node] = _attribute(graph_module, node, made)
            elif node.op == "call_function":
                recorded[node] = _call(tracer, node, recorded, made)
            elif node.op == "output":
                _outputs(tracer, node, recorded, outputs, made)
            else:
                made.unsupported[node] = f"a call of {node.target}"
    return made


def _placeholder(tracer, node, place, name, parameters, order, made):
    fake = node.meta.get("val")
    if place in parameters:
        return parameters[place]
    try:
        if isinstance(fake, (torch.SymInt, int)) and not isinstance(fake, bool):
            return made.shapes.length(fake)
        if fake is None and not node.users:
            return None
        _check(fake)
        shape, dtype = made.shapes.shape(fake), dtype_name(fake.dtype)
        given = tracer.input(shape if order is None else [shape[i] for i in order], dtype, name)
    except _NOT_RECORDED as error:
        if not node.users:
            return None
        made.unsupported[node] = str(error)
        return None
    made.inputs.append((place, order))
    return given if order is None else ops.permute(given, inverse(order))


def _check(fake):
    if not isinstance(fake, torch.Tensor):
        raise Unsupported(f"an argument of type {type(fake).__name__}")
    if fake.device.type != "cpu":
        raise Unsupported(f"a tensor on {fake.device}")
    if fake.layout != torch.strided or fake.is_quantized:
        raise Unsupported(f"a tensor of layout {fake.layout}" if not fake.is_quantized else "a quantized tensor")


def _attribute(graph_module, node, made):
    value = graph_module
    for part in node.target.split("."):
        value = getattr(value, part)
    try:
        if isinstance(value, torch.fx.GraphModule):
            raise Unsupported("a graph within the graph")
        _check(value)
        dtype_name(value.dtype)
        return hearth.parameter(value.detach().contiguous())
    except _NOT_RECORDED as error:
        made.unsupported[node] = str(error)
        return None


def _call(tracer, node, recorded, made):
    fake = node.meta.get("val")
    try:
        if any(one in made.unsupported and recorded[one] is None for one in node.all_input_nodes):
            raise Unsupported("an operand is not recorded")
        if isinstance(fake, (torch.SymInt, int)) and not isinstance(fake, bool):
            return made.shapes.length(fake)
        if node.target is operator.getitem:
            return recorded[node.args[0]][node.args[1]]
        if isinstance(fake, (torch.SymFloat, torch.SymBool, float, bool)):
            if not node.users:
                return None
            raise Unsupported(f"a value of type {type(fake).__name__}")
        function = TABLE.get(node.target)
        if function is None:
            raise Unsupported("there is no entry for it")
        for one in node.all_input_nodes:
            if isinstance(one.meta.get("val"), torch.Tensor):
                dtype_name(one.meta["val"].dtype)
        for one in fake if isinstance(fake, (list, tuple)) else [fake]:
            if isinstance(one, torch.Tensor):
                _check(one)
        of = Node(node, made.shapes)
        args = torch.fx.node.map_arg(node.args, recorded.__getitem__)
        kwargs = torch.fx.node.map_arg(node.kwargs, recorded.__getitem__)
        return _fit(function(of, *args, **kwargs), fake, made.shapes)
    except _NOT_RECORDED as error:
        made.unsupported[node] = str(error) or type(error).__name__
        return _stand_in(tracer, f"at {node.name}", fake, made.shapes)


def _stand_in(tracer, name, fake, shapes):
    """A value for what cannot be recorded, so that what follows can be looked at."""
    if isinstance(fake, (list, tuple)):
        return tuple(_stand_in(tracer, f"{name}.{i}", one, shapes) for i, one in enumerate(fake))
    try:
        return tracer.input(shapes.shape(fake), dtype_name(fake.dtype), name) if isinstance(fake, torch.Tensor) else None
    except _NOT_RECORDED:
        return None


def _fit(value, fake, shapes):
    """The value with the dtype and shape that torch says."""
    if isinstance(fake, (list, tuple)):
        return tuple(_fit(one, like, shapes) for one, like in zip(value, fake))
    if value is None or not isinstance(fake, torch.Tensor):
        return value
    value, shape = lift(value, dtype_name(fake.dtype)), shapes.shape(fake)
    if len(value.shape) == len(shape) and all(_same(a, b) for a, b in zip(value.shape, shape)):
        return value
    if len(value.shape) == len(shape) and any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(value.shape, shape)):
        raise Unsupported(f"it was recorded with the shape {_text(value.shape)}, and torch has {_text(shape)}")
    return ops.reshape(value, shape)


def _same(a, b):
    if isinstance(a, hearth.Dim):
        return a._is_same(b)
    return b._is_same(a) if isinstance(b, hearth.Dim) else a == b


def _text(shape):
    return f"[{', '.join(map(str, shape))}]"


def dense_order(tensor):
    """The permutation in which a tensor that is not in C order lies densely in memory; None for C order, and for what is not
    dense."""
    lengths, strides = [_hint(one) for one in tensor.shape], [_hint(one) for one in tensor.stride()]
    order = sorted(range(len(lengths)), key=lambda axis: (-strides[axis], axis))
    if _is_dense(lengths, strides, range(len(lengths))) or not _is_dense(lengths, strides, order):
        return None
    return tuple(order)


def strides_with_gaps(tensor):
    """The strides of a tensor that is not dense, where no two elements share memory and nothing varies; else None."""
    if not all(isinstance(one, int) for one in (*tensor.shape, *tensor.stride())) or tensor.numel() < 2:
        return None
    axes = sorted((stride, length) for stride, length in zip(tensor.stride(), tensor.shape) if length > 1)
    if _is_dense(tensor.shape, tensor.stride(), range(tensor.ndim)):
        return None
    reach = 0
    for stride, length in axes:
        if stride <= reach:
            return None
        reach += stride * (length - 1)
    return tuple(tensor.stride())


def _hint(length):
    return int(length.node.hint) if isinstance(length, torch.SymInt) else int(length)


def _is_dense(lengths, strides, order):
    expected = 1
    for axis in reversed(order):
        if lengths[axis] != 1 and strides[axis] != expected:
            return False
        expected *= max(lengths[axis], 1)
    return True


def _outputs(tracer, node, recorded, names, made):
    placeholders = {one: place for place, one in enumerate(one for one in node.graph.nodes if one.op == "placeholder")}
    rows = node.args[0]
    made.is_single = not isinstance(rows, (list, tuple))
    outputs = {}
    for i, one in enumerate([rows] if made.is_single else rows):
        if not isinstance(one, torch.fx.Node):
            made.results.append(("value", one))
            continue
        fake, value = one.meta.get("val"), recorded[one]
        if one in placeholders:
            made.results.append(("argument", placeholders[one]))
        elif isinstance(fake, torch.SymInt):
            made.results.append(("length", fake.node.shape_env.simplify(fake.node.expr)))
        elif isinstance(value, hearth.Tensor):
            order = dense_order(fake) if names is None else None
            name = names[i] if names else f"out{len(outputs)}"
            gaps = None if names or order is not None else strides_with_gaps(fake)
            made.results.append(("out", len(outputs), order, gaps))
            outputs[name] = value if order is None else ops.permute(value, order)
        elif value is None and fake is None:
            made.results.append(("value", None))
        else:
            made.unsupported.setdefault(one, f"a result of type {type(value).__name__}")
    if outputs and not made.unsupported:
        made.graph = tracer.build(outputs)
