"""The tests' models of one workload each, as torch.onnx.export writes them, with weights from a seeded generator.

    for name, (make, shapes) in WORKLOADS.items(): model = make()

`shapes`: for each set of inputs whose results are to be known, {input: shape}; a model without any is there for its
kernels alone. Weights are uniform and so made of the generator's bits alone: the same on every machine.
"""
import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 17, 8
WIDTH, HEADS, HIDDEN, KERNEL, LONGEST = 256, 4, 1024, 31, 1024  # of the Conformer's layer
HEAD = WIDTH // HEADS


def uniform(random, shape, largest):
    """Of [-largest, largest)."""
    return ((random.random(shape) * 2 - 1) * largest).astype(np.float32)


class Graph:
    """A graph that is being written: nodes in order, weights by name."""

    def __init__(self, seed=0):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights, self.inputs = [], [], []

    def input(self, name, shape):
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def weight(self, name, shape, fan_in):
        return self.known(name, uniform(self.random, shape, 1 / math.sqrt(fan_in)))

    def known(self, name, array):
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def node(self, op, *inputs, result=None, **attributes):
        result = result or f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [result], result, **attributes))
        return result

    def constant(self, array):
        return self.node("Constant", value=numpy_helper.from_array(np.asarray(array)))

    def ints(self, *numbers):
        return self.constant(np.array(numbers, np.int64))

    def silu(self, x):
        return self.node("Mul", x, self.node("Sigmoid", x))

    def model(self, name, shape, out="out"):
        output = helper.make_tensor_value_info(out, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, name, self.inputs, [output], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
        onnx.checker.check_model(model)
        return model


class Conformer(Graph):
    """A layer: half a feed-forward, attention with rotary positions, a gated depthwise convolution, half a feed-forward.
    The five normalisations share their weights. With `dynamic`, batch and time are read from the input's shape."""

    def __init__(self, dynamic, time=256):
        super().__init__(seed=7)
        self.dynamic, self.time = dynamic, time
        shape = ["batch", "time", WIDTH] if dynamic else [1, time, WIDTH]
        x = self.input("in0", shape)
        self.known("n.0.weight", uniform(self.random, [WIDTH], 0.2) + np.float32(1))
        self.known("n.0.bias", uniform(self.random, [WIDTH], 0.1))
        for norm in range(4, 0, -1):
            for part in ("bias", "weight"):
                self.node("Identity", f"n.0.{part}", result=f"n.{norm}.{part}")
        x = self.add_half(x, self.feed_forward("ff1", self.norm(0, x)))
        x = self.node("Add", x, self.attention(self.norm(1, x)))
        x = self.node("Add", x, self.convolution(self.norm(2, x)))
        x = self.add_half(x, self.feed_forward("ff2", self.norm(3, x)))
        self.norm(4, x, result="out")
        self.made = self.model("conformer", shape)

    def norm(self, number, x, result=None):
        return self.node("LayerNormalization", x, f"n.{number}.weight", f"n.{number}.bias", result=result, axis=-1, epsilon=1e-5)

    def add_half(self, x, y):
        return self.node("Add", x, self.node("Mul", y, self.constant(np.float32(0.5))))

    def linear(self, name, x, inputs, outputs):
        w = self.weight(f"{name}.weight", [inputs, outputs], inputs)
        return self.node("Add", self.weight(f"{name}.bias", [outputs], inputs), self.node("MatMul", x, w))

    def feed_forward(self, name, x):
        return self.linear(f"{name}.b", self.silu(self.linear(f"{name}.a", x, WIDTH, HIDDEN)), HIDDEN, WIDTH)

    def length(self, x, axis):
        return self.node("Gather", self.node("Shape", x), self.constant(np.int64(axis)), axis=0)

    def vector(self, *numbers):
        """A vector of lengths: numbers, and names of scalars."""
        parts = [self.node("Unsqueeze", n, self.ints(0)) if isinstance(n, str) else self.ints(n) for n in numbers]
        return self.node("Concat", *parts, axis=0)

    def attention(self, x):
        if self.dynamic:
            batch, time, width = (self.length(x, axis) for axis in range(3))
            split = lambda: self.vector(batch, time, HEADS, HEAD)
            joined = lambda: self.vector(batch, time, width)
        else:
            split = lambda: self.ints(1, self.time, HEADS, HEAD)
            joined = lambda: self.ints(1, self.time, WIDTH)
        q, k, v = (self.node("Transpose", self.node("Reshape", self.linear(f"att.{name}", x, WIDTH, WIDTH), split()),
                             perm=[0, 2, 1, 3]) for name in "qkv")
        positions = self.rotations(time if self.dynamic else None)
        q, k = (self.rotated(each, *positions) for each in (q, k))
        scores = self.node("MatMul", q, self.node("Transpose", k, perm=[0, 1, 3, 2]))
        scores = self.node("Mul", scores, self.constant(np.float32(1 / math.sqrt(HEAD))))
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1), v)
        mixed = self.node("Reshape", self.node("Transpose", mixed, perm=[0, 2, 1, 3]), joined())
        return self.linear("att.o", mixed, WIDTH, WIDTH)

    def rotations(self, time):
        """Cosines and sines [time, HEAD]; cut from longer tables where `time` is a scalar of the graph."""
        rows = LONGEST if time else self.time
        angles = np.outer(np.arange(rows), 10000.0 ** (-np.arange(0, HEAD, 2) / HEAD))
        angles = np.concatenate([angles, angles], 1)
        tables = [self.known(f"att.{name}", of(angles).astype(np.float32)) for name, of in (("cos", np.cos), ("sin", np.sin))]
        if not time:
            return tables
        end = lambda: self.node("Unsqueeze", time, self.ints(0))
        return [self.node("Slice", table, self.ints(0), end(), self.ints(0), self.ints(1)) for table in tables]

    def rotated(self, x, cosines, sines):
        if self.dynamic:
            half = self.node("Div", self.length(x, 3), self.constant(np.int64(2)))
            half = self.node("Cast", half, to=TensorProto.INT64)
            middle = lambda: self.node("Unsqueeze", half, self.ints(0))
        else:
            middle = lambda: self.ints(HEAD // 2)
        last = self.node("Slice", x, middle(), self.ints(np.iinfo(np.int64).max), self.ints(3), self.ints(1))
        first = self.node("Slice", x, self.ints(0), middle(), self.ints(3), self.ints(1))
        turned = self.node("Concat", self.node("Neg", last), first, axis=-1)
        return self.node("Add", self.node("Mul", x, cosines), self.node("Mul", turned, sines))

    def convolution(self, x):
        x = self.pointwise("conv.p1", self.node("Transpose", x, perm=[0, 2, 1]), 2 * WIDTH)
        self.nodes.append(helper.make_node("Split", [x], ["value", "gate"], "Split", axis=1))
        x = self.node("Mul", "value", self.node("Sigmoid", "gate"))
        w = self.weight("conv.dw.weight", [WIDTH, 1, KERNEL], KERNEL)
        b = self.weight("conv.dw.bias", [WIDTH], KERNEL)
        x = self.silu(self.node("Conv", x, w, b, dilations=[1], group=WIDTH, kernel_shape=[KERNEL],
                                pads=[KERNEL // 2] * 2, strides=[1]))
        return self.node("Transpose", self.pointwise("conv.p2", x, WIDTH), perm=[0, 2, 1])

    def pointwise(self, name, x, outputs):
        w, b = self.weight(f"{name}.weight", [outputs, WIDTH, 1], WIDTH), self.weight(f"{name}.bias", [outputs], WIDTH)
        return self.node("Conv", x, w, b, dilations=[1], group=1, kernel_shape=[1], pads=[0, 0], strides=[1])


def conformer(dynamic):
    return Conformer(dynamic).made


def attention():
    g = Graph()
    q, k, v = (g.input(f"in{i}", [1, 8, 512, 64]) for i in range(3))
    scores = g.node("MatMul", q, g.node("Transpose", k, perm=[0, 1, 3, 2]))
    probabilities = g.node("Softmax", g.node("Mul", scores, g.constant(np.float32(0.125))), axis=-1)
    g.node("MatMul", probabilities, v, result="out")
    return g.model("attention", [1, 8, 512, 64])


def chain(length):
    g = Graph()
    a, b, c, d, e = (g.input(f"in{i}", [length]) for i in range(5))
    x = g.node("Relu", g.node("Add", g.node("Mul", a, b), c))
    g.node("Add", g.node("Mul", x, d), e, result="out")
    return g.model("chain", [length])


def convolution(channels, spatial, kernel, group):
    g = Graph(seed=3)
    shape = [1, channels, *spatial]
    of_group = channels // group
    w = g.weight("c.weight", [channels, of_group, *kernel], of_group * math.prod(kernel))
    g.node("Conv", g.input("in0", shape), w, result="out", dilations=[1] * len(kernel), group=group, kernel_shape=kernel,
           pads=[n // 2 for n in kernel] * 2, strides=[1] * len(kernel))
    return g.model("convolution", shape)


def product(a, b, result, constant=False):
    g = Graph(seed=5)
    x = g.input("in0", a)
    g.node("MatMul", x, g.weight("w", b, b[0]) if constant else g.input("in1", b), result="out")
    return g.model("product", result)


def square(n, constant=False):
    return product([n, n], [n, n], [n, n], constant)


def one(op, shape, result, **attributes):
    g = Graph()
    g.node(op, g.input("in0", shape), result="out", **attributes)
    return g.model(op, result)


def layer_normalization():
    g = Graph(seed=9)
    g.node("LayerNormalization", g.input("in0", [4096, 1024]), g.weight("ln.weight", [1024], 1),
           g.weight("ln.bias", [1024], 1), result="out", axis=-1, epsilon=1e-5)
    return g.model("layer_normalization", [4096, 1024])


def perceptron(batch):
    g = Graph(seed=11)
    x = g.input("in0", [batch, 784])
    for layer, (inputs, outputs) in enumerate(((784, 512), (512, 512), (512, 10)), 1):
        x = g.node("Gemm", x, g.weight(f"l{layer}.weight", [outputs, inputs], inputs),
                   g.weight(f"l{layer}.bias", [outputs], inputs), result="out" if layer == 3 else None, transB=1)
        x = g.node("Relu", x) if layer < 3 else x
    return g.model("perceptron", [batch, 10])


def centred(times, length):
    """The mean is taken away, again and again: ten small kernels."""
    g = Graph()
    x = g.input("in0", [length])
    for i in range(times):
        x = g.node("Sub", x, g.node("ReduceMean", x, keepdims=0), result="out" if i == times - 1 else None)
    return g.model("centred", [length])


_TOKENS = [{"in0": (1, 256, WIDTH)}]
WORKLOADS = {
    "attention_h8_t512_d64": (attention, [{f"in{i}": (1, 8, 512, 64) for i in range(3)}]),
    "chain5_16M": (lambda: chain(1 << 24), []),
    "conformer_d256_h4_t256": (lambda: conformer(False), _TOKENS),
    "conformer_d256_h4_t256_dynamic": (lambda: conformer(True),
                                       [{"in0": (b, t, WIDTH)} for b, t in ((1, 256), (1, 100), (3, 37))]),
    "conv2d_3x3_64_56": (lambda: convolution(64, [56, 56], [3, 3], 1), [{"in0": (1, 64, 56, 56)}]),
    "dwconv1d_k31_c512_t1024": (lambda: convolution(512, [1024], [31], 512), [{"in0": (1, 512, 1024)}]),
    "gemv_4096": (lambda: product([4096, 4096], [4096], [4096]), []),
    "layernorm_4096x1024": (layer_normalization, []),
    "matmul_512": (lambda: square(512), []),
    "matmul_1024": (lambda: square(1024), []),
    "matmul_2048": (lambda: square(2048), []),
    "matmul_512_wconst": (lambda: square(512, True), []),
    "matmul_1024_wconst": (lambda: square(1024, True), []),
    "mlp_b1": (lambda: perceptron(1), []),
    "mlp_b64": (lambda: perceptron(64), [{"in0": (64, 784)}]),
    "softmax_4096x4096": (lambda: one("Softmax", [4096, 4096], [4096, 4096], axis=-1), []),
    "sum_16M": (lambda: one("ReduceSum", [1 << 24], [], keepdims=0), []),
    "tiny10_1K": (lambda: centred(5, 1024), [{"in0": (1024,)}]),
}
