#!/usr/bin/env python3
"""What is prepared on a machine without a GPU runs on one that has it: plan files, a cache that was warmed by a target's
name or by the record of a device. The GPU's driver is a stand-in (tests/stand_in)."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import skipping  # noqa: E402

try:
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    skipping.skip_all(str(error))

BIN = pathlib.Path(os.environ.get("HEARTH_BIN_DIR", "build/release/bin")).resolve()
STAND_IN = BIN.parent / "stand_in"
GPUS = (("cuda", "sm_90a"), ("hip", "gfx942"))


class GpuMachines(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        random = numpy.random.default_rng(1)
        self.w = random.standard_normal((16, 8)).astype(numpy.float32)
        self.x = random.standard_normal((5, 16)).astype(numpy.float32)
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Softmax", ["p"], ["y"])], "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 16])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 8])],
            [numpy_helper.from_array(self.w, "w")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        self.model = self.folder / "m.onnx"
        onnx.save_model(model, str(self.model))
        numpy.save(self.folder / "x.npy", self.x)

    def tearDown(self):
        self.hearth("daemon", "stop")
        self.scratch.cleanup()

    def hearth(self, *words, arch=None, code=0):
        """With `arch`: on a machine that has that GPU."""
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "HEARTH_SOCKET": str(self.folder / "socket"),
                       "HEARTH_CACHE_DIR": str(self.folder / "cache"), "HEARTH_STAND_IN_PROTECT": "1"}
        if arch is not None:
            environment |= {"LD_LIBRARY_PATH": str(STAND_IN), "HEARTH_STAND_IN_ARCH": arch}
        ran = subprocess.run([BIN / "hearth", *map(str, words)], env=environment, capture_output=True, text=True,
                             timeout=300)
        self.assertEqual(ran.returncode, code, ran.stderr)
        return ran

    def check(self, folder):
        p = self.x.astype(numpy.float64) @ self.w.astype(numpy.float64)
        wanted = numpy.exp(p - p.max(-1, keepdims=True))
        wanted /= wanted.sum(-1, keepdims=True)
        numpy.testing.assert_allclose(numpy.load(folder / "y.npy"), wanted, rtol=1e-5, atol=1e-7)

    def test_a_plan_file_of_a_machine_without_the_gpu_runs_in_another_process_on_it(self):
        for device, arch in GPUS:
            plan, out = self.folder / f"{arch}.hearth", self.folder / f"out_{arch}"
            self.hearth("export", self.model, "--dim", "n=1:8", "--target", f"{device}:{arch}+simt", "-o", plan)
            self.hearth("run", plan, "--device", device, "--var", "n=5", "--input", f"x={self.folder / 'x.npy'}",
                        "--output-dir", out, arch=arch)
            self.check(out)

    def test_a_plan_file_for_silicon_is_refused_by_what_stands_in_for_it_and_without_a_driver(self):
        plan = self.folder / "silicon.hearth"
        self.hearth("export", self.model, "--dim", "n=1:8", "--target", "cuda:sm_90a", "-o", plan)
        refused = self.hearth("run", plan, "--device", "cuda", arch="sm_90a", code=1)
        self.assertIn("nvptx64-nvidia-cuda", refused.stderr)
        self.assertIn("prepare it for device 'cuda:0'", refused.stderr)
        missing = self.hearth("run", plan, "--device", "cuda", code=1)
        self.assertIn("install the driver of an NVIDIA GPU", missing.stderr)

    def test_a_cache_warmed_by_name_or_by_a_record_compiles_nothing_where_the_gpu_is(self):
        for device, arch in GPUS:
            listed = json.loads(self.hearth("devices", "--json", arch=arch).stdout)["devices"]
            record = next(row for row in listed if row["device"].startswith(device))["target"]
            path = self.folder / f"{arch}.json"
            path.write_text(json.dumps(record))
            for target in (f"{device}:{arch}+simt", path):
                self.hearth("prewarm", self.model, "--dim", "n=1:8", "--target", target)
                out = self.folder / "warm"
                ran = self.hearth("run", self.model, "--dim", "n=1:8", "--device", device, "--sealed", "--json", "--var",
                                  "n=5", "--input", f"x={self.folder / 'x.npy'}", "--output-dir", out, arch=arch)
                self.assertEqual(json.loads(ran.stdout)["compiled_kernels"], 0)
                self.check(out)

    def test_devices_says_which_gpus_there_are_and_why_one_is_not(self):
        self.assertIn("CUDA 12.4, NVIDIA, subgroups of 32", self.hearth("devices", arch="sm_90a").stdout)
        self.assertIn("kernels are not compiled for gfx950", self.hearth("devices", arch="gfx950").stdout)
        self.assertIn("no CUDA", self.hearth("devices").stderr)


if __name__ == "__main__":
    skipping.main()
