"""hearth.jit, trace and Tracer: what is traced when."""
import collections
import concurrent.futures
import dataclasses
import enum

from place import Place, hearth, np, random, skipping

F = hearth.ops


def relu(x):
    return np.maximum(x, 0)


class Jit(Place):
    def check(self, got, want):
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5, atol=1e-6)

    def test_the_first_call_traces_and_others_replay(self):
        ran = []

        @hearth.jit
        def f(x, y):
            """Its text."""
            ran.append(1)
            return F.relu(x) @ y

        for seed in range(3):
            x, y = random(3, 4, seed=seed), random(4, 2, seed=seed + 9)
            self.check(f(x, y), relu(x) @ y)
        self.assertEqual((len(ran), tuple(f.stats)), (1, (1, 2, 0, 1)))
        self.assertEqual((f.__name__, f.__doc__, len(f.graphs)), ("f", "Its text.", 1))
        self.assertIn("[0] relu: ", f.graphs[0].summary())
        self.assertIn("MATMUL", f.graphs[0].summary(verbose=True))

    def test_the_kind_of_array_that_came_in_goes_out(self):
        f = hearth.jit(lambda x: x + 1)
        x = random(3)
        for given, kind in ((x, np.ndarray), (hearth.tensor(x), hearth.Tensor), (memoryview(x), hearth.Array)):
            y = f(given)
            self.assertIs(type(y), kind)
            self.check(y, x + 1)
        lazy = f(hearth.tensor(x) * 2)
        self.check(lazy, x * 2 + 1)

    def test_containers_of_arrays(self):
        Point = collections.namedtuple("Point", "x y")

        @dataclasses.dataclass
        class State:
            h: object
            steps: int

        @hearth.jit
        def f(pair, table, state, *, scale=1.0):
            h = state.h * scale + pair.x - pair.y + table["a"][0] + table["a"][1]
            return {"h": h, "both": [h * 2, (h * 3, None)]}, State(h, None)

        x = random(3)
        out, state = f(Point(x, x), {"a": [x, x]}, State(x, 3), scale=2.0)
        self.check(out["h"], x * 4)
        self.check(out["both"][1][0], x * 12)
        self.assertIsNone(out["both"][1][1])
        self.assertIs(type(state), State)
        self.check(state.h, x * 4)
        f(Point(x, x), {"a": (x, x)}, State(x, 3), scale=2.0)  # a tuple is no list
        f(Point(x, x), {"a": [x, x]}, State(x, 4), scale=2.0)
        f(scale=2.0, state=State(x, 3), table={"a": [x, x]}, pair=Point(x, x))
        self.assertEqual(f.stats.traces, 4)
        f(state=State(x, 3), pair=Point(x, x), table={"a": [x, x]}, scale=2.0)  # keywords in any order
        self.assertEqual(f.stats.traces, 4)

    def test_scalars_and_words_are_part_of_the_key(self):
        class Mode(enum.Enum):
            UP = 1
            DOWN = 2

        @hearth.jit
        def f(x, how, mode=Mode.UP):
            if how == "double":
                return x * 2 if mode is Mode.UP else x / 2
            return x + how

        x = random(3)
        for how, mode, want in (("double", Mode.UP, x * 2), ("double", Mode.DOWN, x / 2), (1, Mode.UP, x + 1), (1.0, Mode.UP, x + 1),
                                (True, Mode.UP, x + 1), (0.0, Mode.UP, x), (-0.0, Mode.UP, x)):
            self.check(f(x, how, mode), want)
            self.check(f(x, how, mode), want)
        self.assertEqual(f.stats.traces, 7)
        for bad, words in ((object.__new__(type("Odd", (), {"__eq__": lambda a, b: True})), "is of type Odd"), ({1, 2}, "is of type set")):
            with self.refused(TypeError, words, "numbers, strings"):
                f(x, bad)

    def test_capacity(self):
        f = hearth.jit(lambda x: x + 1, capacity=2)
        for n in (1, 2, 3, 3, 1):
            self.check(f(random(n)), random(n) + 1)
        self.assertEqual(tuple(f.stats), (4, 1, 2, 2))
        with self.refused(ValueError, "capacity is 0"):
            hearth.jit(lambda x: x, capacity=0)
        with self.refused(TypeError, "jit: 3 is no Python function"):
            hearth.jit(3)
        with self.refused(TypeError, "no argument 'treads'"):
            hearth.jit(lambda x: x, treads=1)

    def test_a_length_that_varies_is_one_plan(self):
        f = hearth.jit(lambda x, w: F.softmax(x @ w), dims={"x": {0: hearth.Dim("batch", 1, 8)}})
        w = random(4, 5)
        for batch in (1, 3, 8, 3):
            x = random(batch, 4)
            e = np.exp(x @ w)
            self.check(f(x, w), e / e.sum(-1, keepdims=True))
        self.assertEqual(f.stats.traces, 1)
        with self.refused(ValueError, "'x' has 9 along axis 0; expected 1 to 8 (batch)"):
            f(random(9, 4), w)
        with self.refused(ValueError, "dims name 'z'"):
            hearth.jit(lambda x: x, dims={"z": {0: hearth.Dim("n", 1, 2)}})(w)

    def test_threads_share_plans(self):
        f = hearth.jit(lambda x: x @ x.T, threads=1)

        def work(i):
            x = random(1 + i % 4, 3, seed=i)
            for _ in range(200):
                np.testing.assert_allclose(f(x), x @ x.T, rtol=1e-5, atol=1e-6)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        self.assertEqual(f.stats.traces, 4)


