#!/usr/bin/python3
"""Whole nets beside ONNX Runtime, in one run, and the kernels of ours that are slower than they should be.

    cmake --build --preset release && cmake --build --preset release --target compare_peers
    npm install --ignore-scripts --prefix build/peers onnxruntime-node
    tests/bench/nets/compare_nets.py                          # every net that make_nets.py makes
    tests/bench/nets/compare_nets.py --only 'resnet|unet' --threads 1 --rounds 1 --kernels

A round runs both sides of a net once, in turn, for each number of threads (tests/bench/compare/compare.py, whose sides
these are); a figure is the lowest median of the rounds, `ratio` the median over the rounds of ONNX Runtime's time over
ours: above 1 we are faster. Outputs are compared with ONNX Runtime's, as a share of its largest value.

--weights f32,bf16,int8 adds a row for each: the narrow ones are compared with ONNX Runtime's f32 and may differ from it.

--kernels lists cliffs: kernels with more than 1 % of a net's arithmetic that run below 25 % of the best kernel of their
class in this run. A class is what limits a kernel: "dense" from 8 operations a byte that it touches, else "stream".
"""
import argparse
import os
import re
import statistics
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(HERE.parent / "compare")]

import make_nets  # noqa: E402
import models  # noqa: E402
import sequence  # noqa: E402
from compare import table  # noqa: E402
from models import Missing  # noqa: E402
from rows import Must, Row  # noqa: E402
from sides import Hearth, OnnxRuntime, start  # noqa: E402

TOLERANCE = 1e-5
LEAST_SHARE, LEAST_RATE = 0.01, 0.25
DENSE = 8.0  # operations a byte


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="REGEX", help="nets whose name matches")
    parser.add_argument("--large", action="store_true", help="also nets of 650 MB")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--weights", default="f32", help="what our side stores weights as, e.g. f32,bf16,int8")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="of one side in one round")
    parser.add_argument("--kernels", action="store_true", help="list cliffs")
    parser.add_argument("--nets", help="folder of the models (default: made for this run)")
    parser.add_argument("--bin", default=ROOT / "build/release/bin", help="folder of hearth and ort_bench")
    parser.add_argument("--ort", default=os.environ.get("HEARTH_ORT", ROOT / "build/peers/node_modules"))
    given = parser.parse_args()
    given.threads = sorted({int(t) for t in given.threads.split(",")})
    given.weights = given.weights.split(",")
    return given


