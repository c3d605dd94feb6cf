"""The whole flow on the sample library: `hearth blobs build full` → libraries that compile their blobs when called.

Direct mode (hearth-blobc): the daemon's part has tests of its own. Needs g++, ninja, make and numpy.
"""
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from built_sample import BIN, CALL, HEARTH, SAMPLE, BuiltSample, full, hearth, snapshot


class FlowTest(BuiltSample):
    def test_the_build_compiled_no_blob_and_was_verified(self):
        for api in self.apis:
            report = json.loads((self.tmp / f"libmha_{api}/post_build.json").read_text())
            blobs = list((self.tmp / f"jit/build/libmha_{api}/blob").glob("fmha_*.cpp"))
            dispatchers = [path for path in blobs if path.stem.endswith("_api")]
            self.assertEqual(report["blobs"], len(blobs) - len(dispatchers))
            self.assertEqual(report["dispatchers"], len(dispatchers))
            # A dispatcher calls every blob of forward by all its exports, of backward by all but the launcher.
            unused = [blob for blob in self.manifest(api)["blobs"] for export in blob["exports"]
                      if re.fullmatch(r"_Z\d+fmha_bwd_(dot_do_o|dq_dk_dv|convert_dq)_I", export)]
            self.assertEqual(report["verified_symbols"], report["exports"] - len(unused))
            self.assertGreaterEqual(report["exports"], report["blobs"])
            self.assertEqual(report["torn_lines"], [])
            self.assertIn(f"libmha_{api}: {report['blobs']} blobs", self.built.stdout)
        self.assertEqual(sorted(path.name for path in self.install.iterdir()),
                         sorted(["ck_jit", *(f"libmha_{api}.so" for api in self.apis)]))

    def test_a_call_compiles_one_blob_once_and_computes_attention_also_after_a_move(self):
        moved = self.place / "moved"
        shutil.copytree(self.install, moved)
        cache = self.place / "cache"
        said, blobs = self.call(moved / "libmha_fwd.so", cache)
        self.assertEqual(len(blobs), 1, said)
        self.assertIn(blobs[0], [blob["stem"] for blob in self.manifest()["blobs"]])
        stamp = (cache / f"{blobs[0]}.so").stat().st_mtime_ns
        _, again = self.call(self.install / "libmha_fwd.so", cache)
        self.assertEqual((again, (cache / f"{blobs[0]}.so").stat().st_mtime_ns), (blobs, stamp))
        shutil.rmtree(moved)

    def test_quick_follows_a_moved_temporary_folder_and_compiles_nothing_but_the_manifest(self):
        moved = self.place / "U"
        shutil.copytree(self.tmp, moved, symlinks=True)
        dispatcher = (moved / "libmha_fwd/fmha_fwd_api.o").stat().st_mtime_ns
        done = hearth("build", "quick", "--tmp-dir", moved, "--install-dir", self.place / "quick install", "--verbose",
                      CK_JIT_NAME="te_ck_jit")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((moved / "libmha_fwd/fmha_fwd_api.o").stat().st_mtime_ns, dispatcher)
        self.assertNotIn(str(self.tmp), (moved / "libmha_fwd/ck_jit_quick_rebuild.json").read_text())
        home = self.place / "home"
        library = self.place / "quick install/libmha_fwd.so"
        done = subprocess.run([sys.executable, "-c", CALL, str(library), str(SAMPLE)], capture_output=True,
                              text=True, check=False,
                              env={**os.environ, "HEARTH_BLOB_MODE": "direct", "XDG_CACHE_HOME": str(home)})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(list((home / "te_ck_jit").glob("*.so"))), 1)
        # Without an installation the library finds its root in the moved folder.
        self.assertEqual(hearth("build", "quick", "--tmp-dir", moved).returncode, 0)
        self.call(moved / "jit/build/libmha_fwd/build/libmha_fwd.so", self.place / "cache U")

    def test_quick_says_what_is_missing(self):
        broken = self.place / "B"
        shutil.copytree(self.tmp, broken, symlinks=True)
        library = broken / "jit/build/libmha_fwd/build/libmha_fwd.so"
        before = snapshot(library)

        def error(*args, **environment):
            done = hearth("build", "quick", "--tmp-dir", broken, *args, **environment)
            self.assertEqual(done.returncode, 1, done.stdout)
            return done.stderr
        self.assertIn("CK_JIT_RUNTIME_SRC=/nowhere.cpp: there is no such file",
                      error(CK_JIT_RUNTIME_SRC="/nowhere.cpp"))
        (self.place / "wrong.cpp").write_text("this is not C++")
        self.assertIn("wrong.cpp", error(CK_JIT_RUNTIME_SRC=str(self.place / "wrong.cpp")))
        (broken / "libmha_fwd/fmha_fwd_api.o").unlink()
        self.assertRegex(error(), "fmha_fwd_api.o.*hearth blobs build full")
        state = broken / "libmha_fwd/ck_jit_quick_rebuild.json"
        state.write_text(state.read_text().replace('"hearth_quick_rebuild": 2', '"hearth_quick_rebuild": 1'))
        self.assertIn("is of version 1, this hearth reads version 2", error())
        for api in self.apis:
            (broken / f"libmha_{api}/ck_jit_quick_rebuild.json").unlink()
        self.assertRegex(error(), "holds no ck_jit_quick_rebuild.json.*did not end.*hearth blobs build full")
        self.assertEqual(snapshot(library), before)

    def test_a_runtime_of_ones_own(self):
        source = self.place / "own runtime.cpp"
        source.write_text('#include "ck_jit_manifest_embedded.h"\nextern "C" __attribute__((visibility("default"))) '
                          "int own_runtime() { return CK_JIT_IS_FWD + 41; }\n"
                          "void* hearth::blob::Site::resolve() { return nullptr; }\n"
                          "void hearth::blob::SiteGroup::ask() {}\n")
        tmp = self.place / "O"
        shutil.copytree(self.tmp, tmp, symlinks=True)
        done = hearth("build", "quick", "--tmp-dir", tmp, CK_JIT_RUNTIME_SRC=str(source))
        self.assertEqual(done.returncode, 0, done.stderr)
        program = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).own_runtime())"
        for api in self.apis:
            library = tmp / f"jit/build/libmha_{api}/build/libmha_{api}.so"
            said = subprocess.run([sys.executable, "-c", program, str(library)], check=True, capture_output=True)
            self.assertEqual(int(said.stdout), 42 if api == "fwd" else 41)

    def test_a_killed_build_goes_on_and_says_what_was_cut_short(self):
        tmp = self.place / "K"
        tmp.mkdir()
        records = tmp / "manifest.json.ndjson"
        command = [HEARTH, "blobs", "build", "full", "--aiter-dir", str(self.tree), "--gpu-archs", "gfx942",
                   "--toolchain", "c++", "--compiler", "g++", "--tmp-dir", str(tmp), "--python", sys.executable,
                   "--api", "fwd"]
        build = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 env={**os.environ, "CXX": "g++", "MAX_JOBS": "1"})
        while not (records.exists() and records.stat().st_size > 0) and build.poll() is None:
            time.sleep(0.002)
        os.killpg(build.pid, signal.SIGKILL)
        build.wait()
        self.assertFalse((tmp / "libmha_fwd/post_build.json").exists())
        with open(records, "ab") as file:
            file.write(b'{"hearth_record":1,"kind":"blob","sou')
        done = full(self.tree, tmp, "--api", "fwd")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 lines of the record file were cut short", done.stdout)
        report = json.loads((tmp / "libmha_fwd/post_build.json").read_text())
        self.assertEqual(report["blobs"], len(self.manifest()["blobs"]))
        # A third run has nothing to compile and links anew.
        again = full(self.tree, tmp, "--api", "fwd", CK_JIT_NAME="other")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn('"other"', (tmp / "libmha_fwd/ck_jit_manifest_embedded.cpp").read_text())

    def test_quick_after_a_build_that_was_cut_short_refuses_instead_of_calling_other_blobs(self):
        """A second full build with one blob more, whose number shifts the others', stops in its last dispatcher."""
        tree, tmp = self.emit("aiter_more", "2024"), self.place / "cut"
        beside = Path(tempfile.mkdtemp(prefix="hearth_compiler_"))  # $CXX has no space
        self.addCleanup(shutil.rmtree, beside)
        compiler = beside / "gxx.sh"
        compiler.write_text(f'#!/bin/bash\nif [ -e "{beside}/fail" ]; then case "$*" in '
                            '*libmha_fwd/fmha_fwd_splitkv_api.cpp*) sleep 1; exit 1;; esac; fi\nexec g++ "$@"\n')
        compiler.chmod(0o755)
        generator = tree / "3rdparty/composable_kernel/example/ck_tile/01_fmha/codegen/ops/fmha_fwd.py"
        text = generator.read_text()
        mark = '    if kernel.hdim == 128 and kernel.dtype == "bf16":'
        self.assertIn(mark, text)
        generator.write_text(text.replace(
            mark, '    if kernel.hdim == 32 and kernel.dtype == "fp16" and kernel.pads == "tttt" and '
                  'kernel.mask == NO_MASK and kernel.bias == "alibi" and kernel.vlayout == "row" and '
                  'kernel.logits == "f":\n        return True\n' + mark))

        def build(source):
            return hearth("build", "full", "--aiter-dir", source, "--gpu-archs", "gfx942", "--toolchain", "c++",
                          "--compiler", compiler, "--tmp-dir", tmp, "--python", sys.executable, "--api", "fwd",
                          CXX=str(compiler))
        done = build(self.tree)
        self.assertEqual(done.returncode, 0, done.stderr)
        first = len(json.loads((tmp / "libmha_fwd/ck_jit_manifest.json").read_text())["blobs"])
        (beside / "fail").touch()
        self.assertEqual(build(tree).returncode, 1)
        (beside / "fail").unlink()
        refused = hearth("build", "quick", "--tmp-dir", tmp)
        self.assertEqual(refused.returncode, 1, refused.stdout)
        self.assertRegex(refused.stderr, "libmha_fwd.*did not end.*hearth blobs build full")
        self.assertEqual(build(tree).returncode, 0)
        self.assertEqual(len(json.loads((tmp / "libmha_fwd/ck_jit_manifest.json").read_text())["blobs"]), first + 1)
        self.assertEqual(hearth("build", "quick", "--tmp-dir", tmp).returncode, 0)
        self.call(tmp / "jit/build/libmha_fwd/build/libmha_fwd.so", self.place / "cache cut")

    def test_an_empty_object_without_a_record_stops_the_link(self):
        tmp = self.place / "R"
        shutil.copytree(self.tmp, tmp, symlinks=True)
        records = tmp / "manifest.json.ndjson"
        stem = self.manifest()["blobs"][3]["stem"]
        records.write_text("\n".join(line for line in records.read_text().splitlines() if stem not in line))
        config = json.loads((tmp / "rocm/.hearth/intercept.json").read_text())
        config["records"] = str(records)
        (tmp / "rocm/.hearth/intercept.json").write_text(json.dumps(config))
        done = hearth("post-build", "--config", tmp / "rocm/.hearth/intercept.json", "--link",
                      tmp / "libmha_fwd/link.json")
        self.assertEqual(done.returncode, 1)
        self.assertIn(stem, done.stderr)
        self.assertIn("does not say how it is compiled", done.stderr)

    def test_2026_under_make_by_intercept(self):
        tree, tmp = self.emit("aiter2026", "2026"), self.place / "M"
        compile_py = tree / "op_tests/cpp/mha/compile.py"
        done = hearth("intercept", "--toolchain", "c++", "--compiler", "g++", "--tmp-dir", tmp, "--aiter-dir", tree,
                      "--", sys.executable, compile_py, "--api", "fwd", SAMPLE_BUILD="make", GPU_ARCHS="gfx942")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads((tmp / "libmha_fwd/post_build.json").read_text())
        self.assertEqual(report["verified_symbols"], report["exports"])
        _, blobs = self.call(tree / "aiter/jit/libmha_fwd.so", self.place / "cache M")
        self.assertEqual(len(blobs), 1)

    @unittest.skipUnless(shutil.which("clang++-19"), "clang++-19 is not installed")
    def test_hip_for_two_archs_without_rocm(self):
        tree, tmp = self.place / "aiter hip", self.place / "H"
        subprocess.run([sys.executable, str(SAMPLE / "generate.py"), "--out", str(tree), "--flavour", "hip",
                        "--generation", "2026", "--arch", "gfx942,gfx90a"], check=True)
        done = hearth("build", "full", "--aiter-dir", tree, "--gpu-archs", "gfx942,gfx90a", "--tmp-dir", tmp, "--api",
                      "bwd", "--python", sys.executable)
        self.assertEqual(done.returncode, 0, done.stderr)
        manifest = json.loads((tmp / "libmha_bwd/ck_jit_manifest.json").read_text())
        self.assertEqual(manifest["toolchain"], "hip")
        self.assertEqual({tuple(sorted(blob["archs"])) for blob in manifest["blobs"]}, {("gfx90a", "gfx942")})
        state = json.loads((tmp / "libmha_bwd/ck_jit_quick_rebuild.json").read_text())
        self.assertEqual(sorted(state["arch_fl"]), ["--offload-arch=gfx90a", "--offload-arch=gfx942"])
        cache = self.place / "cache H"
        done = subprocess.run([tmp / "ck_jit/hearth-blobc", "--manifest", tmp / "ck_jit/ck_jit_manifest.json", "--root",
                               tmp / "ck_jit", "--stem", manifest["blobs"][0]["stem"], "--cache-dir", cache],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        blob = Path(json.loads(done.stdout)["path"]).read_bytes()
        for arch in (b"hipv4-amdgcn-amd-amdhsa--gfx942", b"hipv4-amdgcn-amd-amdhsa--gfx90a"):
            self.assertIn(arch, blob)

    def test_a_dispatch_site_that_no_blob_fits_stops_the_build(self):
        tree = self.emit("planted", "2024")
        generator = tree / "3rdparty/composable_kernel/example/ck_tile/01_fmha/codegen/ops/fmha_fwd.py"
        text = generator.read_text()
        alias = "    def alias(self):\n        v = self.values()\n"
        self.assertIn(alias, text)
        # The dispatcher asks for a size of head that no blob has.
        generator.write_text(text.replace(alias, alias + '        v["hdim"] = {128: 96}.get(self.hdim, self.hdim)\n'))
        done = full(tree, self.place / "P", "--api", "fwd")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"fmha_fwd_api\.cpp:\d+: ")
        self.assertIn("fmha_fwd_traits_<96,", done.stderr.replace(" ", ""))
        self.assertFalse((self.place / "P/jit/build/libmha_fwd/build/libmha_fwd.so").exists())

    def test_blobs_that_no_dispatcher_calls_are_counted(self):
        """ComposableKernel generates some."""
        tree = self.emit("aiter_uncalled", "2024")
        generator = tree / "3rdparty/composable_kernel/example/ck_tile/01_fmha/codegen/ops/fmha_fwd.py"
        text = generator.read_text()
        self.assertIn("api(members))]", text)
        generator.write_text(text.replace("api(members))]", "api([k for k in members if k.name != members[0].name]))]"))
        done = full(tree, self.place / "N", "--api", "fwd")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads((self.place / "N/libmha_fwd/post_build.json").read_text())
        self.assertEqual(len(report["uncalled_blobs"]), 1)
        self.assertEqual(report["verified_symbols"], report["exports"] - 1)
        self.assertIn(f"1 blobs are called by no dispatcher, such as {report['uncalled_blobs'][0]}", done.stdout)

    def test_intercept_has_the_commands_exit_code(self):
        def code(*command):
            return hearth("intercept", "--toolchain", "c++", "--compiler", "g++", "--tmp-dir", self.place / "I", "--",
                          *command)
        self.assertEqual(code("sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(code("sh", "-c", "kill -9 $$").returncode, -9)
        self.assertIn("no blob was recorded", code("true").stderr)
        missing = code("no-such-command")
        self.assertEqual(missing.returncode, 1)
        self.assertIn("no-such-command is not on PATH", missing.stderr)
        # No file of the user's is touched, and the variables are the fake home's.
        shown = code("sh", "-c", 'echo "$ROCM_PATH|$ROCM_HOME|$HIP_PATH|$CXX"; command -v hipcc').stdout.splitlines()
        home = str(self.place / "I/rocm")
        self.assertEqual(shown, ["|".join([home, home, home, "c++"]), home + "/bin/hipcc"])

    def test_a_build_that_fails_says_why_and_leaves_the_old_library(self):
        tmp = self.place / "F"
        shutil.copytree(self.tmp, tmp, symlinks=True)
        library = tmp / "jit/build/libmha_fwd/build/libmha_fwd.so"
        before = snapshot(library)
        done = full(self.tree, tmp, "--api", "fwd", CK_JIT_RUNTIME_SRC="/nowhere.a")
        self.assertEqual(done.returncode, 1)
        self.assertIn("CK_JIT_RUNTIME_SRC=/nowhere.a: there is no such file", done.stderr)
        self.assertEqual(snapshot(library), before)

    def test_two_builds_in_one_folder_are_refused(self):
        with open(self.tmp / ".lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = hearth("build", "quick", "--tmp-dir", self.tmp)
        self.assertEqual(done.returncode, 1)
        self.assertIn("another build uses it", done.stderr)


if __name__ == "__main__":
    for program in ("hearth", "hearth-hipcc", "hearth-blobc"):
        if not (BIN / program).exists():
            sys.exit(f"{BIN / program} is not built")
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
    import skipping
    skipping.main()
