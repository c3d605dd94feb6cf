"""States of LinearAttention and CausalConvWithState that stay in a stream: token by token what the whole sequence gives."""

import sys
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import hearth

F = TensorProto.FLOAT
HEADS, KEYS, VALUES, CHANNELS, TAPS, STEPS = 2, 4, 3, 6, 3, 9
rng = np.random.default_rng(3)


def load(op, inputs, outputs, weights, attributes, **options):
    """A function of [1, ...] tokens; `inputs` and `outputs` are {name: dims}."""
    graph = helper.make_graph(
        [helper.make_node(op, [*inputs, *weights] if op == "LinearAttention" else ["x", "w", "b", "past"], list(outputs), **attributes)],
        "g", [helper.make_tensor_value_info(name, F, dims) for name, dims in inputs.items()],
        [helper.make_tensor_value_info(name, F, dims) for name, dims in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in weights.items()])  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 27)], ir_version=10)
    return hearth.load(model.SerializeToString(), threads=1, **options)


def linear_attention(q, k, v):
    """The rule 'linear' in f64: S += k vᵀ, y = S q / sqrt(KEYS), head by head."""
    state, rows = np.zeros((HEADS, KEYS, VALUES)), []
    for t in range(q.shape[1]):
        q_t, k_t, v_t = (x[0, t].astype(np.float64).reshape(HEADS, -1) for x in (q, k, v))
        state = state + k_t[:, :, None] * v_t[:, None, :]
        rows.append((np.einsum("hkv,hk->hv", state, q_t) / np.sqrt(KEYS)).reshape(-1))
    return np.array(rows), state[None]


class States(unittest.TestCase):
    def streams(self, make, carry):
        """The same plan carried by its stream, and prepared to carry."""
        yield make().stream(carry=carry)
        yield make(carry=carry).stream()

    def test_linear_attention_keeps_its_state(self):
        inputs = {"q": [1, 1, HEADS * KEYS], "k": [1, 1, HEADS * KEYS], "v": [1, 1, HEADS * VALUES],
                  "past": [1, HEADS, KEYS, VALUES]}  # fmt: skip
        outputs = {"y": [1, 1, HEADS * VALUES], "present": [1, HEADS, KEYS, VALUES]}
        attributes = dict(q_num_heads=HEADS, kv_num_heads=HEADS, update_rule="linear")
        q, k, v = (rng.standard_normal((1, STEPS, HEADS * n)).astype(np.float32) for n in (KEYS, KEYS, VALUES))
        expected, state = linear_attention(q, k, v)

        def make(**options):
            return load("LinearAttention", inputs, outputs, {}, attributes, **options)

        for stream in self.streams(make, {"present": "past"}):
            for _ in range(2):
                for t in range(STEPS):
                    y = stream(*(x[:, t:t + 1] for x in (q, k, v)))
                    np.testing.assert_allclose(np.asarray(y)[0, 0], expected[t], rtol=1e-5, atol=1e-5)
                np.testing.assert_allclose(np.asarray(stream.state["past"]), state, rtol=1e-5, atol=1e-5)
                stream.reset()

    def test_causal_convolution_keeps_its_state(self):
        weight = rng.standard_normal((CHANNELS, 1, TAPS)).astype(np.float32)
        bias = rng.standard_normal(CHANNELS).astype(np.float32)
        x = rng.standard_normal((1, CHANNELS, STEPS)).astype(np.float32)
        padded = np.pad(x[0].astype(np.float64), ((0, 0), (TAPS - 1, 0)))
        expected = sum(padded[:, i:i + STEPS] * weight[:, :, i] for i in range(TAPS)) + bias[:, None]
        inputs = {"x": [1, CHANNELS, 1], "past": [1, CHANNELS, TAPS - 1]}
        outputs = {"y": [1, CHANNELS, 1], "present": [1, CHANNELS, TAPS - 1]}

        def make(**options):
            return load("CausalConvWithState", inputs, outputs, {"w": weight, "b": bias}, {}, **options)

        for stream in self.streams(make, {"present": "past"}):
            for _ in range(2):
                for t in range(STEPS):
                    y = stream(x[:, :, t:t + 1])
                    np.testing.assert_allclose(np.asarray(y)[0, :, 0], expected[:, t], rtol=1e-5, atol=1e-5)
                np.testing.assert_array_equal(np.asarray(stream.state["past"])[0], x[0, :, -(TAPS - 1):])
                stream.reset()


if __name__ == "__main__":
    sys.exit(unittest.main())
