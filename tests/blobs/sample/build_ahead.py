"""Builds an emitted sample ahead of time, without Hearth: a ROCm home whose hipcc is a small script, then compile.py."""
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

HIP_PREFIX = ["-x", "hip", "--rocm-path=/usr", "--rocm-device-lib-path={bitcode}", "-fuse-cuid=none"]


def make_rocm_home(folder, compiler, compile_flags=()):
    """folder/bin/hipcc runs `compiler`, with `compile_flags` before the rest when it is asked to compile."""
    hipcc = Path(folder) / "bin" / "hipcc"
    hipcc.parent.mkdir(parents=True, exist_ok=True)
    (Path(folder) / "lib").mkdir(exist_ok=True)
    hipcc.write_text(f'#!/bin/sh\nexec {shlex.quote(compiler)} {" ".join(map(shlex.quote, compile_flags))} "$@"\n')
    hipcc.chmod(hipcc.stat().st_mode | stat.S_IXUSR)
    return Path(folder)


def build(tree, rocm_home, api, archs="gfx942", **environment):
    """Runs compile.py; returns the library's path. Raises with the build's last lines when it fails."""
    done = subprocess.run([sys.executable, str(Path(tree) / "op_tests/cpp/mha/compile.py"), "--api", api],
                          env={**os.environ, "ROCM_HOME": str(rocm_home), "GPU_ARCHS": archs, "CXX": "g++", **environment},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise RuntimeError(f"compile.py --api {api} in {tree} failed:\n{done.stdout[-8000:]}")
    return Path(environment.get("AITER_JIT_DIR", Path(tree) / "aiter/jit")) / f"libmha_{api}.so"
