"""Graphs by hand: named inputs, weights where they lie, other weights for a plan, calls by lists."""
import gc
import threading
import unittest
import weakref

from place import Place, hearth, np, random, skipping

try:
    import torch
except ImportError:
    torch = None


def product(weight, name="w", rows=3, **options):
    """x @ w as a function, its weight where it lies."""
    tracer = hearth.Tracer()
    with tracer:
        x = tracer.input((rows, weight.shape[0]), "float32", "x")
        graph = tracer.build({"y": hearth.ops.matmul(x, hearth.parameter(weight, name, copy=False))})
    return graph.prepare(**options)


class Graphs(Place):
    def test_inputs_and_outputs_have_their_names_and_order(self):
        tracer = hearth.Tracer()
        with tracer:
            b = tracer.input((2,), "float32", "b")
            a = tracer.input((2,), "float32")
            tracer.input((5,), "int64", "unread")
            graph = tracer.build({"difference": a - b, "sum": a + b})
        f = graph.prepare(name="two")
        self.assertEqual([one.name for one in f.inputs], ["b", "in1", "unread"])
        self.assertEqual([one.name for one in f.outputs], ["difference", "sum"])
        made = f(np.float32([1, 2]), np.float32([5, 7]), np.zeros(5, np.int64))
        self.assertEqual(made.difference.tolist(), [4, 5])
        self.assertEqual(made.sum.tolist(), [6, 9])
        self.assertEqual(f.name, "two")

    def test_lengths_may_vary(self):
        tracer = hearth.Tracer()
        with tracer:
            x = tracer.input((hearth.Dim("rows", 1, 9), 4), "float32", "x")
            graph = tracer.build([hearth.ops.reduce_sum(x, 0)])
        f = graph.prepare()
        for rows in (1, 5, 9):
            x = random(rows, 4)
            np.testing.assert_allclose(f(x), x.sum(0), rtol=1e-5)
        with self.refused(ValueError, "rows"):
            f(random(10, 4))

    def test_what_is_no_input_is_named(self):
        tracer = hearth.Tracer()
        with self.refused(hearth.TraceError, "input() outside"):
            tracer.input((1,), "float32")
        with tracer:
            tracer.input((1,), "float32", "x")
            with self.refused(ValueError, "there is an input 'x' already"):
                tracer.input((2,), "float32", "x")
            with self.refused(TypeError, "name is 3"):
                tracer.input((2,), "float32", 3)

    def test_state_is_carried_from_call_to_call(self):
        tracer = hearth.Tracer()
        with tracer:
            x, total = tracer.input((2,), "float32", "x"), tracer.input((2,), "float32", "total")
            graph = tracer.build({"y": x + total, "next": x + total})
        stream = graph.prepare(carry={"next": "total"}).stream()
        for given, want in ((1, 1), (2, 3), (3, 6)):
            self.assertEqual(stream(np.float32([given, given])).tolist(), [want, want])

    def test_progress_is_told_and_may_end_it(self):
        def stop(state, done, total):
            raise KeyError(state)

        tracer = hearth.Tracer()
        with tracer:
            x = tracer.input((7, 13), "float32", "x")
            graph = tracer.build({"y": hearth.ops.softmax(x * 1.25, -1)})
        with self.assertRaises(KeyError):
            graph.prepare(progress=stop)
        with self.refused(TypeError, "progress is 3"):
            graph.prepare(progress=3)
        with self.refused(TypeError, "there is no argument 'thread'"):
            graph.prepare(thread=3)


class Weights(Place):
    def test_a_weight_is_read_where_it_lies_and_kept_alive(self):
        weight = random(4, 2)
        want = weight.copy()
        f = product(weight)
        gone = weakref.ref(weight)
        del weight
        gc.collect()
        self.assertIsNotNone(gone())
        x = random(3, 4)
        np.testing.assert_allclose(f(x), x @ want, rtol=1e-5)
        del f
        gc.collect()
        self.assertIsNone(gone())

    def test_what_is_not_dense_is_refused(self):
        with self.refused(ValueError, "not dense in C order"):
            hearth.parameter(random(4, 6)[:, ::2], copy=False)
        with self.refused(TypeError, "is a number"):
            hearth.parameter(3.0, copy=False)

    def test_other_weights_for_the_same_plan(self):
        x, first, second = random(3, 4), random(4, 2), random(4, 2)
        f = product(first)
        for copy in (True, False):
            g = f.rebind({"w": second}, copy=copy)
            np.testing.assert_allclose(g(x), x @ second, rtol=1e-5)
            np.testing.assert_allclose(f(x), x @ first, rtol=1e-5)
            self.assertEqual(g._plan_key, f._plan_key)
        again = g.rebind({"w": first})
        np.testing.assert_allclose(again(x), x @ first, rtol=1e-5)
        for given, error, text in (({"v": second}, ValueError, "no parameter 'v'"),
                                   ({"w": random(4, 3)}, ValueError, "48 bytes; expected 32"),
                                   ({"w": random(4, 4)[:, ::2]}, ValueError, "not dense")):
            with self.refused(error, text):
                f.rebind(given, copy=False)

    def test_large_weights_are_packed_anew(self):
        x, first = random(2, 700), random(700, 900)
        second = random(700, 900)
        f = product(first, rows=2)
        np.testing.assert_allclose(f.rebind({"w": second}, copy=False)(x), x @ second, rtol=1e-3, atol=1e-4)

    def test_a_weight_that_was_written_to_is_new(self):
        """The digest that is kept of a weight's bytes is not that of others, which lie there later."""
        x, weight = random(2, 700), random(700, 900)
        np.testing.assert_allclose(product(weight, rows=2)(x), x @ weight, rtol=1e-3, atol=1e-4)
        kept = product(weight, rows=2)
        weight[:] = random(700, 900)
        np.testing.assert_allclose(product(weight, rows=2)(x), x @ weight, rtol=1e-3, atol=1e-4)
        del kept

    def test_threads_of_a_plan(self):
        x, weight = random(3, 4), random(4, 2)
        f = product(weight, threads=1)
        g = f.with_threads(2)
        self.assertEqual((f.threads, g.threads), (1, 2))
        np.testing.assert_allclose(g(x), f(x), rtol=1e-6)
        for bad in (-1, True, "2", 1 << 40):
            with self.refused(ValueError, "threads is"):
                f.with_threads(bad)

    def test_a_function_that_was_made_of_another_outlives_it(self):
        x, weight = random(3, 4), random(4, 2)
        g = product(random(4, 2)).rebind({"w": weight}, copy=False).with_threads(1)
        gc.collect()
        np.testing.assert_allclose(g(x), x @ weight, rtol=1e-5)
        self.assertGreater(len(g.to_bytes()), 0)


