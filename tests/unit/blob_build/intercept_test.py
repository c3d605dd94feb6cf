"""hearth-hipcc in a fake ROCm home, under ninja and make: what is recorded, stubbed, passed on and linked.

The post-build is a script here that notes how it was called; flow_test.py runs the real one.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BIN = Path(os.environ["HEARTH_BIN_DIR"])
FLAGS = ["-O2", "-O2", "-mllvm", "--lsr-drop-solution=1", "--offload-arch=gfx942", "--offload-arch=gfx950",
         "-DX=\"a b\""]

# Stands for the real compiler: notes its arguments and environment, makes outputs, obeys what sources tell it.
COMPILER = """#!{python}
import json, os, signal, sys
args = sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(json.dumps({{"tool": sys.argv[0], "args": args, "rocm": os.environ.get("ROCM_PATH"),
                          "path": os.environ["PATH"], "unset": os.environ.get("HEARTH_TEST_UNSET")}}) + "\\n")
if "-" in args and "-c" in args:
    sys.stdin.read()
if "--unknown" in args:
    sys.exit(1)
text = "".join(open(a).read() for a in args if os.path.isfile(a) and a.endswith((".cu", ".cpp")))
if "FAIL" in text:
    print("error: FAIL", file=sys.stderr)
    sys.exit(42)
if "KILL" in text:
    os.kill(os.getpid(), signal.SIGSEGV)
if "-o" in args and args[args.index("-o") + 1] != "/dev/null":
    open(args[args.index("-o") + 1], "w").write("real object")
if "--version" in args:
    print("real compiler 1.2.3")
"""


class InterceptTest(unittest.TestCase):
    def setUp(self):
        self.tmp = Path(tempfile.mkdtemp(prefix="hearth intercept "))  # a space, on purpose
        self.addCleanup(shutil.rmtree, self.tmp)
        self.log = self.tmp / "compiler.log"
        self.compiler = self.script("real hipcc", COMPILER.format(python=sys.executable, log=str(self.log)))
        self.post_build = self.script("post_build", f"""#!{sys.executable}
import json, sys
link = json.load(open(sys.argv[sys.argv.index("--link") + 1]))
with open({str(self.tmp / "links")!r}, "a") as links:
    links.write(json.dumps(link) + "\\n")
if "broken" in link["args"]:
    print("post-build says no", file=sys.stderr)
    sys.exit(3)
