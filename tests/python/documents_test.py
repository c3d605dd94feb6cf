"""The code of docs/python.md runs as it stands there, and checkers accept it."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from place import FOLDER, MODELS, NO_SILERO, ROOT, F, Place, hearth, model, node, np, skipping

BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)


class Documents(Place):
    def test_the_quickstart_runs(self):
        self.assertLessEqual(len(BLOCKS[0].splitlines()), 15)
        ran = subprocess.run([sys.executable, "-B", "-c", BLOCKS[0]], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        np.testing.assert_allclose([float(word) for word in ran.stdout.strip("[] \n").split()], np.ones(4), rtol=1e-5)

    def test_the_other_blocks_run(self):
        made = model([node("Add", ["x", "state"], ["stateN"]), node("Sigmoid", ["stateN"], ["y"])],
                     {"x": (F, [4]), "state": (F, [4])}, {"y": F, "stateN": F})
        names = {"hearth": hearth, "np": np, "f": self.load(made), "chunks": [np.ones(4, "f")] * 3}
        for block in BLOCKS[1:]:
            exec(block, names)
        np.testing.assert_allclose(names["probability"], 1 / (1 + np.exp(-3.0)) * np.ones(4), rtol=1e-5)

    def run_notebook(self, name):
        cells = json.loads((ROOT / "examples" / "python" / name).read_text())["cells"]
        names = {}
        for cell in cells:
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), names)
        return names

    def test_the_notebook_of_a_model_of_ones_own(self):
        names = self.run_notebook("own_model.ipynb")
        self.assertLess(names["losses"][-1], 0.5 * names["losses"][0])
        self.assertEqual(names["step"].stats.traces, 1)

    def test_the_notebook_of_a_stream(self):
        if not (MODELS / "silero_vad.onnx").exists():
            self.skipTest(NO_SILERO)
        os.environ["SILERO_VAD"] = str(MODELS / "silero_vad.onnx")
        names = self.run_notebook("silero_stream.ipynb")
        self.assertEqual(names["probabilities"].shape, (125,))
        samples = np.frombuffer((MODELS / "speech_16k.wav").read_bytes()[44:], "<i2").astype("f") / 32768
        want = np.loadtxt(MODELS / "silero_probs_speech_16k.txt")
        self.assertLess(np.abs(names["speech"](samples) - want).max(), 1e-4)

    def test_everything_public_has_a_docstring(self):
        bare = [name for name in hearth.__all__ if name != "__version__" and not name.startswith("Error")
                and not getattr(getattr(hearth, name), "__doc__", None)]
        allowed = {cls.__name__ for cls in hearth.Error.__subclasses__()} | {"ops"}
        self.assertEqual([name for name in bare if name not in allowed and name not in hearth._array_api_names], [])

    def test_no_document_installs_a_strangers_package(self):
        for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "python").rglob("*.md"), *(ROOT / "scripts").iterdir()]:
            if path.is_file():
                self.assertIsNone(re.search(r"pip install (-\S+ )*hearth(?![-\w])", path.read_text()), path)

    def test_mypy_accepts_the_quickstart(self):
        try:
            import mypy  # noqa: F401
        except ImportError:
            self.skipTest("mypy is not installed")
        with tempfile.TemporaryDirectory() as folder:
            for i, block in enumerate(BLOCKS):
                text = block if i != 1 else "import hearth\nfrom collections.abc import Iterable\nfrom typing import Any\nf: hearth.Function\n" \
                    "chunks: Iterable[Any]\n" + block
                text = re.sub(r"def model\(x, w\)", "def model(x: hearth.Tensor, w: hearth.Tensor) -> hearth.Tensor", text)
                (pathlib.Path(folder) / f"block{i}.py").write_text(text)
            ran = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(FOLDER / "mypy"), folder],
                                 capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(ROOT / "python")})
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)


if __name__ == "__main__":
    skipping.main()
