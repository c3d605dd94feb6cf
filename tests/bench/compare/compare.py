#!/usr/bin/python3
"""The table of docs/internal/performance.md: our kernels beside the best libraries and the limits of this machine, measured in one run.

    cmake --build --preset release && cmake --build --preset release --target compare_peers
    npm install --ignore-scripts --prefix build/peers onnxruntime-node
    tests/bench/compare/compare.py                       # everything, about 10 minutes on a quiet machine
    tests/bench/compare/compare.py --rounds 1 --only 'conv|MLP' --threads 1

Peers: OpenBLAS (libopenblas-dev), oneDNN (libdnnl-dev), ONNX Runtime (npm as above; --ort or HEARTH_ORT names another
node_modules folder). Python needs numpy and onnx (python3-numpy, python3-onnx). A peer or model that is not there is
named below the table with the reason.

How: a round runs every side of a row once, in turn, for each number of threads; every side is a program of its own,
started with PATH, HOME and LC_ALL only. Where the rounds disagree, because a neighbour of a shared host took some
of the machine from one side, there are more, up to --most-rounds; the column says how many. Warm-up and first touch
are not counted. A side's figure is the lowest median (and the lowest minimum) of its rounds; with two threads a peer may use one where that is faster, we may not.
Our outputs are checked before anything is timed. Figures are `median / minimum`. `ratio` is the best peer's time
over ours, so above 1 we are faster: first the median over the rounds of that ratio within a round, by which a row is
judged since the machine changes from one moment to the next, then lowest minimum over lowest minimum. "hand-off" is
what a spinning thread waits for another one's store, during the row: it tells whether the two cores shared a cache.
Two cores that do not may hold a whole 64 MiB between their caches, and the limits at two threads then are theirs.
"""
import argparse
import json
import os
import platform
import re
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from models import Missing, Model
from rows import LIMITS, ONEDNN, OPENBLAS, PREPARES, ROWS
from sides import Hearth, OnnxRuntime, Program

ROOT = Path(__file__).resolve().parents[3]
NAMES = {LIMITS: "limit", ONEDNN: "oneDNN", OPENBLAS: "OpenBLAS"}
PEERS = ("ORT", "oneDNN", "OpenBLAS", "limit")
DISAGREEMENT = 1.1


def number(value):
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--most-rounds", type=int, help="of a row whose rounds disagree (default: three times --rounds)")
    parser.add_argument("--only", default="", metavar="REGEX", help="rows whose name matches")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--seconds", type=float, default=0.3, help="of one side in one round")
    parser.add_argument("--bin", default=ROOT / "build/release/bin", help="folder of hearth")
    parser.add_argument("--peers-bin", help="folder of the peers' programs (default: --bin)")
    parser.add_argument("--ort", default=os.environ.get("HEARTH_ORT", ROOT / "build/peers/node_modules"),
                        help="node_modules folder with onnxruntime-node")
    parser.add_argument("--models", default=ROOT / "build/release/test_models")
    parser.add_argument("--json", metavar="OUT")
    parser.add_argument("--markdown", metavar="OUT")
    given = parser.parse_args()
    given.most_rounds = max(given.rounds, given.most_rounds or 3 * given.rounds)
    given.threads = sorted({int(t) for t in given.threads.split(",")})
    given.peers_bin = given.peers_bin or given.bin
    return given


