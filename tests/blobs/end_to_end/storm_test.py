"""Fifty processes call the same twenty variants of attention at once: each blob is compiled once. Then a header changes
that some of them include: those are compiled again, and no other.

Run by ctest (blob_storm_test). Blobs are C++ for the host, so that results can be judged; needs g++, ninja and numpy.
"""
import json
import os
import pickle
import subprocess
import sys
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from blob_place import SAMPLE, Place, loaded_blobs, require_programs

sys.path.insert(0, str(SAMPLE))
import numpy as np  # noqa: E402

import attention_reference as reference  # noqa: E402

PROCESSES = 50
NO_MASK, CAUSAL, WINDOW = (reference.NO_MASK, -1, -1), (reference.BOTTOM_RIGHT, -1, 0), (reference.WINDOW, 5, 2)
HEADS, KEY_HEADS = 2, 1

# A process that says "ready", waits for a line, and calls every variant, beginning with another one than its siblings.
CALLER = """
import ctypes, json, pickle, sys
import numpy as np
import attention_reference as reference, sample_library as sample
with open(sys.argv[2], "rb") as file:
    variants = pickle.load(file)
library = ctypes.CDLL(sys.argv[1])
first = int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for v in variants[first:] + variants[:first]:
    call = getattr(sample, v["function"])
    o = call(library, *v["arguments"], **v["options"])
    lse = None
    if v["function"] == "forward":
        o, lse = o
    np.testing.assert_allclose(reference.exact(o, v["dtype"]), v["wanted"], rtol=0, atol=v["tolerance"],
                               err_msg=v["name"])
    if (lse is None) != (v["wanted_lse"] is None):
        raise AssertionError(v["name"] + ": lse")
    if lse is not None:
        np.testing.assert_allclose(lse, v["wanted_lse"], rtol=1e-5, atol=1e-5, err_msg=v["name"])
print(json.dumps(len(variants)))
"""

# One variant, twice; with an argument once more after a line was read.
ONE_CALL = """
import ctypes, json, sys
import numpy as np
import sample_library as sample
library = ctypes.CDLL(sys.argv[1])
def calls():
    said = []
    for _ in range(2):
        try:
            q = np.ones((1, 2, 40, 64), np.float16)
            sample.forward(library, q, q, q, "fp16", 0.125)
            said.append(["ran"])
        except sample.CallFailed as e:
            said.append(["CallFailed", str(e)])
    print(json.dumps(said), flush=True)
calls()
if len(sys.argv) > 2:
    sys.stdin.readline()
    calls()
"""


class Variants:
    """Twenty calls of which each takes another blob, with numpy's results."""

    def __init__(self):
        self.random = np.random.default_rng(3)
        self.all = []
        for columns in (64, 90):  # whole tiles of keys or not
            for mask in (NO_MASK, CAUSAL, WINDOW):
                for lse in (False, True):
                    self.batch(columns=columns, mask=mask, lse=lse)
            self.batch(columns=columns, rows=128 if columns == 64 else 40, lse=True, bias=True)
        self.batch(columns=90, soft_cap=1.5)
        self.batch(columns=90, depth=32, slopes=True)
        self.batch(columns=90, depth=32, v_columns=True)
        self.batch(columns=128, depth=128, dtype="bf16")
        self.group(NO_MASK)
        self.group(CAUSAL)

    def numbers(self, dtype, *shape):
        return reference.rounded(self.random.standard_normal(shape), dtype)

    def add(self, function, dtype, arguments, options, wanted, wanted_lse, largest):
        self.all.append({"name": f"variant {len(self.all)} {options}"[:200], "function": function, "dtype": dtype,
                         "arguments": arguments, "options": options, "wanted": wanted, "wanted_lse": wanted_lse,
                         "tolerance": reference.tolerance(dtype, largest)})

    def batch(self, columns, rows=40, depth=64, dtype="fp16", mask=NO_MASK, lse=False, bias=False, slopes=False,
              soft_cap=None, v_columns=False):
        q = self.numbers(dtype, 1, HEADS, rows, depth)
        k, v = (self.numbers(dtype, 1, KEY_HEADS, columns, depth) for _ in range(2))
        options, term = {"mask": mask, "lse": lse, "soft_cap": soft_cap, "v_columns": v_columns}, None
        if bias:
            options["bias"] = self.numbers(dtype, 1, HEADS, rows, columns)
            term = reference.exact(options["bias"], dtype)
        if slopes:
            options["slopes"] = (2.0 ** -np.arange(1, HEADS + 1)).astype(np.float32)
            term = reference.alibi_bias(options["slopes"].astype(np.float64), rows, columns)
        exact = [reference.exact(x, dtype) for x in (q, k, v)]
        wanted, wanted_lse, _ = reference.attention(*exact, depth ** -0.5, mask, term, soft_cap)
        given = np.ascontiguousarray(v.transpose(0, 1, 3, 2)) if v_columns else v
        self.add("forward", dtype, (q, k, given, dtype, depth ** -0.5), options, wanted, wanted_lse if lse else None,
                 np.abs(exact[2]).max())

    def group(self, mask):
        lengths_q, lengths_k = [3, 20], [30, 20]
        q = self.numbers("fp16", sum(lengths_q), HEADS, 64)
        k, v = (self.numbers("fp16", sum(lengths_k), KEY_HEADS, 64) for _ in range(2))
        wanted, at_q, at_k = [], 0, 0
        for rows, columns in zip(lengths_q, lengths_k):
            part = [reference.exact(x, "fp16").transpose(1, 0, 2)[None]
                    for x in (q[at_q:at_q + rows], k[at_k:at_k + columns], v[at_k:at_k + columns])]
            wanted.append(reference.attention(*part, 0.125, mask)[0][0].transpose(1, 0, 2))
            at_q, at_k = at_q + rows, at_k + columns
        self.add("forward_group", "fp16", (q, k, v, lengths_q, lengths_k, "fp16", 0.125), {"mask": mask},
                 np.concatenate(wanted), None, np.abs(reference.exact(v, "fp16")).max())


