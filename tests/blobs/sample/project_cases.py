"""Cases about the emitted project itself, for sample_test.py: what it says to tools that take it apart."""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CK = Path("3rdparty/composable_kernel")
FMHA = CK / "example/ck_tile/01_fmha"

# Exported functions by the beginning of the stem, longest first.
EXPORTS = (("fmha_fwd_splitkv_combine_", ("fmha_fwd_splitkv_combine_oneshot_", "fmha_fwd_splitkv_combine_get_name_")),
           ("fmha_fwd_splitkv_", ("fmha_fwd_splitkv_oneshot_", "fmha_fwd_splitkv_get_name_")),
           ("fmha_fwd_appendkv_", ("fmha_fwd_appendkv_",)), ("fmha_fwd_", ("fmha_fwd_",)))
EXPORTS = tuple((f"fmha_bwd_{step}_", tuple(f"fmha_bwd_{step}_{form}" for form in ("", "oneshot_", "get_name_")))
                for step in ("dot_do_o", "convert_dq")) + \
    (("fmha_bwd_", tuple(f"fmha_bwd_dq_dk_dv_{form}" for form in ("", "oneshot_", "get_name_"))),) + EXPORTS
# The dispatcher calls its own `oneshot` forms, not these.
UNUSED = ("fmha_bwd_dot_do_o_", "fmha_bwd_dq_dk_dv_", "fmha_bwd_convert_dq_")


def emit(folder, *options):
    subprocess.run([sys.executable, str(HERE / "generate.py"), "--out", str(folder), *options], check=True)
    return folder


def generate_blobs(tree, folder, api):
    subprocess.run([sys.executable, str(tree / FMHA / "generate.py"), "-d", api, "--receipt", "600", "--output_dir",
                    str(folder)], check=True)
    return sorted(folder.iterdir())


def mangled_prefix(function):
    return f"_Z{len(function)}{function}I"


def symbols(objects, kind):
    """Names in the objects' tables whose type letter is `kind`."""
    said = subprocess.run(["nm", *map(str, objects)], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [line.split()[-1] for line in said.splitlines() if re.fullmatch(rf"[0-9a-f ]*{kind} \S+", line)]


class Project:
    """`tree` is an emitted and built project."""

    def objects(self, api):
        folder = self.tree / f"aiter/jit/build/libmha_{api}/build"
        blobs = [path for path in folder.glob("fmha_*.cuda.o") if not path.name.endswith("_api.cuda.o")]
        return blobs, list(folder.glob("fmha_*_api.cuda.o"))

    def test_exports_of_blobs(self):
        for api in ("fwd", "bwd"):
            for blob in self.objects(api)[0]:
                wanted = next(names for stem, names in EXPORTS if blob.name.startswith(stem))
                exported = [name for name in symbols([blob], "T") if name.startswith("_Z")]
                self.assertEqual(len(exported), len(wanted), blob.name)
                for function in wanted:
                    found = [name for name in exported if name.startswith(mangled_prefix(function))]
                    self.assertEqual(len(found), 1, (blob.name, function))

    def test_dispatchers_want_what_blobs_export(self):
        for api, dispatchers in (("fwd", 3), ("bwd", 1)):
            blobs, apis = self.objects(api)
            self.assertEqual(len(apis), dispatchers)
            wanted = {name for name in symbols(apis, "U") if re.match(r"_Z\d+fmha_\w+?_I", name)}
            exported = set(symbols(blobs, "T"))
            unused = {name for name in exported if name.startswith(tuple(map(mangled_prefix, UNUSED)))}
            self.assertEqual(wanted, exported - unused)
            self.assertGreater(len(wanted), 15)

    def headers(self, api, pattern):
        blob = next((self.tree / f"aiter/jit/build/libmha_{api}/blob").glob(pattern))
        said = subprocess.run(["g++", "-std=c++20", "-MM", f"-I{self.tree / CK / 'include'}", f"-I{self.tree / FMHA}",
                               str(blob)], check=True, stdout=subprocess.PIPE, text=True).stdout
        return {Path(word).name for word in said.replace("\\\n", " ").split()}

    def test_headers_are_of_some_blobs_only(self):
        """What a touched header must compile again differs between blobs."""
        asynchronous = self.headers("fwd", "fmha_fwd_d64*_qr_async_*")
        plain = self.headers("fwd", "fmha_fwd_d64*_qr_vr_*")
        split = self.headers("fwd", "fmha_fwd_splitkv_d64*")
        backward = self.headers("bwd", "fmha_bwd_d64*")
        everywhere = asynchronous & plain & split & backward
        self.assertLessEqual({"core.hpp", "config.hpp", "fmha.hpp"}, everywhere)
        self.assertIn("block_fmha_pipeline_qr_ks_vs_async.hpp", asynchronous - plain - split - backward)
        self.assertIn("block_fmha_pipeline_qr_ks_vs.hpp", plain - asynchronous - split - backward)
        self.assertIn("fmha_fwd_splitkv_kernel.hpp", split - asynchronous - plain - backward)
        self.assertIn("fmha_bwd_kernel.hpp", backward - asynchronous - plain - split)

    def test_full_set(self):
        with tempfile.TemporaryDirectory(prefix="hearth_sample_") as temp:
            tree = emit(Path(temp) / "aiter", "--flavour", "cpu", "--generation", self.generation, "--blobs", "full")
            paths = generate_blobs(tree, Path(temp) / "blob", "fwd,fwd_splitkv,fwd_appendkv,bwd")
        stems = [path.stem for path in paths]
        forward = [stem for stem in stems if re.match(r"fmha_fwd_d\d", stem)]
        self.assertGreaterEqual(len(forward), 300)
        self.assertGreaterEqual(len(stems) - len(forward), 100)
        self.assertLessEqual(max(map(len, stems)), 180)
        if self.generation == "2026":
            self.assertTrue(all(stem.endswith(("_api", "_gfx942", "_gfx90a")) for stem in stems))

    def test_sources_keep_their_time(self):
        folder = self.tree / "aiter/jit/build/libmha_bwd/blob"
        before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
        generate_blobs(self.tree, folder, "bwd")
        self.assertEqual(before, {path: path.stat().st_mtime_ns for path in folder.iterdir()})

    def test_refused_options(self):
        def said(*options):
            done = subprocess.run([sys.executable, str(HERE / "generate.py"), *options], stderr=subprocess.PIPE,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            return done.stderr

        new = ["--out", "/nonexistent/hearth", "--flavour", "cpu", "--generation", self.generation]
        self.assertIn("not an empty folder", said("--out", str(self.tree), *new[2:]))
        self.assertIn("gfx1 ", said(*new, "--arch", "gfx1 ").replace("'", " "))
        self.assertIn("twice", said(*new, "--arch", "gfx942,gfx942"))
