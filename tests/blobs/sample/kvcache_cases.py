"""Cases of attention over a cache of keys, for sample_test.py; the class that mixes them in has `library`, `numbers`
and `compare`."""
import numpy as np

import attention_reference as reference
from sample_kvcache import append, split_forward


def rotated(x, positions, cosines, sines, interleaved):
    """x (…, row, column) rotated by the angles of each row's position, in float64."""
    pairs = cosines.shape[1]
    left = slice(0, 2 * pairs, 2) if interleaved else slice(0, pairs)
    right = slice(1, 2 * pairs, 2) if interleaved else slice(pairs, 2 * pairs)
    result = x.copy()
    c, s = cosines[positions], sines[positions]
    result[..., left] = x[..., left] * c - x[..., right] * s
    result[..., right] = x[..., left] * s + x[..., right] * c
    return result


class KeyCache:
    def check_split(self, splits, columns, mask=(0, -1, -1), lse=True, lengths=None, places=None):
        rows, batch, heads, key_heads = 5, 2, 4, 2
        q = self.numbers("fp16", batch, heads, rows, 64)
        stored = batch if places is None else int(places.max()) + 1
        k, v = (self.numbers("fp16", stored, key_heads, columns, 64) for _ in range(2))
        o, sums = split_forward(self.library, q, k, v, "fp16", 0.125, splits, mask, lengths, places=places, lse=lse)
        for b in range(batch):
            at = b if places is None else places[b]
            n = columns if lengths is None else lengths[b]
            part = [reference.exact(x, "fp16") for x in (q[b:b + 1], k[at:at + 1, :, :n], v[at:at + 1, :, :n])]
            wanted, wanted_lse, _ = reference.attention(*part, 0.125, mask)
            self.compare(o[b:b + 1], wanted, "fp16", np.abs(part[2]).max())
            if lse:
                np.testing.assert_allclose(sums[b:b + 1], wanted_lse, rtol=1e-5, atol=1e-5)

    def test_split_evenly(self):
        self.check_split(splits=2, columns=256)

    def test_split_unevenly(self):
        self.check_split(splits=3, columns=200, lse=False)

    def test_more_splits_than_keys(self):
        self.check_split(splits=9, columns=70)

    def test_split_causal(self):
        self.check_split(splits=4, columns=300, mask=(reference.BOTTOM_RIGHT, -1, 0))

    def test_split_of_other_lengths(self):
        self.check_split(splits=2, columns=200, lengths=np.array([130, 7], np.int32))
        self.check_split(splits=2, columns=130, places=np.array([2, 0], np.int32))

    def test_split_paged(self):
        page_rows, lengths = 16, np.array([100, 33], np.int32)
        table = np.array([[3, 0, 5, 7, 1, 9, 11], [2, 4, 6, 0, 0, 0, 0]], np.int32)
        k, v = (self.numbers("fp16", 12, 2, page_rows, 64) for _ in range(2))
        q = self.numbers("fp16", 2, 4, 1, 64)
        o, _ = split_forward(self.library, q, k, v, "fp16", 0.125, 2, lengths=lengths, table=table)
        for b, n in enumerate(lengths):
            # The pages of a batch entry behind each other: (head, row, column).
            key, value = (x[table[b]].transpose(1, 0, 2, 3).reshape(1, 2, -1, 64)[:, :, :n] for x in (k, v))
            part = [reference.exact(x, "fp16") for x in (q[b:b + 1], key, value)]
            self.compare(o[b:b + 1], reference.attention(*part, 0.125)[0], "fp16", np.abs(part[2]).max())

    def check_append(self, rope, causal=False, table=None):
        rows, new, filled = 3, 3, np.array([10, 0], np.int32)
        q = self.numbers("fp16", 2, 4, rows, 64)
        shape = (2, 2, 40, 64) if table is None else (6, 2, 8, 64)
        k, v = self.numbers("fp16", *shape), self.numbers("fp16", *shape)
        knew, vnew = (self.numbers("fp16", 2, 2, new, 64) for _ in range(2))
        angles = np.arange(40)[:, None] * 10.0 ** -np.linspace(0, 3, 16)[None]
        cosines, sines = (reference.rounded(f(angles), "fp16") for f in (np.cos, np.sin))
        before = [reference.exact(x, "fp16") for x in (q, k, v)]
        append(self.library, q, k, v, knew, vnew, filled, "fp16", rope, cosines, sines, causal, table)
        wanted_q, wanted_k, wanted_v = before
        exact_cos, exact_sin = (reference.exact(x, "fp16") for x in (cosines, sines))
        for b, start in enumerate(filled):
            positions = start + np.arange(new)
            key = reference.exact(knew[b], "fp16")
            if rope:
                key = rotated(key, positions, exact_cos, exact_sin, rope == 1)
                at = positions if causal else np.full(rows, start)
                wanted_q[b] = rotated(wanted_q[b], at, exact_cos, exact_sin, rope == 1)
            for i, position in enumerate(positions):
                where = (b, position) if table is None else (table[b, position // 8], position % 8)
                wanted_k[where[0], :, where[1]] = key[:, i]
                wanted_v[where[0], :, where[1]] = reference.exact(vnew[b, :, i], "fp16")
        np.testing.assert_array_equal(reference.exact(v, "fp16"), wanted_v)
        for got, wanted in ((q, wanted_q), (k, wanted_k)):
            self.compare(got, wanted, "fp16", np.abs(wanted).max())

    def test_append(self):
        self.check_append(rope=0)

    def test_append_paged(self):
        self.check_append(rope=0, table=np.array([[4, 1], [3, 0]], np.int32))

    def test_append_rotated_pairs(self):
        self.check_append(rope=1)

    def test_append_rotated_halves(self):
        self.check_append(rope=2, causal=True)
