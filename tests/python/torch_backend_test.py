"""torch.compile(model, backend="hearth"): results as eager's, whatever changes between calls, and what is left to eager."""
import gc
import os
import subprocess
import sys
import threading
import tomllib
import unittest
import warnings

from place import FOLDER, ROOT, Place, hearth, skipping

try:
    import torch
except ImportError:
    torch = None

if torch is not None:
    import hearth.torch
    from hearth.torch import _collecting


def mlp():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.LayerNorm(32), torch.nn.Linear(32, 4)).eval()


@unittest.skipIf(torch is None, "torch is not installed")
class Compiled(Place):
    def setUp(self):
        torch._dynamo.reset()
        self.reports = []

    def compile(self, model, **options):
        return torch.compile(model, backend=_collecting(self.reports, options))

    def check(self, function, *args, compiled=None, exact=False):
        """Compiled and eager agree in values, dtypes, shapes and strides."""
        want = function(*args)
        got = (self.compile(function) if compiled is None else compiled)(*args)
        self.same(got, want, exact)
        return got

    def same(self, got, want, exact=False):
        if isinstance(want, (tuple, list)):
            self.assertEqual(len(got), len(want))
            return [self.same(*pair, exact) for pair in zip(got, want)]
        if not isinstance(want, torch.Tensor):
            return self.assertEqual(got, want)
        self.assertEqual((got.dtype, got.shape, got.stride()), (want.dtype, want.shape, want.stride()))
        torch.testing.assert_close(got, want, rtol=0 if exact else 1e-5, atol=0 if exact else 1e-5, equal_nan=True)

    def all_compiled(self):
        self.assertTrue(self.reports)
        for report in self.reports:
            self.assertEqual((report.left, bool(report.functions)), (0, True), repr(report))


