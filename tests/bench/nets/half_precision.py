#!/usr/bin/env python3
"""Models in half precision beside their f32 form: how far results are from f64, and how long a replay takes.

    half_precision.py BIN MODEL.onnx [MODEL.onnx ...] [--types f16,bf16] [--old BIN] [--repeat N]

Every float tensor of a model becomes f16 or bf16 (inputs and outputs stay f32, behind casts). Beside Hearth's results
stand those of an ideal run, each operator in f64 and rounded to the type at each edge of the graph (onnx.reference over
widened values), and ONNX Runtime's. Distances are from the same model in f64: root of the mean square, as a share of
the outputs' own, and the largest.

Needs numpy, onnx >= 1.16 with its reference, ml_dtypes and onnxruntime: pip install numpy onnx ml_dtypes onnxruntime.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
import ml_dtypes

HALF = {"f16": (TensorProto.FLOAT16, np.float16), "bf16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16)}


def as_half(array, kind):
    elem, dtype = HALF[kind]
    return helper.make_tensor("", elem, array.shape, np.asarray(array, dtype).tobytes(), raw=True)


def converted(model, kind):
    """The model with every float tensor in half precision; inputs and outputs in f32, cast at the ends."""
    elem = HALF[kind][0]
    half = onnx.ModelProto()
    half.CopyFrom(model)
    graph = half.graph
    for tensor in graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            made = as_half(numpy_helper.to_array(tensor), kind)
            made.name = tensor.name
            tensor.CopyFrom(made)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR and attribute.t.data_type == TensorProto.FLOAT:
                attribute.t.CopyFrom(as_half(numpy_helper.to_array(attribute.t), kind))
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = elem
    del graph.value_info[:]
    names = {}
    casts = []
    for value in graph.input:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            names[value.name] = value.name + "/half"
            casts.append(helper.make_node("Cast", [value.name], [names[value.name]], to=elem))
    last = []
    for value in graph.output:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            names[value.name] = value.name + "/half"
            last.append(helper.make_node("Cast", [names[value.name]], [value.name], to=TensorProto.FLOAT))
    for node in graph.node:
        for names_of in (node.input, node.output):
            for i, name in enumerate(names_of):
                names_of[i] = names.get(name, name)
    nodes = casts + list(graph.node) + last
    del graph.node[:]
    graph.node.extend(nodes)
    half.ir_version = max(half.ir_version, 8)
    return half


def ideal(model, feeds, kind=None):
    """Each node in f64, its float results rounded to `kind` where one is given; the graph's outputs."""
    dtype = HALF[kind][1] if kind else None

    def rounded(array):
        if not isinstance(array, np.ndarray) and not np.isscalar(array):
            return array
        array = np.asarray(array)
        if array.dtype.kind != "f" and array.dtype != ml_dtypes.bfloat16:
            return array
        return (array.astype(dtype) if dtype else array).astype(np.float64)

    values = {name: rounded(array) for name, array in feeds.items()}
    for tensor in model.graph.initializer:
        values[tensor.name] = rounded(numpy_helper.to_array(tensor))
    for node in model.graph.node:
        if node.op_type == "Constant":
            tensor = next((a.t for a in node.attribute if a.name == "value"), None)
            if tensor is not None:
                values[node.output[0]] = rounded(numpy_helper.to_array(tensor))
                continue
        if node.op_type == "Cast" and node.attribute[0].i == TensorProto.FLOAT:
            values[node.output[0]] = rounded(np.asarray(values[node.input[0]], np.float64))
            continue
        used = [name for name in node.input if name]
        inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.asarray(values[name]).dtype),
                                                np.shape(values[name])) for name in dict.fromkeys(used)]
        outputs = [helper.make_tensor_value_info(name, 0, None) for name in node.output if name]
        one = helper.make_model(helper.make_graph([node], "one", inputs, outputs), opset_imports=model.opset_import)
        results = ReferenceEvaluator(one).run(None, {name: values[name] for name in used})
        for name, result in zip([o for o in node.output if o], results):
            values[name] = rounded(result)
    return {output.name: values[output.name] for output in model.graph.output}


def distance(got, want):
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    scale = np.sqrt(np.mean(want**2)) or 1
    return np.sqrt(np.mean((got - want) ** 2)) / scale, np.max(np.abs(got - want)) / scale


