"""Us and the peers, each a program started in a clean environment that answers with one JSON object.

A side has a name and figure(model, threads) -> {"min_us", "p50_us", ...}; it raises Missing where it cannot run.
"""
import json
import os
import subprocess
import time
from pathlib import Path

import numpy as np

from models import Missing

INSTALL_ORT = "npm install --ignore-scripts --prefix build/peers onnxruntime-node"
# What `env -i` would leave: the caller may export settings that slow a peer down, e.g. OPENBLAS_CORETYPE.
CLEAN = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": os.environ.get("HOME", "/"), "LC_ALL": "C"}
ATTEMPTS = 3


def start(command, timeout_s=600, **environment):
    """What the program prints, as an object when it is JSON."""
    try:
        done = subprocess.run([str(c) for c in command], env={**CLEAN, **environment}, capture_output=True, text=True,
                              timeout=timeout_s)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"{Path(command[0]).name}: {error}") from error
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise Missing(f"{Path(command[0]).name} ended with {done.returncode}: {said}")
    return json.loads(done.stdout) if done.stdout.lstrip().startswith("{") else done.stdout


class Hearth:
    """Our side: a daemon of its own with an empty cache, in the scratch folder."""
    name = "ours"

    def __init__(self, programs, scratch, seconds):
        self.program, self.seconds = Path(programs) / "hearth", seconds
        self.cache = Path(scratch) / "cache"
        self.environment = {"HEARTH_SOCKET": str(Path(scratch) / "socket"), "HEARTH_CACHE_DIR": str(self.cache)}
        if not self.program.exists():
            raise Missing("hearth is not built: cmake --build --preset release")
        self.repeats = {}
        self.weights = "f32"  # what the next runs store weights as

    def daemon(self, action):
        start([self.program, "daemon", action], **self.environment)

    def run(self, model, threads, repeat, *more):
        inputs = [part for name, file in model.inputs.items() for part in ("--input", f"{name}={file}")]
        if self.weights != "f32":
            more += ("--weights", self.weights)
        for attempt in range(ATTEMPTS):  # the programs may be being rebuilt
            try:
                return start([self.program, "run", model.path, "--threads", threads, "--repeat", repeat, "--json",
                              *inputs, *more], **self.environment)
            except Missing:
                if attempt + 1 == ATTEMPTS:
                    raise
                time.sleep(5)

    def first(self, model, threads, outputs):
        """The run that compiles and writes the outputs; sets how often later ones repeat."""
        answer = self.run(model, threads, 10, "--output-dir", outputs)
        replay_us = max(answer["replay_us"]["p50"], 0.1)
        self.repeats[model.row.name, threads, self.weights] = int(min(max(self.seconds * 1e6 / replay_us, 7), 200000))
        return answer

    def figure(self, model, threads):
        answer = self.run(model, threads, self.repeats[model.row.name, threads, self.weights])
        return {"min_us": answer["replay_us"]["min"], "p50_us": answer["replay_us"]["p50"], "config": "",
                "prepare_ms": answer["prepare_ms"], "kernels": answer["kernels"]}


class Program:
    """A peer, or a limit of the machine, that one of our small programs drives."""
    def __init__(self, name, programs, program, work, seconds):
        self.name, self.work, self.seconds = name, work, seconds
        self.program = Path(programs) / program
        self.is_limit = program == "limits_bench"

    def figure(self, _model, threads, seconds=None):
        if not self.program.exists():
            raise Missing(f"{self.program.name} is not built: cmake --build --preset release --target compare_peers "
                          "(libopenblas-dev, libdnnl-dev)")
        return start([self.program, self.work, threads, seconds or self.seconds])


class OnnxRuntime:
    name = "ORT"
    is_limit = False

    def __init__(self, programs, node_modules, outputs, seconds):
        self.program, self.outputs, self.seconds = Path(programs) / "ort_bench", Path(outputs), seconds
        folder = Path(node_modules)
        if not folder.name == "node_modules" and (folder / "node_modules").is_dir():
            folder = folder / "node_modules"
        machine = {"x86_64": "x64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
        found = sorted(folder.glob(f"onnxruntime-node/bin/napi-v*/linux/{machine}/libonnxruntime.so*"))
        self.library = found[-1] if found else None

    def figure(self, model, threads, seconds=None):
        if self.library is None:
            raise Missing(f"ONNX Runtime is not installed: {INSTALL_ORT}")
        if not self.program.exists():
            raise Missing("ort_bench is not built: cmake --build --preset release --target compare_peers")
        inputs = []
        for name, file in model.inputs.items():
            array = np.load(file, mmap_mode="r")
            kind = {"float32": "f32", "int64": "i64"}[array.dtype.name]
            inputs.append(f"{name}={kind}:{'x'.join(map(str, array.shape))}:{file}")
        return start([self.program, self.library, model.path, threads, seconds or self.seconds, self.outputs, *inputs,
                      "--", *model.output_names])
