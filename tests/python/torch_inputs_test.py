"""Every kind of argument through torch.compile(backend="hearth"): values, dtypes, shapes, strides and mutations as eager's."""
import copy
import warnings

from place import hearth, skipping
from torch_backend_test import Compiled, torch

if torch is not None:
    X = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4) / 7 - 1.5


def cases():
    """Name: (function, arguments)."""
    def returned(x):
        return x, x + 1

    def views(x):
        return x.t(), x.view(-1)

    def both(x, y):
        return x + y, y

    def in_place(x):
        x.mul_(2)
        return x + 1

    def in_place_on_a_view(x):
        x[:, 1].add_(3)
        x.t()[0].zero_()
        return x.sum()

    def written_and_returned(x):
        x += 1
        return x

    yield "a graph of no ops", lambda x: x, (X,)
    yield "only views", views, (X[0],)
    yield "a returned input", returned, (X,)
    yield "one tensor as two inputs", both, (X, X)
    yield "two views of one tensor", lambda x, y: x * 2 + y, (X[0], X[0].t().t())
    yield "in place on an input", in_place, (X.clone(),)
    yield "in place on views of an input", in_place_on_a_view, (X[0].clone(),)
    yield "written and returned", written_and_returned, (X.clone(),)
    yield "a result twice", lambda x: (x + 1,) * 2, (X,)
    yield "no axes", lambda x: x * 2 + 1, (torch.tensor(3.0),)
    yield "no elements", lambda x: x * 2 + 1, (torch.zeros(0, 3),)
    yield "a sum of no elements", lambda x: x.sum(0), (torch.zeros(0, 3),)
    yield "an empty concatenation", lambda x: torch.cat([x, torch.zeros(0)]), (torch.ones(3),)
    for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8):
        yield f"{dtype}", lambda x: (x + x, x * 3, x.abs() if x.dtype != torch.uint8 else x), ((X * 8).to(dtype),)
    yield "bool", lambda x: (x & ~x, x | x, x.sum(), x.any(0)), (X > 0,)
    yield "integers wrap", lambda x: x * x, (torch.tensor([200, 16, 255], dtype=torch.uint8),)
    yield "integers and floats", lambda x, y: x + y, (torch.arange(3), torch.ones(3))
    yield "channels_last", lambda x: torch.relu(x) + 1, (torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),)
    yield "channels_last in a convolution", lambda x, w: torch.nn.functional.conv2d(x, w), (
        torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last), torch.randn(4, 3, 3, 3))
    yield "stride 0", lambda x: x + 1, (torch.ones(1, 4).expand(3, 4),)
    yield "every second row", lambda x: x * 2, (torch.randn(6, 4)[::2],)
    yield "transposed", lambda x: x @ x.t(), (torch.randn(4, 6).t(),)
    yield "an offset into memory", lambda x: x * 2, (torch.randn(10)[3:],)
    yield "NaN and infinities", lambda x: (x.max(), x.relu(), x.clamp(-1, 1), x.softmax(0), x.isnan()), (
        torch.tensor([float("nan"), float("inf"), -float("inf"), 1.0]),)
    yield "ties", lambda x: (x.argmax(), x.sort(stable=True), x.topk(2).values), (torch.tensor([1.0, 3.0, 3.0, 1.0]),)
    yield "fmod and remainder", lambda x: (x.fmod(0.4), x.remainder(-0.4), x // 0.3), (X,)
    yield "powers", lambda x, i: (x**2, x**0.5, x**-1, x**3.0, x ** float("inf"), 2.0**x, i**3, i**i), (X.abs(), torch.arange(-3, 7))
    yield "numbers as arguments", lambda x, n, f: x * n + f, (X, 3, 0.5)
    yield "a tensor of numbers inside", lambda x: x + torch.tensor([1.0, 2.0, 3.0, 4.0]), (X,)
    yield "a dict and a list", lambda given: {"y": [given["x"] + 1, given["z"][0]]}["y"], ({"x": X, "z": [X * 2]},)
    yield "strided results", lambda x: (x.transpose(0, 2) + 1, (x * 2).permute(1, 0, 2)), (X,)
    yield "indices", lambda x, i: (x[:, i], x[..., -1], x.gather(2, i.expand(2, 3, 2))), (X, torch.tensor([0, 2]))
    yield "requires a gradient", lambda x: x * 2, (X.clone().requires_grad_(),)


class Inputs(Compiled):
    def test_every_kind_of_argument(self):
        for name, function, given in cases():
            with self.subTest(name), torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("error", hearth.CompileWarning)
                torch._dynamo.reset()
                self.reports.clear()
                mine, eager = copy.deepcopy(given), copy.deepcopy(given)
                compiled = self.compile(function)
                want = function(*eager)
                self.same(compiled(*mine), want)
                leaves = torch.utils._pytree.tree_leaves
                self.same(leaves(mine), leaves(eager))
                self.same(compiled(*mine), function(*eager))  # once more, on what the first left behind

    def test_what_is_no_dense_tensor_of_the_processor_is_eager(self):
        for name, function, given in (
            ("complex", lambda x: (x * x).real, (torch.complex(X, X),)),
            ("sparse", lambda x: torch.sparse.mm(x, x.to_dense()), (torch.eye(3).to_sparse(),)),
        ):
            with self.subTest(name), torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                torch._dynamo.reset()
                self.same(self.compile(function)(*given), function(*given))

    def test_strides_that_change_are_followed(self):
        compiled = self.compile(lambda x: x.relu() * 2)
        with torch.no_grad():
            for given in (torch.randn(2, 3, 4, 5), torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
                          torch.randn(2, 3, 5, 4).transpose(2, 3), torch.randn(2, 3, 4, 10)[..., ::2]):
                self.same(compiled(given), given.relu() * 2)


class Lengths(Compiled):
    def test_one_plan_for_a_range_of_lengths(self):
        function = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.LayerNorm(16)).eval()
        compiled = self.compile(function)
        with torch.no_grad():
            for rows in (5, 6, 40, 17, 64, 2, 65, 100):
                self.check(function, torch.randn(rows, 8), compiled=compiled)
        self.all_compiled()
        self.assertLessEqual(sum(len(report.functions) for report in self.reports), 3)

    def test_marked_bounds_are_the_plans(self):
        compiled, x = self.compile(lambda x: x.sum(0) * 2), torch.randn(9, 4)
        torch._dynamo.mark_dynamic(x, 0, min=2, max=200)
        with torch.no_grad():
            for rows in (9, 2, 200):
                y = x if rows == 9 else torch.randn(rows, 4)
                self.same(compiled(y), y.sum(0) * 2)
        (variable,) = self.reports[0].functions[0].variables
        self.assertEqual((variable.min, variable.max), (2, 200))
        self.assertEqual(sum(len(report.functions) for report in self.reports), 1)

    def test_lengths_that_an_op_needs_equal(self):
        """Torch has a symbol for each; as long as they are equal one plan serves, and other values get one of their own."""
        def function(x, y):
            return torch.nn.functional.scaled_dot_product_attention(x, y, y) + 1

        compiled = self.compile(function)
        with torch.no_grad():
            for length, other in ((7, 9), (8, 12), (8, 8), (12, 12), (5, 11)):
                x, y = torch.randn(1, 2, length, 16), torch.randn(1, 2, other, 16)
                self.same(compiled(x, y), function(x, y))
        self.all_compiled()

    def test_lengths_as_values_and_results(self):
        def function(x, n):
            return x[: n - 1] * n, x.shape[0] + n, torch.arange(n, dtype=torch.float32) + x.shape[0]

        compiled = self.compile(function)
        with torch.no_grad():
            for rows, n in ((9, 5), (10, 6), (20, 3), (33, 21)):
                x = torch.randn(rows, 4)
                self.same(compiled(x, n), function(x, n))


if __name__ == "__main__":
    skipping.main()
