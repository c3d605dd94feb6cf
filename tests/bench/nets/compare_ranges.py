#!/usr/bin/python3
"""What one plan for a range of lengths costs: beside the plan of exactly that length, and beside ONNX Runtime, in one run.

    cmake --build --preset release && cmake --build --preset release --target compare_peers
    npm install --ignore-scripts --prefix build/peers onnxruntime-node
    tests/bench/nets/compare_ranges.py                        # batch=1:8 at 1, 3 and 8, on 1 and 2 threads
    tests/bench/nets/compare_ranges.py --only bert --values 1 --threads 2 --rounds 5
    tests/bench/nets/compare_ranges.py --only detector        # images of 32 to 960 pixels a side, by 32

The nets are those of make_nets.py with a symbolic batch, and a detector with a pyramid of features whose images have any
size. A round runs the range's plan, the exact one and ONNX Runtime
in turn; `of exact` is the median over the rounds of the range's time by the exact one's (below 1.1 is the promise),
`ORT` that of ONNX Runtime's by the range's (above 1 we are faster). Outputs are compared with ONNX Runtime's.
"""
import argparse
import os
import re
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(HERE.parent / "compare")]

import sequence  # noqa: E402
import sequence_more  # noqa: E402
import vision_more  # noqa: E402
from compare import table  # noqa: E402
from graph_writer import Net  # noqa: E402
from models import Missing  # noqa: E402
from sides import Hearth, OnnxRuntime, start  # noqa: E402

TOLERANCE = 1e-4


def small_cnn():
    """Classifies small images: kernels of tens of microseconds, which a fork must not slow down."""
    net = Net("small_cnn", seed=71)
    x = net.input("x", (1, 3, 64, 64))
    for channels, stride in ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1)):
        x = net.relu(net.conv(x, channels, 3, stride))
    net.output(net.softmax(net.linear(net.mean_of_planes(x, keep=False), 10)))
    return net


def detector():
    """A backbone of five scales, a pyramid that adds each scale to the next larger one (Resize), and a head."""
    net = Net("detector", seed=9)
    x = net.relu(net.conv(net.input("x", (1, 3, 256, 256)), 24, 3, 2))
    scales, above = [], None
    for channels in (48, 96, 160, 256):
        x = net.relu(net.conv(net.relu(net.conv(x, channels, 3, 2)), channels, 3))
        scales.append(x)
    for scale in reversed(scales):
        side = net.conv(scale, 64, 1)
        above = net.relu(net.conv(side if above is None else net.add(side, net.upsample(above)), 64, 3))
    net.output(net.sigmoid(net.conv(above, 1, 3)))
    return net


def with_symbolic_batch(path, axis):
    """Rewrites the model in place: `batch` is the first axis of its input; `axis` that of what it reshapes to, and of
    its output."""
    model = onnx.load(str(path))
    graph = model.graph
    reshapes = {node.input[1] for node in graph.node if node.op_type == "Reshape"}
    for weight in graph.initializer:
        if weight.name in reshapes:
            lengths = numpy_helper.to_array(weight).copy()
            lengths[axis] = 0  # as the operand has it
            weight.CopyFrom(numpy_helper.from_array(lengths, weight.name))
    graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    for output in graph.output:
        output.type.tensor_type.shape.dim[axis].dim_param = "batch"
    onnx.save(model, str(path))


def with_symbolic_size(path):
    """The same for images: `h` and `w` are the last axes of its input."""
    model = onnx.load(str(path))
    for value, prefix in ((model.graph.input[0], ""), (model.graph.output[0], "out_")):
        for axis, name in ((2, "h"), (3, "w")):
            value.type.tensor_type.shape.dim[axis].dim_param = prefix + name
    onnx.save(model, str(path))


class Case:
    def __init__(self, make, symbolic, names, bounds, values):
        self.make, self.symbolic = make, symbolic
        self.names, self.bounds, self.values = names, bounds, values  # of the lengths, which are the same one

    @staticmethod
    def of_batch(make, axis):
        return Case(make, lambda path: with_symbolic_batch(path, axis), ("batch",), "1:8", (1, 3, 8))

    def flags(self, flag, value):
        return [word for name in self.names for word in (flag, f"{name}={value}")]


NETS = {"small_cnn": Case.of_batch(small_cnn, 0), "resnet18": Case.of_batch(vision_more.resnet18_b4, 0),
        "line_reader": Case.of_batch(sequence_more.line_reader, 1), "bert6_t128": Case.of_batch(sequence.bert, 0),
        "detector": Case(detector, with_symbolic_size, ("h", "w"), "32:960:32", (32, 64, 128, 192, 320, 640))}


