"""ONNX graphs in numpy, in f64: what the tests' own models are judged by.

    outputs = evaluate(model, {"in0": array})      # {"out": array of f64}

Only the operators of these models, written from ONNX's specification. Floats are computed in f64, integers stay as they
are; KeyError names an operator that is not there.
"""
import numpy as np
import onnx
from onnx import helper, numpy_helper


def _conv(x, w, b=None, *, group=1, kernel_shape=None, pads=None, strides=None, dilations=None):
    spatial = w.ndim - 2
    assert not dilations or set(dilations) == {1}, "dilated convolutions are not written here"
    pads = pads or [0] * (2 * spatial)
    x = np.pad(x, [(0, 0), (0, 0), *zip(pads[:spatial], pads[spatial:])])
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], tuple(range(2, 2 + spatial)))
    for axis, stride in enumerate(strides or [1] * spatial):
        windows = windows[(slice(None),) * (2 + axis) + (slice(None, None, stride),)]
    batch, results = x.shape[0], windows.shape[2:2 + spatial]
    windows = windows.reshape(batch, group, w.shape[1], *windows.shape[2:])
    w = w.reshape(group, w.shape[0] // group, *w.shape[1:])
    place, inside = "xyz"[:spatial], "uvw"[:spatial]
    y = np.einsum(f"bgi{place}{inside},goi{inside}->bgo{place}", windows, w, optimize=True)
    y = y.reshape(batch, -1, *results)
    return y if b is None else y + b.reshape(-1, *[1] * spatial)


def _layer_normalization(x, scale, bias, *, axis=-1, epsilon=1e-5):
    assert axis == -1
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + epsilon) * scale + bias


def _softmax(x, *, axis=-1):
    shifted = np.exp(x - x.max(axis, keepdims=True))
    return shifted / shifted.sum(axis, keepdims=True)


def _slice(x, begins, ends, axes, steps):
    where = [slice(None)] * x.ndim
    for axis, begin, end, step in zip(axes, begins, ends, steps):
        where[axis] = slice(int(begin), int(end), int(step))
    return x[tuple(where)]


def _reshape(x, shape, *, allowzero=0):
    return x.reshape([x.shape[i] if n == 0 and not allowzero else int(n) for i, n in enumerate(shape)])


def _gemm(a, b, c, *, alpha=1.0, beta=1.0, transB=0):
    return alpha * (a @ (b.T if transB else b)) + beta * c


OPERATORS = {
    "Add": np.add,
    "Cast": lambda x, *, to: x.astype({onnx.TensorProto.INT64: np.int64}[to]),
    "Concat": lambda *values, axis: np.concatenate(values, axis),
    "Constant": lambda *, value: numpy_helper.to_array(value),
    "Conv": _conv,
    "Div": lambda a, b: a // b if a.dtype.kind == "i" else a / b,  # of what is positive here
    "Gather": lambda x, at, *, axis=0: np.take(x, at, axis),
    "Gemm": _gemm,
    "Identity": lambda x: x,
    "LayerNormalization": _layer_normalization,
    "MatMul": np.matmul,
    "Mul": np.multiply,
    "Neg": np.negative,
    "ReduceMean": lambda x, *, keepdims=1: x.mean(keepdims=bool(keepdims)),
    "ReduceSum": lambda x, *, keepdims=1: x.sum(keepdims=bool(keepdims)),
    "Relu": lambda x: np.maximum(x, 0),
    "Reshape": _reshape,
    "Shape": lambda x: np.array(x.shape, np.int64),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Slice": _slice,
    "Softmax": _softmax,
    "Split": lambda x, *, axis=0: np.split(x, 2, axis),
    "Sub": np.subtract,
    "Transpose": lambda x, *, perm: x.transpose(perm),
    "Unsqueeze": lambda x, axes: np.expand_dims(x, tuple(int(axis) for axis in axes)),
}


def _exact(array):
    array = np.asarray(array)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def evaluate(model: onnx.ModelProto, inputs: dict) -> dict:
    values = {tensor.name: _exact(numpy_helper.to_array(tensor)) for tensor in model.graph.initializer}
    values.update((name, _exact(array)) for name, array in inputs.items())
    for node in model.graph.node:
        attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
        results = OPERATORS[node.op_type](*[values[name] for name in node.input], **attributes)
        if len(node.output) == 1:
            results = [results]
        values.update(zip(node.output, map(_exact, results)))
    return {output.name: values[output.name] for output in model.graph.output}
