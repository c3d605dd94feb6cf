#!/usr/bin/env python3
"""A small decoder of the Llama kind, token by token from an empty cache to a full one, beside ONNX Runtime in one run.

    cmake --build --preset release
    python3 -m venv build/peers/venv && build/peers/venv/bin/pip install onnxruntime numpy onnx
    build/peers/venv/bin/python tests/bench/nets/compare_decoder.py              # f32 and 4 bits, 1 and 2 threads

Ours is examples/llama: one plan for all lengths, caches that are carried. ONNX Runtime gets the same tokens; its caches
are bound from one step to the next (IO binding). A round runs both sides in turn; a figure is the median time of the
steps around a length, in ms, the lowest of the rounds; `ratio` is the median over the rounds of ONNX Runtime's whole
time by ours: above 1 we are faster. Every step's logits are compared.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
LENGTHS = (16, 128, 256, 384, 500)
TOLERANCE = 1e-4  # of the largest logit
CLEAN = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": os.environ.get("HOME", "/"), "LC_ALL": "C"}


class Theirs:
    def __init__(self, path, threads):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.value = onnxruntime.OrtValue.ortvalue_from_numpy
        self.pasts = [i for i in self.session.get_inputs() if i.name.startswith("past_")]
        self.outputs = [o.name for o in self.session.get_outputs()]

    def run(self, tokens):
        """-> (seconds of each step, logits)"""
        empty = [np.zeros([1, i.shape[1], 0, i.shape[3]], np.float32) for i in self.pasts]
        caches = {i.name: self.value(array) for i, array in zip(self.pasts, empty)}
        times, logits = [], []
        for step, token in enumerate(tokens):
            ids, mask = self.value(np.array([[token]], np.int64)), self.value(np.ones((1, step + 1), np.int64))
            before = time.perf_counter()
            binding = self.session.io_binding()
            binding.bind_ortvalue_input("tokens", ids)
            binding.bind_ortvalue_input("mask", mask)
            for name, cache in caches.items():
                binding.bind_ortvalue_input(name, cache)
            for name in self.outputs:
                binding.bind_output(name)
            self.session.run_with_iobinding(binding)
            made = dict(zip(self.outputs, binding.get_outputs()))
            times.append(time.perf_counter() - before)
            logits.append(made["logits"].numpy()[0, 0])
            caches = {i.name: made["present_" + i.name[5:]] for i in self.pasts}
        return np.array(times), np.array(logits)


def ours(path, threads, tokens, scratch):
    command = [ROOT / "build/release/bin/llama", path, "--threads", threads, "--tokens", 1, "--prompt", *tokens, "--times",
               scratch / "times.npy", "--logits", scratch / "logits.npy"]
    environment = {**CLEAN, "HEARTH_SOCKET": str(scratch / "socket"), "HEARTH_CACHE_DIR": str(scratch / "cache")}
    subprocess.run([str(part) for part in command], env=environment, check=True, stdout=subprocess.DEVNULL)
    return np.load(scratch / "times.npy") / 1e6, np.load(scratch / "logits.npy")


def around(times, length):
    return float(np.median(times[max(0, length - 8):length + 8])) * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bits", default="32,4")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--vocabulary", type=int, default=8000)
    given = parser.parse_args()
    wrong = False
    tokens = [int(t) for t in np.random.default_rng(9).integers(0, given.vocabulary, given.tokens)]
    print("| weights | threads | side | " + " | ".join(f"at {n}, ms" for n in LENGTHS) + " | tokens/s | ratio | difference |")
    print("|---|---|---|" + "---|" * (len(LENGTHS) + 3))
    with tempfile.TemporaryDirectory(prefix="hearth-decoder-") as name:
        scratch = Path(name)
        for bits in given.bits.split(","):
            path = scratch / f"llama{bits}.onnx"
            sizes = [part for name in ("width", "layers", "vocabulary") for part in (f"--{name}", str(getattr(given, name)))]
            subprocess.run([sys.executable, str(ROOT / "examples/llama/make_llama.py"), str(path), "--bits", bits, *sizes],
                           check=True)
            for threads in given.threads.split(","):
                theirs = Theirs(path, int(threads))
                ours(path, threads, tokens[:2], scratch)  # compiles
                rounds = [(ours(path, threads, tokens, scratch), theirs.run(tokens)) for _ in range(given.rounds)]
                (_, got), (_, want) = rounds[-1]
                difference = float(np.abs(got - want).max() / np.abs(want).max())
                wrong |= not difference <= TOLERANCE
                ratio = statistics.median(float(t.sum() / o.sum()) for (o, _), (t, _) in rounds)
                for side, place in (("ours", 0), ("ORT", 1)):
                    times = [one[place][0] for one in rounds]
                    figures = " | ".join(f"{min(around(t, n) for t in times):.2f}" for n in LENGTHS)
                    rate = max(given.tokens / t.sum() for t in times)
                    print(f"| {bits} bits | {threads} | {side} | {figures} | {rate:.0f} | "
                          + (f"{ratio:.2f} | {difference:.0e} |" if place == 0 else " | |"), flush=True)
        subprocess.run([str(ROOT / "build/release/bin/hearth"), "daemon", "stop"], check=False, stdout=subprocess.DEVNULL,
                       env={**CLEAN, "HEARTH_SOCKET": str(scratch / "socket"), "HEARTH_CACHE_DIR": str(scratch / "cache")})
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
