"""The command lines of the tools that Hearth's stand in for, as their own page and their users' builds and CI write them."""
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from built_sample import BIN, SAMPLE, snapshot

DROP_IN = Path(os.environ["HEARTH_SOURCE_DIR"]) / "blobs/tools/drop_in"


class DropInTest(unittest.TestCase):
    """One build by ck_jit_build.py; folders with spaces, on purpose."""

    @classmethod
    def setUpClass(cls):
        cls.place = Path(tempfile.mkdtemp(prefix="hearth drop in "))
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        # As a submodule of a project that builds with it.
        cls.tools = cls.place / "3rdparty/ck_jit"
        cls.tools.parent.mkdir()
        cls.tools.symlink_to(DROP_IN)
        cls.tree = cls.place / "aiter"
        subprocess.run([sys.executable, SAMPLE / "generate.py", "--out", cls.tree, "--flavour", "cpu", "--generation", "2026"], check=True)
        # What needs no GPU: plain C++ in place of hipcc, which the page does not know.
        done = cls.run_line(f'''python3 3rdparty/ck_jit/ck_jit_build.py full \\
            --aiter-dir aiter \\
            --gpu-archs "gfx942;gfx950" \\
            --tmp-dir tmp \\
            --install-dir install --toolchain c++ --compiler g++ --api fwd --python {sys.executable}''')
        if done.returncode != 0:
            raise RuntimeError(done.stderr)

    @classmethod
    def run_line(cls, line, given="", **environment):
        env = {name: value for name, value in os.environ.items() if not name.startswith(("CK_JIT_", "ROCM", "HIP_"))}
        env |= {"CXX": "g++", "HEARTH_BIN_DIR": "", "PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(cls.place), "XDG_CACHE_HOME": ""}
        return subprocess.run(["sh", "-c", line.replace("python3", shlex.quote(sys.executable), 1)], cwd=cls.place, input=given,
                              capture_output=True, text=True, check=False, env={**env, **environment})

    def line(self, line, status=0, **more):
        done = self.run_line(line, **more)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + (done.stderr if status else "")

    def stems(self):
        return [blob["stem"] for blob in json.loads((self.place / "install/ck_jit/ck_jit_manifest.json").read_text())["blobs"]]

    def test_full_installs_the_tree_of_the_page(self):
        for name in ("libmha_fwd.so", "ck_jit/ck_jit_compile.sh", "ck_jit/ck_jit_prebuild.py", "ck_jit/ck_jit_manifest.json"):
            self.assertTrue((self.place / "install" / name).exists(), name)
        self.assertTrue((self.place / "tmp/libmha_fwd/ck_jit_quick_rebuild.json").exists())

    def test_quick_links_again(self):
        before = (self.place / "install/libmha_fwd.so").stat().st_mtime_ns
        self.line("""python3 3rdparty/ck_jit/ck_jit_build.py quick \\
            --tmp-dir tmp \\
            --aiter-dir aiter \\
            --install-dir install \\
            --verbose""")
        self.assertGreater((self.place / "install/libmha_fwd.so").stat().st_mtime_ns, before)

    def test_the_links_command_runs_the_post_build_by_its_name(self):
        config = next(self.place.glob("tmp/**/.hearth/intercept.json"))
        library = self.place / "tmp/libmha_fwd"
        link = next(library.glob("*link*.json"))
        out = self.line(f"python3 3rdparty/ck_jit/ck_post_build.py --config '{config}' --link '{link}'")
        self.assertIn("libmha_fwd", out)
        self.assertIn("required", self.line("python3 3rdparty/ck_jit/ck_post_build.py", status=2))

    def test_the_interceptor_stands_in_for_hipcc(self):
        """A ROCm home of links, as the page describes it: a blob is recorded, another source is compiled."""
        home, blobs = self.place / "fake rocm", self.place / "blob"
        config = next(self.place.glob("tmp/**/.hearth/intercept.json"))
        shutil.copytree(config.parent, home / ".hearth")
        (home / "bin").mkdir()
        (home / "bin/hipcc").symlink_to(self.tools / "ck_build_interceptor.py")
        blobs.mkdir()
        (blobs / "fmha_fwd_mine.cpp").write_text("#error a blob is not compiled\n")
        (self.place / "host.cpp").write_text("int answer() { return 42; }\n")
        self.line("'fake rocm/bin/hipcc' -c host.cpp -o host.o")
        self.assertGreater((self.place / "host.o").stat().st_size, 0)
        self.line("'fake rocm/bin/hipcc' -c blob/fmha_fwd_mine.cpp -o blob/mine.o")
        records = Path(json.loads(config.read_text())["records"])
        self.assertIn("fmha_fwd_mine", records.read_text())

    def test_prebuild_as_the_page_has_it(self):
        stems = self.stems()
        (self.place / "captured_blobs.txt").write_text(f"{stems[0]}\n{stems[0]}.cpp\n# twice is once\n/some/where/{stems[1]}.so\n")
        prebuild = "python3 3rdparty/ck_jit/ck_jit_prebuild.py"
        listed = self.line(f"""{prebuild} list \\
            --manifest install/ck_jit/ck_jit_manifest.json --cache-dir .cache/te_ck_jit \\
            --blob-list captured_blobs.txt""")
        self.assertEqual([line.split()[0] for line in listed.splitlines()], stems[:2])
        self.line(f"""{prebuild} build \\
            --manifest install/ck_jit/ck_jit_manifest.json \\
            --cache-dir ~/.cache/te_ck_jit \\
            --root aiter \\
            --blob-list captured_blobs.txt""")
        cache = self.place / ".cache/te_ck_jit"
        self.assertEqual(sorted(path.stem for path in cache.glob("*.so")), sorted(stems[:2]))
        # Beside the manifest, the list from standard input.
        self.line("""python3 install/ck_jit/ck_jit_prebuild.py build \\
            --cache-dir ~/.cache/te_ck_jit \\
            --blob-list -""", given="\n".join(stems[:3]))
        self.assertTrue((cache / f"{stems[2]}.so").exists())
        self.line(f"{prebuild} clean --cache-dir ~/.cache/te_ck_jit --all")
        self.assertEqual(list(cache.glob("*.so")), [])

    def test_prebuild_as_a_ci_calls_it(self):
        stems, archs = self.stems(), {blob["stem"]: blob["archs"] for blob in json.loads(
            (self.place / "install/ck_jit/ck_jit_manifest.json").read_text())["blobs"]}
        prebuild, folder = "python3 install/ck_jit/ck_jit_prebuild.py", {"CK_JIT_CACHE_DIR": str(self.place / "ci cache")}
        arch = next((of[0] for of in archs.values() if of), None)
        (self.place / "list.txt").write_text("\n".join(stems[:2]))
        if arch:
            self.line(f"{prebuild} build --blob-list list.txt --arch {arch} --jobs 2", **folder)
        else:  # plain C++ has none
            refused = self.line(f"{prebuild} build --blob-list list.txt --arch gfx942", status=1, **folder)
            self.assertIn("has no blob for gfx942; its blobs are of no architecture", refused)
            self.line(f"{prebuild} build --blob-list list.txt --jobs 2", **folder)
        snapshot_of_cache = self.line(f"{prebuild} cache", **folder)
        self.assertRegex(snapshot_of_cache, r"^Cache: .*ci cache  \(2 entries\)\n")
        self.assertIn(f"  {stems[0]}.so  (", snapshot_of_cache)
        self.assertEqual(self.line(f"{prebuild} cache", **folder), snapshot_of_cache)
        cached = self.place / "ci cache" / f"{stems[0]}.so"
        before = cached.stat().st_mtime_ns
        self.line(f"{prebuild} build --blob {stems[0]}", **folder)
        self.assertEqual(cached.stat().st_mtime_ns, before)
        self.line(f"{prebuild} build --blob {stems[0]} --force", **folder)
        self.assertGreater(cached.stat().st_mtime_ns, before)
        self.assertIn("has no blob for gfx1", self.line(f"{prebuild} build --all --arch gfx1", status=1, **folder))
        for jobs in ("0", "-1", "many"):
            self.assertIn("expected 1 or more", self.line(f"{prebuild} build --all --jobs {jobs}", status=2, **folder))

    def test_only_blobs_of_an_architecture(self):
        manifest = json.loads((self.place / "install/ck_jit/ck_jit_manifest.json").read_text())
        for number, blob in enumerate(manifest["blobs"]):
            blob["archs"] = ["gfx942"] if number % 2 else ["gfx942", "gfx950"]
        (self.place / "archs.json").write_text(json.dumps(manifest))
        prebuild = "python3 install/ck_jit/ck_jit_prebuild.py list --manifest archs.json --cache-dir none"
        listed = [line.split()[0] for line in self.line(f"{prebuild} --arch gfx950").splitlines()]
        self.assertEqual(listed, self.stems()[::2])
        self.assertEqual(len(self.line(f"{prebuild} --arch 'gfx950;gfx942'").splitlines()), len(self.stems()))
        self.assertIn("its blobs are for gfx942, gfx950", self.line(f"{prebuild} --arch gfx90a", status=1))

    def test_the_shell_program_makes_the_file_that_it_prints(self):
        stem = self.stems()[0]
        other = self.place / "others" / "other name.so"
        out = self.line(f"install/ck_jit/ck_jit_compile.sh --blob {stem} --output 'others/other name.so'")
        self.assertEqual(out.strip(), str(other))
        self.assertEqual(snapshot(other), snapshot(other.parent / f"{stem}.so"))
        self.assertIsNotNone(snapshot(other))
        self.assertIn("must end in .so", self.line(f"install/ck_jit/ck_jit_compile.sh --blob {stem} --output x.o", status=2))

    def test_what_is_not_there_is_named(self):
        refused = self.line("python3 3rdparty/ck_jit/ck_jit_build.py quick --tmp-dir tmp", status=1, PATH="/usr/bin:/bin")
        self.assertIn("hearth is neither in $HEARTH_BIN_DIR nor on PATH", refused)
        self.assertIn("--aiter-dir", self.line("python3 3rdparty/ck_jit/ck_jit_build.py full --gpu-archs gfx942", status=2))
        self.assertIn("unrecognized arguments: --fast", self.line("python3 3rdparty/ck_jit/ck_jit_build.py full --fast", status=2))


if __name__ == "__main__":
    unittest.main(verbosity=2)