class Symbolic:
    """What the sides want of a model: its path, its input of one length, its outputs."""

    def __init__(self, path, value, scratch):
        self.path = path
        graph = onnx.load(str(path)).graph
        shape = [d.dim_value or value for d in graph.input[0].type.tensor_type.shape.dim]
        file = scratch / f"{path.stem}.{value}.npy"
        np.save(file, np.random.default_rng(7).uniform(-1, 1, shape).astype(np.float32))
        self.inputs = {graph.input[0].name: file}
        self.output_names = [o.name for o in graph.output]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="REGEX", help="nets whose name matches")
    parser.add_argument("--range", help="for the net's own, which is 1:8 for batches: 1:8@1,4,8 has parts of their own")
    parser.add_argument("--values", help="for the net's own: 1,3,8 for batches")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.4, help="of one side in one round")
    parser.add_argument("--bin", default=ROOT / "build/release/bin", help="folder of hearth and ort_bench")
    parser.add_argument("--ort", default=os.environ.get("HEARTH_ORT", ROOT / "build/peers/node_modules"))
    given = parser.parse_args()
    given.values = [int(v) for v in given.values.split(",")] if given.values else None
    given.threads = [int(t) for t in given.threads.split(",")]
    return given


class Comparison:
    def __init__(self, given, scratch):
        self.given, self.scratch = given, Path(scratch)
        (self.scratch / "ort").mkdir()
        self.ours = Hearth(given.bin, scratch, given.seconds)
        self.ort = OnnxRuntime(given.bin, given.ort, self.scratch / "ort", given.seconds)
        self.lines, self.worst_of_exact, self.least_ort, self.wrong = [], 0.0, float("inf"), []

    def net(self, name):
        case = NETS[name]
        path = case.make().save(self.scratch)
        case.symbolic(path)
        for value in self.given.values or case.values:
            model = Symbolic(path, value, self.scratch)
            for threads in self.given.threads:
                self.row(name, model, value, threads)

    def row(self, name, model, value, threads):
        case = NETS[name]
        ranged = (*case.flags("--dim", self.given.range or case.bounds), *case.flags("--var", value))
        exact = tuple(case.flags("--dim", value))
        self.ort.figure(model, threads, seconds=0.01)
        said = self.difference(model, threads, ranged)
        repeats = {form: self.repeats(model, threads, form) for form in (ranged, exact)}
        times = {side: [] for side in ("range", "exact", "ORT")}
        for _ in range(self.given.rounds):
            for side, form in (("range", ranged), ("exact", exact)):
                times[side].append(self.ours.run(model, threads, repeats[form], *form)["replay_us"]["p50"] / 1e3)
            times["ORT"].append(self.ort.figure(model, threads)["p50_us"] / 1e3)
        of_exact = statistics.median(r / e for r, e in zip(times["range"], times["exact"]))
        ort = statistics.median(o / r for o, r in zip(times["ORT"], times["range"]))
        self.worst_of_exact, self.least_ort = max(self.worst_of_exact, of_exact), min(self.least_ort, ort)
        self.lines.append([name, str(value), str(threads), *(f"{min(times[side]):.3g}" for side in times),
                           f"{of_exact:.2f}", f"{ort:.2f}", said])
        print("  " + "  ".join(self.lines[-1]), file=sys.stderr, flush=True)

    def repeats(self, model, threads, form):
        replay_us = max(self.ours.run(model, threads, 5, *form)["replay_us"]["p50"], 0.1)
        return int(min(max(self.given.seconds * 1e6 / replay_us, 7), 200000))

    def difference(self, model, threads, form):
        """The largest one from ONNX Runtime's outputs, by their largest value."""
        folder = self.scratch / "outputs"
        self.ours.run(model, threads, 1, "--output-dir", folder, *form)
        worst = 0.0
        for number, output in enumerate(model.output_names):
            want = np.fromfile(self.scratch / "ort" / f"{number}.bin", np.float32).astype(np.float64)
            got = np.load(folder / f"{output}.npy").reshape(-1)
            if got.size != want.size:
                self.wrong.append(f"{model.path.stem}: {got.size} values for {want.size}")
                return "WRONG"
            worst = max(worst, float(np.max(np.abs(got - want)) / max(np.max(np.abs(want)), 1e-30)))
        if not worst <= TOLERANCE:
            self.wrong.append(f"{model.path.stem}: differs by {worst:.0e}")
        return f"{worst:.0e}"


def main():
    given = arguments()
    with tempfile.TemporaryDirectory(prefix="hearth-ranges-") as scratch:
        try:
            comparison = Comparison(given, scratch)
            comparison.ours.daemon("start")
            for name in NETS:
                if re.search(given.only, name):
                    comparison.net(name)
            comparison.ours.daemon("stop")
        except Missing as reason:
            sys.exit(f"compare_ranges: {reason}")
    head = ["net", "length", "thr", "range, ms", "exact, ms", "ORT, ms", "of exact", "ORT", "difference"]
    print(table(head, comparison.lines))
    print(f"\nat most {comparison.worst_of_exact:.2f} of the exact plan, at least {comparison.least_ort:.2f} of ONNX Runtime")
    for text in comparison.wrong:
        print(f"WRONG: {text}")
    sys.exit(1 if comparison.wrong else 0)


if __name__ == "__main__":
    main()
