"""What an installation and a checkout are to their users: programs by their old names, variables, failed generators."""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from built_sample import BIN, CALL, SAMPLE, BuiltSample, full, hearth


class ToolsTest(BuiltSample):
    def test_the_installed_programs_by_their_old_names_compile_list_and_clean(self):
        root, cache = self.install / "ck_jit", self.place / "drop in"
        stems = [blob["stem"] for blob in self.manifest()["blobs"]][:3]
        manifest = root / "ck_jit_manifest.json"

        def prebuild(command, *args, given="", **environment):
            env = {name: value for name, value in os.environ.items() if not name.startswith("CK_JIT_")}
            return subprocess.run([sys.executable, str(root / "ck_jit_prebuild.py"), command, *map(str, args)],
                                  input=given, capture_output=True, text=True, check=False, env={**env, **environment})
        listing = self.place / "blobs.txt"
        listing.write_text(f"# captured\n{cache}/{stems[1]}.so\n")
        done = prebuild("build", "--manifest", manifest, "--cache-dir", cache, "--root", root, "--blob-list", listing,
                        f"{stems[0]}.cpp")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(sorted(path.stem for path in cache.glob("*.so")), stems[:2])
        # The manifest and root beside the program; the list from standard input; again: nothing is compiled.
        stamps = [(cache / f"{stem}.so").stat().st_mtime_ns for stem in stems[:2]]
        done = prebuild("build", "--cache-dir", cache, "--blob-list", "-", given="\n".join(stems))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([(cache / f"{stem}.so").stat().st_mtime_ns for stem in stems[:2]], stamps)
        self.assertTrue((cache / f"{stems[2]}.so").exists())
        done = prebuild("list", "--cache-dir", cache)
        self.assertEqual(len(re.findall("  cached$", done.stdout, re.MULTILINE)), 3)
        self.assertEqual(len(done.stdout.splitlines()),
                         len(json.loads(manifest.read_text())["blobs"]))
        # A root that holds no sources, as the checkout that the libraries were built of: theirs are beside the manifest.
        done = prebuild("build", "--cache-dir", cache, "--root", self.tree, "--blob", stems[0], "--blob", stems[1])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"sources are taken from {root}", done.stderr)
        self.assertIn("2 of 2 blobs", done.stdout)
        done = prebuild("build", "--cache-dir", cache, "no_such_blob")
        self.assertEqual((done.returncode, "no_such_blob is not in" in done.stderr), (1, True))
        self.assertIn("1 blobs removed", prebuild("clean", "--cache-dir", cache, stems[2]).stdout)
        # One blob by the shell program, both ways, gives the same bytes as above.
        script, blob = root / "ck_jit_compile.sh", self.manifest()["blobs"][0]
        flags = " ".join(self.manifest()["flag_sets"][blob["flags"]])
        for number, how in enumerate((["--blob", stems[0]], ["--blob-source", root / blob["source"], "--blob-flags",
                                                              flags])):
            output = self.place / f"compiled {number}" / f"{stems[0]}.so"
            done = subprocess.run([script, *how, "--output", output], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.strip(), str(output))
            self.assertEqual(output.read_bytes(), (cache / f"{stems[0]}.so").read_bytes())
        bad = subprocess.run([script, "--blob", "no_such_blob", "--output", self.place / "x.so"], capture_output=True,
                             text=True, check=False)
        self.assertEqual(bad.returncode, 1)
        self.assertIn("has no blob no_such_blob", bad.stderr)
        self.assertIn("3 blobs" if (cache / f"{stems[2]}.so").exists() else "2 blobs",
                      prebuild("clean", "--cache-dir", cache, "--all").stdout)
        self.assertEqual(list(cache.glob("*.so")), [])

    def test_a_blobs_symbols_do_not_leak_into_the_process(self):
        cache = self.place / "cache local"
        look = ("\nimport pathlib, subprocess\n"
                "blob, = pathlib.Path(sys.argv[3]).glob('*.so')\n"
                "out = subprocess.run(['nm', '-D', '--defined-only', blob], check=True, capture_output=True, text=True)\n"
                "names = [line.split()[-1] for line in out.stdout.splitlines()]\n"
                "names = [name for name in names if 'fmha_fwd_' in name]\n"
                "assert names\n"
                "leaked = [name for name in names if hasattr(ctypes.CDLL(None), name)]\n"
                "assert not leaked, leaked\n"
                "assert any(hasattr(ctypes.CDLL(str(blob), ctypes.RTLD_GLOBAL), name) for name in names)\n"
                "assert any(hasattr(ctypes.CDLL(None), name) for name in names), 'the look itself finds nothing'\n")
        done = subprocess.run([sys.executable, "-c", CALL + look, self.install / "libmha_fwd.so", SAMPLE, cache],
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "HEARTH_BLOB_MODE": "direct", "CK_JIT_CACHE_DIR": str(cache)})
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_way_of_rounding_to_bf16_reaches_compile_py(self):
        tree = self.emit("aiter_bf16", "2024")
        program = tree / "op_tests/cpp/mha/compile.py"
        program.write_text("import os, sys\nsys.exit('bf16 ' + os.environ['CK_TILE_FLOAT_TO_BFLOAT16_DEFAULT'])\n")
        for given, wanted in (([], "bf16 3"), (["--ck-tile-bf16", "2"], "bf16 2")):
            done = full(tree, self.place / "bf16", "--api", "fwd", *given, CK_TILE_FLOAT_TO_BFLOAT16_DEFAULT="0")
            self.assertEqual(done.returncode, 1)
            self.assertIn(wanted, done.stderr)

    def test_a_runtime_of_ones_own_is_compiled_with_the_include_folders_that_variables_name(self):
        tmp, folders = self.place / "V", {}
        shutil.copytree(self.tmp, tmp, symlinks=True)
        source = self.place / "including.cpp"
        text = ('#include "ck_jit_manifest_embedded.h"\nvoid* hearth::blob::Site::resolve() { return nullptr; }\n'
                "void hearth::blob::SiteGroup::ask() {}\n")
        for name in ("CK", "AITER", "ROCM"):
            folders[f"CK_JIT_{name}_INCLUDE"] = str(self.place / f"{name} headers")
            (self.place / f"{name} headers").mkdir()
            (self.place / f"{name} headers" / f"only_{name}.h").write_text(f"#define HAS_{name} 1\n")
            text += f"#include <only_{name}.h>\nstatic_assert(HAS_{name} == 1);\n"
        source.write_text(text)
        folders["CK_JIT_RUNTIME_SRC"] = str(source)
        done = hearth("build", "quick", "--tmp-dir", tmp, **folders)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("CK", "AITER", "ROCM"):
            less = {key: value for key, value in folders.items() if name not in key.split("_")[2:3]}
            done = hearth("build", "quick", "--tmp-dir", tmp, **less)
            self.assertEqual(done.returncode, 1, name)
            self.assertIn(f"only_{name}.h", done.stderr)

    def test_prewarm_finds_the_sources_of_a_build_that_is_not_installed(self):
        stem = self.manifest()["blobs"][0]["stem"]
        done = hearth("prewarm", "build", "--manifest", self.tmp / "libmha_fwd/ck_jit_manifest.json", "--cache-dir",
                      self.place / "not installed", stem)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 compiled", done.stdout)

    def test_a_build_leaves_the_checkout_as_it_was_and_can_be_repeated(self):
        """compile.py imports what an earlier run left beside it, as aiter's does."""
        tree = self.emit("aiter_again", "2024")
        beside = tree / "op_tests/cpp/mha"
        program = beside / "compile.py"
        program.write_text(program.read_text().replace(
            "if __name__", "if os.path.exists(f'{this_dir}/libmha_fwd.so'):\n    raise ImportError('no module')\n\n\n"
                           "if __name__"))
        before = sorted(path.name for path in beside.iterdir())
        for _ in range(2):
            done = full(tree, self.place / "again", "--api", "fwd")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(path.name for path in beside.iterdir()), before)
        (beside / "libmha_fwd.so").write_text("the user's own")
        self.assertEqual(full(tree, self.place / "again", "--api", "fwd").returncode, 0)
        self.assertEqual((beside / "libmha_fwd.so").read_text(), "the user's own")

    def test_a_generator_that_fails_is_a_failure_though_compile_py_goes_on(self):
        tree = self.emit("aiter_ignores", "2024")
        core, mha = tree / "aiter/jit/core.py", tree / "op_tests/cpp/mha/compile.py"
        text = core.read_text()
        self.assertIn('"--output_dir", blob_dir, *extra], check=True)', text)
        core.write_text(text.replace('"--output_dir", blob_dir, *extra], check=True)',
                                     '"--output_dir", blob_dir, *extra], check=False)'))
        mha.write_text(mha.read_text().replace('generator("fwd_appendkv")', 'generator("batch_prefill")'))
        tmp = self.place / "ignores"
        done = full(tree, tmp, "--api", "fwd")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("fmha_fwd_appendkv(", done.stderr)
        self.assertIn("neither a dispatcher nor another object defines", done.stderr)
        # Nothing calls it: then the log tells.
        mha.write_text(mha.read_text().replace(', "mha_fwd_append"', ""))
        done = full(tree, self.place / "ignores too", "--api", "fwd")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("did not write: generate: error: no such API: 'batch_prefill'", done.stderr)


if __name__ == "__main__":
    for program in ("hearth", "hearth-hipcc", "hearth-blobc"):
        if not (BIN / program).exists():
            sys.exit(f"{BIN / program} is not built")
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
    import skipping
    skipping.main()
