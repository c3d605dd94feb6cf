"""Builds an emitted sample ahead of time, without Hearth: a ROCm home whose hipcc is a small script, and compile.py."""
import os
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

CLANG = "clang++-19"
LLVM_BIN = Path("/usr/lib/llvm-19/bin")
BITCODE = Path("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode")


def missing_for_hip():
    """What of Debian's packages is not here to compile device code; empty when all is."""
    wanted = [shutil.which(CLANG) or CLANG, LLVM_BIN / "llvm-dis", LLVM_BIN / "llvm-as", BITCODE,
              Path("/usr/include/hip/hip_runtime.h")]
    return [str(path) for path in wanted if not Path(path).exists()]


def device_library(folder):
    """Debian's device bitcode, and one for gfx942 made of gfx940's: only the constant of the version differs."""
    folder = Path(folder)
    folder.mkdir(parents=True)
    for bitcode in BITCODE.iterdir():
        (folder / bitcode.name).symlink_to(bitcode)
    made = folder / "oclc_isa_version_942.bc"
    if not made.exists():
        text = subprocess.run([LLVM_BIN / "llvm-dis", BITCODE / "oclc_isa_version_940.bc", "-o", "-"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        if text.count("i32 9400") != 1:
            raise RuntimeError(f"{BITCODE}/oclc_isa_version_940.bc: not one constant 9400")
        subprocess.run([LLVM_BIN / "llvm-as", "-", "-o", made], check=True, text=True,
                       input=text.replace("i32 9400", "i32 9402"))
    return folder


def hip_flags(bitcode):
    """Between the compiler and a blob's own flags. Not -fuse-cuid=none: objects that are linked together would each
    define the same __hip_cuid_."""
    return ["-x", "hip", "--rocm-path=/usr", f"--rocm-device-lib-path={bitcode}"]


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
                          env={**os.environ, "ROCM_HOME": str(rocm_home), "GPU_ARCHS": archs, "CXX": "g++",
                               **environment},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise RuntimeError(f"compile.py --api {api} in {tree} failed:\n{done.stdout[-4000:]}")
    return Path(environment.get("AITER_JIT_DIR", Path(tree) / "aiter/jit")) / f"libmha_{api}.so"
