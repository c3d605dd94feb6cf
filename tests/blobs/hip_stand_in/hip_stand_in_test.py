"""Device code of the sample, compiled for gfx942, loaded and launched against the stand-in, and against the real
runtime where there is no GPU. Run by ctest (blob_hip_stand_in_test); HEARTH_HIP_STAND_IN names the stand-in."""
import ctypes
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
SAMPLE = HERE.parent / "sample"
sys.path.insert(0, str(SAMPLE))
from build_ahead import CLANG, build, device_library, hip_flags, make_rocm_home, missing_for_hip  # noqa: E402

FORWARD = "*fwd_d64_fp16_batch*psskddv_nlogits_nbias_nmask_nlse_*"
BACKWARD = "*batch*kr_ktr_vr_psskddv_*nmask_ndropout_ndeterministic*"

# What a child process does with a library; it prints one JSON line.
FORWARD_CALL = """
import sys, json, ctypes
import numpy as np
sys.path.insert(0, sys.argv[2])
import sample_library as sample
library = ctypes.CDLL(sys.argv[1])
q, k, v = (np.zeros((2, 4, rows, 64), np.float16) for rows in (300, 90, 90))
try:
    sample.forward(library, q, k, v, "fp16", 0.125)
    print(json.dumps(["ran", q.ctypes.data, k.ctypes.data, v.ctypes.data]))
except (sample.NoKernel, sample.CallFailed) as e:
    print(json.dumps([type(e).__name__, str(e)]))
"""
BACKWARD_CALL = """
import sys, json, ctypes
import numpy as np
sys.path.insert(0, sys.argv[2])
import sample_library as sample
from backward_cases import backward
library = ctypes.CDLL(sys.argv[1])
q, k = (np.zeros((2, 4, rows, 64), np.float16) for rows in (45, 90))
lse = np.zeros((2, 4, 45), np.float32)
try:
    backward(library, q, k, k, q, lse, q, "fp16", 0.125)
    print(json.dumps(["ran"]))
except (sample.NoKernel, sample.CallFailed) as e:
    print(json.dumps([type(e).__name__, str(e)]))
"""
MEMORY_CALL = """
import sys, json, ctypes
hip = ctypes.CDLL(None)  # what is preloaded
count, pointer = ctypes.c_int(-1), ctypes.c_void_p()
said = [hip.hipGetDeviceCount(ctypes.byref(count)), count.value]
said += [hip.hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(64))]
text, back = ctypes.create_string_buffer(b"device memory", 64), ctypes.create_string_buffer(64)
said += [hip.hipMemcpy(pointer, text, ctypes.c_size_t(64), 1), hip.hipMemcpy(back, pointer, ctypes.c_size_t(64), 2)]
said += [hip.hipMemcpy(pointer, text, ctypes.c_size_t(65), 1)]
said += [hip.hipFree(pointer), hip.hipFree(pointer), hip.hipGetLastError(), hip.hipGetLastError()]
print(json.dumps(said + [back.value.decode()]))
"""


def has_gpu():
    """Asked in a process of its own, which a driver may end."""
    code = ("import ctypes\nn = ctypes.c_int(0)\n"
            "print(ctypes.CDLL('libamdhip64.so.5').hipGetDeviceCount(ctypes.byref(n)) == 0 and n.value > 0)")
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False)
    return "True" in done.stdout


