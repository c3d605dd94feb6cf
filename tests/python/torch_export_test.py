"""Programs of torch.export: loaded, called, saved as plan files that need neither torch nor a daemon."""
import os
import subprocess
import sys
import threading
import unittest

from place import FOLDER, Place, hearth, np, skipping

try:
    import torch
except ImportError:
    torch = None

if torch is not None:
    import hearth.torch


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
                               torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, 5)).eval()


@unittest.skipIf(torch is None, "torch is not installed")
class Programs(Place):
    def close(self, got, want):
        torch.testing.assert_close(got, want.detach(), rtol=1e-5, atol=1e-5)

    def test_a_program_is_called_as_the_module_is(self):
        module, x = model(), torch.randn(2, 3, 8, 8)
        f = hearth.torch.load(torch.export.export(module, (x,)))
        self.close(f(x), module(x))
        self.assertFalse(f(x).requires_grad)
        with self.refused(TypeError, "other structures"):
            f(x, x)
        with self.refused(ValueError, "input"):
            f(torch.randn(3, 3, 8, 8))

    def test_a_file_of_a_program(self):
        module, x = model(), torch.randn(2, 3, 8, 8)
        path = FOLDER / "model.pt2"
        torch.export.save(torch.export.export(module, (x,)), path)
        self.close(hearth.torch.load(path)(x), module(x))
        with self.refused(TypeError, "no torch.export.ExportedProgram"):
            hearth.torch.load(module)

    def test_a_plan_file_needs_neither_torch_nor_a_daemon(self):
        module, x = model(), torch.randn(2, 3, 8, 8)
        hearth.torch.load(torch.export.export(module, (x,))).save(FOLDER / "model.hearth")
        np.save(FOLDER / "x.npy", x.numpy())
        script = f"""
import sys; sys.path[:0] = {[one for one in sys.path if one]!r}
import numpy as np, hearth
f = hearth.load({str(FOLDER / 'model.hearth')!r})
np.save({str(FOLDER / 'y.npy')!r}, f(np.load({str(FOLDER / 'x.npy')!r})))
print([one.name for one in f.inputs], 'torch' in sys.modules)
"""
        env = {**os.environ, "HEARTH_SOCKET": str(FOLDER / "nobody"), "HEARTH_NO_AUTOSTART": "1"}
        made = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(made.stdout.strip(), "['input'] False")
        self.close(torch.from_numpy(np.load(FOLDER / "y.npy")), module(x))

    def test_lengths_vary_within_their_dims(self):
        module, x = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Softmax(-1)).eval(), torch.randn(3, 4)
        program = torch.export.export(module, (x,), dynamic_shapes=({0: torch.export.Dim("batch", min=1, max=32)},))
        f = hearth.torch.load(program)
        for rows in (1, 3, 32):
            x = torch.randn(rows, 4)
            self.close(f(x), module(x))
        with self.refused(ValueError, "32"):
            f(torch.randn(33, 4))

    def test_structures_of_arguments_and_results(self):
        class Model(torch.nn.Module):
            def forward(self, given, *, scale, number=2):
                return {"sum": given["a"] + given["b"][0] * scale, "same": given["a"], "number": number, "none": None}

        a, b, scale = torch.randn(3), torch.randn(3), torch.randn(())
        module = Model()
        program = torch.export.export(module, ({"a": a, "b": [b]},), {"scale": scale})
        made, want = hearth.torch.load(program)({"a": a, "b": [b]}, scale=scale), module({"a": a, "b": [b]}, scale=scale)
        self.assertEqual((made.keys(), made["number"], made["none"]), (want.keys(), 2, None))
        self.close(made["sum"], want["sum"])
        self.assertIs(made["same"], a)

    def test_a_tensor_that_is_returned_twice(self):
        class Model(torch.nn.Module):
            def forward(self, x):
                y = x + 1
                return y, y * 2, y

        x = torch.randn(3)
        made = hearth.torch.load(torch.export.export(Model(), (x,)))(x)
        for got, want in zip(made, Model()(x), strict=True):
            self.close(got, want)

    def test_threads_that_share_a_state_follow_each_other(self):
        class Counter(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("count", torch.zeros(1))

            def forward(self, x):
                self.count.add_(x)
                return self.count * 1

        f, made = hearth.torch.load(torch.export.export(Counter(), (torch.ones(1),))), []
        threads = [threading.Thread(target=lambda: made.extend(int(f(torch.ones(1))) for _ in range(100))) for _ in range(4)]
        [one.start() for one in threads], [one.join() for one in threads]
        self.assertEqual(sorted(made), list(range(1, 401)))

    def test_buffers_that_are_written_to_are_carried(self):
        class Counter(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("count", torch.full((3,), 10.0))

            def forward(self, x):
                self.count.add_(x)
                return self.count * 2

        module, x = Counter(), torch.randn(3)
        f = hearth.torch.load(torch.export.export(module, (x,)))
        eager = Counter()
        for _ in range(3):
            self.close(f(x), eager(x))
        f.reset()
        self.close(f(x), Counter()(x))
        self.assertEqual(f.function.carry, {"count.next": "count"})

    def test_a_plan_file_is_an_op_of_other_compilers_graphs(self):
        module, x = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Softmax(-1)).eval(), torch.randn(3, 4)
        program = torch.export.export(module, (x,), dynamic_shapes=({0: torch.export.Dim("batch", min=1, max=32)},))
        path = str(FOLDER / "op.hearth")
        hearth.torch.load(program).save(path)

        def function(x):
            (y,) = torch.ops.hearth.run(path, [x * 2])
            return y + 1

        self.close(function(x), module(x * 2) + 1)
        with torch.no_grad():
            self.close(torch.compile(function, backend="eager", fullgraph=True)(x), module(x * 2) + 1)
        torch.library.opcheck(torch.ops.hearth.run.default, (path, [x]))
        with self.refused(TypeError, "2 arrays"):
            torch.ops.hearth.run(path, [x, x])

    def test_a_saved_compiled_function_starts_without_dynamo(self):
        """By torch's aot_compile, which torch calls experimental."""
        path = FOLDER / "function.aot"
        if not hasattr(torch.compiler, "load_compiled_function"):
            self.skipTest("this torch has no load_compiled_function")
        script = f"""
import sys; sys.path[:0] = {[one for one in sys.path if one]!r}
import torch, hearth.torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear, self.norm = torch.nn.Linear(16, 32), torch.nn.LayerNorm(32)
    def forward(self, x):
        return self.norm(self.linear(x).relu())
model, x = Model().eval(), torch.ones(3, 16)
with torch.no_grad():
    if sys.argv[1] == "save":
        f = torch.compile(model, fullgraph=True, backend=hearth.torch.backend).forward.aot_compile(((x,), {{}}))
        f.save_compiled_function({str(path)!r})
    else:
        torch.compile = torch._dynamo.convert_frame.fullgraph_capture = None
        with open({str(path)!r}, "rb") as file:
            f = torch.compiler.load_compiled_function(file)
    torch.testing.assert_close(f(model, x), model(x))
    model.linear.weight.mul_(2)
    torch.testing.assert_close(f(model, x), model(x))
"""
        for what in ("save", "load"):
            made = subprocess.run([sys.executable, "-c", script, what], capture_output=True, text=True)
            self.assertEqual(made.returncode, 0, made.stderr)

    def test_what_cannot_be_compiled_is_named(self):
        class Model(torch.nn.Module):
            def forward(self, x):
                return torch.linalg.svdvals(x) + torch.lgamma(x).sum() * 0 + torch.special.i1(x).sum()

        with self.refused(NotImplementedError, "ops cannot be compiled", "aten._linalg_svd.default", "aten.special_i1.default"):
            hearth.torch.load(torch.export.export(Model(), (torch.randn(4, 4),)))


if __name__ == "__main__":
    skipping.main()
