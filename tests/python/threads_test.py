"""Calls from many threads and processes, awaited calls, and what a terminal shows."""
import asyncio
import concurrent.futures
import multiprocessing
import os
import pickle
import pty
import subprocess
import sys
import textwrap
import threading
import unittest.mock

from place import FOLDER, PRELOADED, F, Place, hearth, model, node, np, random, relu, skipping

CALLS = int(os.environ.get("CALLS", 10_000))
w = random(16, 16)


def product():
    made = model([node("MatMul", ["x", "w"], ["y"])], {"x": (F, ["batch", 16])}, {"y": F}, weights={"w": w})
    return hearth.load(made.SerializeToString(), dims={"batch": (1, 8)}, threads=1)


def _in_child(f, x, want, count, results):
    results.put(all(np.array_equal(f(x), want) for _ in range(count)))


class Threads(Place):
    def test_eight_threads_call_a_loaded_and_a_jitted_function(self):
        weights = hearth.tensor(w)
        for f in (product(), hearth.jit(lambda x: x @ weights, threads=1)):
            inputs = [random(1 + i % 8, 16, seed=i) for i in range(8)]
            want = [f(x) for x in inputs]
            for x, y in zip(inputs, want):
                np.testing.assert_allclose(y, x @ w, rtol=1e-5, atol=1e-5)

            def work(i):
                return sum(np.array_equal(f(inputs[i]), want[i]) for _ in range(CALLS))
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                self.assertEqual(list(pool.map(work, range(8))), [CALLS] * 8)

    def test_long_and_short_calls_side_by_side(self):
        small, large = product(), hearth.jit(lambda x: x @ x.T, threads=1)
        x, y = random(3, 16), random(256, 256)
        wanted, want = small(x), large(y)

        def work(i):
            f, given, right = (small, x, wanted) if i % 2 else (large, y, want)
            return all(np.array_equal(f(given), right) for _ in range(50))
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.assertTrue(all(pool.map(work, range(8))))

    def test_calls_are_awaited(self):
        f = product()
        x = random(3, 16)

        async def main():
            return await asyncio.gather(*(f.submit(x * i) for i in range(8)))
        for i, y in enumerate(asyncio.run(main())):
            np.testing.assert_allclose(y, x * i @ w, rtol=1e-4, atol=1e-4)
        self.assertEqual(f.submit(x).result(timeout=300).shape, (3, 16))
        with self.refused(ValueError, "input 'x' has 15 along axis 1"):
            f.submit(x[:, :15]).result(timeout=300)
        jitted = hearth.jit(lambda x: x + 1)
        np.testing.assert_array_equal(jitted.submit(x).result(timeout=300), x + 1)

    def test_a_pool(self):
        f = product()
        inputs = [random(1 + i % 8, 16, seed=i) for i in range(20)]
        with hearth.Pool(3) as pool:
            for x, y in zip(inputs, pool.map(f, inputs)):
                np.testing.assert_array_equal(y, f(x))
            self.assertIsInstance(pool.submit(f, inputs[0]), hearth.Future)
            with self.refused(TypeError, "submit: 3 is no function"):
                pool.submit(3)
        for threads in (0, True, "2"):
            with self.refused(ValueError, "Pool: threads is"):
                hearth.Pool(threads)