class Lists(Place):
    def test_a_list_of_arrays_gives_a_list(self):
        weight = random(4, 2)
        f = product(weight)
        x = random(3, 4)
        made = f.call_list([x])
        self.assertIs(type(made), list)
        np.testing.assert_allclose(made[0], x @ weight, rtol=1e-5)
        for given, text in (([], "0 arrays"), ([x, x], "2 arrays"), ((x,), "expected a list")):
            with self.refused(TypeError, text):
                f.call_list(given)
        with self.refused(ValueError, "input 'x' is float64"):
            f.call_list([x.astype(np.float64)])

    def test_watched_arrays_are_passed_over(self):
        weight, x = random(4, 2), random(3, 4)
        f = product(weight)
        watch = hearth.Watch({0: weight})
        self.assertEqual(len(watch), 1)
        np.testing.assert_allclose(f.call_list([weight, x], watch)[0], x @ weight, rtol=1e-5)
        self.assertIsNone(f.call_list([weight.copy(), x], watch))
        self.assertIsNone(f.call_list([], watch))
        with self.refused(TypeError, "expected a hearth.Watch"):
            f.call_list([weight, x], {0: weight})
        with self.refused(TypeError, "is no place in a list"):
            hearth.Watch({"w": weight})

    def test_lengths_that_no_input_has_are_said(self):
        n = hearth.Dim("n", 1, 8)
        tracer = hearth.Tracer()
        with tracer:
            x = tracer.input((2,), "float32", "x")
            graph = tracer.build([hearth.ops.expand(hearth.ops.unsqueeze(x, 0), (n, 2))])
        f = graph.prepare()
        self.assertEqual(f.call_list([random(2)], None, {"n": 5})[0].shape, (5, 2))

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_torch_tensors_that_change_are_seen(self):
        weight = torch.nn.Parameter(torch.randn(4, 2))
        x = torch.randn(3, 4, requires_grad=True)
        f = product(weight)
        watch = hearth.Watch({1: weight})
        made = f.call_list([x, weight], watch)[0]
        self.assertIs(type(made), torch.Tensor)
        self.assertFalse(made.requires_grad)
        torch.testing.assert_close(made, (x @ weight).detach())
        made.resize_(1)  # memory of torch's own
        with self.refused(ValueError, "tensor.detach()"):  # as it was before the list's call
            f(x)
        other = torch.nn.Parameter(weight.detach().clone())
        self.assertIsNone(f.call_list([x, other], watch), "another object")
        with torch.no_grad():
            weight.add_(1)
        self.assertIsNone(f.call_list([x, weight], watch), "a write")
        watch = hearth.Watch({1: weight})
        self.assertTrue(watch.holds([x, weight]))
        weight.data = torch.randn(4, 2)
        self.assertFalse(watch.holds([x, weight]), "other memory behind the same object and version")
        np.testing.assert_allclose(f.rebind({"w": weight}, copy=False).call_list([x, weight], hearth.Watch({1: weight}))[0],
                                   (x @ weight).detach(), rtol=1e-5)

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_torch_tensors_of_every_kind_are_read(self):
        f = product(random(4, 2))
        weight = np.ascontiguousarray(f(np.eye(3, 4, dtype=np.float32)))  # rows 0 to 2
        self.assertEqual(weight.shape, (3, 2))
        x = torch.randn(4, 3).t()
        with torch.inference_mode():
            inference = torch.randn(3, 4)
        for given in (x, torch.randn(6, 4)[::2], torch.randn(4).expand(3, 4), inference, torch.randn(3, 4, requires_grad=True),
                      torch.complex(torch.zeros(3, 4), torch.ones(3, 4)).conj().imag):
            want = f(np.ascontiguousarray(given.detach().resolve_neg().numpy()))
            np.testing.assert_allclose(f.call_list([given])[0], want, rtol=1e-5)
        for refused in (torch.zeros(3, 4, dtype=torch.complex64), torch.zeros(3, 4, dtype=torch.float64),
                        torch.zeros(3, 4).to_sparse(), torch.zeros(3, 4, device="meta")):
            with self.assertRaises((hearth.Error, BufferError)):
                f.call_list([refused])

    def test_threads_call_beside_each_other(self):
        weight = random(4, 2)
        f = product(weight)
        watch = hearth.Watch({0: weight})
        wrong = []

        def work():
            for _ in range(200):
                x = random(3, 4)
                if not np.allclose(f.call_list([weight, x], watch)[0], x @ weight, rtol=1e-4, atol=1e-5):
                    wrong.append(x)

        threads = [threading.Thread(target=work) for _ in range(4)]
        [one.start() for one in threads], [one.join() for one in threads]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    skipping.main()
