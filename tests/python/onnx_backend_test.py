"""onnx.backend.test of the installed onnx package through hearth.load: what is computed wrong fails; what is refused by
name is counted and listed. A case in eight, unless HEARTH_TEST_LONG is set."""
import collections
import os
import sys
import unittest

from place import FOLDER, Place, hearth, np, skipping

try:
    import onnx.backend.test
    from onnx.backend.base import Backend, BackendRep
except ImportError as error:
    skipping.skip_all(str(error))

refused = collections.Counter()
lines = []


class Rep(BackendRep):
    """Inputs decide shapes and branches of these cases, so that the model is loaded when they are there."""

    def __init__(self, model):
        self.model = model

    def run(self, inputs, **_):
        names = [value.name for value in self.model.graph.input]
        names = [name for name in names if name not in {weight.name for weight in self.model.graph.initializer}]
        example = dict(zip(names, inputs))
        f = hearth.load(self.model.SerializeToString(), example=example)
        given = {}
        for name, value in example.items():
            if isinstance(value, list):
                given.update({f"{name}/{i}": one for i, one in enumerate(value)})
            elif value is not None:
                given[name] = value
        taken = {value.name for value in f.inputs}
        out = f(**{name: value for name, value in given.items() if name in taken})
        out = [out] if len(f.outputs) == 1 else list(out)
        made, results = collections.OrderedDict(), [value.name for value in self.model.graph.output]
        for value, array in zip(f.outputs, out):
            name, _, place = value.name.rpartition("/")
            if value.name not in results and name in results:
                made.setdefault(name, []).append(array)  # of a sequence
            else:
                made[value.name] = array
        return [np.asarray(made[name]) if name in made and not isinstance(made[name], list) else made.get(name, []) for name in results]


class Hearth(Backend):
    @classmethod
    def prepare(cls, model, device="CPU", **_):
        return Rep(model)

    @classmethod
    def supports_device(cls, device):
        return device == "CPU"


def why_not(name):
    """Why a case's expected values are no judge of ours, "" for all others."""
    if "bernoulli" in name or "training_dropout" in name:
        return "random numbers differ between implementations"
    if "dft_inverse" in name:
        return "expected values hold rounding errors of 2e-7 where 0 is right, at a tolerance of 1e-7"
    if "loop16_seq_none" in name:
        return "onnx's runner takes len() of the scalar in the sequence"
    return ""


def _run(case):
    def test(self):
        if why_not(self._testMethodName):
            self.skipTest(why_not(self._testMethodName))
        try:
            case(self)
        except hearth.Error as error:
            refused[type(error).__name__] += 1
            lines.append(f"{self._testMethodName}: {error}"[:200])
            if not isinstance(error, (hearth.Unimplemented, hearth.InvalidArgument)):
                raise
        else:
            refused["passed"] += 1
    return test


class Cases(Place):
    pass


def _add_cases():
    cases = onnx.backend.test.BackendTest(Hearth, __name__).test_cases["OnnxBackendNodeModelTest"]
    names = sorted(name for name in dir(cases) if name.startswith("test_") and name.endswith("_cpu"))
    for i, name in enumerate(names):
        if i % 8 == 0 or os.environ.get("HEARTH_TEST_LONG"):
            setattr(Cases, name, _run(getattr(cases, name)))


_add_cases()


class Zzz(unittest.TestCase):
    def test_most_pass(self):
        print(f"onnx {onnx.__version__}: {dict(refused)}", file=sys.stderr)
        for line in lines:
            print("  " + line, file=sys.stderr)
        self.assertGreater(refused["passed"], 2 * (sum(refused.values()) - refused["passed"]))


if __name__ == "__main__":
    skipping.main()
