"""The sample library built by `hearth blobs build full`, for tests of the whole flow. Needs g++, ninja, make and numpy."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BIN = Path(os.environ["HEARTH_BIN_DIR"])
SAMPLE = Path(os.environ["HEARTH_SOURCE_DIR"]) / "tests/blobs/sample"
HEARTH = str(BIN / "hearth")

# One attention compared with numpy, in a process of its own as a user's would be. Prints the largest difference.
CALL = """
import ctypes, sys
sys.path.insert(0, sys.argv[2])
import numpy as np
import attention_reference as reference, sample_library as sample
library = ctypes.CDLL(sys.argv[1])
random = np.random.default_rng(1)
q, k, v = [reference.rounded(random.standard_normal((2, 4, 128, 64)), "fp16") for _ in range(3)]
for _ in range(2):
    o, lse = sample.forward(library, q, k, v, "fp16", 0.125, lse=True)
exact = [reference.exact(x, "fp16") for x in (q, k, v)]
wanted, wanted_lse, _ = reference.attention(*exact, 0.125, (0, -1, -1), None, None)
np.testing.assert_allclose(reference.exact(o, "fp16"), wanted, rtol=0,
                           atol=reference.tolerance("fp16", np.abs(exact[2]).max()))
np.testing.assert_allclose(lse, wanted_lse, rtol=1e-5, atol=1e-5)
"""


def hearth(*args, **environment):
    env = {name: value for name, value in os.environ.items() if not name.startswith(("CK_JIT_", "ROCM", "HIP_"))}
    return subprocess.run([HEARTH, "blobs", *map(str, args)], env={**env, "CXX": "g++", **environment},
                          capture_output=True, text=True, check=False)


def full(tree, tmp, *args, **environment):
    return hearth("build", "full", "--aiter-dir", tree, "--gpu-archs", "gfx942", "--toolchain", "c++",
                  "--compiler", "g++", "--tmp-dir", tmp, "--python", sys.executable, *args, **environment)


def snapshot(path):
    return path.read_bytes() if path.exists() else None


class BuiltSample(unittest.TestCase):
    """The sample library, built once for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        cls.place = Path(tempfile.mkdtemp(prefix="hearth flow "))  # a space, on purpose
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        cls.tree = cls.emit("aiter", "2024")
        cls.apis = [api for api in ("fwd", "bwd") if (cls.tree / f"csrc/cpp_itfs/mha_{api}.cu").exists()]
        if cls.apis == ["fwd"]:
            print("bwd is left out: this sample library has none", file=sys.stderr)
        cls.select = ["--api", ",".join(cls.apis)]
        cls.tmp = cls.place / "T"
        cls.install = cls.place / "install"
        cls.built = full(cls.tree, cls.tmp, *cls.select, "--install-dir", cls.install)
        if cls.built.returncode != 0:
            raise RuntimeError(cls.built.stderr)

    @classmethod
    def emit(cls, name, generation):
        tree = cls.place / name
        subprocess.run([sys.executable, str(SAMPLE / "generate.py"), "--out", str(tree), "--flavour", "cpu",
                        "--generation", generation], check=True)
        return tree

    def call(self, library, cache, **environment):
        """Returns what the loader said and the names of the blobs that are in the cache then."""
        done = subprocess.run([sys.executable, "-c", CALL, str(library), str(SAMPLE)], capture_output=True, text=True,
                              check=False, env={**os.environ, "HEARTH_BLOB_MODE": "direct", "CK_JIT_VERBOSE": "1",
                                                "CK_JIT_CACHE_DIR": str(cache), **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr, sorted(path.stem for path in Path(cache).glob("*.so"))

    def manifest(self, api="fwd"):
        return json.loads((self.tmp / f"libmha_{api}/ck_jit_manifest.json").read_text())