class Tracing(Place):
    """The three blocks of the specification, with the modules' names changed."""

    def test_jit_block(self):
        import hearth
        import hearth.ops as F
        w, w2 = hearth.tensor(random(16, 8)), hearth.tensor(random(4, 16))

        @hearth.jit
        def forward(x):
            h = F.linear(x, w)
            h = F.relu(h)
            return F.linear(h, w2)

        x = random(32, 8)
        y = forward(x)
        y = forward(x)
        np.testing.assert_allclose(y, relu(x @ random(16, 8).T) @ random(4, 16).T, rtol=1e-4, atol=1e-5)
        self.assertEqual(tuple(forward.stats)[:2], (1, 1))

    def test_trace_block(self):
        from hearth import trace
        w = hearth.tensor(random(4, 4))

        def model(x):
            return F.relu(x @ w)
        example_input, new_input = random(2, 4), random(2, 4, seed=1)
        traced = trace(model, example_input)
        y = traced(new_input)
        np.testing.assert_allclose(y, relu(new_input @ random(4, 4)), rtol=1e-5, atol=1e-6)
        self.assertIn("TracedGraph: ", traced.graph.summary())
        with self.refused(ValueError, "array 0 is float32 [3, 4]; traced with float32 [2, 4]"):
            traced(random(3, 4))
        with self.refused(TypeError, "other kinds"):
            traced(new_input, new_input)

    def test_tracer_block(self):
        from hearth import Tracer
        w, w2 = hearth.tensor(random(16, 8)), hearth.tensor(random(4, 16))

        def model(x):
            return F.linear(F.relu(F.linear(x, w)), w2)
        for x in (random(32, 8), hearth.tensor(random(32, 8))):
            tracer = Tracer()
            with tracer:
                tracer.register_input(x)
                y = model(x)
                graph = tracer.build([y])
            text = graph.summary()
            ops = [line.split("]", 1)[1].split(":")[0].strip() for line in text.splitlines() if line.startswith("  [")]
            self.assertEqual(ops, ["linear", "relu", "linear"])
            self.assertTrue(text.startswith("TracedGraph: 3 ops\n"), text)
            self.assertTrue(graph.summary(verbose=True).startswith("TracedGraph: 5 ops\n"))
            self.assertIn("INPUT 'in0' float32 [32, 8]", text)
            self.assertIn("(jit_test.py:", text)
        self.assertEqual(x.shape, (32, 8))  # the example is an array again
        np.testing.assert_array_equal(x.numpy(), random(32, 8))
        with tracer:
            tracer.register_input(x)
            with self.refused(hearth.TraceError, "it is one of its inputs"):
                float(x[0, 0])
            with self.refused(hearth.TraceError, "do not nest"):
                Tracer().__enter__()
        with self.refused(hearth.TraceError, "outside of"):
            tracer.build([y])

    def test_what_a_tracer_built_is_called_and_prepared(self):
        w, w2 = random(16, 8), random(4, 16)

        def wanted(x, z):
            return relu(x @ w.T) @ w2.T + z, x.sum(1)

        def build():
            tracer = hearth.Tracer()
            with tracer:
                x, z = (tracer.register_input(random(*shape)) for shape in ((32, 8), (32, 4)))
                tracer.register_input(random(7))  # which nothing reads
                y = F.linear(F.relu(F.linear(x, hearth.tensor(w))), hearth.tensor(w2)) + z
                return tracer.build([y, hearth.sum(x, axis=1)])
        graph = build()  # and its tracer is gone
        unread = random(7)
        x, z = random(32, 8, seed=3), random(32, 4, seed=4)
        for got, want in zip(graph(x, z, unread), wanted(x, z), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
        self.assertTrue(all(type(one) is hearth.Tensor for one in graph(hearth.tensor(x), z, unread)))
        f = graph.prepare(threads=1, name="mine")
        np.testing.assert_allclose(f(x, z, unread)[0], wanted(x, z)[0], rtol=1e-4, atol=1e-5)
        self.assertEqual(f.threads, 1)
        with self.refused(ValueError, "in0"):
            graph(random(31, 8), z, unread)
        with self.refused(TypeError, "in1"):
            graph(x)
        with self.refused(TypeError, "there is no argument 'speed'"):
            graph.prepare(speed=2)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            other = build()
            results = list(pool.map(lambda seed: (seed, other(random(32, 8, seed=seed), z, unread)), range(40)))
        for seed, got in results:
            np.testing.assert_allclose(got[0], wanted(random(32, 8, seed=seed), z)[0], rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    skipping.main()