class ManyThreads(Place):
    """A switch of threads after every few instructions of Python."""

    def setUp(self):
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1e-6)

    def test_threads_call_one_jitted_function_whose_plans_are_dropped_meanwhile(self):
        for threads, kinds, capacity, calls in ((8, 6, 2, 60), (64, 100, 40, 12)):
            f = hearth.jit(lambda x: x + x, capacity=capacity, threads=1)
            inputs = [random(1 + i % 10, 1 + i // 10, seed=i) for i in range(kinds)]

            def work(i):
                for k in range(calls):
                    x = inputs[(7 * i + 5 * k) % kinds]
                    np.testing.assert_array_equal(f(x), x + x)
                    if k % 8 == 0:
                        self.assertLessEqual(f.stats.plans, capacity)
                        self.assertLessEqual(len(f.graphs), capacity)
                return calls
            with concurrent.futures.ThreadPoolExecutor(threads) as pool:
                self.assertEqual(sum(pool.map(work, range(threads))), threads * calls)
            self.assertEqual(f.stats.traces - f.stats.evictions, f.stats.plans)
            for x in inputs:  # and none is broken for later
                np.testing.assert_array_equal(f(x), x + x)
                np.testing.assert_array_equal(f(x), x + x)

    def test_a_method_has_one_set_of_plans_whoever_calls_first(self):
        class Model:
            @hearth.jit(threads=1)
            def double(self, x):
                return x + x
        for _ in range(20):
            model, x = Model(), random(2, 3)
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                for y in pool.map(lambda _: model.double(x), range(8)):
                    np.testing.assert_array_equal(y, x + x)
            self.assertEqual(model.double.stats.traces, 1)

    def test_types_that_python_reads_beside_others(self):
        try:
            import ml_dtypes
        except ImportError:
            self.skipTest("ml_dtypes is not installed")
        f = hearth.jit(lambda x, y: (x + x, y + y), threads=1)
        inputs = [(random(3, 4, seed=i).astype(ml_dtypes.bfloat16), random(2, i + 1, seed=i)) for i in range(4)]
        want = [(x + x, y + y) for x, y in inputs]

        def work(i):
            for k in range(200):
                got = f(*inputs[(i + k) % 4])
                for one, right in zip(got, want[(i + k) % 4]):
                    np.testing.assert_array_equal(np.asarray(one).astype("f"), right.astype("f"))
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))

    def test_a_thread_that_ends_in_the_middle_of_a_trace(self):
        program = textwrap.dedent("""
            import threading
            import numpy as np
            import hearth

            class Example(np.ndarray):
                def __del__(self):
                    print("gone", flush=True)

            def leave():
                tracer = hearth.Tracer()
                tracer.__enter__()
                tracer.register_input(np.ones((2, 3), "f").view(Example))

            for _ in range(3):
                thread = threading.Thread(target=leave)
                thread.start()
                thread.join()
            np.testing.assert_array_equal(hearth.jit(lambda x: x + x)(np.ones(3, "f")), [2, 2, 2])
            leave()  # and one that lives as long as the interpreter
        """)
        ran = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True,
                             env={**os.environ, **PRELOADED})
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertGreaterEqual(ran.stdout.count("gone"), 3, ran.stderr)

    def test_the_interpreter_ends_while_threads_call(self):
        program = textwrap.dedent("""
            import threading
            import numpy as np
            import hearth
            f = hearth.jit(lambda x: x @ x, threads=1)
            x = np.ones((200, 200), "f")
            f(x)
            def work():
                while True:
                    f(x)
            for _ in range(8):
                threading.Thread(target=work, daemon=True).start()
            for _ in range(20):
                f(x)
        """)
        for _ in range(3):
            ran = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True,
                                 env={**os.environ, **PRELOADED})
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_arrays_that_another_thread_lets_go_of(self):
        f = product()
        x = random(3, 16)
        kept, done = [f(x)], threading.Event()

        def drop():
            while not done.is_set():
                kept.clear()
        other = threading.Thread(target=drop)
        other.start()
        try:
            for _ in range(2000):
                y = f(x)
                kept.append(y)
                np.testing.assert_allclose(y, x @ w, rtol=1e-5, atol=1e-5)
        finally:
            done.set()
            other.join()


