"""The installed wheels, in an environment that has them, numpy and nothing else: what they bring, and models that they
run with the daemon of their own.

Run by scripts/python.sh with the environment's own Python.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
MADE = pathlib.Path(os.environ.get("HEARTH_MADE_MODELS", ROOT / "build" / "release" / "test_models"))
MODELS = pathlib.Path(os.environ.get("HEARTH_TEST_MODELS") or MADE)
scratch = tempfile.TemporaryDirectory(prefix="hearth-wheel-")
os.environ.update(HEARTH_SOCKET=scratch.name + "/socket", HEARTH_CACHE_DIR=scratch.name + "/cache")
COMMAND = pathlib.Path(sys.prefix) / "bin" / "hearth"


class Wheel(unittest.TestCase):
    def test_it_is_the_installed_one(self):
        import hearth
        where = pathlib.Path(hearth.__file__)
        self.assertTrue(where.is_relative_to(sys.prefix), where)
        self.assertTrue((where.parent / "py.typed").exists())
        self.assertTrue((where.parent / "bin" / "hearthd").exists())

    def test_torch_finds_its_backend(self):
        from importlib.metadata import entry_points
        found = [one.value for one in entry_points(group="torch_dynamo_backends") if one.name == "hearth"]
        self.assertEqual(found, ["hearth.torch:backend"])
        import hearth
        self.assertTrue((pathlib.Path(hearth.__file__).parent / "torch" / "importer" / "table.py").exists())

    def test_the_command_and_the_licences(self):
        import hearth
        said = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertIn(hearth.__version__, said)
        site = pathlib.Path(hearth.__file__).parents[1]
        for name in ("hearth_compiler", "hearth_compiler_daemon"):
            licences = {path.stem for path in site.glob(f"{name}-*.dist-info/licenses/*.txt")}
            self.assertGreater(len(licences), 4)
            self.assertTrue(all(any((site / f"{name}.libs").glob(f"{wanted}*")) for wanted in ("libnettle", "libprotobuf")))
        self.assertIn("libllvm19", licences)
        bundled = next(site.glob("hearth_compiler_daemon-*.dist-info/licenses/BUNDLED.txt")).read_text()
        self.assertEqual({line.split()[0] for line in bundled.splitlines()}, licences - {"BUNDLED"})
        self.assertRegex(bundled, r"(?m)^libprotobuf32 3\.21\.")

    def test_importing_it_takes_little(self):
        program = ("import sys, time; before = time.perf_counter();\n"
                   "def rss(): return int(open('/proc/self/statm').read().split()[1]) * 4096 / 1e6\n"
                   "m = rss(); import hearth; print((time.perf_counter() - before) * 1e3, rss() - m, 'numpy' in sys.modules)")
        runs = [subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
                for _ in range(5)]
        best = min(runs, key=lambda run: float(run[0]))
        print(f"import hearth: {float(best[0]):.1f} ms, {float(best[1]):.1f} MB", file=sys.stderr)
        self.assertEqual(best[2], "False")
        self.assertLess(float(best[1]), 15)

    def test_silero(self):
        if not (MODELS / "silero_vad.onnx").exists():
            self.skipTest(f"{MODELS} has no silero_vad.onnx")
        import hearth
        import numpy as np
        f = hearth.load(MODELS / "silero_vad.onnx", dims={"input.0": 1, "input.1": 576, "state.1": 1}, constants={"sr": 16000})
        s = f.stream(carry={"stateN": "state"})
        samples = np.frombuffer((MODELS / "speech_16k.wav").read_bytes()[44:], "<i2").astype("f") / 32768
        chunks = np.concatenate([np.zeros(64, "f"), samples])
        got = np.array([s(chunks[i:i + 576][None])[0, 0] for i in range(0, len(samples) - 511, 512)])
        worst = np.abs(got - np.loadtxt(MODELS / "silero_probs_speech_16k.txt")).max()
        print(f"Silero: {len(got)} probabilities, largest difference {worst:.1e}", file=sys.stderr)
        self.assertLess(worst, 1e-4)

    def test_conformer(self):
        import hearth
        import numpy as np
        name = str(MADE / "bench" / "conformer_d256_h4_t256_dynamic")
        f = hearth.load(name + ".onnx", dims={"batch": (1, 4), "time": (1, 256)})
        for shape in ("1x256x256", "1x100x256", "3x37x256"):
            worst = np.abs(f(np.load(f"{name}.{shape}.in.in0.npy")) - np.load(f"{name}.{shape}.out.out.npy")).max()
            print(f"Conformer {shape}: largest difference {worst:.1e}", file=sys.stderr)
            self.assertLess(worst, 1e-4)

    def test_memory_stays_where_it_is(self):
        import hearth
        import numpy as np
        f = hearth.load(MADE / "bench" / "tiny10_1K.onnx", threads=1)
        x = np.load(MADE / "bench" / "tiny10_1K.in.in0.npy")

        def rss():
            return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096
        for _ in range(1000):
            f(x)
        before = rss()
        for _ in range(10_000):
            f(x)
        grown = rss() - before
        print(f"10,000 calls: {grown} bytes", file=sys.stderr)
        self.assertLess(grown, 1_000_000)

    @classmethod
    def tearDownClass(cls):
        subprocess.run([COMMAND, "daemon", "stop"], capture_output=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