class Weights(Compiled):
    def test_a_weight_may_be_written_to_replaced_and_loaded(self):
        model, other, x = mlp(), mlp(), torch.randn(3, 16)
        compiled = self.compile(model)
        with torch.no_grad():
            self.check(model, x, compiled=compiled)
            model[0].weight.mul_(2)
            self.check(model, x, compiled=compiled)
            model[0].weight.data = torch.randn(32, 16)
            self.check(model, x, compiled=compiled)
            model[0].bias = torch.nn.Parameter(torch.randn(32))
            self.check(model, x, compiled=compiled)
            for one in other.parameters():
                one.normal_()
            model.load_state_dict(other.state_dict())
            self.check(model, x, compiled=compiled)
            self.same(compiled(x), other(x))
        self.assertEqual(sum(len(report.functions) for report in self.reports), 1, "weights need no other plan")

    def test_what_is_written_through_data_is_seen_after_refresh(self):
        model, x = mlp(), torch.randn(3, 16)
        compiled = self.compile(model)
        with torch.no_grad():
            self.check(model, x, compiled=compiled)
            model[3].weight.data.mul_(-3)
            hearth.torch.refresh(model)
            self.check(model, x, compiled=compiled)

    def test_weights_that_were_made_in_inference_mode_may_be_written_to(self):
        with torch.inference_mode():
            model, x = mlp(), torch.randn(3, 16)
            compiled = self.compile(model)
            self.check(model, x, compiled=compiled)
            model[0].weight.mul_(-2)
            self.check(model, x, compiled=compiled)
        self.all_compiled()

    def test_training_between_calls_is_seen(self):
        model, x = mlp(), torch.randn(3, 16)
        compiled = self.compile(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        for _ in range(3):
            with torch.no_grad():
                self.check(model, x, compiled=compiled)
            model(x).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()

    def test_graphs_of_one_model_share_its_weights(self):
        model = mlp()
        with torch.no_grad():
            for rows in (1, 5):
                torch._dynamo.reset()
                self.check(model, torch.randn(rows, 16), compiled=self.compile(model))
        from hearth.torch import weights

        self.assertEqual(weights.parameter(model[0].weight) is weights.parameter(model[0].weight), True)
        self.all_compiled()

    def test_a_model_that_is_gone_leaves_no_weights_behind(self):
        import weakref

        from hearth.torch import weights

        model, x = mlp(), torch.randn(3, 16)
        with torch.no_grad():
            compiled = self.compile(model)
            compiled(x)
        gone, count = weakref.ref(model[0].weight), len(weights._known)
        self.assertGreater(count, 0)
        del model, compiled
        self.reports.clear()
        torch._dynamo.reset()
        gc.collect()
        self.assertIsNone(gone())
        self.assertLess(len(weights._known), count)

    def test_buffers_and_batch_norm(self):
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = torch.nn.BatchNorm2d(3)
                self.register_buffer("scale", torch.tensor(2.0))

            def forward(self, x):
                return self.norm(x) * self.scale

        model, x = Model().eval(), torch.randn(2, 3, 4, 5)
        model.norm.running_mean.normal_()
        compiled = self.compile(model)
        with torch.no_grad():
            self.check(model, x, compiled=compiled)
            model.scale.fill_(-1)
            self.check(model, x, compiled=compiled)
            model.norm.running_var.fill_(4)
            self.check(model, x, compiled=compiled)
        self.all_compiled()

    def test_a_buffer_that_the_model_writes_to(self):
        class Counter(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("count", torch.zeros(3))

            def forward(self, x):
                self.count += x
                return self.count * 2

        model, eager, x = Counter(), Counter(), torch.randn(3)
        compiled = self.compile(model)
        with torch.no_grad():
            for _ in range(3):
                self.same(compiled(x), eager(x))
                self.same(model.count, eager.count)
        self.all_compiled()


class Modes(Compiled):
    def test_gradients_are_torchs_own(self):
        model, x = mlp(), torch.randn(3, 16)
        compiled = self.compile(model)
        compiled(x).sum().backward()
        got = [one.grad.clone() for one in model.parameters()]
        model.zero_grad()
        model(x).sum().backward()
        self.same(got, [one.grad for one in model.parameters()])
        self.assertEqual(self.reports, [], "a graph for training is torch's")
        with torch.no_grad():
            self.check(model, x, compiled=compiled)
        self.all_compiled()

    def test_inference_mode_and_no_grad_entered_and_left(self):
        model, x = mlp(), torch.randn(3, 16)
        compiled = self.compile(model)
        with torch.inference_mode():
            self.check(model, x, compiled=compiled)
            self.assertTrue(compiled(x).is_inference())
        with torch.no_grad():
            self.check(model, x, compiled=compiled)
        self.assertTrue(compiled(x).requires_grad)
        with torch.inference_mode():
            self.check(model, torch.randn(3, 16), compiled=compiled)

    def test_autocast(self):
        model, x = mlp(), torch.randn(3, 16)
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            want, got = model(x), self.compile(model)(x)
            self.assertEqual(got.dtype, want.dtype)
            torch.testing.assert_close(got, want, rtol=0.05, atol=0.05)

    def test_hooks_and_graph_breaks(self):
        model, x = mlp(), torch.randn(3, 16)

        def function(x):
            y = model(x)
            torch._dynamo.graph_break()
            return y.relu() + 1

        handle = model[0].register_forward_hook(lambda module, given, made: made * 2)
        with torch.no_grad():
            self.check(function, x)
            handle.remove()
            torch._dynamo.reset()
            self.check(function, x)
        self.all_compiled()

    def test_threads_of_torch_are_followed(self):
        model, x = mlp(), torch.randn(3, 16)
        threads = torch.get_num_threads()
        try:
            torch.set_num_threads(1)
            compiled = self.compile(model)
            with torch.no_grad():
                self.check(model, x, compiled=compiled)
                torch.set_num_threads(2)
                self.check(model, x, compiled=compiled)
        finally:
            torch.set_num_threads(threads)

    def test_threads_call_it_beside_each_other(self):
        model = mlp()
        compiled, wrong = self.compile(model), []
        with torch.no_grad():
            compiled(torch.randn(3, 16))

        def work():
            with torch.no_grad():
                for _ in range(50):
                    x = torch.randn(3, 16)
                    if not torch.allclose(compiled(x), model(x), rtol=1e-4, atol=1e-5):
                        wrong.append(x)

        threads = [threading.Thread(target=work) for _ in range(4)]
        [one.start() for one in threads], [one.join() for one in threads]
        self.assertEqual(wrong, [])

    def test_a_forked_child_calls_on(self):
        model, x = mlp(), torch.randn(3, 16)
        compiled = self.compile(model, threads=1)
        with torch.no_grad():
            want = model(x)
            self.same(compiled(x), want)
            child = os.fork()
            if child == 0:
                torch.set_num_threads(1)
                os._exit(0 if torch.allclose(compiled(x), want, atol=1e-5) else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_after_a_reset_it_compiles_again(self):
        model, x = mlp(), torch.randn(3, 16)
        compiled = self.compile(model)
        with torch.no_grad():
            self.check(model, x, compiled=compiled)
            torch._dynamo.reset()
            self.check(model, x, compiled=compiled)
        self.assertEqual(len(self.reports), 2)
        self.assertEqual(self.reports[1].functions[0].stats.compiled_kernels, 0)


class Eager(Compiled):
    def test_what_cannot_be_recorded_is_eager_with_one_warning(self):
        def function(x):
            return torch.linalg.svdvals(x.relu() + 1).exp() * 2

        x = torch.randn(4, 4)
        compiled = self.compile(function)
        with torch.no_grad(), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            self.same(compiled(x), function(x))
            self.same(compiled(x), function(x))
        said = [str(one.message) for one in said if one.category is hearth.CompileWarning]
        self.assertEqual(len(said), 1)
        self.assertIn("ops (", said[0])
        self.assertIn("aten._linalg_svd.default: there is no entry for it", said[0])
        self.assertEqual(self.reports[0].parts, 2)

    def test_complex_numbers_are_eager(self):
        def function(x):
            return torch.fft.fft(x).abs()

        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.check(function, torch.randn(8))

    def test_fullgraph_raises(self):
        def function(x):
            return torch.linalg.svdvals(x) + 1

        with torch.no_grad():
            for compiled in (torch.compile(function, backend=hearth.torch.backend, fullgraph=True),
                             self.compile(function, fullgraph=True)):
                torch._dynamo.reset()
                with self.assertRaises(hearth.Unimplemented) as caught:
                    compiled(torch.randn(4, 4))
                self.assertIn("_linalg_svd", str(caught.exception))

    def test_its_name_is_found_where_the_package_is_installed(self):
        entry = tomllib.loads((ROOT / "python" / "pyproject.toml").read_text())["project"]["entry-points"]
        info = FOLDER / "site" / "hearth_compiler-1.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hearth-compiler\nVersion: 1\n")
        lines = [f"[{group}]\n" + "".join(f"{name} = {what}\n" for name, what in rows.items()) for group, rows in entry.items()]
        (info / "entry_points.txt").write_text("".join(lines))
        script = f"""
import sys; sys.path[:0] = {[str(FOLDER / "site"), *sys.path]!r}
import torch
x = torch.randn(5)
with torch.no_grad():
    assert torch.equal(torch.compile(lambda x: x.relu() * 2, backend="hearth", options={{"threads": 1}})(x), x.relu() * 2)
print("hearth" in torch.compiler.list_backends())
import hearth.torch.weights
"""
        made = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        self.assertEqual((made.returncode, made.stdout), (0, "True\n"), made.stderr)

    def test_options_that_are_none_are_named(self):
        with torch.no_grad(), self.assertRaises(Exception) as caught:
            torch.compile(mlp(), backend=hearth.torch.backend, options={"thread": 1})(torch.randn(3, 16))
        self.assertIn("there is no 'thread'", str(caught.exception))

    def test_without_a_daemon_it_is_eager_with_a_warning(self):
        script = f"""
import sys, warnings; sys.path[:0] = {sys.path!r}
import torch, hearth, hearth.torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU()).eval()
with torch.no_grad(), warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    x = torch.randn(3, 16)
    assert torch.equal(torch.compile(model, backend=hearth.torch.backend)(x), model(x))
print([str(one.message) for one in said if one.category is hearth.CompileWarning])
"""
        env = {**os.environ, "HEARTH_SOCKET": str(FOLDER / "nobody"), "HEARTH_NO_AUTOSTART": "1"}
        made = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("Unavailable", made.stdout)
        self.assertIn("to eager", made.stdout)

    def test_sealed_and_cold_is_eager_with_a_warning(self):
        def function(x):
            return torch.softmax(x * 1.0625 + 3, -1)

        with torch.no_grad(), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            self.check(function, torch.randn(7, 11), compiled=self.compile(function, sealed=True))
        self.assertEqual(sum(one.category is hearth.CompileWarning for one in said), 1)

    def test_explain_says_what_becomes_of_a_model(self):
        def function(x):
            y = torch.linalg.svdvals(x.relu())
            torch._dynamo.graph_break()
            return y + 1

        said = repr(hearth.torch.explain(function, torch.randn(4, 4)))
        self.assertIn("2 graphs, 1 graph breaks", said)
        self.assertIn("aten._linalg_svd.default", said)
        self.assertIn("all compiled", said)


if __name__ == "__main__":
    skipping.main()