class Processes(Place):
    def check(self, context, f):
        x = random(3, 16)
        want = f(x)
        results = context.Queue()
        children = [context.Process(target=_in_child, args=(f, x, want, 200, results)) for _ in range(4)]
        for child in children:
            child.start()
        self.assertEqual([results.get(timeout=300) for _ in children], [True] * 4)
        for child in children:
            child.join(60)
            self.assertEqual(child.exitcode, 0)
        np.testing.assert_array_equal(f(x), want)

    def test_forked_children_call_it(self):
        made = model([node("MatMul", ["x", "w"], ["y"])], {"x": (F, ["batch", 16])}, {"y": F}, weights={"w": w})
        for threads in (1, 2):
            self.check(multiprocessing.get_context("fork"),
                       hearth.load(made.SerializeToString(), dims={"batch": (1, 8)}, threads=threads))

    def test_spawned_children_are_given_it(self):
        with unittest.mock.patch.dict(os.environ, PRELOADED):
            self.check(multiprocessing.get_context("spawn"), product())

    def test_a_forked_child_compiles_and_ends(self):
        f = product()
        f.submit(random(1, 16)).result()  # threads that the child has not
        child = os.fork()
        if child == 0:
            code = 1
            try:
                y = (hearth.tensor(random(5, 5)) @ random(5, 5)).numpy()
                g = product()
                code = 0 if y.shape == (5, 5) and g.submit(random(1, 16)).result(timeout=300).shape == (1, 16) else 2
            finally:
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_a_pools_process_is_its_own(self):
        pool = hearth.Pool(1)
        child = os.fork()
        if child == 0:
            try:
                pool.submit(len, "x")
            except hearth.InvalidArgument as error:
                os._exit(0 if "forked from" in str(error) else 2)
            os._exit(3)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        pool.shutdown()

    def test_a_pickled_function_needs_no_daemon(self):
        data = pickle.dumps(product())
        program = f"""
            import pickle, sys
            f = pickle.loads(sys.stdin.buffer.read())
            print(f(memoryview(bytes(64)).cast("f", (1, 16))).tolist()[0][0])
        """
        ran = subprocess.run([sys.executable, "-B", "-c", textwrap.dedent(program)], input=data, capture_output=True,
                             env={**os.environ, **PRELOADED, "HEARTH_SOCKET": str(FOLDER / "nobody"), "HEARTH_NO_AUTOSTART": "1"})
        self.assertEqual((ran.stdout, ran.returncode), (b"0.0\n", 0), ran.stderr)


class Shown(Place):
    def test_a_function_explains_itself(self):
        f = product()
        text = f.explain()
        for word in ("x: float32[batch, 16]", "y: float32[batch, 16]", "1 to 8", "cpu, 1 thread", "launches", "operations"):
            self.assertIn(word, text)
        html = f._repr_html_()
        self.assertIn("<table>", html)
        self.assertIn("float32[batch, 16]", html)
        odd = hearth.load(relu().SerializeToString(), dims={"batch": 1}, name="<script>")
        self.assertNotIn("<script>", odd._repr_html_())
        profile = f.profile(random(8, 16))
        self.assertIsInstance(profile, hearth.Profile)
        kernel, launches, time, operations = profile[0]
        self.assertGreaterEqual(operations, 2 * 8 * 16 * 16 - 8 * 16)
        self.assertGreater(profile.total_ns, 0)
        self.assertIn(kernel, repr(profile))
        self.assertIn(kernel, profile._repr_html_())

    def test_a_terminal_sees_progress_and_a_pipe_does_not(self):
        program = textwrap.dedent("""
            import hearth, sys
            from hearth import _progress
            _progress.Bar.delay = -1
            f = hearth.load(sys.argv[1], dims={"batch": (1, 8)})
            print("done")
        """)
        for on_terminal in (False, True):
            path = FOLDER / f"shown{on_terminal}.onnx"
            path.write_bytes(relu((("batch", 5 + on_terminal))).SerializeToString())
            read, write = pty.openpty() if on_terminal else os.pipe()
            ran = subprocess.run([sys.executable, "-B", "-c", program, str(path)], stdout=subprocess.PIPE, stderr=write,
                                 env={**os.environ, **PRELOADED})
            os.close(write)
            seen = b""
            try:
                while part := os.read(read, 4096):
                    seen += part
            except OSError:  # the terminal's end
                pass
            os.close(read)
            self.assertEqual((ran.returncode, ran.stdout), (0, b"done\n"), seen)
            self.assertEqual(b"hearth: " in seen, on_terminal, seen)


if __name__ == "__main__":
    skipping.main()
