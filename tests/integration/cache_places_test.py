#!/usr/bin/env python3
"""Where the cache lies: without HOME, without a passwd entry, with homes and caches that cannot be written. As root also
for other users, by setpriv."""
import json
import os
import pathlib
import shutil
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
NOBODY = 54321  # has no passwd entry
IS_ROOT = os.geteuid() == 0


def as_nobody(command):
    return ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", *command]


class Places(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        self.folder.chmod(0o755)
        for name, op in (("relu", "Relu"), ("neg", "Neg")):
            graph = helper.make_graph([helper.make_node(op, ["x"], ["y"])], "g",
                                      [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
                                      [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])])
            made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
            made.ir_version = 8
            onnx.save_model(made, str(self.folder / f"{name}.onnx"))
            (self.folder / f"{name}.onnx").chmod(0o644)
        self.temp = self.own("temp")
        self.started = []

    def tearDown(self):
        for environment, prefix in self.started:
            subprocess.run(prefix([BIN / "hearth", "daemon", "stop"]), env=environment, capture_output=True)
        self.scratch.cleanup()

    def own(self, name, uid=None):
        """A folder of mode 0700, of nobody where root makes it for them."""
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        if uid is not None:
            os.chown(folder, uid, uid)
        return folder

    def user(self, name, uid=None, **environment):
        """What runs commands as one user with a daemon of their own."""
        socket = self.own(f"{name}.socket", uid)
        temp = self.own(f"{name}.temp", uid)
        variables = {"PATH": "/usr/bin:/bin", "HEARTH_SOCKET": f"{socket}/s", "HEARTH_TEMP_DIR": str(temp), **environment}
        variables |= {k: os.environ[k] for k in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS") if k in os.environ}
        prefix = (lambda command: command) if uid is None else as_nobody
        self.started.append((variables, prefix))

        def hearth(*words, code=0):
            ran = subprocess.run(prefix([BIN / "hearth", *map(str, words)]), env=variables, cwd="/", capture_output=True,
                                 text=True, timeout=300)
            self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
            return ran

        hearth.temp, hearth.log = temp, socket / "s.log"
        return hearth

    def place(self, hearth):
        status = json.loads(hearth("daemon", "status", "--json").stdout)
        return status["cache_dir"], status["cache_reason"]

    def run_once(self, hearth, model="relu", *words):
        return json.loads(hearth("run", self.folder / f"{model}.onnx", "--json", *words).stdout)["compiled_kernels"]

    def test_the_usual_places_in_their_order(self):
        home, cache = self.own("home"), self.own("xdg")
        hearth = self.user("a", HOME=str(home), XDG_CACHE_HOME=str(cache))
        self.run_once(hearth)
        self.assertEqual(self.place(hearth), (f"{cache}/hearth", "in XDG_CACHE_HOME"))
        hearth = self.user("b", HOME=str(home))
        self.run_once(hearth)
        self.assertEqual(self.place(hearth), (f"{home}/.cache/hearth", "in HOME"))

    @unittest.skipUnless(IS_ROOT, "other users need root")
    def test_a_home_that_cannot_be_written_and_none_at_all(self):
        runtime = self.own("runtime", NOBODY)
        sealed = self.own("sealed")  # root's
        for name, environment, where, reason in (
                ("a", {}, None, "there is no HOME, no passwd entry"),
                ("b", {"HOME": str(sealed)}, None, f"{sealed}/.cache/hearth cannot be written"),
                ("c", {"HOME": "/nonexistent", "XDG_RUNTIME_DIR": str(runtime)}, f"{runtime}/hearth-cache",
                 "in XDG_RUNTIME_DIR")):
            with self.subTest(name):
                hearth = self.user(name, NOBODY, **environment)
                self.assertEqual(self.run_once(hearth), 1)
                self.assertEqual(self.run_once(hearth), 0)
                found, why = self.place(hearth)
                self.assertEqual(found, where or f"{hearth.temp}/hearth-cache-{NOBODY}")
                self.assertIn(reason, why)
                self.assertEqual(os.stat(found).st_mode & 0o777, 0o700)
                self.assertIn("may be gone", hearth.log.read_text())

    @unittest.skipUnless(IS_ROOT, "another user's temporary folder needs root")
    def test_a_temporary_folder_that_somebody_else_made_first_is_refused(self):
        hearth = self.user("a", NOBODY)
        trap = hearth.temp / f"hearth-cache-{NOBODY}"
        trap.mkdir(mode=0o777)
        trap.chmod(0o777)  # root's
        ran = hearth("run", self.folder / "relu.onnx", code=1)
        self.assertIn("belongs to uid 0", ran.stdout + ran.stderr)

    @unittest.skipUnless(IS_ROOT, "a cache of root's needs root")
    def test_a_cache_that_only_root_can_write_serves_hits_and_keeps_what_is_new_elsewhere(self):
        base = self.folder / "baked"
        root = self.user("root", HEARTH_CACHE_DIR=str(base))
        self.assertEqual(self.run_once(root), 1)
        root("daemon", "stop")
        subprocess.run(["chmod", "-R", "go+rX", base], check=True)
        before = sorted(str(p) for p in base.rglob("*"))
        hearth = self.user("a", NOBODY, HEARTH_CACHE_DIR=str(base))
        self.assertEqual(self.run_once(hearth, "relu", "--sealed"), 0)
        self.assertEqual(self.run_once(hearth), 0)
        self.assertEqual(self.run_once(hearth, "neg"), 1)
        self.assertEqual(self.run_once(hearth, "neg"), 0)
        found, why = self.place(hearth)
        self.assertEqual(found, str(base))
        self.assertIn("only read", why)
        self.assertIn(str(hearth.temp), why)
        self.assertEqual(hearth.log.read_text().count("cannot be written"), 1)
        self.assertEqual(sorted(str(p) for p in base.rglob("*")), before)
        # What was new lasts from daemon to daemon; a cache that was filled again is seen.
        hearth("daemon", "stop")
        self.assertEqual(self.run_once(hearth, "neg", "--sealed"), 0)
        hearth("daemon", "stop")
        self.assertEqual(self.run_once(root, "neg"), 1)
        root("daemon", "stop")
        subprocess.run(["chmod", "-R", "go+rX", base], check=True)
        self.assertEqual(self.run_once(hearth, "neg", "--sealed"), 0)
        self.assertEqual(self.run_once(hearth, "relu", "--sealed"), 0)

    @unittest.skipUnless(IS_ROOT, "a cache of root's needs root")
    def test_a_cache_that_others_can_write_is_not_read(self):
        base = self.folder / "open"
        root = self.user("root", HEARTH_CACHE_DIR=str(base))
        self.run_once(root)
        root("daemon", "stop")
        subprocess.run(["chmod", "-R", "go+rX", base], check=True)
        group = self.folder / "group"
        shutil.copytree(base, group)
        group.chmod(0o775)
        hearth = self.user("a", NOBODY, HEARTH_CACHE_DIR=str(group))
        ran = hearth("run", self.folder / "relu.onnx", code=1)
        self.assertIn("others can write it", ran.stdout + ran.stderr)


if __name__ == "__main__":
    skipping.main()
