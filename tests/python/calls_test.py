"""Calls of a loaded model: by place and by name, dimensions that vary, several results, buffers of one's own, streams."""
import concurrent.futures
import pickle

from place import B, F, FOLDER, I, Place, add, hearth, model, node, np, random, relu, skipping

DIMS = {"batch": (1, 8)}


class Arguments(Place):
    @classmethod
    def setUpClass(cls):
        cls.f = hearth.load(add().SerializeToString(), dims=DIMS)
        cls.a, cls.b = random(3, 4), random(3, 4, seed=1)
        cls.want = cls.a + cls.b

    def test_by_place_and_by_name(self):
        f, a, b = self.f, self.a, self.b
        for y in (f(a, b), f(a, b=b), f(b=b, a=a)):
            np.testing.assert_array_equal(y, self.want)
        np.testing.assert_array_equal(f(a, a), a + a)

    def test_what_is_wrong_with_a_call_is_named(self):
        f, a, b = self.f, self.a, self.b
        for call, words in ((lambda: f(), "input 'a' is missing; the model takes a, b"),
                            (lambda: f(a), "input 'b' is missing"),
                            (lambda: f(a, b, a), "3 arrays are given; the model takes 2: a, b"),
                            (lambda: f(a, b, c=a), "there is no input or dimension 'c'"),
                            (lambda: f(a, b, bach=3), "did you mean 'batch'?"),
                            (lambda: f(a, a=a, b=b), "input 'a' is given by place and by name"),
                            (lambda: f(a, b, batch="3"), "dimension 'batch' is '3'; expected an int"),
                            (lambda: f(a, b, batch=2.0), "dimension 'batch' is 2.0; expected an int")):
            with self.subTest(words), self.refused(TypeError, words):
                call()
        for call, words in ((lambda: f(a, b, batch=2**70), "beyond 64 bits"),
                            (lambda: f(a, b, batch=9), "variable 'batch' cannot be 9; expected 1 to 8"),
                            (lambda: f(a, b, batch=2), "input 'a' has 3 along axis 0; expected 2 (batch at batch=2)"),
                            (lambda: f(a, b[:2]), "input 'b' has 2 along axis 0; expected 3 (batch at batch=3)"),
                            (lambda: f(a, b.astype("d")), "input 'b' is float64 [3, 4]; expected float32")):
            with self.subTest(words), self.refused(ValueError, words):
                call()
        np.testing.assert_array_equal(f(a, b), self.want)  # and nothing of it stays

    def test_lengths_change_from_call_to_call(self):
        for batch in (1, 8, 3, 3, 1):
            a, b = random(batch, 4), random(batch, 4, seed=2)
            np.testing.assert_array_equal(self.f(a, b), a + b)
            np.testing.assert_array_equal(self.f(a, b, batch=np.int64(batch)), a + b)

    def test_a_function_says_what_it_takes(self):
        f = self.f
        self.assertEqual([tuple(v) for v in f.inputs],
                         [("a", "float32", ("batch", 4)), ("b", "float32", ("batch", 4))])
        self.assertEqual([tuple(v) for v in f.outputs], [("y", "float32", ("batch", 4))])
        self.assertEqual([tuple(v) for v in f.variables], [("batch", 1, 8, 1)])
        self.assertEqual((f.device, f.opset, f.warnings), ("cpu", 17, ()))
        self.assertGreaterEqual(f.threads, 1)
        self.assertEqual(f.stats.kernels, 1)
        self.assertIn("a: float32", repr(f))

    def test_numbers_are_taken_for_arrays_without_axes(self):
        made = model([node("Add", ["a", "b"], ["y"])], {"a": (I, ["n"]), "b": (I, [])}, {"y": I})
        f = self.load(made, dims={"n": (1, 4)})
        self.assertEqual(f(np.array([1, 2]), 3).tolist(), [4, 5])
        with self.refused(ValueError, "input 'b' is 1.5; expected a value of int64"):
            f(np.array([1, 2]), 1.5)
        with self.refused(ValueError, "input 'b' is 9223372036854775808"):
            f(np.array([1, 2]), 2**63)

    def test_a_model_without_inputs(self):
        made = model([node("Identity", ["w"], ["y"])], {}, {"y": F}, weights={"w": np.arange(3, dtype="f")})
        f = self.load(made)
        self.assertEqual(f().tolist(), [0, 1, 2])
        with self.refused(TypeError, "1 arrays are given; the model takes 0"):
            f(self.a)

    def test_an_input_that_nothing_reads_may_be_given(self):
        made = model([node("Relu", ["x"], ["y"])], {"x": (F, [4]), "unused": (F, [2])}, {"y": F})
        f = self.load(made)
        x = random(4)
        for y in (f(x), f(x, np.zeros(2, "f")), f(x, unused=np.zeros(2, "f"))):
            np.testing.assert_array_equal(y, np.maximum(x, 0))
        with self.refused(ValueError, "input 'unused' is float64"):
            f(x, np.zeros(2))