class Suite:
    def __init__(self, given, scratch):
        self.given, self.scratch = given, Path(scratch)
        self.folder = Path(given.nets or self.scratch / "nets")
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.scratch / "ort").mkdir()
        self.ours = Hearth(given.bin, scratch, given.seconds)
        self.ort = OnnxRuntime(given.bin, given.ort, self.scratch / "ort", given.seconds)
        self.lines, self.ratios, self.kernels, self.wrong = [], [], [], []

    def model(self, make):
        path = self.folder / f"{make().name}.onnx" if self.given.nets else make().save(self.folder)
        if not path.exists():
            path = make().save(self.folder)
        return models.Model(Row(path.stem, path.name, Must("ort", 0.95)), self.folder, self.scratch)

    def net(self, make):
        for stale in (self.scratch / "ort").iterdir():
            stale.unlink()
        model = self.model(make)
        name = model.row.name
        print(f"# {name}", file=sys.stderr, flush=True)
        self.ort.figure(model, self.given.threads[0], seconds=0.01)
        first, said = {}, {}
        for form in self.given.weights:
            self.ours.weights = form
            for threads in self.given.threads:
                first[form, threads] = self.ours.first(model, threads, self.scratch / "outputs")
            said[form], _ = model.check(self.scratch / "outputs", self.scratch / "ort")
            if form == "f32" and float(said[form].split()[0]) > TOLERANCE:
                self.wrong.append(f"{name}: {said[form]}")
        rounds = [{t: self.round(model, t) for t in self.given.threads} for _ in range(self.given.rounds)]
        for threads in self.given.threads:
            for form in self.given.weights:
                ours, theirs = ([run[threads][side] for run in rounds] for side in (form, "ORT"))
                ratio = statistics.median(t / o for o, t in zip(ours, theirs))
                self.ratios.append(ratio)
                self.lines.append([name if form == "f32" else f"{name} {form}", str(threads), f"{min(ours):.3g}",
                                   f"{min(theirs):.3g}", f"{ratio:.2f}", str(first[form, threads]["kernels"]),
                                   f"{first[form, threads]['prepare_ms']:.0f}", said[form]])
                print("  " + "  ".join(self.lines[-1]), file=sys.stderr, flush=True)
        self.ours.weights = "f32"
        if self.given.kernels:
            self.look_at_kernels(model)

    def round(self, model, threads):
        """Every side once, in turn: ms."""
        times = {}
        for self.ours.weights in self.given.weights:
            times[self.ours.weights] = self.ours.figure(model, threads)["p50_us"] / 1e3
        times["ORT"] = self.ort.figure(model, threads)["p50_us"] / 1e3
        return times

    def look_at_kernels(self, model):
        inputs = [part for name, file in model.inputs.items() for part in ("--input", f"{name}={file}")]
        answer = start([self.ours.program, "explain", model.path, "--threads", self.given.threads[0], "--measure",
                        "--json", *inputs], **self.ours.environment)
        rows = [row for row in answer["measured"]["kernels"] if row["ops"] > 0]
        work = sum(row["ops"] for row in rows)
        for row in rows:
            is_dense = row["ops"] >= DENSE * row["bytes"]
            self.kernels.append({"net": model.row.name, "class": "dense" if is_dense else "stream",
                                 "share": row["ops"] / work, "rate": row["gflops" if is_dense else "gbytes_per_s"],
                                 "symbol": row["kernel"], "source": row["source"], "time_us": row["time_us"]})

    def cliffs(self):
        best = {}
        for kernel in self.kernels:
            best[kernel["class"]] = max(best.get(kernel["class"], 0), kernel["rate"])
        found = [k for k in self.kernels
                 if k["share"] > LEAST_SHARE and k["rate"] < LEAST_RATE * best[k["class"]]]
        return best, sorted(found, key=lambda k: -k["time_us"])


def main():
    given = arguments()
    makes = [m for name, m in make_nets.ALL.items()
             if re.search(given.only, name) and (given.large or m not in sequence.LARGE)]
    with tempfile.TemporaryDirectory(prefix="hearth-nets-") as scratch:
        try:
            suite = Suite(given, scratch)
            suite.ours.daemon("start")
            for make in makes:
                try:
                    suite.net(make)
                except Missing as reason:
                    suite.lines.append([make.__name__, "", "", "", "", "", "", str(reason)])
                    print(f"  {reason}", file=sys.stderr, flush=True)
            suite.ours.daemon("stop")
        except Missing as reason:
            sys.exit(f"compare_nets: {reason}")
        head = ["net", "thr", "ours, ms", "ORT, ms", "ratio", "kernels", "cold prepare, ms", "difference"]
        print(table(head, suite.lines))
        if suite.ratios:
            print(f"\ngeometric mean {statistics.geometric_mean(suite.ratios):.2f}, least {min(suite.ratios):.2f}")
        if given.kernels:
            best, found = suite.cliffs()
            print("\nbest rates: " + ", ".join(f"{name} {rate:.0f} G/s" for name, rate in sorted(best.items())))
            print(table(["cliff in", "class", "share of arithmetic", "G/s", "us", "kernel", "from"],
                        [[k["net"], k["class"], f"{k['share']:.0%}", f"{k['rate']:.1f}", f"{k['time_us']:.0f}",
                          k["symbol"], k["source"][:60]] for k in found]))
        for text in suite.wrong:
            print(f"WRONG: {text}")
        sys.exit(1 if suite.wrong else 0)


if __name__ == "__main__":
    main()
