#!/usr/bin/python3
"""What processes of one model cost together: memory, and how soon the second one is ready.

    cmake --build --preset release --target hearth-weights-process hearthd hearth-worker
    tests/bench/shared_weights.py                     # eight processes of a model of 500 MB
    tests/bench/shared_weights.py --gpt2              # one process of GPT-2's shape
    HEARTH_SHARE_WEIGHTS=0 tests/bench/shared_weights.py

Memory is the proportional set size (smaps_rollup), which counts a page that n processes map as 1/n in each; the daemon
and its workers are not counted. A process is ready when it has an instance; the time is from before its fork.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE / "nets"))

import sequence  # noqa: E402
from graph_writer import Net  # noqa: E402


def layers(megabytes, width=2048):
    net = Net("layers", seed=1)
    value = net.input("x", (8, width))
    for _ in range(round(megabytes * 1e6 / (4 * width * width))):
        value = net.relu(net.linear(value, width, gain=1.4))
    net.output(value)
    return net


class Process:
    def __init__(self, given, model, environment):
        started_ms = time.monotonic_ns() / 1e6
        self.process = subprocess.Popen([Path(given.bin) / "hearth-weights-process", model], env=environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit("shared_weights: a process failed (above)")
        self.said = json.loads(line)
        self.ready_ms = self.said["ready_at_ms"] - started_ms

    def memory(self):
        with open(f"/proc/{self.process.pid}/smaps_rollup") as file:
            rows = [row.split() for row in file]
        return {row[0][:-1]: int(row[1]) * 1024 for row in rows if len(row) == 3 and row[2] == "kB"}

    def end(self):
        self.process.communicate()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--gpt2", action="store_true")
    parser.add_argument("--bin", default=ROOT / "build/release/bin")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hearth-weights-") as scratch:
        model = (sequence.gpt2() if given.gpt2 else layers(given.megabytes)).save(scratch)
        size = os.path.getsize(model)
        environment = {**os.environ, "HEARTH_SOCKET": f"{scratch}/s.sock", "HEARTH_CACHE_DIR": f"{scratch}/cache"}
        hearth = Path(given.bin) / "hearth"
        subprocess.run([hearth, "daemon", "start"], env=environment, check=True, stdout=subprocess.DEVNULL)
        try:
            time.sleep(2.5)  # a file that has just been written is hashed by every process
            processes = [Process(given, model, environment)]
            alone = processes[0].memory()
            print(f"model {size / 1e6:.0f} MB; one process: PSS {alone['Pss'] / 1e6:.0f} MB, resident "
                  f"{alone['Rss'] / 1e6:.0f} MB ({alone['Rss'] / size:.2f} of the model)")
            processes += [Process(given, model, environment) for _ in range(given.processes - 1)]
            for number, process in enumerate(processes[:2], 1):
                said = process.said
                print(f"process {number}: ready {process.ready_ms:.0f} ms after its start, prepare "
                      f"{said['prepare_ms']:.1f} ms, {said['once_launches']} launches to pack weights, "
                      f"{said['shared_weight_bytes'] / 1e6:.0f} MB shared")
            if len({process.said["outputs"] for process in processes}) != 1:
                sys.exit("WRONG: the processes' outputs differ")
            together = [process.memory() for process in processes]
            total = sum(memory["Pss"] for memory in together)
            print(f"{len(processes)} processes: PSS together {total / 1e6:.0f} MB, {total / alone['Pss']:.3f} of one; "
                  f"each {statistics_of(together)}")
            for process in processes:
                process.end()
        finally:
            subprocess.run([hearth, "daemon", "stop"], env=environment, stdout=subprocess.DEVNULL)


def statistics_of(memories):
    kinds = ("Private_Clean", "Private_Dirty", "Shared_Clean", "Shared_Dirty")
    return ", ".join(f"{kind} {max(memory[kind] for memory in memories) / 1e6:.1f} MB" for kind in kinds)


if __name__ == "__main__":
    main()
