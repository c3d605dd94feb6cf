"""hearth.load: what it takes, what it refuses, and how it ends: Ctrl-C, callbacks that raise, the interpreter's end."""
import os
import pathlib
import pickle
import signal
import socket
import subprocess
import sys
import textwrap
import time
import unittest

from place import BIN, F, FOLDER, I, Place, add, hearth, model, node, np, random, relu, skipping, stop

DIMS = {"batch": (1, 8)}


class Models(Place):
    @classmethod
    def setUpClass(cls):
        cls.bytes = relu().SerializeToString()
        cls.path = FOLDER / "relu.onnx"
        cls.path.write_bytes(cls.bytes)
        cls.x = random(3, 4)
        cls.want = np.maximum(cls.x, 0)

    def test_str_path_bytes_and_links(self):
        link = FOLDER / "snapshots" / "model.onnx"
        link.parent.mkdir()
        link.symlink_to(self.path)
        odd = FOLDER / "a\nb \N{SNOWMAN}.onnx"
        odd.write_bytes(self.bytes)
        raw = os.fsencode(FOLDER) + b"/\xff.onnx"
        with open(raw, "wb") as file:
            file.write(self.bytes)
        for given in (str(self.path), self.path, self.bytes, bytearray(self.bytes), memoryview(self.bytes), link, odd,
                      os.fsdecode(raw)):
            with self.subTest(str(given)[:60]):
                np.testing.assert_array_equal(hearth.load(given, dims=DIMS)(self.x), self.want)

    def test_what_is_no_model_is_named(self):
        cut = FOLDER / "cut.onnx"
        cut.write_bytes(self.bytes[:len(self.bytes) // 2])
        newline = FOLDER / "not\nthere.onnx"
        for given, kind, words in ((FOLDER / "none.onnx", FileNotFoundError, "none.onnx"), (FOLDER, ValueError, "folder"),
                                   (cut, ValueError, "cut.onnx"), (b"", ValueError, "model"),
                                   (newline, FileNotFoundError, "there.onnx"), ("a\0b", ValueError, "zero byte"),
                                   (3, TypeError, "model is of type int"), (None, TypeError, "model is of type NoneType")):
            with self.subTest(words), self.refused(kind, words):
                hearth.load(given, dims=DIMS)

    def test_options_that_are_refused_are_named(self):
        for options, kind, words in (
                ({"dims": {"batch": -1}}, ValueError, "dims: 'batch' is -1"),
                ({"dims": {"batch": (8, 1)}}, ValueError, "dims: 'batch' is 8 to 1; expected min <= max"),
                ({"dims": {"batch": (1, 2, 3)}}, ValueError, "dims: 'batch' is (1, 2, 3); expected (min, max)"),
                ({"dims": {"batch": 1.5}}, ValueError, "dims: 'batch' is 1.5"),
                ({"dims": {"batch": True}}, ValueError, "dims: 'batch' is True"),
                ({"dims": {"batch": []}}, ValueError, "dims: 'batch' is []"),
                ({"dims": {"batch": [4, 2]}}, ValueError, "2 stands behind 4"),
                ({"dims": {"batch": 2**63}}, ValueError, "expected a length"),
                ({"dims": {3: 1}}, ValueError, "dims: 3 is no name"),
                ({"dims": {"batch": 1, "btch": 1}}, ValueError, "dims={'btch': 1}: the model has no such dimension"),
                ({"carry": {"y": "x"}}, ValueError,
                 "'batch' (input 'x', axis 0) has no length; give dims={'batch': N}, or (MIN, MAX) in place of N for one that"),
                ({"batch": 4}, TypeError, "there is no argument 'batch'; lengths are given as dims={'batch': 4}"),
                ({"dims": 4}, TypeError, "dims is of type int; expected a dict by a dimension's name"),
                ({"example": random(2, 4)}, TypeError, "example is of type ndarray; expected a dict by an input's name"),
                ({"dims": {"btch": 1}}, ValueError, "dims={'btch': 1}: the model has no such dimension (it has: batch)"),
                ({"dims": DIMS, "weights": "f8"}, ValueError, "weights is 'f8'"),
                ({"dims": DIMS, "threads": -1}, ValueError, "threads is -1"),
                ({"dims": DIMS, "threads": "2"}, ValueError, "threads is '2'"),
                ({"dims": DIMS, "device": 3}, TypeError, "device is 3"),
                ({"dims": DIMS, "device": "gpu9"}, hearth.NotFound, "device 'gpu9' is unknown"),
                ({"dims": DIMS, "deadline": 0}, ValueError, "deadline is 0"),
                ({"dims": DIMS, "deadline": "soon"}, TypeError, "deadline is 'soon'"),
                ({"dims": DIMS, "subnormals": "flush"}, ValueError, "subnormals is 'flush'; expected 'keep', 'results' or 'all'"),
                ({"dims": DIMS, "progress": 3}, TypeError, "progress is 3"),
                ({"dims": DIMS, "constants": {"z": 1}}, ValueError, "z"),
                ({"dims": DIMS, "constants": {"x": "text"}}, TypeError, "constants: 'x' is of type str"),
                ({"dims": DIMS, "parameters": {"w": 1}}, ValueError, "parameters are for plan files"),
                ({"dims": DIMS, "name": 3}, TypeError, "name is 3")):
            with self.subTest(words), self.refused(kind, words):
                hearth.load(self.bytes, **options)

    def test_subnormal_values_are_kept_where_that_is_asked_for(self):
        made = model([node("Mul", ["x", "w"], ["y"])], {"x": (F, [4])}, {"y": F}, weights={"w": np.float32([1e-40, 1e-20, 2, 1e-20])})
        x, f32 = np.float32([1e30, 1e-20, 3, -1e-20]), np.float32
        kept = f32([f32(1e-40) * f32(1e30), f32(1e-20) * f32(1e-20), 6, -(f32(1e-20) * f32(1e-20))])
        zeroed = f32([0, 0, 6, -0.0])
        made = made.SerializeToString()
        for mode, want in (("keep", kept), ("results", zeroed), ("all", zeroed), (None, zeroed)):
            with self.subTest(mode):
                f = hearth.load(made, subnormals=mode)
                copies = f, pickle.loads(pickle.dumps(f)), hearth.load(f.to_bytes(), plan=True)
                for g in copies:
                    self.assertEqual(g(x).tobytes(), want.tobytes())
                self.assertEqual(hearth.load(f.to_bytes(), plan=True, subnormals="keep")(x)[1], kept[1])
                jitted = hearth.jit(lambda x: x * 1e-20, **({"subnormals": mode} if mode else {}))
                self.assertEqual(float(jitted(x[1:2])[0]), float(want[1]))
        self.assertGreater(np.float32(1e-30) * np.float32(1e-10), 0)  # numpy's own arithmetic is as before

    def test_dims_as_people_write_them(self):
        for value, lengths in ((3, (3,)), ((1, 8), (1, 3, 8)), ([1, 4, 8], (1, 2, 4, 8)),
                               (hearth.Range(1, 8, points=(1, 4)), (1, 3, 4, 8)),
                               (hearth.Range(2, 8, multiple_of=2), (2, 8)), (np.int64(3), (3,))):
            with self.subTest(value):
                f = hearth.load(self.bytes, dims={"batch": value})
                for length in lengths:
                    x = random(length, 4)
                    np.testing.assert_array_equal(f(x), np.maximum(x, 0))
        with self.refused(ValueError, "input 'x' has 3 along axis 0; expected 2 to 8 in steps of 2 (batch)"):
            hearth.load(self.bytes, dims={"batch": hearth.Range(2, 8, multiple_of=2)})(self.x)

    def test_a_dimension_that_is_an_expression(self):
        made = model([node("Concat", ["past", "x"], ["all"], axis=0), node("Add", ["all", "mask"], ["y"])],
                     {"past": (F, ["past", 4]), "x": (F, ["seq", 4]), "mask": (F, ["total", 4])}, {"y": F})
        f = self.load(made, dims={"past": (1, 16), "seq": (1, 4), "total": "past + seq"})
        past, x, mask = random(5, 4), random(2, 4, seed=1), random(7, 4, seed=2)
        np.testing.assert_array_equal(f(past, x, mask), np.concatenate([past, x]) + mask)
        with self.refused(ValueError, "input 'mask' has 6 along axis 0; expected 7", "past=5", "seq=2"):
            f(past, x, mask[:6])

    def test_narrow_weights_say_what_they_cost(self):
        made = model([node("MatMul", ["x", "w"], ["y"])], {"x": (F, ["batch", 64])}, {"y": F},
                     weights={"w": random(64, 64)})
        f = self.load(made, dims=DIMS, weights="bf16")
        self.assertEqual((f.weights.tensors, f.weights.f32_bytes, f.weights.stored_bytes), (1, 4 * 4096, 2 * 4096))
        self.assertLess(f.weights.worst_error, 2**-8)
        x = random(2, 64)
        wide = self.load(made, dims=DIMS)(x)
        self.assertLess(np.abs(f(x) - wide).max(), 0.02 * np.abs(wide).max())

    def test_sealed_refuses_to_compile(self):
        made = model([node("Relu", ["x"], ["h"]), node("Exp", ["h"], ["y"])], {"x": (F, [5])}, {"y": F})
        with self.refused(RuntimeError, "sealed"):
            self.load(made, sealed=True)
        self.load(made)
        self.load(made, sealed=True)


class PlanFiles(Place):
    @classmethod
    def setUpClass(cls):
        cls.made = model([node("MatMul", ["x", "w"], ["y"])], {"x": (F, ["batch", 64])}, {"y": F},
                         weights={"w": random(64, 64)})
        cls.f = hearth.load(cls.made.SerializeToString(), dims=DIMS, threads=1)
        cls.x = random(3, 64, seed=3)
        cls.want = cls.f(cls.x)

    def test_a_plan_is_saved_and_loaded_without_a_daemon(self):
        path = FOLDER / "plan.hearth"
        self.f.save(path)
        self.assertEqual(path.read_bytes(), self.f.to_bytes())
        stop()
        for given, plan in ((path, None), (str(path), None), (path, True), (path.read_bytes(), True)):
            g = hearth.load(given, socket=FOLDER / "nobody", plan=plan)
            np.testing.assert_array_equal(g(self.x), self.want)
            self.assertEqual([tuple(v) for v in g.inputs], [("x", "float32", ("batch", 64))])
        with self.refused(ValueError, "dims: a plan file has them"):
            hearth.load(path, dims=DIMS)
        with self.refused(hearth.Error, "the plan: "):
            hearth.load(path.read_bytes()[:-100], plan=True)
        with self.refused(hearth.Error, "the plan: "):
            hearth.load(b"HEARTHPF", plan=True)
        with self.refused(hearth.Error, "the plan: ", "HEARTHPF"):
            hearth.load(self.made.SerializeToString(), plan=True)
        with self.refused(hearth.Error, "none"):
            self.f.save(FOLDER / "none" / "plan.hearth")

    def test_a_plan_under_a_models_name_is_no_model_and_is_not_run(self):
        code = self.f.to_bytes()
        path = FOLDER / "from-elsewhere.onnx"
        path.write_bytes(code)
        for given, plan in ((path, None), (str(path), None), (code, None), (bytearray(code), None), (code, False)):
            with self.refused(ValueError, "this is a plan file, machine code of whoever wrote it", "plan=True"):
                hearth.load(given, plan=plan)
        np.testing.assert_array_equal(hearth.load(path, plan=True)(self.x), self.want)
        named = FOLDER / "named.hearth"
        named.write_bytes(code)
        with self.refused(ValueError, "this is a plan file"):
            hearth.load(named, plan=False)
        with self.refused(TypeError, "plan is 1; expected True, False or None"):
            hearth.load(named, plan=1)

    def test_what_a_function_says_of_itself_holds_no_control_characters(self):
        f = hearth.load(self.made.SerializeToString(), dims=DIMS, threads=1, name="a\n\x1b[31mb")
        for text in (repr(f), f.explain()):
            self.assertNotIn("\x1b", text)
        self.assertIn("a\\n\\x1b[31mb", repr(f))
        self.assertNotIn("\n", repr(f))

    def test_parameters_may_stay_outside(self):
        without = self.f.to_bytes(parameters=False)
        self.assertLess(len(without) + 4 * 4096, len(self.f.to_bytes()) + 4096)
        with self.refused(ValueError, "parameter '", "not given"):
            hearth.load(without, plan=True)
        g = hearth.load(without, plan=True, parameters={"w": random(64, 64)})
        np.testing.assert_array_equal(g(self.x), self.want)
        with self.refused(ValueError, "parameter 'w' is given other bytes"):
            hearth.load(without, plan=True, parameters={"w": random(64, 64, seed=9)})

    def test_a_function_is_pickled(self):
        g = pickle.loads(pickle.dumps(self.f))
        np.testing.assert_array_equal(g(self.x), self.want)
        self.assertEqual((g.name, g.device, g.threads), (self.f.name, "cpu", 1))


class Daemons(Place):
    def test_no_daemon_and_a_strangers_socket(self):
        silent = Silent()
        with self.refused(TimeoutError):
            hearth.load(relu().SerializeToString(), dims=DIMS, socket=silent.path, deadline=0.5)
        silent.close()
        os.environ["HEARTH_NO_AUTOSTART"] = "1"
        try:
            with self.refused(ConnectionError, "nobody-here"):
                hearth.load(relu().SerializeToString(), dims=DIMS, socket=FOLDER / "nobody-here")
        finally:
            del os.environ["HEARTH_NO_AUTOSTART"]

    def test_calls_go_on_when_the_daemon_is_killed(self):
        f = hearth.load(relu().SerializeToString(), dims=DIMS)
        stop()
        x = random(3, 4)
        np.testing.assert_array_equal(f(x), np.maximum(x, 0))

    def test_progress_is_told_and_what_it_raises_ends_the_call(self):
        told = []
        made = model([node("Exp", ["x"], ["h"]), node("Softmax", ["h"], ["y"])], {"x": (F, [7, 9])}, {"y": F})
        self.load(made, progress=lambda *now: told.append(now))
        self.assertTrue(told)
        self.assertTrue(all(state in ("queued", "lowering", "compiling", "loading") for state, _, _ in told), told)

        def fail(*now):
            raise ZeroDivisionError("mine")
        other = model([node("Exp", ["x"], ["h"]), node("Softmax", ["h"], ["y"])], {"x": (F, [7, 11])}, {"y": F})
        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            self.load(other, progress=fail)
        self.load(other)  # and the next call works

    def test_large_weights_are_packed_with_progress_in_bytes_once_a_node(self):
        def packed():
            told = []
            self.load(made, progress=lambda *now: told.append(now))
            return [(done, total) for state, done, total in told if state == "packing"]

        # Some processors multiply by weights as they lie in the file. What is computed of weights is packed on all.
        made = model([node("Exp", ["w"], ["e"]), node("MatMul", ["x", "e"], ["y"])], {"x": (F, [32, 2048])}, {"y": F},
                     weights={"w": random(2048, 2304)})
        first = packed()
        size = 2048 * 2304 * 4
        self.assertTrue(first)
        self.assertEqual(first, sorted(first))
        self.assertTrue(all(done <= total and size <= total <= 2 * size for done, total in first), first)
        self.assertEqual(first[-1][0], first[-1][1])
        self.assertEqual(packed(), [])  # what is shared is there


class Silent:
    """A socket of somebody who says nothing."""

    def __init__(self):
        self.path = FOLDER / f"silent{time.monotonic_ns()}"
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(self.path))
        self.socket.listen(8)

    def close(self):
        self.socket.close()


class Ends(Place):
    def child(self, program):
        return subprocess.Popen([sys.executable, "-B", "-c", textwrap.dedent(program)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def setUp(self):
        self.silent = Silent()
        self.model = FOLDER / "relu.onnx"
        self.model.write_bytes(relu().SerializeToString())

    def tearDown(self):
        self.silent.close()

    def test_ctrl_c_ends_a_prepare_and_the_next_call_works(self):
        child = self.child(f"""
            import hearth, time, sys
            print("ready", flush=True)
            start = None
            try:
                hearth.load({str(self.model)!r}, dims={DIMS!r}, socket={str(self.silent.path)!r}, deadline=3600)
            except KeyboardInterrupt:
                print("interrupted", flush=True)
            f = hearth.load({str(self.model)!r}, dims={DIMS!r})
            print(f(memoryview(bytes(16)).cast("f", (1, 4))).tolist())
        """)
        self.assertEqual(child.stdout.readline(), "ready\n")
        connection, _ = self.silent.socket.accept()  # it waits for an answer
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.stdout.readline(), "interrupted\n", child.stderr.read() if child.poll() else "")
        out, err = child.communicate(timeout=300)
        self.assertEqual((out, child.returncode), ("[[0.0, 0.0, 0.0, 0.0]]\n", 0), err)
        connection.close()

    def test_the_interpreter_ends_while_another_thread_prepares(self):
        child = self.child(f"""
            import hearth, threading, time
            def work():
                hearth.load({str(self.model)!r}, dims={DIMS!r}, socket={str(self.silent.path)!r}, deadline=60)
            for _ in range(3):
                threading.Thread(target=work, daemon=True).start()
            time.sleep(0.3)
            print("over")
        """)
        out, err = child.communicate(timeout=300)
        self.assertEqual((out, err, child.returncode), ("over\n", "", 0))

    def test_the_interpreter_ends_while_other_threads_call(self):
        child = self.child(f"""
            import hearth, threading, time
            f = hearth.load({str(self.model)!r}, dims={DIMS!r}, threads=1)
            x = memoryview(bytes(16)).cast("f", (1, 4))
            def work():
                while True:
                    f(x)
            for _ in range(4):
                threading.Thread(target=work, daemon=True).start()
            time.sleep(0.2)
            print("over")
        """)
        out, err = child.communicate(timeout=300)
        self.assertEqual((out, err, child.returncode), ("over\n", "", 0))

    def test_an_exception_in_a_thread_at_exit(self):
        child = self.child(f"""
            import hearth, threading, time
            def fail(*now):
                time.sleep(0.2)
                raise ValueError("late")
            def work():
                hearth.load({str(self.model)!r}, dims={{"batch": (1, 7)}}, progress=fail)
            threading.Thread(target=work, daemon=True).start()
            time.sleep(0.1)
            print("over")
        """)
        out, err = child.communicate(timeout=300)
        self.assertEqual((out, child.returncode), ("over\n", 0), err)
        self.assertNotIn("terminate", err)
        self.assertNotIn("Fatal", err)


class Import(Place):
    def test_numpy_is_not_imported(self):
        ran = subprocess.run([sys.executable, "-c", "import hearth, sys; print('numpy' in sys.modules)"],
                             capture_output=True, text=True)
        self.assertEqual((ran.stdout, ran.stderr), ("False\n", ""))

    def test_another_package_of_the_name_is_said(self):
        site = FOLDER / "site"
        site.mkdir()
        (site / "hearth").symlink_to(pathlib.Path(hearth.__file__).parent)
        for name, is_said in (("hearth_compiler-0.1.0.dist-info", False), ("hearth-1.2.3.dist-info", True)):
            (site / name).mkdir()
            environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
            ran = subprocess.run([sys.executable, "-B", "-c", "import hearth"], env=environment, capture_output=True,
                                 text=True)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertEqual("hearth-1.2.3.dist-info" in ran.stderr, is_said, ran.stderr)


if __name__ == "__main__":
    skipping.main()
