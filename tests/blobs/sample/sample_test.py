"""Builds the sample library ahead of time, without Hearth, and compares its attention with numpy's.

Run by ctest (blob_sample_test); needs numpy, g++ and ninja, and for its device code what build_ahead.py names.
"""
import ctypes
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

import attention_reference as reference
import sample_library as sample
from backward_cases import Backward
from build_ahead import CLANG, build, device_library, hip_flags, make_rocm_home, missing_for_hip
from forward_cases import Forward
from kvcache_cases import KeyCache
from project_cases import Project, emit, generate_blobs


class Generation:
    """Emits and builds once for all cases of a class; `generation` and `options` are the subclass's."""

    @classmethod
    def setUpClass(cls):
        temp = tempfile.TemporaryDirectory(prefix="hearth sample ")  # the space is on purpose
        cls.addClassCleanup(temp.cleanup)
        folder = Path(temp.name)
        cls.tree = emit(folder / "aiter", "--flavour", "cpu", "--generation", cls.generation)
        home = make_rocm_home(folder / "rocm", "g++")
        cls.library = ctypes.CDLL(str(build(cls.tree, home, "fwd", **cls.options)))
        cls.backward_library = ctypes.CDLL(str(build(cls.tree, home, "bwd", **cls.options)))

    def setUp(self):
        self.random = np.random.default_rng(7)


class Cpu2024(Generation, Forward, KeyCache, Backward, Project, unittest.TestCase):
    generation, options = "2024", {}


class Cpu2026(Generation, Forward, KeyCache, Backward, Project, unittest.TestCase):
    generation, options = "2026", {"SAMPLE_BUILD": "make"}

    def test_device_decides(self):
        """The second device has a single kind of kernel; an unknown one has none."""
        q = self.numbers("fp16", 1, 2, 20, 64)
        self.addCleanup(os.environ.pop, "SAMPLE_DEVICE_NAME")
        os.environ["SAMPLE_DEVICE_NAME"] = "gfx90a:xnack-"
        self.check(rows=20, columns=50, lse=True)
        for options in ({"lse": False}, {"lse": True, "mask": (reference.TOP_LEFT, -1, 0)}):
            with self.assertRaises(sample.NoKernel):
                sample.forward(self.library, q, q, q, "fp16", 0.125, **options)
        os.environ["SAMPLE_DEVICE_NAME"] = "gfx1201"
        with self.assertRaises(sample.NoKernel):
            sample.forward(self.library, q, q, q, "fp16", 0.125, lse=True)

    def test_forced_kernel(self):
        """The dispatcher's second function uses the same aliases; it runs what it is told, where that fits."""
        blobs = self.tree / "aiter/jit/build/libmha_fwd/blob"
        plain = next(blobs.glob("fmha_fwd_d64_fp16_batch*_psskddv_nlogits_nbias_nmask_nlse_*_gfx942.cpp")).stem
        self.addCleanup(os.environ.pop, "CK_TILE_FMHA_FWD_FORCE_KERNEL")
        os.environ["CK_TILE_FMHA_FWD_FORCE_KERNEL"] = plain
        self.check(rows=20, columns=50)
        os.environ["CK_TILE_FMHA_FWD_FORCE_KERNEL"] = plain.replace("_nlse_", "_lse_")
        q = self.numbers("fp16", 1, 2, 20, 64)
        with self.assertRaises(sample.NoKernel):
            sample.forward(self.library, q, q, q, "fp16", 0.125)


@unittest.skipIf(missing_for_hip(), f"no compiler of device code here: {', '.join(missing_for_hip())} missing")
class Hip(unittest.TestCase):
    def test_blob_compiles(self):
        """One blob each generation, for two devices; 2026's has kernels for the one in its name only."""
        with tempfile.TemporaryDirectory(prefix="hearth_sample_") as temp:
            bitcode = device_library(Path(temp) / "bitcode")
            for generation in ("2024", "2026"):
                tree = emit(Path(temp) / generation, "--flavour", "hip", "--generation", generation)
                blobs = generate_blobs(tree, Path(temp) / f"blob{generation}", "fwd")
                blob = sorted(path for path in blobs if "_d64_fp16_batch" in path.name)[0]
                output = Path(temp) / f"{generation}.so"
                ck = tree / "3rdparty/composable_kernel"
                subprocess.run([CLANG, *hip_flags(bitcode), "--offload-arch=gfx942", "--offload-arch=gfx90a", "-O3",
                                "-std=c++20", "-fPIC", "-shared", f"-I{ck}/include",
                                f"-I{ck}/example/ck_tile/01_fmha", str(blob), "-lamdhip64", "-o", str(output)],
                               check=True)
                content = output.read_bytes()
                for arch in (b"gfx942", b"gfx90a"):
                    self.assertIn(b"hipv4-amdgcn-amd-amdhsa--" + arch, content)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
    import skipping
    skipping.main()
