"""Cases of forward attention for sample_test.py; the class that mixes them in has `library`, `random` and the
assertions of a TestCase."""
import numpy as np

import attention_reference as reference
import sample_library as sample


class Forward:
    def numbers(self, dtype, *shape):
        return reference.rounded(self.random.standard_normal(shape), dtype)

    def compare(self, got, wanted, dtype, largest):
        np.testing.assert_allclose(reference.exact(got, dtype), wanted, rtol=0,
                                   atol=reference.tolerance(dtype, largest))

    def check(self, dtype="fp16", batch=2, heads=4, key_heads=4, rows=128, columns=128, depth=64, mask=(0, -1, -1),
              bias=False, slopes=False, lse=False, soft_cap=None, v_columns=False):
        q = self.numbers(dtype, batch, heads, rows, depth)
        k = self.numbers(dtype, batch, key_heads, columns, depth)
        # Rows of all heads lie between each other, so that every stride is another one.
        v = self.numbers(dtype, batch, columns, key_heads, depth).transpose(0, 2, 1, 3)
        extra, term = {}, None
        if bias:
            extra["bias"] = self.numbers(dtype, batch, heads, rows, columns)
            term = reference.exact(extra["bias"], dtype)
        if slopes:
            extra["slopes"] = (2.0 ** -np.arange(1, heads + 1)).astype(np.float32)
            term = reference.alibi_bias(extra["slopes"].astype(np.float64), rows, columns)
        scale = depth ** -0.5
        given_v = np.ascontiguousarray(v.transpose(0, 1, 3, 2)) if v_columns else v
        o, sums = sample.forward(self.library, q, k, given_v, dtype, scale, mask, lse=lse, soft_cap=soft_cap,
                                 v_columns=v_columns, **extra)
        exact = [reference.exact(x, dtype) for x in (q, k, v)]
        wanted, wanted_lse, _ = reference.attention(*exact, scale, mask, term, soft_cap)
        self.compare(o, wanted, dtype, np.abs(exact[2]).max())
        if lse:
            np.testing.assert_allclose(sums, wanted_lse, rtol=1e-5, atol=1e-5)

    def test_whole_tiles(self):
        self.check()

    def test_odd_lengths(self):
        self.check(rows=77, columns=131, lse=True)

    def test_one_row(self):
        self.check(rows=1, columns=193)

    def test_heads_share_keys(self):
        self.check(heads=6, key_heads=2, columns=65)

    def test_narrow_head(self):
        self.check(depth=40, columns=100)

    def test_causal(self):
        self.check(mask=(reference.TOP_LEFT, -1, 0), rows=130, columns=128, lse=True)
        self.check(mask=(reference.BOTTOM_RIGHT, -1, 0), rows=60, columns=200)

    def test_rows_that_see_nothing(self):
        self.check(mask=(reference.BOTTOM_RIGHT, -1, 0), rows=100, columns=64, lse=True)

    def test_sliding_window(self):
        self.check(mask=(reference.WINDOW, 30, 9), rows=150, columns=150)
        self.check(mask=(reference.WINDOW, 5, 0), rows=70, columns=128, lse=True)

    def test_bias(self):
        self.check(bias=True, lse=True)
        self.check(bias=True, lse=True, rows=50, columns=90)

    def test_alibi(self):
        self.check(slopes=True, depth=32, rows=40, columns=90)

    def test_values_by_column(self):
        self.check(v_columns=True, depth=32, rows=40, columns=90)

    def test_soft_cap(self):
        self.check(soft_cap=1.5, columns=90)

    def test_bf16(self):
        self.check(dtype="bf16", depth=128, batch=1)
        self.check(dtype="bf16", depth=128, batch=1, mask=(reference.BOTTOM_RIGHT, -1, 0), rows=33, columns=150)

    def test_group(self):
        lengths_q, lengths_k = [3, 129, 40], [70, 129, 1]
        for mask in ((0, -1, -1), (reference.BOTTOM_RIGHT, -1, 0)):
            q = self.numbers("fp16", sum(lengths_q), 4, 64)
            k, v = (self.numbers("fp16", sum(lengths_k), 2, 64) for _ in range(2))
            o = sample.forward_group(self.library, q, k, v, lengths_q, lengths_k, "fp16", 0.125, mask)
            at_q = at_k = 0
            for rows, columns in zip(lengths_q, lengths_k):
                part = [reference.exact(x, "fp16").transpose(1, 0, 2)[None]
                        for x in (q[at_q:at_q + rows], k[at_k:at_k + columns], v[at_k:at_k + columns])]
                wanted, _, _ = reference.attention(*part, 0.125, mask)
                self.compare(o[at_q:at_q + rows], wanted[0].transpose(1, 0, 2), "fp16", np.abs(part[2]).max())
                at_q, at_k = at_q + rows, at_k + columns

    def test_no_kernel(self):
        q = self.numbers("fp16", 1, 1, 8, 512)
        with self.assertRaisesRegex(sample.NoKernel, "no kernel"):
            sample.forward(self.library, q, q, q, "fp16", 1.0)