class FixedInputs(Place):
    def test_a_constant_may_be_given_again_and_nothing_else(self):
        made = model([node("Reshape", ["x", "shape"], ["y"])], {"x": (F, [6]), "shape": (I, [2])}, {"y": F})
        f = self.load(made, constants={"shape": np.array([2, 3])})
        x = random(6)
        for y in (f(x), f(x, np.array([2, 3])), f(x, shape=np.array([2, 3]))):
            np.testing.assert_array_equal(y, x.reshape(2, 3))
        with self.refused(ValueError, "input 'shape' is array([3, 2])", "constants={'shape'"):
            f(x, np.array([3, 2]))

    def test_a_number(self):
        made = model([node("If", ["c"], ["y"], then_branch=branch("Relu"), else_branch=branch("Neg"))],
                     {"x": (F, [4]), "c": (B, [])}, {"y": F})
        x = random(4)
        for value, want in ((True, np.maximum(x, 0)), (False, -x)):
            f = self.load(made, constants={"c": value})
            np.testing.assert_array_equal(f(x), want)
            np.testing.assert_array_equal(f(x, value), want)
            np.testing.assert_array_equal(f(x, np.bool_(value)), want)
            with self.refused(ValueError, f"input 'c' is {not value}; the model was loaded for {value}"):
                f(x, not value)


def branch(op):
    from onnx import helper
    return helper.make_graph([node(op, ["x"], [op])], op, [], [helper.make_tensor_value_info(op, 1, [4])])


class Results(Place):
    def test_several_are_a_tuple_with_the_models_names(self):
        made = model([node("Relu", ["x"], ["relu"]), node("Neg", ["x"], ["out/neg.0"]), node("Abs", ["x"], ["count"])],
                     {"x": (F, [4])}, {"relu": F, "out/neg.0": F, "count": F})
        f = self.load(made)
        x = random(4)
        out = f(x)
        self.assertIsInstance(out, tuple)
        relu_, neg, absolute = out
        np.testing.assert_array_equal(relu_, np.maximum(x, 0))
        self.assertIs(out.relu, relu_)
        self.assertIs(out["out/neg.0"], neg)
        self.assertIs(out["count"], absolute)
        self.assertIs(out[-1], absolute)
        self.assertTrue(callable(out.count))  # a tuple's own
        self.assertEqual(list(out._asdict()), ["relu", "out/neg.0", "count"])
        with self.assertRaisesRegex(KeyError, "no output 'relo'"):
            out["relo"]
        import pickle
        again = pickle.loads(pickle.dumps(out))
        np.testing.assert_array_equal(again.relu, relu_)

    def test_a_result_as_long_as_the_data_say(self):
        made = model([node("NonZero", ["x"], ["y"])], {"x": (F, [2, 3])}, {"y": I})
        f = self.load(made)
        for x in ([[0, 1, 0], [2, 0, 3]], [[0, 0, 0]] * 2, [[1, 1, 1]] * 2):
            x = np.array(x, "f")
            want = np.array(np.nonzero(x))
            y = f(x)
            self.assertEqual((y.shape, y.tolist()), (want.shape, want.tolist()))
            own = f(memoryview(x))
            self.assertEqual((own.shape, own.tolist()), (want.shape, want.tolist()))


