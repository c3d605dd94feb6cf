"""A daemon and a cache of its own for tests of the Python package, and models to load.

    class Calls(Place):
        def test_it(self):
            f = self.load(model([node("Relu", ["x"], ["y"])], {"x": (F, ["batch", 4])}, {"y": F}), dims={"batch": (1, 8)})
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "conformance" / "models")]
import skipping  # noqa: E402

for _name in [name for name in os.environ if name.startswith("HEARTH_")]:
    if _name not in ("HEARTH_BIN_DIR", "HEARTH_TEST_REPORT", "HEARTH_SOURCE_DIR", "HEARTH_CC", "HEARTH_TEST_LONG",
                     "HEARTH_TEST_MODELS"):
        del os.environ[_name]
# AddressSanitizer's runtime, where the tests run under it (CMakeLists.txt): for processes of Python, whose interpreter is
# not linked with it, and for no others, which have it in them.
PRELOADED = {"LD_PRELOAD": os.environ.pop("LD_PRELOAD")} if "LD_PRELOAD" in os.environ else {}
SCRATCH = tempfile.TemporaryDirectory(prefix="hearth-python-")
FOLDER = pathlib.Path(SCRATCH.name)
os.environ["HEARTH_SOCKET"] = str(FOLDER / "socket")
os.environ["HEARTH_CACHE_DIR"] = str(FOLDER / "cache")
BIN = pathlib.Path(os.environ.get("HEARTH_BIN_DIR", "build/release/bin")).resolve()
MADE = BIN.parent / "test_models"  # by the build (tests/models)
MODELS = pathlib.Path(os.environ.get("HEARTH_TEST_MODELS") or MADE)  # with Silero VAD, a recording, its probabilities
NO_SILERO = f"{MODELS} has no silero_vad.onnx: scripts/python.sh venv takes it out of its package"

import numpy as np  # noqa: E402
from places import B, D, F, H, I, I32, model, node  # noqa: E402, F401

import hearth  # noqa: E402


class Place(unittest.TestCase):
    @classmethod
    def tearDownClass(cls):
        stop()

    def load(self, made, **options):
        return hearth.load(made.SerializeToString(), **options)

    def refused(self, kind, *sentences):
        """A context in which exactly one error is raised, of `kind` and of hearth.Error, that says all of the sentences."""
        return _Refused(self, kind, sentences)


class _Refused:
    def __init__(self, test, kind, sentences):
        self.test, self.kind, self.sentences = test, kind, sentences

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None or not isinstance(error, Exception):
            self.test.fail(f"not refused; expected {self.sentences}") if kind is None else None
            return False
        self.error = error
        self.test.assertIsInstance(error, hearth.Error, repr(error))
        self.test.assertIsInstance(error, self.kind, repr(error))
        self.test.assertNotIn("\n", str(error))
        for sentence in self.sentences:
            self.test.assertIn(sentence, str(error))
        return True


def stop():
    subprocess.run([BIN / "hearth", "daemon", "stop"], capture_output=True)


def relu(shape=("batch", 4), dtype=F):
    return model([node("Relu", ["x"], ["y"])], {"x": (dtype, list(shape))}, {"y": dtype})


def add(shape=("batch", 4), dtype=F):
    return model([node("Add", ["a", "b"], ["y"])], {"a": (dtype, list(shape)), "b": (dtype, list(shape))}, {"y": dtype})


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
