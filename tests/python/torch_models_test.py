"""Whole models of transformers' configurations, small, with random weights: one graph each, no op left, as eager; decoders
with both kinds of cache, token by token."""
import copy
import unittest
import warnings

from place import hearth, skipping
from torch_backend_test import Compiled, torch

try:
    import transformers

    from torch_models import MODELS, bert, decoder
except ImportError:
    transformers = None


@unittest.skipIf(torch is None or transformers is None, "torch and transformers are not installed")
class Models(Compiled):
    def test_a_model_is_one_graph_of_which_no_op_is_left(self):
        for name, make in MODELS.items():
            with self.subTest(name), torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("error", hearth.CompileWarning)
                torch.manual_seed(0)
                torch._dynamo.reset()
                self.reports.clear()
                model, given = make(small=True)
                model.eval()(*given)  # a cache is allocated at the first call, which Dynamo would compile by itself
                eager = copy.deepcopy(model)
                compiled = self.compile(model)
                for _ in range(2):
                    want, got = eager(*given), compiled(*given)
                    for one, other in zip(want if isinstance(want, tuple) else [want], got if isinstance(got, tuple) else [got]):
                        self.assertEqual(other.stride(), one.stride())
                        self.assertLess(float((one - other).abs().max() / one.abs().max()), 1e-5)
                self.assertEqual(len(self.reports), 1)
                self.all_compiled()

    def test_an_encoder_over_forty_lengths(self):
        model, _ = bert(small=True)
        compiled = self.compile(model.eval())
        lengths = torch.randperm(512, generator=torch.Generator().manual_seed(0))[:40] + 1
        with torch.no_grad():
            for length in lengths.tolist():
                tokens = torch.randint(0, 30000, (1, length))
                want = model(tokens)
                self.assertLess(float((compiled(tokens) - want).abs().max() / want.abs().max()), 1e-5)
        self.all_compiled()
        self.assertLessEqual(sum(len(report.functions) for report in self.reports), 10)


@unittest.skipIf(torch is None or transformers is None, "torch and transformers are not installed")
class Decoders(Compiled):
    STEPS = 60

    def tokens(self, step):
        """Greedy tokens of a decoder from a first one."""
        token, made = torch.tensor([[7]]), []
        with torch.no_grad():
            for i in range(self.STEPS):
                token = step(token, i)[:, -1:].argmax(-1)
                made.append(int(token))
        return made

    def setUp(self):
        super().setUp()
        torch.manual_seed(0)
        self.model, (self.heads, self.width) = decoder(small=True)
        self.model.eval()

    def growing(self, wrap):
        from torch_models import GrowingCache

        step = wrap(GrowingCache(self.model))
        cache = [torch.zeros(1, self.heads, 20, self.width) + 0.1 for _ in range(2 * self.model.config.num_hidden_layers)]

        def run(token, i):
            nonlocal cache
            logits, *cache = step(token, *cache)
            return logits

        return self.tokens(run)

    def fixed(self, wrap):
        from torch_models import StaticCache

        step = wrap(StaticCache(self.model, 96))
        return self.tokens(lambda token, i: step(token, torch.tensor([i])))

    def test_a_cache_that_grows(self):
        self.assertEqual(self.growing(self.compile), self.growing(lambda model: model))
        self.all_compiled()

    def test_a_cache_that_is_written_in_place(self):
        self.assertEqual(self.fixed(self.compile), self.fixed(lambda model: model))
        self.all_compiled()


if __name__ == "__main__":
    skipping.main()
