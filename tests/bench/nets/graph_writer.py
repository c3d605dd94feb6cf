"""Writes a net as ONNX: nodes by their operator, weights from a seeded generator, scaled so that values stay near one.

    net = Net("tiny", seed=1)
    x = net.input("x", (1, 3, 32, 32))
    net.output(net.relu(net.conv(x, 8, 3)))
    net.save(folder)            # folder/tiny.onnx

Values are Value: a name in the graph and the shape, which the writer keeps so that layers need only say what they make.
The operators and their composition are what torch.onnx.export writes for the same layers in eval mode, with batch
normalisation folded into convolutions.
"""
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
IR_VERSION = 8


@dataclass(frozen=True)
class Value:
    name: str
    shape: tuple


def _windows(length, kernel, stride, pads, dilation):
    return (length + sum(pads) - dilation * (kernel - 1) - 1) // stride + 1


class Net:
    def __init__(self, name, seed=0):
        self.name = name
        self._random = np.random.default_rng(seed)
        self._nodes, self._weights, self._inputs, self._outputs = [], [], [], []

    # -- the graph's ends and its weights

    def input(self, name, shape, kind=TensorProto.FLOAT):
        self._inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return Value(name, tuple(shape))

    def output(self, value, name=None):
        name = name or f"out{len(self._outputs)}"
        self._nodes.append(helper.make_node("Identity", [value.name], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape))

    def constant(self, array):
        array = np.asarray(array)
        name = f"w{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(array, name))
        return Value(name, array.shape)

    def weight(self, shape, fan_in, gain=1.0):
        scale = gain / math.sqrt(fan_in)
        return self.constant((self._random.standard_normal(shape) * scale).astype(np.float32))

    def bias(self, length):
        return self.constant((self._random.standard_normal(length) * 0.05).astype(np.float32))

    def node(self, op, inputs, shape, **attributes):
        """One result, of this shape."""
        out = f"v{len(self._nodes)}"
        names = [value.name if value is not None else "" for value in inputs]
        self._nodes.append(helper.make_node(op, names, [out], **attributes))
        return Value(out, tuple(shape))

    def top_k(self, x, count, axis):
        """The greatest along an axis, and their positions."""
        shape = list(x.shape)
        shape[axis] = count
        values = self.node("TopK", [x, self.constant(np.array([count], np.int64))], shape, axis=axis)
        self._nodes[-1].output.append(values.name + "_at")
        return values, Value(values.name + "_at", tuple(shape))

    def save(self, folder):
        graph = helper.make_graph(self._nodes, self.name, self._inputs, self._outputs, self._weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = IR_VERSION
        path = Path(folder) / f"{self.name}.onnx"
        onnx.save(model, str(path))
        return path

    # -- elementwise

    def map(self, op, x, **attributes):
        return self.node(op, [x], x.shape, **attributes)

    def relu(self, x):
        return self.map("Relu", x)

    def sigmoid(self, x):
        return self.map("Sigmoid", x)

    def silu(self, x):
        return self.mul(x, self.sigmoid(x))

    def gelu(self, x):
        half = self.mul(x, self.constant(np.float32(0.5)))
        erf = self.map("Erf", self.mul(x, self.constant(np.float32(1 / math.sqrt(2)))))
        return self.mul(half, self.add(erf, self.constant(np.float32(1))))

    def relu6(self, x):
        return self.node("Clip", [x, self.constant(np.float32(0)), self.constant(np.float32(6))], x.shape)

    def leaky(self, x, alpha=0.1):
        return self.map("LeakyRelu", x, alpha=alpha)

    def _binary(self, op, a, b):
        return self.node(op, [a, b], np.broadcast_shapes(a.shape, b.shape))

    def add(self, a, b):
        return self._binary("Add", a, b)

    def mul(self, a, b):
        return self._binary("Mul", a, b)

    def scaled(self, x, factor):
        return self.mul(x, self.constant(np.float32(factor)))

    # -- movement

    def reshape(self, x, shape):
        known = math.prod(n for n in shape if n != -1)
        whole = [math.prod(x.shape) // known if n == -1 else n for n in shape]
        return self.node("Reshape", [x, self.constant(np.array(shape, np.int64))], whole)

    def transpose(self, x, order):
        return self.node("Transpose", [x], [x.shape[i] for i in order], perm=list(order))

    def concat(self, values, axis):
        shape = list(values[0].shape)
        shape[axis] = sum(value.shape[axis] for value in values)
        return self.node("Concat", values, shape, axis=axis)

    def slice(self, x, axis, begin, end):
        one = lambda n: self.constant(np.array([n], np.int64))
        shape = list(x.shape)
        shape[axis] = end - begin
        return self.node("Slice", [x, one(begin), one(end), one(axis)], shape)

    def pad(self, x, pads, mode="constant"):
        """`pads`: (before, after) of each axis."""
        flat = np.array([before for before, _ in pads] + [after for _, after in pads], np.int64)
        shape = [n + before + after for n, (before, after) in zip(x.shape, pads)]
        return self.node("Pad", [x, self.constant(flat)], shape, mode=mode)

    def upsample(self, x, factor=2):
        shape = (*x.shape[:2], *(n * factor for n in x.shape[2:]))
        scales = self.constant(np.array([1, 1] + [factor] * (len(x.shape) - 2), np.float32))
        return self.node("Resize", [x, None, scales], shape, mode="nearest", nearest_mode="floor",
                         coordinate_transformation_mode="asymmetric")

    def stretch(self, x, factor):
        """The last two axes, interpolated linearly."""
        shape = (*x.shape[:2], *(n * factor for n in x.shape[2:]))
        scales = self.constant(np.array([1, 1, factor, factor], np.float32))
        return self.node("Resize", [x, None, scales], shape, mode="linear", coordinate_transformation_mode="half_pixel")

    # -- windows; x is [batch, channels, length...]

    def conv(self, x, channels, kernel, stride=1, groups=1, pad=None, dilation=1, gain=math.sqrt(2), bias=True):
        axes = len(x.shape) - 2
        kernel = (kernel,) * axes if isinstance(kernel, int) else tuple(kernel)
        pads = [(dilation * (k - 1) // 2,) * 2 if pad is None else (pad, pad) for k in kernel]
        fan_in = x.shape[1] // groups * math.prod(kernel)
        weights = self.weight((channels, x.shape[1] // groups, *kernel), fan_in, gain)
        shape = [x.shape[0], channels] + [_windows(n, k, stride, p, dilation)
                                          for n, k, p in zip(x.shape[2:], kernel, pads)]
        return self.node("Conv", [x, weights] + ([self.bias(channels)] if bias else []), shape, group=groups,
                         kernel_shape=kernel, strides=[stride] * axes, dilations=[dilation] * axes,
                         pads=[before for before, _ in pads] + [after for _, after in pads])

    def conv_transpose(self, x, channels, kernel, stride, pad=0):
        axes = len(x.shape) - 2
        fan_in = x.shape[1] * kernel**axes / stride**axes
        weights = self.weight((x.shape[1], channels, *(kernel,) * axes), fan_in, math.sqrt(2))
        shape = [x.shape[0], channels] + [(n - 1) * stride + kernel - 2 * pad for n in x.shape[2:]]
        return self.node("ConvTranspose", [x, weights, self.bias(channels)], shape, kernel_shape=[kernel] * axes,
                         strides=[stride] * axes, pads=[pad] * 2 * axes)

    def pool(self, op, x, kernel, stride, pad=0):
        axes = len(x.shape) - 2
        shape = [*x.shape[:2]] + [_windows(n, kernel, stride, (pad, pad), 1) for n in x.shape[2:]]
        return self.node(op, [x], shape, kernel_shape=[kernel] * axes, strides=[stride] * axes, pads=[pad] * 2 * axes)

    def max_pool(self, x, kernel, stride, pad=0):
        return self.pool("MaxPool", x, kernel, stride, pad)

    def mean_of_planes(self, x, keep=True):
        axes = list(range(2, len(x.shape)))
        shape = [*x.shape[:2]] + ([1] * len(axes) if keep else [])
        return self.node("ReduceMean", [x], shape, axes=axes, keepdims=int(keep))

    # -- rows; x is [..., features]

    def linear(self, x, features, gain=1.0, bias=True):
        product = self.matmul(x, self.weight((x.shape[-1], features), x.shape[-1], gain))
        return self.add(product, self.bias(features)) if bias else product

    def matmul(self, a, b):
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        return self.node("MatMul", [a, b], (*batch, a.shape[-2], b.shape[-1]))

    def softmax(self, x):
        return self.map("Softmax", x, axis=-1)

    def layer_norm(self, x):
        length = x.shape[-1]
        scale = self.constant((1 + 0.1 * self._random.standard_normal(length)).astype(np.float32))
        return self.node("LayerNormalization", [x, scale, self.bias(length)], x.shape, axis=-1, epsilon=1e-5)

    def rms_norm(self, x):
        square = self.node("Pow", [x, self.constant(np.float32(2))], x.shape)
        mean = self.node("ReduceMean", [square], (*x.shape[:-1], 1), axes=[-1], keepdims=1)
        root = self.map("Sqrt", self.add(mean, self.constant(np.float32(1e-5))))
        scale = self.constant((1 + 0.1 * self._random.standard_normal(x.shape[-1])).astype(np.float32))
        return self.mul(self.node("Div", [x, root], x.shape), scale)

    def instance_norm(self, x):
        ones, zeros = np.ones(x.shape[1], np.float32), np.zeros(x.shape[1], np.float32)
        return self.node("InstanceNormalization", [x, self.constant(ones), self.constant(zeros)], x.shape, epsilon=1e-5)

    def group_norm(self, x, groups):
        """As torch exports it: an instance norm over groups, then a scale and a shift a channel."""
        ones, zeros = np.ones(groups, np.float32), np.zeros(groups, np.float32)
        flat = self.reshape(x, (x.shape[0], groups, -1))
        normal = self.node("InstanceNormalization", [flat, self.constant(ones), self.constant(zeros)], flat.shape,
                           epsilon=1e-5)
        channels = (x.shape[1], *(1,) * (len(x.shape) - 2))
        scale = self.constant((1 + 0.1 * self._random.standard_normal(channels)).astype(np.float32))
        shift = self.constant((0.1 * self._random.standard_normal(channels)).astype(np.float32))
        return self.add(self.mul(self.reshape(normal, x.shape), scale), shift)

    def heads(self, x, num_heads):
        """[batch, time, features] -> [batch, heads, time, features of a head]"""
        batch, time, features = x.shape
        return self.transpose(self.reshape(x, (batch, time, num_heads, features // num_heads)), (0, 2, 1, 3))

    def attention(self, query, keys, values, num_heads, mask=None):
        """Of projected values, [batch, time, features]."""
        q, k, v = (self.heads(x, num_heads) for x in (query, keys, values))
        return self.attend(q, k, v, mask)

    def attend(self, q, k, v, mask=None):
        """Of heads; the result is [batch, time, features]."""
        scores = self.scaled(self.matmul(q, self.transpose(k, (0, 1, 3, 2))), 1 / math.sqrt(q.shape[-1]))
        if mask is not None:
            scores = self.add(scores, mask)
        mixed = self.transpose(self.matmul(self.softmax(scores), v), (0, 2, 1, 3))
        return self.reshape(mixed, (mixed.shape[0], mixed.shape[1], -1))
