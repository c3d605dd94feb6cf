"""Functions of one's own in deployment: prepared ahead, saved, explained, measured, pickled."""
import copy
import json
import os
import pathlib
import pickle
import subprocess
import sys
import textwrap

from place import BIN, FOLDER, F, Place, hearth, model, node, np, random, skipping

X, W = random(2, 4), random(4, 3, seed=1)


@hearth.jit
def linear(w, x, scale=1.0):  # in another order than the graph reads them
    return (x @ w) * scale


def plain(x):
    return x - 2


decorated_elsewhere = hearth.jit(plain, capacity=3)


class Net:
    def __init__(self):
        self.w = W

    @hearth.jit
    def forward(self, x):
        return x @ self.w

    def __call__(self, x):
        return x @ self.w + 1


class Deploy(Place):
    def check(self, got, want):
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-5, atol=1e-6)

    def test_prepare_traces_without_a_call(self):
        f = linear.prepare(W, X)
        self.assertEqual([one.name for one in f.inputs], ["w", "x"])
        before = linear.stats
        self.check(linear(W, X), X @ W)
        self.assertEqual((linear.stats.traces, linear.stats.hits), (before.traces, before.hits + 1))
        self.check(f(W, X), X @ W)
        self.check(f(x=X, w=W), X @ W)
        varying = linear.prepare(W, X, dims={"x": {0: hearth.Dim("n", 1, 8)}})
        for n in (1, 5):
            self.check(varying(W, random(n, 4)), random(n, 4) @ W)
        self.assertEqual([one.name for one in varying.variables], ["n"])

    def test_a_saved_function_takes_its_arguments_in_their_order(self):
        path = FOLDER / "linear.hearth"
        linear.save(path, W, X, scale=2.0)
        loaded = hearth.load(path)
        self.check(loaded(W, X), X @ W * 2)
        self.check(loaded(x=X, w=W), X @ W * 2)
        net = Net()
        net.forward(X)
        net.forward.save(FOLDER / "net.hearth")  # the only plan
        self.check(hearth.load(FOLDER / "net.hearth")(X), X @ W)
        of_tree = hearth.jit(lambda layers, unused, *, options: layers[1] - layers[0] * options["k"])
        arguments = ([np.ones(3, F), np.arange(3, dtype=F)], np.zeros(5, F)), {"options": {"k": np.float32(2)}}
        f = of_tree.prepare(*arguments[0], options={"k": np.full(3, 2, F)})
        self.assertEqual([one.name for one in f.inputs], ["layers.0", "layers.1", "unused", "options.k"])
        f.save(FOLDER / "tree.hearth")
        self.check(hearth.load(FOLDER / "tree.hearth")(np.ones(3, F), np.arange(3, dtype=F), np.zeros(5, F), np.full(3, 2, F)),
                   np.arange(3) - 2.0)
        linear.prepare(W, X[:1])
        with self.refused(TypeError, "plans are kept; give arguments such as calls have"):
            linear.save(path)

    def test_a_saved_model_takes_its_inputs_in_the_models_order(self):
        made = model([node("Sub", ["b", "a"], ["y"]), node("NonZero", ["a"], ["where"])],
                     {"a": (F, [3]), "unread": (F, [2]), "b": (F, [3])}, {"y": F, "where": np.int64})
        f = self.load(made)
        a, b, unread = np.array([1, 0, 2], F), np.array([5, 6, 7], F), np.zeros(2, F)
        f.save(FOLDER / "sub.hearth")
        for one in (f, hearth.load(FOLDER / "sub.hearth"), pickle.loads(pickle.dumps(f))):
            self.assertEqual([value.name for value in one.inputs], ["a", "unread", "b"])
            y, where = one(a, unread, b)
            self.check(y, b - a)
            self.check(where, np.nonzero(a))  # as many as there are, not as many as there may be
        path = FOLDER / "sub.onnx"
        path.write_bytes(made.SerializeToString())
        subprocess.run([BIN / "hearth", "export", path, "-o", FOLDER / "cli.hearth"], check=True, capture_output=True)
        self.check(hearth.load(FOLDER / "cli.hearth")(a, unread, b)[0], b - a)

    def test_explain_and_profile(self):
        self.assertIn("float32", linear.explain(W, X))
        rows = linear.profile(W, X)
        self.assertGreater(len(rows), 0)
        sized = hearth.jit(lambda x, y: hearth.arange(x.shape[0]) + y, dims={"x": {0: hearth.Dim("n", 1, 8)}})
        self.assertGreater(len(sized.profile(np.zeros(5, F), np.int64(1) + np.zeros((), "i8"))), 0)

    def test_pickles_where_its_function_is_importable(self):
        program = FOLDER / "deployed.py"
        program.write_text(textwrap.dedent(f"""
            import sys
            sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
            import concurrent.futures, copy, multiprocessing, pickle
            import numpy as np
            import deploy_test as d
            if __name__ == "__main__":
                for f in (d.linear, d.decorated_elsewhere):
                    again = pickle.loads(pickle.dumps(f))
                    assert copy.deepcopy(f)._function is f._function
                    assert again._function is f._function and again._capacity == f._capacity, f
                net = d.Net()
                bound, called = pickle.loads(pickle.dumps((net.forward, d.hearth.jit(d.Net()))))
                np.testing.assert_allclose(bound(d.X), d.X @ d.W, rtol=1e-5)
                np.testing.assert_allclose(called(d.X), d.X @ d.W + 1, rtol=1e-5)
                with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                    np.testing.assert_allclose(pool.submit(d.linear, d.W, d.X).result(), d.X @ d.W, rtol=1e-5)
                print("right")
            """))
        ran = subprocess.run([sys.executable, "-B", program], capture_output=True, text=True, env=os.environ)
        self.assertEqual((ran.stdout[-6:], ran.returncode), ("right\n", 0), ran.stderr)
        local = hearth.jit(lambda x: x + 1)
        with self.assertRaisesRegex(pickle.PicklingError, "define it at a module's top, or pickle f.prepare"):
            pickle.dumps(local)
        self.check(pickle.loads(pickle.dumps(local.prepare(X)))(X), X + 1)

    def test_prewarm_fills_the_cache_for_sealed_processes(self):
        path = FOLDER / "warm.onnx"
        made = model([node("Mul", ["x", "x"], ["y"])], {"x": (F, ["n"])}, {"y": F})
        path.write_bytes(made.SerializeToString())
        program = FOLDER / "served.py"
        program.write_text(textwrap.dedent(f"""
            import hearth, numpy as np

            @hearth.jit
            def twice(x):
                return x * 2 + 0.125

            def setup():
                twice.prepare(np.ones(6, "f"))
                hearth.load({str(path)!r}, dims={{"n": (1, 9)}})

            if __name__ == "__main__":
                print(twice(np.ones(6, "f")).tolist()[0], hearth.load({str(path)!r}, dims={{"n": (1, 9)}})(np.ones(2, "f")).tolist())
            """))
        sealed = {**os.environ, "HEARTH_SEALED": "1"}
        run = lambda *words, **more: subprocess.run([sys.executable, "-B", *words], capture_output=True, text=True, cwd=FOLDER, **more)  # noqa: E731
        missed = run(program, env=sealed)
        self.assertIn("sealed: nothing is compiled", missed.stderr)
        self.assertIn("python3 -m hearth prewarm __main__:SETUP", missed.stderr)
        warmed = run("-m", "hearth", "prewarm", "served:setup", "--report", "receipt.json", env=os.environ)
        self.assertEqual((warmed.returncode, warmed.stderr), (0, ""))
        self.assertRegex(warmed.stdout, "^2 plans are in the cache, [1-9] kernels were compiled")
        receipt = json.loads((FOLDER / "receipt.json").read_text())
        self.assertEqual((receipt["complete"], [one["model"] for one in receipt["covered"]]), (True, ["twice", "warm.onnx"]))
        self.assertEqual([len(one["plan_key"]) for one in receipt["covered"]], [64, 64])
        self.assertEqual(run(program, env=sealed).stdout, "2.125 [1.0, 1.0]\n")
        for words, status, said in ((["served:nothing"], 2, "served:nothing"), (["nowhere:f"], 2, "nowhere"), (["served:setup", "-x"], 2, "-x"),
                                    (["served:twice"], 1, "give examples of its arguments"), (["served:setup", "--report"], 2, "--report")):
            ran = run("-m", "hearth", "prewarm", *words, env=os.environ)
            self.assertEqual(ran.returncode, status, ran.stderr)
            self.assertIn(said, ran.stderr)
        self.assertIn("hearth", run("-m", "hearth", "--version", env=os.environ).stdout)

    def test_the_daemon_from_python(self):
        import contextlib
        import io

        linear(W, X)
        self.assertEqual(hearth.daemon.status()["socket"], os.environ["HEARTH_SOCKET"])
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            hearth.show_config()
        self.assertIn(f"hearth {hearth.__version__}, Python 3.", printed.getvalue())
        self.assertIn("daemon socket: ", printed.getvalue())
        self.assertTrue(hearth.daemon.stop())
        self.assertFalse(hearth.daemon.stop())
        self.assertIsNone(hearth.daemon.status())
        self.check(linear(W, X), X @ W)  # serving goes on

    def test_prewarm_of_models_and_functions(self):
        made = model([node("Add", ["x", "x"], ["y"])], {"x": (F, ["n"])}, {"y": F})
        self.assertEqual(len(hearth.prewarm([made, made], dims={"n": 3})), 2)
        self.assertEqual(len(hearth.prewarm(made, random(4))), 1)
        self.assertEqual(len(hearth.prewarm(linear, W, random(7, 4))), 1)
        with self.refused(ValueError, "lengths that vary (n); give dims={'n': (1, 8)}"):
            hearth.prewarm(made)
        report = FOLDER / "failed.json"
        with self.refused(FileNotFoundError, "none.onnx"):
            hearth.prewarm([FOLDER / "none.onnx", Net().forward], X, report=report)
        receipt = json.loads(report.read_text())
        self.assertEqual((receipt["complete"], len(receipt["covered"]), receipt["missing"][0]["model"]), (False, 1, str(FOLDER / "none.onnx")))
        self.load(made, dims={"n": (1, 6)}, threads=1)
        for dims, threads, words in (({"n": (1, 6)}, 3, "target.threads (3 here, 1 there)"),
                                     ({"n": (1, 7)}, 1, "graph.vars (n 1 to 7 here, n 1 to 6 there)")):
            with self.subTest(words), self.refused(hearth.FailedPrecondition, words):
                self.load(made, dims=dims, threads=threads, sealed=True)
        with self.refused(hearth.FailedPrecondition, "fill the cache with: hearth prewarm MODEL.onnx --dim n=2:5 --dim m=1,4 --threads 1"):
            two = model([node("MatMul", ["x", "x2"], ["y"])], {"x": (F, ["n", "m"]), "x2": (F, ["m", 2])}, {"y": F})
            hearth.load(two.SerializeToString(), dims={"n": (2, 5), "m": [1, 4]}, threads=1, sealed=True)

    def test_pickles_and_copies_of_tensors(self):
        for t in (hearth.tensor(X) * 2, hearth.tensor(np.arange(3)), hearth.tensor(True), hearth.tensor(X).astype("bfloat16"),
                  hearth.zeros((0, 3))):
            for again in (pickle.loads(pickle.dumps(t)), copy.copy(t), copy.deepcopy(t)):
                self.assertEqual((again.dtype, again.shape, again.tolist()), (t.dtype, t.shape, t.tolist()))
        t = hearth.tensor(X)
        u = copy.deepcopy({"w": t})["w"]
        t[0, 0] = 100
        self.check(u, X)
        with self.refused(hearth.TraceError, "a pickle needs a tensor's value"):
            hearth.jit(lambda x: pickle.dumps(x))(X)


if __name__ == "__main__":
    skipping.main()
