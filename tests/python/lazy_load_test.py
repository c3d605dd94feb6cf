"""hearth.load without a study of the model: lengths left open, what is given instead of a path, files as model hubs lay them."""
import concurrent.futures
import io
import logging
import os
import pickle
import threading
import unittest
import warnings

from place import FOLDER, F, I, Place, hearth, model, node, np, random, skipping

import onnx

try:
    import torch
except ImportError:
    torch = None


def scale(shape=("batch", "time", 3)):
    return model([node("Mul", ["x", "w"], ["y"])], {"x": (F, list(shape))}, {"y": F}, weights={"w": np.arange(3, dtype=F)})


class Lazy(Place):
    def test_lengths_are_those_of_each_call(self):
        f = self.load(scale())
        self.assertIsInstance(f, hearth.LazyFunction)
        self.assertEqual([(one.name, one.type, one.shape) for one in f.inputs], [("x", "float32", ("batch", "time", 3))])
        with self.assertRaisesRegex(AttributeError, r"'variables' is a plan's, and there is none yet: call the function once"):
            f.variables
        for batch, time in ((1, 4), (2, 5), (1, 4), (7, 1)):
            x = random(batch, time, 3)
            np.testing.assert_array_equal(f(x), x * np.arange(3, dtype=F))
            np.testing.assert_array_equal(f(x=x), x * np.arange(3, dtype=F))
        self.assertEqual(len(f.plans), 3)
        self.assertEqual(f.variables, ())  # the last used plan's
        np.testing.assert_array_equal(f.submit(x).result(), x * np.arange(3, dtype=F))
        again = pickle.loads(pickle.dumps(f))
        np.testing.assert_array_equal(again(x), x * np.arange(3, dtype=F))
        self.assertIsInstance(f.prepare(random(3, 3, 3)), hearth.Function)
        with self.refused(ValueError, "input 'x'"):
            f(random(4, 3))
        with self.refused(TypeError, "2 arrays are given; the model takes 1: x"):
            f(x, x)
        with self.refused(ValueError, "input 'z'"):
            f(z=x)

    def test_more_lengths_than_plans_say_what_to_write(self):
        path = FOLDER / "scale.onnx"
        onnx.save(scale(), path)
        f = hearth.load(path)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for n in range(1, 12):
                f(random(2, n, 3))
        self.assertEqual(len(f.plans), 8)
        self.assertEqual([one.category for one in said], [hearth.CompileWarning])
        text = str(said[0].message)
        self.assertIn(f"hearth.load({str(path)!r}, dims={{'batch': 2, 'time': (1, 9)}})", text)
        one_plan = eval(text[text.index("hearth.load("):])  # as it stands
        x = random(2, 6, 3)
        np.testing.assert_array_equal(one_plan(x), f(x))
        self.assertEqual(said[0].filename, __file__)

    def test_calls_do_not_wait_for_the_plan_of_other_lengths(self):
        begun, may_end = threading.Event(), threading.Event()

        def progress(*_):
            begun.set()
            may_end.wait(600)

        may_end.set()
        f = self.load(scale(), progress=progress)
        x, other = random(2, 3, 3), random(3, 5, 3)
        f(x)
        begun.clear()
        may_end.clear()
        pool = concurrent.futures.ThreadPoolExecutor(3)
        self.addCleanup(pool.shutdown)
        made = [pool.submit(f, other) for _ in range(2)]
        self.assertTrue(begun.wait(600))
        try:
            np.testing.assert_array_equal(pool.submit(f, x).result(300), x * np.arange(3, dtype=F))
            self.assertFalse(any(one.done() for one in made))
        finally:
            may_end.set()
        for one in made:
            np.testing.assert_array_equal(one.result(600), other * np.arange(3, dtype=F))
        self.assertEqual(len(f.plans), 2)  # the two calls share one

    def test_lengths_that_are_given_stay(self):
        f = self.load(scale(), dims={"batch": (1, 4)})
        for batch, time in ((1, 4), (4, 4), (2, 5)):
            f(random(batch, time, 3))
        with self.refused(ValueError, "dimension 'batch' is 1:4 but input 'x' is given shape [5, 4, 3]"):
            f(random(5, 4, 3))
        self.assertIsInstance(self.load(scale(), dims={"batch": 1, "x.1": (1, 4)}), hearth.Function)

    def test_an_input_whose_value_decides_the_shape(self):
        made = model([node("Reshape", ["x", "shape"], ["y"])], {"x": (F, ["n"]), "shape": (I, [2])}, {"y": F})
        f = self.load(made)
        for shape in ((2, 3), (3, 2), (2, 3)):
            np.testing.assert_array_equal(f(np.arange(6, dtype=F), np.array(shape)), np.arange(6, dtype=F).reshape(shape))
        self.assertEqual(len(f.plans), 2)

    def test_a_long_first_prepare_says_how_to_prewarm(self):
        slow = hearth._progress.Slow("a\nmodel")
        slow.start -= 3
        with self.assertLogs("hearth", logging.WARNING) as said:
            for done in range(3):
                slow("compiling", done, 10)
        self.assertEqual(len(said.output), 1)
        self.assertIn("a?model is compiled for this machine: 0 of 10 kernels so far", said.output[0])
        self.assertIn("hearth prewarm", said.output[0])