open(link["args"][link["args"].index("-o") + 1], "w").write("library")
""")
        self.home = self.tmp / "rocm"
        (self.home / "bin").mkdir(parents=True)
        (self.home / ".hearth").mkdir()
        for name in ("hipcc", "c++"):
            shutil.copy(BIN / "hearth-hipcc", self.home / "bin" / name)
        self.config = {
            "hearth_intercept": 1,
            "compilers": {"hipcc": [str(self.compiler)], "c++": [str(self.compiler), "--as-cxx"]},
            "compile_flags": {"hipcc": []}, "toolchain": "hip", "records": str(self.tmp / "records.ndjson"),
            "folder": str(self.tmp / "T"),
            "fake_home": str(self.home), "real_home": "/opt/real", "post_build": [str(self.post_build)],
            "mapping": [[str(self.tmp), ""]], "default_root": "", "default_name": "ck_jit", "verify": False,
            "verbose": False, "environment": {"ROCM_PATH": "/opt/real", "HEARTH_TEST_UNSET": None}}
        self.write_config()
        self.build = self.tmp / "build dir"
        self.blob_dir = self.tmp / "blob"
        self.build.mkdir()
        self.blob_dir.mkdir()

    def script(self, name, text):
        path = self.tmp / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def write_config(self):
        (self.home / ".hearth/intercept.json").write_text(json.dumps(self.config))

    def source(self, name, text="int x;\n"):
        path = self.blob_dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run_tool(self, *args, tool="hipcc", stdin=None):
        return subprocess.run([self.home / "bin" / tool, *map(str, args)], cwd=self.build, input=stdin, text=True,
                              capture_output=True, check=False, env={**os.environ, "ROCM_PATH": str(self.home)})

    def lines(self, path):
        return [json.loads(line) for line in path.read_text().splitlines() if line] if path.exists() else []

    def calls(self):
        return self.lines(self.log)

    def records(self):
        return self.lines(self.tmp / "records.ndjson")

    def test_probes_reach_the_real_compiler_as_they_are(self):
        probes = [["--version"], ["-v"], ["-dumpfullversion", "-dumpversion"],
                  ["-mllvm", "-x=1", "-x", "hip", "-E", "-P", "/dev/null", "-o", "/dev/null"],
                  ["-x", "hip", "-P", "-c", "-o", "/dev/null", "-"]]
        for probe in probes:
            self.assertEqual(self.run_tool(*probe, stdin="int x;").returncode, 0, probe)
        self.assertEqual([call["args"] for call in self.calls()], probes)
        self.assertEqual({call["rocm"] for call in self.calls()}, {"/opt/real"})
        self.assertEqual(self.run_tool("--version").stdout, "real compiler 1.2.3\n")
        self.assertEqual(self.run_tool("--unknown", "-E", "/dev/null").returncode, 1)
        self.assertEqual(self.records(), [])

    def test_other_names_have_their_own_compiler(self):
        self.run_tool("--version", tool="c++")
        self.assertEqual(self.calls()[0]["args"], ["--as-cxx", "--version"])

    def test_compile_flags_go_before_compiles_and_probes_but_not_links(self):
        self.config["compile_flags"]["hipcc"] = ["-x", "hip"]
        self.write_config()
        (self.build / "host.o").write_text("real object")
        self.run_tool("--version")
        self.run_tool("-c", self.source("mha_fwd.cu"), "-o", "a.o")
        self.run_tool("host.o", "-o", "program")
        self.assertEqual([call["args"][:2] for call in self.calls()], [["-x", "hip"], ["-x", "hip"], ["host.o", "-o"]])

    def test_the_real_compiler_does_not_find_the_interceptor_on_its_path(self):
        done = subprocess.run([self.home / "bin/hipcc", "--version"], cwd=self.build, capture_output=True, text=True,
                              check=True, env={**os.environ, "PATH": f"{self.home}/bin:/mine:" + os.environ["PATH"],
                                               "HEARTH_TEST_UNSET": "1"})
        self.assertIn("1.2.3", done.stdout)
        [call] = self.calls()
        self.assertEqual(call["path"], "/mine:" + os.environ["PATH"])
        self.assertIsNone(call["unset"])

    def test_a_blob_is_recorded_and_stubbed(self):
        source = self.source("fmha_fwd_d128.cpp")
        done = self.run_tool(*FLAGS, "-MMD", "-MF", "out dir.d", "-c", source, "-o", "fmha_fwd_d128.cuda.o")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(self.calls(), [])
        [record] = self.records()
        self.assertEqual(record["kind"], "blob")
        self.assertEqual(record["tool"], "hipcc")
        self.assertEqual(record["source"], str(source))
        self.assertEqual(record["output"], str(self.build / "fmha_fwd_d128.cuda.o"))
        self.assertEqual(record["cwd"], str(self.build))
        self.assertEqual(record["args"][:len(FLAGS)], FLAGS)
        self.assertEqual((self.build / "out dir.d").read_text(),
                         "fmha_fwd_d128.cuda.o: " + str(source).replace(" ", "\\ ") + "\n")
        header = subprocess.run(["readelf", "-h", self.build / "fmha_fwd_d128.cuda.o"], capture_output=True, text=True,
                                check=True, env={**os.environ, "LC_ALL": "C"}).stdout
        self.assertIn("REL (Relocatable file)", header)

    def test_a_dispatcher_is_recorded_and_stubbed_without_an_output(self):
        source = self.source("fmha_fwd_api.cpp")
        self.assertEqual(self.run_tool("-MD", "-c", source).returncode, 0)
        [record] = self.records()
        self.assertEqual((record["kind"], record["output"]), ("dispatcher", str(self.build / "fmha_fwd_api.o")))
        self.assertTrue((self.build / "fmha_fwd_api.o").exists())
        self.assertTrue((self.build / "fmha_fwd_api.d").exists())

    def test_the_compilers_exit_code_and_signal_are_passed_on(self):
        done = self.run_tool("-c", self.source("mha_fwd.cu", "FAIL"), "-o", "a.o")
        self.assertEqual((done.returncode, done.stderr), (42, "error: FAIL\n"))
        done = self.run_tool("-c", self.source("mha_fwd.cu", "KILL"), "-o", "a.o")
        self.assertEqual(done.returncode, -signal.SIGSEGV)

    def test_links_run_the_post_build_with_response_files_expanded(self):
        self.run_tool("-c", self.source("fmha_fwd_a.cpp"), "-o", "blob a.o")
        (self.build / "in.rsp").write_text("'blob a.o'")
        (self.build / "libmha_fwd.so.rsp").write_text("host.o @in.rsp")
        done = self.run_tool("@libmha_fwd.so.rsp", "-shared", "-lamdhip64", "-o", "libmha_fwd.so", tool="c++")
        self.assertEqual(done.returncode, 0, done.stderr)
        [link] = self.lines(self.tmp / "links")
        self.assertEqual(link["args"], ["host.o", "blob a.o", "-shared", "-lamdhip64", "-o", "libmha_fwd.so"])
        self.assertEqual((link["tool"], link["cwd"]), ("c++", str(self.build)))
        self.assertEqual((self.build / "libmha_fwd.so").read_text(), "library")

    def test_a_failing_post_build_fails_the_link(self):
        self.run_tool("-c", self.source("fmha_bwd_a.cpp"), "-o", "a.o")
        done = self.run_tool("a.o", "broken", "-shared", "-o", "libmha_bwd.so")
        self.assertEqual((done.returncode, done.stderr), (3, "post-build says no\n"))

    def test_links_without_blobs_and_of_other_libraries_are_real(self):
        (self.build / "host.o").write_text("real object")
        self.run_tool("host.o", "-shared", "-o", "libmha_fwd_asm.so")
        self.run_tool("host.o", "-shared", "-o", "other.so")
        self.assertEqual([call["args"][-1] for call in self.calls()], ["libmha_fwd_asm.so", "other.so"])
        self.assertFalse((self.tmp / "links").exists())

    def test_another_librarys_link_of_blobs_is_refused(self):
        self.run_tool("-c", self.source("fmha_fwd_a.cpp"), "-o", "a.o")
        done = self.run_tool("a.o", "-shared", "-o", "module_mha.so")
        self.assertEqual(done.returncode, 1)
        self.assertIn("module_mha.so: is linked of blobs, which are only recorded here", done.stderr)

    def test_bad_input_is_told_in_one_line(self):
        a, b = self.source("fmha_fwd_a.cpp"), self.source("fmha_fwd_b.cpp")
        (self.build / "loop.rsp").write_text("@loop.rsp")
        (self.build / "folder").mkdir()
        for args, expected in ((["-c", a, b], "blobs are compiled one a call"),
                               (["-shared", a, "-o", "libmha_fwd.so"], "blobs are compiled one a call"),
                               (["-c", self.blob_dir / "fmha_fwd_none.cpp", "-o", "x.o"],
                                "fmha_fwd_none.cpp: No such file"),
                               (["-c", a, "-o", "missing/x.o"], "missing/x.o"),
                               (["-c", "@loop.rsp"], "loop.rsp includes itself"),
                               (["-c", "@folder"], "folder cannot be read"),
                               (["-c", a, "-o", "x.o", "-D\udcff"], "is not UTF-8")):
            done = subprocess.run([self.home / "bin/hipcc", *map(str, args)], cwd=self.build, capture_output=True,
                                  text=True, errors="replace", check=False)
            self.assertEqual(done.returncode, 1, args)
            self.assertTrue(done.stderr.startswith("hipcc: error: "), done.stderr)
            self.assertIn(expected, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertFalse((self.build / "x.o").exists())

    def test_bad_configuration_is_told(self):
        def error():
            done = self.run_tool("-c", self.source("fmha_fwd_a.cpp"), "-o", "a.o")
            self.assertEqual(done.returncode, 1)
            return done.stderr
        good = dict(self.config)
        self.config = {**good, "hearth_intercept": 9}
        self.write_config()
        self.assertIn("is of version 9, this hearth reads version 1", error())
        self.config = {name: value for name, value in good.items() if name != "records"}
        self.write_config()
        self.assertIn("records", error())
        self.config = {**good, "records": str(self.tmp / "none/records.ndjson")}
        self.write_config()
        self.assertIn("none/records.ndjson: No such file", error())
        (self.home / ".hearth/intercept.json").write_text("{")
        self.assertIn("is not an interceptor's configuration", error())
        (self.home / ".hearth/intercept.json").unlink()
        self.assertIn("run the build under `hearth blobs intercept`", error())
        self.config = {**good, "compilers": {"hipcc": ["/nowhere/hipcc"]}}
        self.write_config()
        done = self.run_tool("--version")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nowhere/hipcc cannot be run", done.stderr)

    def test_the_configuration_may_be_named_by_the_environment(self):
        env = {**os.environ, "HEARTH_INTERCEPT": str(self.home / ".hearth/intercept.json")}
        done = subprocess.run([BIN / "hearth-hipcc", "--version"], capture_output=True, text=True, check=True, env=env)
        self.assertEqual(done.stdout, "real compiler 1.2.3\n")

    def test_a_compiler_that_is_the_interceptor_again_ends(self):
        self.config["compilers"]["hipcc"] = [str(self.home / "bin/hipcc")]
        self.write_config()
        done = self.run_tool("--version")
        self.assertEqual(done.returncode, 1)
        self.assertIn("calls the interceptor again", done.stderr)

    def write_project(self, blobs):
        """Two libraries as aiter's build.ninja and as a Makefile; returns the names of all blobs."""
        names = {api: [f"fmha_{api}_d{i}" for i in range(blobs)] for api in ("fwd", "bwd")}
        hipcc, cxx = self.home / "bin/hipcc", self.home / "bin/c++"
        ninja = ["rule compile", f"  command = '{hipcc}' {' '.join(FLAGS[:6])} -MMD -MF $out.d -c $in -o $out",
                 "  depfile = $out.d", "  deps = gcc", "rule link",
                 f"  command = '{cxx}' @$out.rsp -shared -o $out", "  rspfile = $out.rsp", "  rspfile_content = $in"]
        make = ["all: libmha_fwd.so libmha_bwd.so"]
        for api, stems in names.items():
            sources = {**{stem: self.source(f"{stem}.cpp") for stem in stems},
                       f"fmha_{api}_api": self.source(f"fmha_{api}_api.cpp"),
                       f"mha_{api}": self.source(f"../csrc/mha_{api}.cu")}
            for stem, path in sources.items():
                escaped = str(path).replace(" ", "$ ")
                ninja.append(f"build {stem}.o: compile {escaped}")
                make += [f"{stem}.o:", f"\t'{hipcc}' {' '.join(FLAGS[:6])} -c '{path}' -o $@"]
            objects = " ".join(f"{stem}.o" for stem in sources)
            ninja.append(f"build libmha_{api}.so: link {objects}")
            make += [f"libmha_{api}.so: {objects}", f"\t'{cxx}' $^ -shared -o $@"]
        (self.build / "build.ninja").write_text("\n".join(ninja) + "\n")
        (self.build / "Makefile").write_text("\n".join(make) + "\n")
        return names

    def check_project(self, command, blobs):
        names = self.write_project(blobs)
        done = subprocess.run(command, cwd=self.build, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        kinds = sorted((Path(record["source"]).stem, record["kind"]) for record in self.records())
        wanted = [(stem, "blob") for stems in names.values() for stem in stems]
        wanted += [("fmha_fwd_api", "dispatcher"), ("fmha_bwd_api", "dispatcher")]
        self.assertEqual(kinds, sorted(wanted))
        self.assertEqual(sorted(Path(call["args"][call["args"].index("-c") + 1]).name for call in self.calls()),
                         ["mha_bwd.cu", "mha_fwd.cu"])
        self.assertEqual(len(self.lines(self.tmp / "links")), 2)
        for link in self.lines(self.tmp / "links"):
            self.assertEqual(sum(arg.endswith(".o") for arg in link["args"]), blobs + 2)
        self.assertEqual([path.name for path in self.build.glob("*.rsp")], [])

    @unittest.skipUnless(shutil.which("ninja"), "ninja is not installed")
    def test_ninja_builds_both_libraries_in_parallel(self):
        self.check_project(["ninja", "-j8"], 100)
        again = subprocess.run(["ninja"], cwd=self.build, capture_output=True, text=True, check=True)
        self.assertIn("no work to do", again.stdout)

    @unittest.skipUnless(shutil.which("make"), "make is not installed")
    def test_make_builds_both_libraries_in_parallel(self):
        self.check_project(["make", "-j8"], 100)


if __name__ == "__main__":
    if not (BIN / "hearth-hipcc").exists():
        sys.exit(f"{BIN}/hearth-hipcc is not built")
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
    import skipping
    skipping.main()