class Comparison:
    def __init__(self, given, scratch):
        self.given, self.scratch = given, Path(scratch)
        self.notes = []
        self.results = []
        self.limits = {}
        self.cold_ms, self.warm_ms, self.models = {}, {}, {}
        (self.scratch / "ort").mkdir()
        self.ours = Hearth(given.bin, scratch, given.seconds)
        self.ort = OnnxRuntime(given.peers_bin, given.ort, self.scratch / "ort", given.seconds)
        self.handoff = Program("hand-off", given.peers_bin, LIMITS, "handoff", 0.02)

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)
            print(f"# {text}", file=sys.stderr, flush=True)

    def attempt(self, side, model, threads, **more):
        try:
            return side.figure(model, threads, **more)
        except Missing as reason:
            self.note(f"{side.name}: {reason}")
            return None

    def handoff_us(self):
        if len(os.sched_getaffinity(0)) < 2:
            return None
        figure = self.attempt(self.handoff, None, 2)
        return figure["p50_us"] / figure["amount"] if figure else None

    def measure_limits(self):
        """Called before and after the rows; the better one of both is the limit."""
        for threads in self.given.threads:
            for work in ("fma", "read", "copy", "chain5"):
                side = Program("limit", self.given.peers_bin, LIMITS, work, self.given.seconds)
                figure = self.attempt(side, None, threads)
                if figure:
                    rate = figure["amount"] / figure["p50_us"] / 1e3
                    self.limits[work, threads] = max(rate, self.limits.get((work, threads), 0))

    def check(self, model):
        """Our outputs for each number of threads; also compiles."""
        self.attempt(self.ort, model, self.given.threads[0], seconds=0.01)
        said, right = "", True
        for threads in self.given.threads:
            outputs = self.scratch / "outputs"
            self.ours.first(model, threads, outputs)
            text, fits = model.check(outputs, self.scratch / "ort")
            said, right = (text, fits) if right else (said, right)
        return said, right

    def row(self, row):
        print(f"# {row.name}", file=sys.stderr, flush=True)
        for stale in (self.scratch / "ort").iterdir():
            stale.unlink()
        model = Model(row, self.given.models, self.scratch)
        self.models[row.name] = model
        difference, right = self.check(model)
        sides = [self.ours, self.ort]
        sides += [Program(NAMES[p], self.given.peers_bin, p, work, self.given.seconds) for p, work in row.peers]
        runs, handoffs = {}, []
        others = [side.name for side in sides if side.name != "ours"]
        while len(handoffs) < self.given.rounds or (len(handoffs) < self.given.most_rounds
                                                    and self.disagree(runs, others)):
            handoffs.append(self.handoff_us())
            for threads in self.given.threads:
                for side in sides:
                    runs.setdefault((side.name, threads), []).append(self.attempt(side, model, threads))
        for threads in self.given.threads:
            self.results.append(self.result(row, threads, runs, handoffs, difference, right))

    def ratios(self, runs, names, threads):
        """Round for round, the best of `names` over us."""
        found = []
        for index, mine in enumerate(runs["ours", threads]):
            others = [runs[name, t][index] for name in names for t in self.given.threads
                      if t <= threads and runs[name, t][index]]
            if mine and others:
                found.append(min(o["p50_us"] for o in others) / mine["p50_us"])
        return found

    def disagree(self, runs, names):
        """Whether the middle half of some ratio's rounds is wider than DISAGREEMENT."""
        for threads in self.given.threads:
            found = self.ratios(runs, names, threads)
            if len(found) > 1:
                low, _, high = statistics.quantiles(found, n=4, method="inclusive")
                if high > low * DISAGREEMENT:
                    return True
        return False

    def result(self, row, threads, runs, handoffs, difference, right):
        def best(name, allowed):
            there = [(t, run) for t in allowed for run in runs.get((name, t), []) if run]
            if not there:
                return None
            at, run = min(there, key=lambda r: r[1]["p50_us"])
            return {"p50_us": run["p50_us"], "min_us": min(r["min_us"] for _, r in there), "threads": at,
                    "config": run["config"]}

        def paired(names):
            ratios = self.ratios(runs, names, threads)
            return statistics.median(ratios) if ratios else None

        ours = best("ours", [threads])
        peers = {name: best(name, [t for t in self.given.threads if t <= threads]) for name in PEERS}
        peers = {name: figure for name, figure in peers.items() if figure}
        rivals = {name: figure for name, figure in peers.items() if name != "limit"}
        result = {"work": row.name, "threads": threads, "ours": ours, "peers": peers, "must": row.must.text(),
                  "difference": difference, "reached": "no peer", "ratio": None, "ratio_min": None, "best": None,
                  "handoff_us": [h for h in handoffs if h], "rate": "", "rounds": len(handoffs),
                  "rounds_p50_us": {f"{name}, {t}": [r and r["p50_us"] for r in all_runs]
                                    for (name, t), all_runs in runs.items() if t <= threads}}
        if ours is None:
            return {**result, "reached": "not run"}
        amount, unit = (row.flops, "GFLOP/s") if row.flops else (row.num_bytes, "GB/s")
        result["rate"] = f"{number(amount / ours['p50_us'] / 1e3)} {unit}" if amount else ""
        if rivals:
            result["best"] = min(rivals, key=lambda name: rivals[name]["p50_us"])
            result["ratio"] = paired(rivals)
            result["ratio_min"] = min(r["min_us"] for r in rivals.values()) / ours["min_us"]
        base = {"limit": ["limit"], "ort": ["ORT"], "best": list(rivals)}.get(row.must.base, [])
        speed = paired([name for name in base if name in peers])
        if row.must.base == "us":
            result["reached"] = "yes" if ours["p50_us"] <= row.must.factor else "no"
        elif speed:
            result["reached"] = f"{'yes' if speed >= row.must.factor else 'no'} ({speed:.2f})"
        if not right:
            result["reached"] = "WRONG OUTPUT"
        return result

    def prepares(self):
        """Prepare with nothing cached, then with a fresh daemon and everything on disk."""
        for name, _, _ in PREPARES:
            for times in (self.cold_ms, self.warm_ms) if name in self.models else ():
                self.ours.daemon("stop")
                if times is self.cold_ms:
                    shutil.rmtree(self.ours.cache, ignore_errors=True)
                self.ours.daemon("start")
                times[name] = self.ours.run(self.models[name], self.given.threads[-1], 1)["prepare_ms"]