class Hearth:
    def __init__(self, folder, scratch):
        self.program = os.path.join(os.path.abspath(folder), "hearth")
        self.scratch = tempfile.mkdtemp(dir=scratch)
        self.env = dict(os.environ, HEARTH_SOCKET=self.scratch + "/s", HEARTH_CACHE_DIR=self.scratch + "/cache")

    def run(self, path, feeds, repeat):
        out = tempfile.mkdtemp(dir=self.scratch)
        command = [self.program, "run", path, "--json", "--threads", "1", "--repeat", str(repeat), "--output-dir", out]
        for name, array in feeds.items():
            np.save(f"{out}/{name}.npy", array)
            command += ["--input", f"{name}={out}/{name}.npy"]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        report = json.loads(done.stdout)
        results = {o["name"]: np.load(o.get("file") or f"{out}/{o['name']}.npy") for o in report["outputs"]}
        return results, report

    def stop(self):
        subprocess.run([self.program, "daemon", "stop"], env=self.env, capture_output=True)


def median_ms(report):
    return report["replay_us"]["p50"] / 1000


def onnxruntime_run(path, feeds, repeat):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    results = session.run(None, feeds)
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        session.run(None, feeds)
        times.append(time.perf_counter() - start)
    return dict(zip([o.name for o in session.get_outputs()], results)), statistics.median(times) * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--types", default="f16,bf16")
    parser.add_argument("--old", help="another build's programs, timed beside these")
    parser.add_argument("--repeat", type=int, default=30)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        builds = {"hearth": Hearth(args.bin, scratch)}
        if args.old:
            builds["old"] = Hearth(args.old, scratch)
        for path in args.models:
            model = onnx.load(path)
            rng = np.random.default_rng(1)
            feeds = {}
            initializers = {t.name for t in model.graph.initializer}
            for value in model.graph.input:
                if value.name in initializers:
                    continue
                shape = [d.dim_value or 1 for d in value.type.tensor_type.shape.dim]
                dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
                normal = rng.standard_normal(shape)
                feeds[value.name] = normal.astype(dtype) if dtype.kind == "f" else np.ones(shape, dtype)
            name = os.path.basename(path)
            _, report = builds["hearth"].run(path, feeds, args.repeat)
            print(f"{name} f32: hearth {median_ms(report):.3f} ms, onnxruntime {onnxruntime_run(path, feeds, args.repeat)[1]:.3f} ms")
            for kind in args.types.split(","):
                half = converted(model, kind)
                half_path = f"{scratch}/{kind}_{name}"
                onnx.save(half, half_path)
                # The reference: the weights and inputs as they are in half precision, all else in f64.
                dtype = HALF[kind][1]
                exact = ideal_of_rounded_leaves(model, feeds, dtype)
                perfect = ideal(half, feeds, kind)
                lines = []
                for output, want in exact.items():
                    lines.append(("ideal", *distance(perfect[output], want), float("nan")))
                    for label, build in builds.items():
                        got, report = build.run(half_path, feeds, args.repeat)
                        lines.append((label, *distance(got[output], want), median_ms(report)))
                    try:
                        got, ms = onnxruntime_run(half_path, feeds, args.repeat)
                        lines.append(("onnxruntime", *distance(got[output], want), ms))
                    except Exception as error:  # an operator that it has not in this type
                        print(f"{name} {kind}: onnxruntime: {str(error).splitlines()[0][:120]}")
                    for label, rms, worst, ms in lines:
                        print(f"{name} {kind} {output} {label:12} rms {rms:.3e} ({rms / lines[0][1]:.2f} of ideal), "
                              f"largest {worst:.3e} ({worst / lines[0][2]:.2f})" + ("" if ms != ms else f", {ms:.3f} ms"))
                    lines.clear()
        for build in builds.values():
            build.stop()


def ideal_of_rounded_leaves(model, feeds, dtype):
    leaves = onnx.ModelProto()
    leaves.CopyFrom(model)
    def in_half(array):
        return np.asarray(array, dtype).astype(np.float32)
    for tensor in leaves.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(in_half(numpy_helper.to_array(tensor)), tensor.name))
    for node in leaves.graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR and attribute.t.data_type == TensorProto.FLOAT:
                attribute.t.CopyFrom(numpy_helper.from_array(in_half(numpy_helper.to_array(attribute.t))))
    return ideal(leaves, {k: in_half(v) if v.dtype.kind == "f" else v for k, v in feeds.items()})


if __name__ == "__main__":
    sys.exit(main())
