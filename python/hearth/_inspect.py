"""hearth.inspect: what a model file says of itself."""

from collections import namedtuple

from . import _hearth
from ._errors import spelled
from ._source import source_of

ModelValue = namedtuple("ModelValue", "name type shape has_default")
ModelValue.__doc__ = """An input or output as the file declares it: name, type ("float32", "sequence of float32"), shape (a length is an
int, or the name of one that varies; None: not even the number of axes is stated), and whether it has a default."""
_Info = namedtuple("ModelInfo", "inputs outputs dims opsets operators not_supported producer refused parameters parameter_bytes carry sums")


class ModelInfo(_Info):
    """What a model file says of itself.

    Attributes:
        inputs, outputs: a ModelValue for each.
        dims: the names of lengths that vary, as hearth.load's dims takes them.
        opsets: versions by domain, "" being ONNX's own.
        operators: how often each occurs. not_supported: those that are not, and why.
        refused: why the model as a whole is not supported; "" where it is.
        parameters, parameter_bytes: weights, and what they take.
        carry, sums: of a decoder with a cache, by the names that the file declares: what load()'s `carry` may be, and which
            lengths are sums of others, as `dims` takes them.
    """

    __slots__ = ()

    def __repr__(self):
        lines = [f"ModelInfo: {self.parameters} parameters, {self.parameter_bytes} bytes, opset {self.opsets.get('', '?')}"]
        for what, values in (("input", self.inputs), ("output", self.outputs)):
            for value in values:
                shape = "of any shape" if value.shape is None else f"[{', '.join(map(str, value.shape))}]"
                lines.append(f"  {what} {value.name!r}: {value.type} {shape}{' (has a default)' if value.has_default else ''}")
        if self.dims:
            lines.append(f"  lengths that vary: {', '.join(map(repr, self.dims))}")
        for name, text in self.sums.items():
            lines.append(f"  dims={{{name!r}: {text!r}}}: what a cache holds is what was there and what is new")
        if self.carry:
            lines.append(f"  carry={self.carry!r}: what comes out goes into the next call")
        for name, why in self.not_supported.items():
            lines.append(f"  not supported: {name}: {why}")
        if self.refused:
            lines.append(f"  refused: {self.refused}")
        return "\n".join(lines)


def inspect(model):
    """What a model file says of itself: inputs, outputs, lengths that vary, operators. Nothing is compiled or run.

    Args:
        model: a path, bytes, an onnx.ModelProto or torch.onnx.ONNXProgram.

    Returns:
        A ModelInfo.
    """
    path, data, name = source_of(model)
    name = name.encode("utf-8", "backslashreplace").decode()
    found = _hearth.inspect_model(path, data, name)
    for what in ("inputs", "outputs"):
        found[what] = tuple(ModelValue(one[0], spelled(one[1]), one[2], one[3]) for one in found[what])
    return ModelInfo(**found)
