"""Models, inputs and reference outputs of the rows.

A row's model is a file of the models folder or is made here with the onnx package. Inputs are the files beside a
model where there are any, else seeded values; all sides get the same. check() compares our outputs with the reference
files, with numpy where that is cheap, or with what ONNX Runtime answered.
"""
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TOLERANCE = 1e-4  # of the largest reference value


class Missing(Exception):
    """A row cannot run; the message says why."""


class Model:
    def __init__(self, row, folder, scratch):
        self.row, self.folder, self.scratch = row, Path(folder), Path(scratch)
        self.path = self._make(row.model[5:]) if row.model.startswith("make:") else self.folder / row.model
        if not self.path.exists():
            raise Missing(f"no model {row.model}")
        self.graph = onnx.load(str(self.path)).graph
        self.weights = {w.name: w for w in self.graph.initializer}
        self.output_names = [o.name for o in self.graph.output]
        self.stem = self.path.parent / (row.reference or self.path.stem)
        self.inputs = self._inputs()

    def _make(self, name):
        """x·W with W a parameter, [m, n]·[n, n]."""
        kind, n = name.split("_")[0], int(name.split("_")[1])
        m = n if kind == "matmul" else 1
        path = self.scratch / f"{name}.onnx"
        weights = np.random.default_rng(7).uniform(-1, 1, (n, n)).astype(np.float32)
        value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [m, n])
        graph = helper.make_graph([helper.make_node("MatMul", ["in0", "w"], ["out"])], name, [value("in0")],
                                  [value("out")], [numpy_helper.from_array(weights, "w")])
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        made.ir_version = 8
        onnx.save(made, str(path))
        return path

    def _inputs(self):
        """input name -> .npy file"""
        if self.row.inputs.get("speech") == "chunk":
            return self._speech_chunk()
        files = {}
        for number, value in enumerate(i for i in self.graph.input if i.name not in self.weights):
            given = self.stem.parent / f"{self.stem.name}.in.{value.name}.npy"
            if not given.exists():
                given = self.scratch / f"{self.path.stem}.{value.name}.npy"
                shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
                if not all(shape):
                    raise Missing(f"input {value.name} has a symbolic shape and no file {given.name}")
                rng = np.random.default_rng(100 + number)
                lowest = 0 if self.path.stem.startswith("sum") else -1  # what cancels out has no relative error
                if value.type.tensor_type.elem_type == TensorProto.INT64:  # positions in a table
                    np.save(given, rng.integers(0, 100, shape))
                else:
                    np.save(given, rng.uniform(lowest, 1, shape).astype(np.float32))
            files[value.name] = given
        return files

    def _speech_chunk(self):
        """The first 512 samples of the speech after 64 zeros, and an empty state."""
        speech = self.folder / "speech_16k.wav"
        if not speech.exists():
            raise Missing(f"no {speech.name}")
        samples = np.frombuffer(speech.read_bytes()[44:], "<i2").astype(np.float32) / 32768
        arrays = {"input": np.concatenate([np.zeros(64, np.float32), samples[:512]])[None],
                  "state": np.zeros((2, 1, 128), np.float32), "sr": np.array(16000, np.int64)}
        for name, array in arrays.items():
            np.save(self.scratch / f"silero.{name}.npy", array)
        return {name: self.scratch / f"silero.{name}.npy" for name in arrays}

    def check(self, ours, ort_outputs):
        """-> (text for the table, whether the outputs are right); `ours` is the folder of our outputs."""
        worst, source = 0.0, ""
        for index, name in enumerate(self.output_names):
            got = np.load(Path(ours) / f"{name}.npy")
            want, rows, source = self._reference(name, ort_outputs, index)
            if want is None:
                return "no reference", True
            got = (got if rows is None else got[rows]).reshape(-1)
            want = np.asarray(want, np.float64).reshape(-1)
            if got.size != want.size:
                return f"{got.size} values for {want.size}", False
            difference = float(np.max(np.abs(got - want)) / max(float(np.max(np.abs(want))), 1e-30))
            worst = max(worst, difference) if np.isfinite(difference) else float("inf")
        return f"{worst:.0e} {source}", worst <= TOLERANCE

    def _reference(self, name, ort_outputs, index):
        """-> (values, which rows of the output they are or None for all, where they come from)"""
        file = self.stem.parent / f"{self.stem.name}.out.{name}.npy"
        if file.exists():
            return np.load(file), None, "file"
        computed, rows = self._numpy()
        if computed is not None:
            return computed, rows, "numpy"
        answered = Path(ort_outputs) / f"{index}.bin"
        if answered.exists():
            return np.fromfile(answered, np.float32), None, "ORT"
        return None, None, ""

    def _numpy(self):
        """The output from numpy, of large products and rows only some; None where that would be a copy of the model."""
        load = lambda name: np.load(self.inputs[name], mmap_mode="r")
        weight = lambda name: numpy_helper.to_array(self.weights[name])
        stem = self.path.stem
        if stem.startswith(("matmul", "gemv")):
            left, right = load("in0"), weight("w") if "w" in self.weights else load("in1")
            if right.ndim == 1:
                return left @ right, None
            rows = np.unique(np.linspace(0, len(left) - 1, 64).astype(int))
            return left[rows].astype(np.float64) @ right, rows
        if stem.startswith("chain5"):
            a, b, c, d, e = (load(f"in{i}") for i in range(5))
            return np.maximum(a * b + c, 0) * d + e, None
        if stem.startswith("softmax"):
            rows = np.linspace(0, 4095, 256).astype(int)
            x = load("in0")[rows].astype(np.float64)
            powers = np.exp(x - x.max(axis=1, keepdims=True))
            return powers / powers.sum(axis=1, keepdims=True), rows
        if stem.startswith("layernorm"):
            x = load("in0").astype(np.float64)
            normal = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
            return normal * weight("ln.weight") + weight("ln.bias"), None
        if stem.startswith("sum"):
            return np.array(load("in0").sum(dtype=np.float64)), None
        if stem.startswith("mlp"):
            x = load("in0")
            for layer in ("l1", "l2", "l3"):
                x = x @ weight(f"{layer}.weight").T + weight(f"{layer}.bias")
                x = np.maximum(x, 0) if layer != "l3" else x
            return x, None
        return None, None
