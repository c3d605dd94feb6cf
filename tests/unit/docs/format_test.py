"""Every source file is as clang-format writes it, so that a change shows what it changes."""
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(os.environ["HEARTH_SOURCE_DIR"])
sys.path.insert(0, str(ROOT / "tests" / "support"))
import skipping  # noqa: E402

FORMATTER = shutil.which("clang-format-19")
FOLDERS = ["base", "blobs", "client", "command_line", "compiler", "daemon", "examples", "include", "kernels_cache", "proto",
           "python", "runtime", "tests"]
GENERATED_OR_FOREIGN = "tests/blobs/sample/"  # of the shape of another project's


def files_of(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp") and not str(path.relative_to(root)).startswith(GENERATED_OR_FOREIGN):
                yield path


@unittest.skipIf(FORMATTER is None, "clang-format-19 is not installed")
class FormatTest(unittest.TestCase):
    def test_sources_are_formatted(self):
        files = list(files_of(ROOT))
        self.assertGreater(len(files), 1000)
        judged = subprocess.run([FORMATTER, "--dry-run", "--Werror", "--ferror-limit=3", *map(str, files)], capture_output=True,
                                text=True)
        wrong = sorted({line.split(":")[0] for line in judged.stderr.splitlines() if "-Wclang-format-violations" in line})
        self.assertEqual((judged.returncode, wrong), (0, []), "clang-format-19 -i these")

    def test_another_form_is_seen(self):
        text = "int  f( ){return 1;}\n"
        judged = subprocess.run([FORMATTER, "--dry-run", "--Werror", "--assume-filename=x.cpp"], input=text, capture_output=True,
                                text=True, cwd=ROOT)
        self.assertNotEqual(judged.returncode, 0)


skipping.main()
