"""Which station includes which: what the folders' targets cannot say, since include paths begin at the repository root."""
import os
import re
import sys
import tempfile
import unittest
from pathlib import Path

import rooms

ROOT = Path(os.environ["HEARTH_SOURCE_DIR"])
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)

# (folders, what they do not include, exceptions): the first name of a pattern is a path in the repository.
RULES = [
    (["include"], ["base/", "runtime/", "client/", "proto/", "blobs/", "google/", "grpc", "nlohmann/", "hearth/v1/"], []),
    (["runtime"], ["client/", "daemon/", "compiler/", "blobs/", "kernels_cache/", "grpc"], []),
    (["blobs/loader"], ["absl/", "google/", "nlohmann/", "hearth/v1/", "spdlog/", "fmt/"], []),
    (["base"], ["runtime/", "blobs/", "client/", "daemon/", "compiler/", "kernels_cache/", "command_line/", "google/",
               "nlohmann/", "hearth/v1/", "grpc"], []),
    (["client"], ["daemon/", "kernels_cache/", "sqlite3", "llvm/"], []),
    # Constants of models are computed by the oracle: the IR and its plain interpreter, no pass and no rule.
    (["client"], ["compiler/"], ["client/onnx/constant_values.cpp"]),
    (["client/onnx"], ["compiler/passes/", "compiler/rules/", "compiler/rewrite/", "compiler/compile.h"], []),
    (["compiler/codegen/reference"], ["compiler/passes/", "compiler/rules/", "compiler/rewrite/", "compiler/compile.h"],
     []),
    (["client"], ["blobs/"], ["client/cli/"]),
    (["kernels_cache"], ["client/", "daemon/", "compiler/", "grpc"], []),
    (["daemon"], ["compiler/", "blobs/", "client/", "llvm/"], ["daemon/worker/"]),
    (["daemon/worker"], ["client/", "grpc"], []),
    (["compiler"], ["client/", "daemon/", "kernels_cache/", "grpc", "sqlite3"], []),
    (["compiler"], ["llvm/", "lld/"], ["compiler/codegen/llvm/"]),
    (["tests/conformance/oracle"], ["compiler/passes/", "compiler/compile.h"], ["tests/conformance/oracle/planted"]),
    (["compiler"], ["blobs/"], ["blobs/library/"]),
    (["blobs"], ["hearth/v1/", "google/", "compiler/", "client/", "daemon/", "kernels_cache/"], []),
]

# (folder, the files in it that write to a stream): everything else prints through those.
PRINTERS = [
    ("client/cli", ["client/cli/print.cpp", "client/cli/status_line.cpp"]),
]


# (folders, what their text does not name): which machine code is for is the target's to know (compiler/target).
WORDS = [
    (["compiler/passes", "compiler/schedule", "compiler/rules", "compiler/ir", "compiler/rewrite"],
     re.compile(r"v1::Target\b|vector_bits|\bavx|AVX|x86|aarch64|\bneon\b|\bamx|\"(cpu|null|hip|vulkan)\"|lavapipe"
                r"|defined\(__(x86_64|aarch64)__\)")),
]


class LayeringTest(unittest.TestCase):
    def test_no_station_includes_what_it_must_not_know(self):
        seen = 0
        for folders, forbidden, exceptions in RULES:
            for folder in folders:
                for path in sorted((ROOT / folder).rglob("*")):
                    name = str(path.relative_to(ROOT))
                    if path.suffix not in (".h", ".cpp") or name.startswith(tuple(exceptions)):
                        continue
                    seen += 1
                    for included in INCLUDE.findall(path.read_text()):
                        allowed = included.startswith(tuple(exceptions)) if exceptions else False
                        with self.subTest(file=name, includes=included):
                            self.assertFalse(included.startswith(tuple(forbidden)) and not allowed)
        self.assertGreater(seen, 500)

    def test_a_room_of_a_station_includes_only_those_below_it(self):
        wrong, seen = rooms.wrong_includes(ROOT)
        self.assertEqual(wrong, [])
        self.assertGreater(seen, 500)

    def test_an_include_against_the_order_of_rooms_is_seen(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("runtime/hal/device.h", '#include "runtime/replay/instance.h"\n'), ("runtime/replay/instance.h", ""),
                               ("runtime/plan/plan.h", '#include "runtime/thread_pool.h"\n'), ("runtime/thread_pool.h", "")):
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            self.assertEqual(rooms.wrong_includes(Path(folder)),
                             (["runtime/hal/device.h: hal includes runtime/replay/instance.h of replay"], 4))

    def test_passes_know_no_machine(self):
        seen = 0
        for folders, words in WORDS:
            for folder in folders:
                for path in sorted((ROOT / folder).rglob("*")):
                    if path.suffix not in (".h", ".cpp", ".def"):
                        continue
                    seen += 1
                    with self.subTest(file=str(path.relative_to(ROOT))):
                        self.assertNotRegex(path.read_text(), words)
        self.assertGreater(seen, 150)

    def test_what_prints_to_people_goes_through_the_files_that_escape_and_check(self):
        prints = re.compile(r"std::(cout|cerr|clog)\b|\bf?printf\(|\bf?puts\(|\bputchar\(|\bfwrite\(|STDERR_FILENO, ")
        seen = 0
        for folder, exceptions in PRINTERS:
            for path in sorted((ROOT / folder).rglob("*.cpp")):
                name = str(path.relative_to(ROOT))
                if name in exceptions:
                    continue
                seen += 1
                with self.subTest(file=name):
                    self.assertNotRegex(path.read_text(), prints)
        self.assertGreater(seen, 20)


if __name__ == "__main__":
    if not ROOT.is_dir():
        sys.exit("HEARTH_SOURCE_DIR names no folder")
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
    import skipping
    skipping.main()
