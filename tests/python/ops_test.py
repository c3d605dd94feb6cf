"""Every op of the headers exists in Python, under the table that clang's syntax tree gives, and computes what numpy does."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from place import ROOT, Place, hearth, np, skipping

sys.path.insert(0, str(ROOT / "tests" / "conformance" / "numpy"))
MAKE = ROOT / "python" / "ops" / "make_ops.py"
os.environ["HEARTH_SUBNORMALS"] = "keep"  # some of numpy's results are
TABLE = json.loads((ROOT / "python" / "ops" / "ops.json").read_text())

called = set()


def _noting(name, op):
    def call(*args, **named):
        called.add(name)
        return op(*args, **named)
    return call


for _name in hearth.ops.__all__:
    setattr(hearth.ops, _name, _noting(_name, getattr(hearth.ops, _name)))

import op_rows  # noqa: E402


class Table(Place):
    def test_the_table_is_that_of_the_headers(self):
        if shutil.which("clang++-19") is None:
            self.skipTest("clang 19 is not installed")
        with tempfile.TemporaryDirectory() as folder:
            program = MAKE.read_text().replace('TABLE = HERE / "ops.json"', f'TABLE = pathlib.Path({folder!r}) / "ops.json"')
            program = program.replace("pathlib.Path(__file__)", f"pathlib.Path({str(MAKE)!r})")
            subprocess.run([sys.executable, "-c", program, "table"], check=True)
            made = (pathlib.Path(folder) / "ops.json").read_text()
        self.assertEqual(made, (ROOT / "python" / "ops" / "ops.json").read_text(), "run python/ops/make_ops.py table")

    def test_stubs_and_page_are_those_of_the_table(self):
        for word, path in (("stubs", ROOT / "python/hearth/ops.pyi"), ("page", ROOT / "docs/python_ops.md")):
            with tempfile.NamedTemporaryFile("r", suffix=".txt") as file:
                subprocess.run([sys.executable, MAKE, word, file.name], check=True)
                self.assertEqual(pathlib.Path(file.name).read_text(), path.read_text(), f"run python/ops/make_ops.py {word} {path}")

    def test_every_op_of_the_headers_is_there(self):
        names = {function["name"] for function in TABLE["functions"]}
        self.assertGreater(len(names), 200)
        self.assertEqual(names - set(hearth.ops.__all__), set())

    def test_arguments_that_are_refused_are_named(self):
        x = hearth.tensor([[1.0, 2.0]])
        for call, words in ((lambda: hearth.ops.softmax(), "softmax: x is missing"),
                            (lambda: hearth.ops.softmax(x, 0, 1), "softmax: 3 arguments are given by place; it takes 2"),
                            (lambda: hearth.ops.softmax(x, axs=1), "softmax: there is no argument 'axs'; did you mean 'axis'?"),
                            (lambda: hearth.ops.softmax(x, x=x), "softmax: x is given by place and by name"),
                            (lambda: hearth.ops.softmax(x, "1"), "softmax: axis is '1'; expected an int"),
                            (lambda: hearth.ops.softmax("x"), "softmax: x is of type str; expected an array"),
                            (lambda: hearth.ops.cast(x, "float12"), "cast: dtype is 'float12'; expected a dtype"),
                            (lambda: hearth.ops.softmax(x, 2), "softmax: axis 2 is out of range for 2 axes"),
                            (lambda: hearth.ops.scatter_nd(x, x, x, "mean"), "scatter_nd: reduction is 'mean'; expected one of 'none'"),
                            (lambda: hearth.ops.resize(x, [{"axs": 1}]), "resize: axes: there is no 'axs'; did you mean 'axis'?"),
                            (lambda: hearth.ops.cat(x, None), "cat: axis is missing"),
                            (lambda: hearth.ops.permute(x, (0.5, 1)), "permute: axes is 0.5; expected an int")):
            with self.subTest(words), self.refused(ValueError, words):
                call()

    def test_an_error_names_the_line_in_python(self):
        with self.refused(ValueError, "reshape: cannot reshape [2] (2 elements) to [3] (3 elements) (at ops_test.py:"):
            hearth.tensor([1.0, 2.0]).reshape(3)


def _add_family(family, rows):
    def test(self):
        import importlib
        cases = {name: (inputs, outputs) for name, inputs, outputs in importlib.import_module(f"cases_{family}").cases()}
        self.assertEqual(set(cases), set(rows), "a case without a row, or the other way round")
        made = {}
        for name, (inputs, _) in cases.items():
            made[name] = list(rows[name][0](*(hearth.tensor(np.asarray(x)) for x in inputs)))
        names = list(made)
        for start in range(0, len(names), 24):  # a graph each
            hearth.evaluate(*(y for name in names[start:start + 24] for y in made[name]))
        for name, (_, outputs) in cases.items():
            _, relative, absolute = rows[name]
            self.assertEqual(len(made[name]), len(outputs), name)
            for got, want in zip(made[name], outputs):
                want = np.asarray(want)
                with self.subTest(case=name):
                    self.assertEqual((got.dtype, got.shape), (str(want.dtype), want.shape), name)
                    got = np.asarray(got)
                    if want.dtype.kind != "f":
                        np.testing.assert_array_equal(got, want, name)
                    else:
                        wide = np.float64
                        np.testing.assert_allclose(got.astype(wide), want.astype(wide), rtol=relative, atol=absolute, err_msg=name)
    setattr(Families, f"test_{family}", test)


class Families(Place):
    pass


for _family, _rows in op_rows.FAMILIES.items():
    _add_family(_family, _rows)


class Zzz(Place):
    """After all others."""

    def test_every_op_was_called(self):
        of_table = {function["name"] for function in TABLE["functions"]} | {"add", "subtract", "multiply", "divide"}
        here = {"saturating_cast": None, "dim_value": None, "cubic_weight": None}
        x = hearth.tensor([1e9, -1e9, float("nan")])
        got = hearth.ops.saturating_cast(x, "float8_e4m3fn").tolist()
        self.assertEqual((got[:2], got[2] != got[2]), ([448.0, -448.0], True))
        self.assertEqual(hearth.ops.cubic_weight(0.5, -0.75), 1.25 * 0.125 - 2.25 * 0.25 + 1)
        n = hearth.Dim("n", 1, 8)
        self.assertEqual((hearth.ops.dim_value(n).dtype, hearth.ops.dim_value(3).item()), ("int64", 3))
        self.assertEqual(of_table - called - set(here), set())


if __name__ == "__main__":
    skipping.main()