class Into(Place):
    @classmethod
    def setUpClass(cls):
        made = model([node("Add", ["a", "b"], ["sum"]), node("Sub", ["a", "b"], ["difference"])],
                     {"a": (F, ["batch", 4]), "b": (F, ["batch", 4])}, {"sum": F, "difference": F})
        cls.f = hearth.load(made.SerializeToString(), dims=DIMS)
        cls.a, cls.b = random(3, 4), random(3, 4, seed=1)

    def test_results_are_written_where_the_caller_says(self):
        f, a, b = self.f, self.a, self.b
        total, difference = np.empty((3, 4), "f"), np.empty((3, 4), "f")
        out = f.into(a, b, out={"sum": total, "difference": difference})
        self.assertIs(out.sum, total)
        self.assertIs(out.difference, difference)
        np.testing.assert_array_equal(total, a + b)
        np.testing.assert_array_equal(difference, a - b)
        some = f.into(a=a, b=b, out={"sum": total})
        np.testing.assert_array_equal(some.difference, a - b)
        kept = total.copy()
        f(b, b)  # a later call writes nowhere else
        np.testing.assert_array_equal(total, kept)
        raw = bytearray(48)
        f.into(a, b, out={"sum": memoryview(raw).cast("f", (3, 4))})
        np.testing.assert_array_equal(np.frombuffer(raw, "f").reshape(3, 4), a + b)

    def test_what_cannot_be_written_to_is_refused(self):
        f, a, b = self.f, self.a, self.b
        good = np.empty((3, 4), "f")
        read_only = good.copy()
        read_only.flags.writeable = False
        unaligned = np.zeros(49, "u1")[1:].view("f").reshape(3, 4)
        for out, words in (({"sum": read_only}, "out: 'sum' is read-only"),
                           ({"sum": b"x" * 48}, "out: 'sum' is read-only"),
                           ({"sum": np.empty((4, 3), "f").T}, "out: 'sum' is not dense"),
                           ({"sum": unaligned}, "out: 'sum' is not aligned"),
                           ({"sum": np.empty((3, 5), "f")}, "out: 'sum' is float32 [3, 5]; expected float32 [3, 4]"),
                           ({"sum": np.empty((3, 4))}, "out: 'sum' is float64 [3, 4]; expected float32 [3, 4]"),
                           ({"sum": a}, "out: 'sum' overlaps input 'a'"),
                           ({"sum": good, "difference": good}, "out: 'difference' overlaps 'sum'"),
                           ({"sums": good}, "did you mean 'sum'?"), ({"sum": 3.0}, "out: 'sum' is a number"),
                           ({"sum": None}, "out: 'sum' is of type NoneType")):
            with self.subTest(words), self.refused(ValueError, words):
                f.into(a, b, out=out)
        np.testing.assert_array_equal(f(a, b).sum, a + b)


