"""Small ONNX models with what they must compute, on the built command: a daemon of its own, a device, a table of cases.

    class Sums(Cases):
        def test_sum(self):
            self.check(model([node("ReduceSum", ["x"], ["y"])], {"x": x}, {"y": F}), {"x": x}, {"y": x.sum()})

Each check runs on every device: the processor, and Vulkan where the machine has one.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import skipping  # noqa: E402

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    skipping.skip_all(str(error))

BIN = pathlib.Path(os.environ.get("HEARTH_BIN_DIR", "build/release/bin")).resolve()
F, D, H, I, I32, U8, U64, B = (np.float32, np.float64, np.float16, np.int64, np.int32, np.uint8, np.uint64, np.bool_)
KINDS = {np.dtype(k): v for k, v in {
    "f4": TensorProto.FLOAT, "f8": TensorProto.DOUBLE, "f2": TensorProto.FLOAT16, "i1": TensorProto.INT8,
    "u1": TensorProto.UINT8, "i2": TensorProto.INT16, "u2": TensorProto.UINT16, "i4": TensorProto.INT32,
    "u4": TensorProto.UINT32, "i8": TensorProto.INT64, "u8": TensorProto.UINT64, "?": TensorProto.BOOL}.items()}


def ints(*values):
    return np.array(values, I)


def node(op, inputs, outputs, domain="", **attributes):
    return helper.make_node(op, inputs, outputs, domain=domain, **attributes)


def declared(name, dtype, shape):
    return helper.make_tensor_value_info(name, KINDS[np.dtype(dtype)], shape)


def model(nodes, inputs, outputs, weights=None, opset=17, functions=(), domains=()):
    """`inputs`: arrays, or (dtype, shape) where lengths have names; `outputs`: their dtypes."""
    values = [declared(n, *(v if isinstance(v, tuple) else (np.asarray(v).dtype, np.shape(v)))) for n, v in inputs.items()]
    graph = helper.make_graph(nodes, "g", values, [declared(n, t, None) for n, t in outputs.items()],
                              [numpy_helper.from_array(np.asarray(a), n) for n, a in (weights or {}).items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)] +
                             [helper.make_opsetid(domain, 1) for domain in domains])
    made.ir_version = 10 if functions else 8
    made.functions.extend(functions)
    return made


class Refused(Exception):
    pass


def has_vulkan(environment):
    ran = subprocess.run([BIN / "hearth", "devices", "--json"], env=environment, capture_output=True, text=True)
    rows = json.loads(ran.stdout)["devices"]
    return any(row["device"].startswith("vulkan") and not row.get("unusable") for row in rows)


class Cases(unittest.TestCase):
    number = 0  # of the models that were run

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.environment = {k: v for k, v in os.environ.items() if not k.startswith("HEARTH_") or k == "HEARTH_CC"}
        cls.environment |= {"HEARTH_SOCKET": str(cls.folder / "s"), "HEARTH_CACHE_DIR": str(cls.folder / "cache"),
                            "HEARTH_VULKAN_TRIAL": "0"}
        cls.devices = ["cpu"] + (["vulkan"] if has_vulkan(cls.environment) else [])

    @classmethod
    def tearDownClass(cls):
        subprocess.run([BIN / "hearth", "daemon", "stop"], env=cls.environment, capture_output=True)
        cls.scratch.cleanup()

    def run_model(self, made, feeds, *words, device="cpu", environment=None):
        Cases.number += 1
        place = self.folder / str(Cases.number)
        place.mkdir(exist_ok=True)
        path = place / "model.onnx"
        path.write_bytes(made.SerializeToString())
        command = [BIN / "hearth", "run", path, "--json", "--output-dir", place / "out", "--device", device, *words]
        for name, array in feeds.items():
            np.save(place / f"{name}.npy", array)
            command += ["--input", f"{name}={place / name}.npy"]
        ran = subprocess.run(command, env={**self.environment, **(environment or {})}, capture_output=True, text=True,
                             timeout=300)
        if ran.returncode != 0:
            raise Refused(ran.stderr)
        return {o["name"]: np.load(o.get("file") or place / "out" / f"{o['name']}.npy")
                for o in json.loads(ran.stdout)["outputs"]}

    def hearth(self, *words):
        ran = subprocess.run([BIN / "hearth", *map(str, words)], env=self.environment, capture_output=True, text=True,
                             timeout=300)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout

    def hearth_json(self, *words):
        return json.loads(self.hearth(*words))

    def check(self, made, feeds, want, *words, rtol=0.0, atol=0.0, signs=False, devices=None):
        """`want`: arrays by name. Exact unless a tolerance is given; NaN equals NaN."""
        for device in devices or self.devices:
            with self.subTest(device=device):
                got = self.run_model(made, feeds, *words, device=device)
                for name, right in want.items():
                    right, value = np.asarray(right), got[name]
                    self.assertEqual((value.dtype, value.shape), (right.dtype, right.shape), name)
                    if right.dtype.kind == "f":
                        np.testing.assert_allclose(value.astype(D), right.astype(D), rtol=rtol, atol=atol, err_msg=name)
                        if signs:
                            np.testing.assert_array_equal(np.signbit(value), np.signbit(right), name)
                    else:
                        np.testing.assert_array_equal(value, right, name)

    def refused(self, made, feeds, *sentences, words=()):
        with self.assertRaises(Refused) as refused:
            self.run_model(made, feeds, *words)
        for sentence in sentences:
            self.assertIn(sentence, str(refused.exception))
