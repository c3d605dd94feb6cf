"""A private corner for tests that make ONNX models with Python's onnx and run the built command on them. Importing it
ends the test as skipped (77) where numpy or onnx is not installed."""
import os
import pathlib
import subprocess
import sys

try:
    import numpy as np
    import onnx
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

BIN = pathlib.Path(os.environ.get("HEARTH_BIN_DIR", "build/release/bin")).resolve()


class Place:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.environment = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS",
                                                                "LSAN_OPTIONS") if name in os.environ}
        self.environment |= {"HEARTH_SOCKET": str(self.folder / "s.sock"), "HEARTH_CACHE_DIR": str(self.folder / "cache")}

    def hearth(self, *words, code=0, stdin=None):
        ran = subprocess.run([BIN / "hearth", *map(str, words)], cwd="/", env=self.environment, capture_output=True,
                             stdin=stdin, text=True, timeout=300, check=False)
        assert ran.returncode == code, f"hearth {words} ended with {ran.returncode}: {ran.stdout}{ran.stderr}"
        return ran