class Streams(Place):
    @classmethod
    def setUpClass(cls):
        made = model([node("Add", ["x", "state"], ["stateN"]), node("Neg", ["stateN"], ["y"])],
                     {"x": (F, [4]), "state": (F, [4])}, {"y": F, "stateN": F})
        cls.f = hearth.load(made.SerializeToString())

    def test_state_stays_in_the_stream(self):
        s, t = (self.f.stream(carry={"stateN": "state"}) for _ in range(2))
        self.assertEqual(([v.name for v in s.inputs], [v.name for v in s.outputs]), (["x"], ["y"]))
        self.assertEqual(s.state, {})
        total = np.zeros(4, "f")
        for step in range(5):
            x = random(4, seed=step)
            total = total + x
            np.testing.assert_array_equal(s(x), -total)
            np.testing.assert_array_equal(t(x=x), -total)
        np.testing.assert_array_equal(np.asarray(s.state["state"]), total)
        np.testing.assert_array_equal(self.f(x, total).y, -(x + total))  # the function itself has no state
        s.reset()
        np.testing.assert_array_equal(s(x), -x)
        s.reset(state=total)
        np.testing.assert_array_equal(s(x), -(total + x))

    def test_a_plan_that_is_prepared_to_carry_is_called_by_its_streams(self):
        made = model([node("Concat", ["past", "x"], ["present"], axis=0), node("Neg", ["present"], ["y"])],
                     {"past": (F, ["past", 4]), "x": (F, [1, 4])}, {"y": F, "present": F})
        f = hearth.load(made.SerializeToString(), dims={"past": (0, 8)}, carry={"present": "past"})
        file = FOLDER / "carried.hearth"
        f.save(file)
        for g in (f, hearth.load(file), hearth.load(file.read_bytes(), plan=True), pickle.loads(pickle.dumps(f))):
            self.assertEqual(g.carry, {"present": "past"})
            s, t = g.stream(), g.stream(carry={"present": "past"})
            rows = random(8, 4)
            for n in range(8):
                for stream in (s, t):
                    np.testing.assert_array_equal(stream(rows[n:n + 1], past=n), -rows[:n + 1])
            with self.refused(TypeError, "carries 'present' to its next call's 'past'; f.stream() makes what is called"):
                g(rows[:1], past=1)
            with self.refused(TypeError, "carry: there is no output 'present'"):
                g.stream(carry={"present": "x"})
        self.assertEqual(self.f.carry, {})

    def test_what_cannot_be_carried_is_named(self):
        source = relu().SerializeToString()
        for carry, words in (({"y": "z"}, "'z'"), ({"z": "x"}, "'z'"), ({1: "x"}, "carry: 1 is no name"),
                             ("y", "carry is 'y'; expected {output: the input that it becomes}")):
            with self.subTest(words), self.refused(Exception, words):
                hearth.load(source, dims={"batch": 1}, carry=carry)
        hearth.load(source, dims={"batch": 1}).save(FOLDER / "plain.hearth")
        with self.refused(ValueError, "carry: a plan file has them as it was saved"):
            hearth.load(FOLDER / "plain.hearth", carry={"y": "x"})
        for carry, words in (({"state": "state"}, "carry: there is no output 'state'; did you mean 'stateN'?"),
                             ({"stateN": "stat"}, "carry: there is no input 'stat'; did you mean 'state'?")):
            with self.subTest(words), self.refused(TypeError, words):
                self.f.stream(carry=carry)
        s = self.f.stream(carry={"stateN": "state"})
        with self.refused(TypeError, "2 arrays are given; the model takes 1: x"):
            s(random(4), random(4))
        with self.refused(TypeError, "reset: there is no carried input 'stat'; did you mean 'state'?"):
            s.reset(stat=random(4))
        with self.refused(ValueError, "reset: 'state' is float64"):
            s.reset(state=np.zeros(4))
        with self.refused(ValueError, "state"):
            s.reset(state=np.zeros(5, "f"))


class Threads(Place):
    def test_any_number_of_threads_call_one_function(self):
        made = model([node("MatMul", ["x", "w"], ["y"])], {"x": (F, ["batch", 64])}, {"y": F},
                     weights={"w": random(64, 64)})
        f = self.load(made, dims=DIMS, threads=1)
        inputs = [random(1 + i % 8, 64, seed=i) for i in range(8)]
        want = [f(x) for x in inputs]

        def work(i):
            return all(np.array_equal(f(inputs[i]), want[i]) for _ in range(1000))
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertTrue(all(pool.map(work, range(8))))

    def test_a_stream_is_one_threads_at_a_time(self):
        f = self.load(model([node("Add", ["x", "state"], ["stateN"]), node("Neg", ["stateN"], ["y"])],
                            {"x": (F, [1 << 20]), "state": (F, [1 << 20])}, {"y": F, "stateN": F}), threads=1)
        s = f.stream(carry={"stateN": "state"})
        x = np.ones(1 << 20, "f")

        def work(_):
            done = refused = 0
            for _ in range(50):
                try:
                    s(x)
                    done += 1
                except hearth.FailedPrecondition as error:
                    self.assertIn("use one a thread", str(error))
                    refused += 1
            return done
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            done = sum(pool.map(work, range(4)))
        self.assertEqual(s.state["state"].tolist()[0], done)


if __name__ == "__main__":
    skipping.main()