def table(head, lines):
    widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]
    format_line = lambda line: "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |"
    return "\n".join([format_line(head), "|" + "|".join("-" * (w + 2) for w in widths) + "|", *map(format_line, lines)])


def figure_text(figure, threads):
    if figure is None:
        return "–"
    fewer = f" ({figure['threads']} thr)" if figure["threads"] != threads else ""
    return f"{number(figure['p50_us'])} / {number(figure['min_us'])}{fewer}"


def result_line(result):
    threads, peers = result["threads"], result["peers"]
    ratio = f"{result['ratio']:.2f} / {result['ratio_min']:.2f}" if result["ratio"] else "–"
    handoffs = result["handoff_us"]
    return [result["work"], str(threads), str(result["rounds"]), figure_text(result["ours"], threads), result["rate"],
            *(figure_text(peers.get(name), threads) for name in PEERS), result["best"] or "–", ratio, result["must"],
            result["reached"], f"{min(handoffs):.2f}–{max(handoffs):.2f}" if handoffs else "–", result["difference"]]


def report(comparison):
    given, limits = comparison.given, comparison.limits
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                if line.startswith("model name")), platform.machine())
    parts = [f"{cpu}, {len(os.sched_getaffinity(0))} CPUs; {given.rounds} to {given.most_rounds} rounds; µs as median / minimum"]
    head = ["work", "thr", "rounds", "ours", "rate", *PEERS, "best peer", "ratio", "must", "reached", "hand-off µs", "difference"]
    parts.append(table(head, [result_line(result) for result in comparison.results]))
    lines = []
    for work, what, unit in (("fma", "fused multiply-adds", "GFLOP/s"), ("read", "read 64 MiB", "GB/s"),
                             ("copy", "copy 64 MiB, non-temporal, both ways", "GB/s"),
                             ("chain5", "five streams in, one out, non-temporal", "GB/s")):
        lines.append([what] + [f"{limits[work, t]:.1f} {unit}" if (work, t) in limits else "–" for t in given.threads])
    handoffs = [h for result in comparison.results for h in result["handoff_us"]]
    if handoffs:
        lines.append(["spin hand-off, one way"] + [f"{min(handoffs):.3f}–{max(handoffs):.3f} µs" if t > 1 else ""
                                          for t in given.threads])
    parts.append(table(["limit of the machine"] + [f"{t} thread{'s' * (t > 1)}" for t in given.threads], lines))
    lines = [[name, f"{comparison.cold_ms[name]:.1f}", f"{comparison.warm_ms[name]:.1f}", f"≤ {most}, ≤ {most_warm}"]
             for name, most, most_warm in PREPARES if name in comparison.warm_ms]
    if lines:
        parts.append(table(["prepare, ms", "cold", "warm (disk)", "must"], lines))
    if comparison.notes:
        parts.append("\n".join(f"- {note}" for note in comparison.notes))
    return "\n\n".join(parts) + "\n"


def main():
    given = arguments()
    with tempfile.TemporaryDirectory(prefix="hearth-compare-") as scratch:
        try:
            comparison = Comparison(given, scratch)
        except Missing as reason:
            sys.exit(f"compare: {reason}")
        try:
            comparison.ours.daemon("start")
            comparison.measure_limits()
            for row in ROWS:
                if not re.search(given.only, row.name):
                    continue
                try:
                    comparison.row(row)
                except Missing as reason:
                    comparison.note(f"{row.name}: {reason}")
                    comparison.results += [comparison.result(row, t, {}, [], "", True) for t in given.threads]
            comparison.measure_limits()
            comparison.prepares()
        except Missing as reason:
            comparison.note(str(reason))
        except KeyboardInterrupt:
            comparison.note("interrupted, rows are missing")
        finally:
            try:
                comparison.ours.daemon("stop")
            except Missing as reason:
                comparison.note(str(reason))
        text = report(comparison)
        print(text)
        if given.markdown:
            Path(given.markdown).write_text(text, encoding="utf-8")
        if given.json:
            limits = {f"{work}_{threads}": rate for (work, threads), rate in comparison.limits.items()}
            Path(given.json).write_text(json.dumps(
                {"rows": comparison.results, "limits": limits, "cold_ms": comparison.cold_ms,
                 "warm_ms": comparison.warm_ms, "notes": comparison.notes}, indent=1), encoding="utf-8")
        sys.exit(any(result["reached"] == "WRONG OUTPUT" for result in comparison.results))


if __name__ == "__main__":
    main()