class Names(Place):
    def test_axes_that_have_no_name(self):
        for word in ("?", "", "None", "-1", "*", "unk", "Unknown", "dynamic", "N/A"):
            made = scale(("batch", word, 3))
            second = made.graph.input[0].type.tensor_type.shape.dim[0]
            second.Clear()
            second.dim_param = word
            with self.subTest(word):
                self.assertEqual(hearth.inspect(made).dims, ("x.0", "x.1"))
                f = self.load(made, dims={"x.0": 2, "x.1": (1, 4)})
                x = random(2, 3, 3)
                np.testing.assert_array_equal(f(x), x * np.arange(3, dtype=F))
                np.testing.assert_array_equal(self.load(made)(x), f(x))

    def test_an_axis_is_named_by_its_input_too(self):
        x = random(2, 3, 3)
        f = self.load(scale(), dims={"x.0": (1, 4), "time": 3})
        np.testing.assert_array_equal(f(x), x * np.arange(3, dtype=F))
        self.assertEqual([one.name for one in f.variables], ["batch"])
        for dims, words in (({"foo": 3}, "dims={'foo': 3}: the model has no such dimension (it has: batch, time)"),
                            ({"x.2": 3, "batch": 1}, "dims={'x.2': 3}: the model has no such dimension"),
                            ({"x.0": 3, "batch": 2, "time": 1}, "dims={'x.0': 3}: dimension 'batch' is 2"),
                            ({"x.9": 3}, "no such dimension")):
            with self.subTest(words), self.refused(ValueError, words):
                self.load(scale(), dims=dims)


class Sources(Place):
    def test_inspect(self):
        info = hearth.inspect(scale())
        self.assertEqual(info.inputs, (("x", "float32", ("batch", "time", 3), False),))
        self.assertEqual((info.dims, info.operators, info.opsets[""], info.refused), (("batch", "time"), {"Mul": 1}, 17, ""))
        self.assertEqual((info.parameters, info.parameter_bytes), (1, 12))
        self.assertIn("input 'x': float32 [batch, time, 3]", repr(info))
        path = FOLDER / "inspected.onnx"
        path.write_bytes(scale().SerializeToString())
        for given in (path, str(path), path.read_bytes()):
            self.assertEqual(hearth.inspect(given), info)
        bad = model([node("Nonsense", ["x"], ["y"], domain="my.own")], {"x": (F, ["n"])}, {"y": F}, domains=("my.own",))
        self.assertIn("my.own::Nonsense", hearth.inspect(bad).not_supported)
        with self.refused(FileNotFoundError, "none.onnx"):
            hearth.inspect(FOLDER / "none.onnx")
        with self.refused(hearth.Unimplemented, "Nonsense"):
            self.load(bad)

    def test_what_other_libraries_hold(self):
        x = random(1, 2, 3)
        np.testing.assert_array_equal(hearth.load(scale())(x), x * np.arange(3, dtype=F))

        class Program:
            model_proto = scale()

        np.testing.assert_array_equal(hearth.load(Program())(x), x * np.arange(3, dtype=F))
        with self.refused(TypeError, "pass file.read()"):
            hearth.load(io.BytesIO(b""))
        with self.refused(ValueError, "URLs are not loaded: download it"):
            hearth.load("https://example.org/model.onnx")

    @unittest.skipUnless(torch, "torch is not installed")
    def test_a_torch_module_is_told_how_to_be_exported(self):
        with self.refused(TypeError, "is of type Linear", "torch.onnx.export(model, args, dynamo=True)"):
            hearth.load(torch.nn.Linear(2, 2))

    def lay(self, name, where):
        """A model and its data as links, the way caches of model hubs have them; `where`: the data's folder."""
        hub = FOLDER / name
        blobs, snapshot = hub / "blobs", hub / "snapshots" / "1" / "onnx"
        for folder in (blobs, snapshot, hub / where):
            folder.mkdir(parents=True, exist_ok=True)
        made = scale()
        onnx.save(made, hub / "m.onnx", save_as_external_data=True, location="m.onnx.data", size_threshold=0)
        os.rename(hub / "m.onnx", blobs / "aa")
        os.rename(hub / "m.onnx.data", hub / where / "bb")
        (snapshot / "m.onnx").symlink_to("../../../blobs/aa")
        (snapshot / "m.onnx.data").symlink_to(f"../../../{where}/bb")
        return snapshot / "m.onnx"

    def test_a_cache_of_a_model_hub(self):
        x = random(1, 2, 3)
        np.testing.assert_array_equal(hearth.load(self.lay("hub", "blobs"))(x), x * np.arange(3, dtype=F))

    def test_a_link_to_anywhere_else_is_refused(self):
        path, x = self.lay("other", "elsewhere"), random(1, 2, 3)
        with self.refused(ValueError, "link out of the model's folder", "allow_links=True"):
            hearth.load(path, dims={"batch": 1, "time": 2})
        with self.refused(ValueError, "link out of the model's folder"):
            hearth.load(path)(x)
        np.testing.assert_array_equal(hearth.load(path, allow_links=True)(x), x * np.arange(3, dtype=F))
        plain = FOLDER / "plain"  # a model that is no link, whose data is one
        plain.mkdir()
        (plain / "m.onnx").write_bytes(path.read_bytes())
        (plain / "m.onnx.data").symlink_to(path.resolve().parent.parent / "elsewhere" / "bb")
        with self.refused(ValueError, "link out of the model's folder"):
            hearth.load(plain / "m.onnx", dims={"batch": 1, "time": 2})

    @unittest.skipUnless(os.geteuid() == 0, "another owner needs root")
    def test_a_neighbour_of_another_owner_is_refused(self):
        path = self.lay("owned", "blobs")
        os.chown(path.parent.parent.parent.parent / "blobs" / "bb", 12345, -1)
        with self.refused(ValueError, "link out of the model's folder"):
            hearth.load(path, dims={"batch": 1, "time": 2})


if __name__ == "__main__":
    skipping.main()