@unittest.skipIf(missing_for_hip(), f"no compiler of device code here: {', '.join(missing_for_hip())} missing")
class StandIn(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.TemporaryDirectory(prefix="hearth_stand_in_")
        cls.addClassCleanup(cls.temp.cleanup)
        folder = Path(cls.temp.name)
        tree = folder / "aiter"
        subprocess.run([sys.executable, str(SAMPLE / "generate.py"), "--out", str(tree), "--flavour", "hip",
                        "--generation", "2024"], check=True)
        home = make_rocm_home(folder / "rocm", CLANG, hip_flags(device_library(folder / "bitcode")))
        cls.forward = build(tree, home, "fwd", SAMPLE_BLOBS=FORWARD)
        cls.backward = build(tree, home, "bwd", SAMPLE_BLOBS=BACKWARD)
        cls.stand_in = os.environ["HEARTH_HIP_STAND_IN"]

    def run_child(self, code, library="", **environment):
        """(what the child said, what the stand-in recorded). The child must end by itself."""
        log = Path(self.temp.name) / "log"
        log.unlink(missing_ok=True)
        done = subprocess.run([sys.executable, "-B", "-c", code, str(library), str(SAMPLE)], check=False, text=True,
                              env={**os.environ, "HIP_STAND_IN_LOG": str(log), **environment},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = log.read_text().splitlines() if log.exists() else []
        return json.loads(done.stdout.splitlines()[-1]), [json.loads(line) for line in lines]

    def launches(self, events):
        return [event for event in events if event["event"] == "launch"]

    def test_forward_launch(self):
        said, events = self.run_child(FORWARD_CALL, self.forward, LD_PRELOAD=self.stand_in)
        self.assertEqual(said[0], "ran", said)
        binaries = [event for event in events if event["event"] == "fat_binary"]
        self.assertTrue(any(entry.endswith("-gfx942") for event in binaries for entry in event["entries"]), binaries)
        self.assertFalse([event for event in binaries if "error" in event], binaries)
        launch, = self.launches(events)
        self.assertIn("FmhaFwdKernel", launch["kernel"])
        self.assertIn(launch["kernel"], [event["name"] for event in events if event["event"] == "function"])
        self.assertEqual(launch["grid"], [3, 4, 2])  # 300 rows in tiles of 128, 4 heads, 2 batch entries
        self.assertEqual(launch["block"], [256, 1, 1])  # 4 warps of 64
        self.assertEqual((launch["shared_bytes"], launch["stream"]), (0, 0))
        arguments, = launch["arguments"]  # ck_tile::fmha_fwd_kargs: nine pointers, then numbers
        data = bytes.fromhex(arguments)
        self.assertEqual(list(struct.unpack_from("3Q", data)), said[1:])
        self.assertEqual(struct.unpack_from("5i", data, 72), (300, 90, 64, 64, 1))
        self.assertEqual(struct.unpack_from("f", data, 92), (0.125,))

    def test_backward_launches(self):
        said, events = self.run_child(BACKWARD_CALL, self.backward, LD_PRELOAD=self.stand_in)
        self.assertEqual(said, ["ran"])
        launches = self.launches(events)
        for launch, (kernel, grid, block) in zip(launches, (
                ("OGradDotO", [1, 4, 2], 64), ("DQDKDV", [1, 4, 2], 256), ("ConvertQGrad", [1, 4, 2], 256)),
                strict=True):
            self.assertIn(kernel, launch["kernel"])
            self.assertEqual((launch["grid"], launch["block"]), (grid, [block, 1, 1]))

    def test_other_device(self):
        said, events = self.run_child(BACKWARD_CALL, self.backward, LD_PRELOAD=self.stand_in,
                                      HIP_STAND_IN_ARCH="gfx90a")
        self.assertEqual(said[0], "CallFailed")
        self.assertIn("hipErrorNoBinaryForGpu", said[1])
        self.assertEqual([launch["refused"] for launch in self.launches(events)], ["hipErrorNoBinaryForGpu"])

    def test_memory(self):
        said, events = self.run_child(MEMORY_CALL, LD_PRELOAD=self.stand_in)
        # One device; a copy past the end and a second free are invalid values (1), the last error is given once.
        self.assertEqual(said, [0, 1, 0, 0, 0, 1, 0, 1, 1, 0, "device memory"])
        self.assertEqual([event["event"] for event in events], ["malloc", "memcpy", "memcpy", "free"])

    def test_log_that_cannot_be_written(self):
        done = subprocess.run([sys.executable, "-B", "-c", MEMORY_CALL], check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "LD_PRELOAD": self.stand_in,
                                   "HIP_STAND_IN_LOG": "/no/such/folder/log"})
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr.count("cannot write HIP_STAND_IN_LOG=/no/such/folder/log"), 1, done.stderr)

    def test_real_runtime_without_gpu(self):
        if has_gpu():
            self.skipTest("this machine has an AMD GPU: host pointers must not be given to it")
        said, events = self.run_child(BACKWARD_CALL, self.backward)
        self.assertEqual(said[0], "CallFailed")  # the blob's exception, caught on this side of the C interface
        self.assertRegex(said[1], r"^HIP: launch: .+ \(\d+\)$")
        self.assertNotIn("(0)", said[1])
        self.assertEqual(events, [])  # the stand-in was not there
        # The forward dispatcher asks for the device first and finds none.
        said, _ = self.run_child(FORWARD_CALL, self.forward)
        self.assertEqual(said[0], "NoKernel")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
    import skipping
    skipping.main()