class Storm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place()
        cls.addClassCleanup(cls.place.close)
        cls.place.build("cpu", "--toolchain", "c++", "--compiler", "g++")
        cls.library = cls.place.install / "libmha_fwd.so"
        cls.variants = cls.place.folder / "variants"
        cls.count = len(Variants().all)
        cls.variants.write_bytes(pickle.dumps(Variants().all))

    def setUp(self):
        self.place.start_daemon(HEARTH_CACHE_DIR=str(self.place.folder / f"cache {self.id()}"))
        self.addCleanup(self.place.stop_daemon)

    def header(self, name):
        """A header of the installation, which is as it was after the test."""
        path, = (self.place.install / "ck_jit").rglob(name)
        self.addCleanup(path.write_text, path.read_text(encoding="utf-8"), encoding="utf-8")
        return path

    def storm(self):
        """{stem: path} as each process loaded it; their results are right."""
        callers = [self.place.caller(CALLER, self.library, self.variants, i % self.count) for i in range(PROCESSES)]
        try:
            for caller in callers:
                self.assertEqual(caller.stdout.readline(), "ready\n", caller.poll())
            began = time.monotonic()
            for caller in callers:
                caller.stdin.write("go\n")
                caller.stdin.flush()
            with ThreadPoolExecutor(PROCESSES) as threads:  # none may wait with a full pipe
                said = list(threads.map(lambda caller: caller.communicate(timeout=400), callers))
            print(f"{PROCESSES} processes x {self.count} blobs: {time.monotonic() - began:.2f} s", file=sys.stderr)
        finally:
            for caller in callers:
                if caller.poll() is None:
                    caller.kill()
                caller.wait()
        for caller, (out, err) in zip(callers, said):
            self.assertEqual(caller.returncode, 0, err[-4000:])
            self.assertEqual(json.loads(out), self.count)
        return [loaded_blobs(err) for _, err in said]

    def again(self):
        with self.place.caller(CALLER, self.library, self.variants, "0") as process:
            out, err = process.communicate("go\n", timeout=400)
        self.assertEqual(process.returncode, 0, err[-4000:])
        self.assertEqual(out, f"ready\n{self.count}\n")
        return loaded_blobs(err)

    def headers_of(self, blob):
        """What g++ says that a blob's source includes."""
        root = self.place.install / "ck_jit"
        flags = [flag.replace("{root}", str(root)) for flag in self.flag_sets[blob["flags"]]]
        said = subprocess.run(["g++", "-M", *flags, str(root / blob["source"])], capture_output=True, text=True,
                              check=True, env=self.place.environment).stdout
        return {Path(name.replace("\0", " ")).name for name in said.replace("\\\n", " ").replace("\\ ", "\0").split()}

    def test_storm_then_a_header_changes(self):
        self.assertEqual(self.count, 20)
        loaded = self.storm()
        for blobs in loaded:
            self.assertEqual(len(blobs), self.count)
            self.assertEqual(blobs, loaded[0])
        stats = self.place.stats()
        self.assertEqual(stats["blobs_compiled"], self.count)
        self.assertEqual(stats["blob_misses"], self.count)
        self.assertEqual(stats["blob_errors"], 0)
        self.assertEqual(stats["blob_requests"], PROCESSES * self.count)

        # Other times, equal content: nothing is compiled.
        header = self.header("block_fmha_pipeline_qr_ks_vs.hpp")
        os.utime(header)
        self.assertEqual(self.again(), loaded[0])
        self.assertEqual(self.place.stats()["blobs_compiled"], self.count)

        manifest = self.place.manifest()
        self.flag_sets = manifest["flag_sets"]
        called = [blob for blob in manifest["blobs"] if blob["stem"] in loaded[0]]
        self.assertEqual(len(called), self.count)
        with ThreadPoolExecutor(2) as threads:
            headers = dict(zip((blob["stem"] for blob in called), threads.map(self.headers_of, called)))
        including = {stem for stem, names in headers.items() if header.name in names}
        self.assertTrue(0 < len(including) < self.count, including)
        # A comment compiles them again, to the same bytes, which are kept under the same name; then what shows.
        for change in ("// changed\n", "static const int changed __attribute__((used)) = 1;\n"):
            with header.open("a", encoding="utf-8") as file:
                file.write(change)
            compiled = self.place.stats()["blobs_compiled"]
            changed = self.again()
            self.assertEqual(self.place.stats()["blobs_compiled"], compiled + len(including))
        self.assertEqual({stem for stem in changed if changed[stem] != loaded[0][stem]}, including)
        self.assertEqual(set(changed), set(loaded[0]))

    def test_what_does_not_compile_is_said_to_each_caller_and_mended_by_the_source(self):
        # Else the daemon would remember the failure for half a minute; blob_service_test has a case of that.
        self.place.stop_daemon()
        self.place.start_daemon(HEARTH_BLOB_RETRY_S="0")
        header = self.header("fmha_fwd.hpp")
        right = header.read_text(encoding="utf-8")
        with header.open("a", encoding="utf-8") as file:
            file.write("#error broken on purpose\n")
        callers = [self.place.caller(ONE_CALL, self.library) for _ in range(5)]
        said = [caller.communicate(timeout=300) for caller in callers]
        for caller, (out, err) in zip(callers, said):
            self.assertEqual(caller.returncode, 0, err[-4000:])
            first, second = json.loads(out)
            self.assertEqual(first[0], "CallFailed", first)
            for part in ("blob fmha_fwd_d64_fp16_batch_", "of libmha_fwd: ", "broken on purpose", "fmha_fwd.hpp"):
                self.assertIn(part, first[1])
            self.assertEqual(second[0], "CallFailed")
        stats = self.place.stats()
        self.assertEqual((stats["blobs_compiled"], stats["blob_hits"]), (0, 0))
        # One request a process: the second call is answered from the first's failure.
        self.assertEqual(stats["blob_requests"], 5)
        header.write_text(right, encoding="utf-8")
        said, blobs = self.place.call(ONE_CALL, self.library)
        self.assertEqual((said, len(blobs)), ([["ran"], ["ran"]], 1))
        self.assertEqual(self.place.stats()["blobs_compiled"], 1)

    def test_without_a_daemon_the_caller_is_told_and_the_next_call_finds_one(self):
        self.place.stop_daemon()
        with self.place.caller(ONE_CALL, self.library, "wait", HEARTH_BLOB_RETRY_S="0") as process:
            first = json.loads(process.stdout.readline())
            self.place.start_daemon()
            out, err = process.communicate("go\n", timeout=300)
        self.assertEqual(process.returncode, 0, err[-4000:])
        self.assertEqual(first[0][0], "CallFailed", first)
        self.assertIn("no daemon listens", first[0][1])
        self.assertEqual(json.loads(out), [["ran"], ["ran"]])


if __name__ == "__main__":
    require_programs()
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
    import skipping
    skipping.main()
