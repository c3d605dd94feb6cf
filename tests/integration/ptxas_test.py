#!/usr/bin/env python3
"""A daemon that has ptxas makes cubins of kernels for NVIDIA's GPUs: with a script in its place, and with NVIDIA's where
there is one."""
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import skipping  # noqa: E402

try:
    import onnx
    from onnx import TensorProto, helper
except ImportError as error:
    skipping.skip_all(str(error))

BIN = pathlib.Path(os.environ.get("HEARTH_BIN_DIR", "build/release/bin")).resolve()
NVIDIAS = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
# What it is given goes behind ELF's first bytes and a mark.
GOOD = r"""#!/bin/sh
for last; do :; done
while [ "$1" != --output-file ]; do case $1 in --gpu-name=*) arch=$1;; esac; shift; done
{ printf '\177ELF'; echo "MARK $arch"; cat "$last"; } > "$2"
"""


class Ptxas(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, [40])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [40])])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        self.model = self.folder / "relu.onnx"
        onnx.save_model(model, str(self.model))
        self.tools = self.folder / "tools"
        self.tools.mkdir()
        self.number = 0

    def tearDown(self):
        self.hearth("daemon", "stop", ptxas="")
        self.scratch.cleanup()

    def hearth(self, *words, ptxas, **more):
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "HEARTH_SOCKET": str(self.folder / "socket"),
                       "HEARTH_CACHE_DIR": str(self.folder / "cache"), "HEARTH_PTXAS": str(ptxas), **more}
        environment |= {k: os.environ[k] for k in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS") if k in os.environ}
        return subprocess.run([BIN / "hearth", *map(str, words)], env=environment, capture_output=True, text=True,
                              timeout=300)

    def script(self, text):
        path = self.tools / "ptxas"
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        return path

    def emit(self, ptxas, target="cuda:sm_90a"):
        """The kernels' files by name, of a new daemon that has this ptxas."""
        self.hearth("daemon", "stop", ptxas=ptxas)
        self.number += 1
        out = self.folder / f"out{self.number}"
        ran = self.hearth("emit", self.model, "--target", target, "--output-dir", out, ptxas=ptxas)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return {path.name: path.read_bytes() for path in out.iterdir() if path.name[0].isdigit()}

    def stats(self):
        return json.loads(self.hearth("stats", "--json", ptxas="").stdout)

    def test_without_it_kernels_are_ptx_and_with_it_cubins_each_under_a_key_of_its_own(self):
        ptx = self.emit("")
        self.assertEqual([pathlib.Path(name).suffix for name in ptx], [".ptx"])
        self.assertIn(b".target sm_90a", next(iter(ptx.values())))
        cubins = self.emit(self.script(GOOD))
        self.assertEqual([pathlib.Path(name).suffix for name in cubins], [".cubin"])
        made = next(iter(cubins.values()))
        self.assertTrue(made.startswith(b"\x7fELFMARK --gpu-name=sm_90a\n"))
        self.assertTrue(made.endswith(next(iter(ptx.values()))))
        self.assertEqual(self.stats()["kernels_compiled"], 1)
        self.assertEqual(self.emit(self.tools / "ptxas"), cubins)
        self.assertEqual(self.stats()["kernels_compiled"], 0)  # found in the cache
        other = self.emit(self.script(GOOD.replace("MARK", "NEW")))
        self.assertIn(b"NEW", next(iter(other.values())))
        self.assertEqual(self.emit(""), ptx)
        self.assertEqual(self.stats()["kernels_compiled"], 0)

    def test_other_targets_never_see_it(self):
        ptxas = self.script("#!/bin/sh\nexit 3\n")
        self.assertEqual([pathlib.Path(name).suffix for name in self.emit(ptxas, "hip:gfx942")], [".hsaco"])
        self.assertEqual([pathlib.Path(name).suffix for name in self.emit(ptxas, "cpu:x86-64-v3")], [".so"])

    def test_what_it_says_is_in_the_error_made_safe_with_the_kernel(self):
        symbol = next(iter(self.emit(""))).split("_", 1)[1].removesuffix(".ptx")
        self.hearth("daemon", "stop", ptxas="")
        ptxas = self.script("#!/bin/sh\nprintf 'ptxas fatal: \\033[31mno\\033[0m such thing\\n' >&2\nexit 255\n")
        ran = self.hearth("emit", self.model, "--target", "cuda:sm_90a", "--output-dir", self.folder / "out", ptxas=ptxas)
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("no", ran.stderr)
        self.assertIn("such thing", ran.stderr)
        self.assertNotIn("\033", ran.stderr)
        self.assertIn(symbol, ran.stderr)

    def test_what_it_does_not_make_is_said(self):
        ran = self.hearth("emit", self.model, "--target", "cuda:sm_90a", "--output-dir", self.folder / "out",
                          ptxas=self.script("#!/bin/sh\nexit 0\n"))
        self.assertIn("succeeded without a cubin", ran.stderr)

    def test_one_that_hangs_is_ended(self):
        ran = self.hearth("emit", self.model, "--target", "cuda:sm_90a", "--output-dir", self.folder / "out",
                          ptxas=self.script("#!/bin/sh\nsleep 100\n"), HEARTH_BLOB_COMPILE_LIMIT_S="2")
        self.assertNotEqual(ran.returncode, 0)
        self.assertRegex(ran.stderr, "2 s|took longer|limit")

    def test_a_path_that_is_none_is_refused_at_the_start(self):
        ran = self.hearth("emit", self.model, "--target", "cuda:sm_90a", "--output-dir", self.folder / "out", ptxas="/no/ptxas")
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("/no/ptxas", ran.stderr)

    def test_a_program_that_others_may_write_is_refused_at_the_start(self):
        program = self.script("#!/bin/sh\nexit 1\n")
        program.chmod(0o777)
        changes = [(lambda: None, "can be written by other users")]
        if os.geteuid() == 0:
            changes.append((lambda: (program.chmod(0o755), os.chown(program, 61001, 61001)), "belongs to user 61001"))
        for change, told in changes:
            change()
            ran = self.hearth("emit", self.model, "--target", "cuda:sm_90a", "--output-dir", self.folder / "out", ptxas=program)
            self.assertNotEqual(ran.returncode, 0)
            self.assertIn(told, ran.stderr)

    def test_nvidias_makes_cubins_of_every_kernel(self):
        if not os.access(NVIDIAS, os.X_OK):
            self.skipTest("this machine has no ptxas of NVIDIA's")
        for target in ("cuda:sm_80", "cuda:sm_90a"):
            for name, code in self.emit(NVIDIAS, target).items():
                self.assertTrue(name.endswith(".cubin"))
                self.assertEqual(code[:4], b"\x7fELF")
                self.assertEqual(int.from_bytes(code[18:20], "little"), 190)  # EM_CUDA


if __name__ == "__main__":
    skipping.main()
