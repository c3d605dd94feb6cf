"""Cases of the backward pass for sample_test.py, and the call itself (SampleBwdArgs of csrc/include/mha_bwd.h)."""
import ctypes

import numpy as np

import attention_reference as reference
from sample_library import FLOAT, INT, POINTER, NoKernel, call, fields, place

ARRAYS = "q k v o doo dq dk dv"
KEYS_OF_TILE = 128  # of the small sample's kernels


class BwdArgs(ctypes.Structure):
    _fields_ = (fields("q k v o lse doo d dq dk dv dq_acc seqstart_q seqstart_k stream", POINTER)
                + [("data_type", ctypes.c_char_p)]
                + fields("batch nhead_q nhead_k seqlen_q seqlen_k max_seqlen_q max_seqlen_k hdim_q hdim_v", INT)
                + [(prefix + name, INT) for prefix in ("stride_", "nhead_stride_", "batch_stride_")
                   for name in ARRAYS.split()]
                + fields("mask_type window_left window_right is_group_mode is_deterministic log_level", INT)
                + fields("scale", FLOAT))


def backward(library, q, k, v, o, lse, do, dtype, scale, mask=(0, -1, -1), deterministic=False):
    """(dq, dk, dv); dk and dv with q's number of heads. Arrays are (batch, head, row, column)."""
    batch, heads, rows, depth = q.shape
    columns = k.shape[2]
    dq, dk = np.zeros_like(q), np.zeros((batch, heads, columns, depth), q.dtype)
    dv = np.zeros((batch, heads, columns, v.shape[3]), q.dtype)
    tiles = -(-columns // KEYS_OF_TILE) if deterministic else 1
    d = np.zeros((batch, heads, rows), np.float32)
    acc = np.zeros((tiles, batch, heads, rows, depth), np.float32)
    a = BwdArgs(data_type=dtype.encode(), batch=batch, nhead_q=heads, nhead_k=k.shape[1], seqlen_q=rows,
                seqlen_k=columns, max_seqlen_q=rows, max_seqlen_k=columns, hdim_q=depth, hdim_v=v.shape[3],
                mask_type=mask[0], window_left=mask[1], window_right=mask[2], is_deterministic=deterministic,
                scale=scale, lse=lse.ctypes.data, d=d.ctypes.data, dq_acc=acc.ctypes.data)
    for name, array in zip(ARRAYS.split(), (q, k, v, o, do, dq, dk, dv)):
        place(a, name, array)
    call(library, "sample_mha_bwd", a)
    return dq, dk, dv


class Backward:
    """`backward_library` is set by the class that mixes this in."""

    def check_backward(self, rows, columns, mask=(0, -1, -1), key_heads=2, deterministic=False, batch=2, heads=4):
        q, do = (self.numbers("fp16", batch, heads, rows, 64) for _ in range(2))
        k, v = (self.numbers("fp16", batch, key_heads, columns, 64) for _ in range(2))
        exact = [reference.exact(x, "fp16") for x in (q, k, v, do)]
        wanted_o, lse, _ = reference.attention(*exact[:3], 0.125, mask)
        got = backward(self.backward_library, q, k, v, reference.rounded(wanted_o, "fp16"), lse.astype(np.float32), do,
                       "fp16", 0.125, mask, deterministic)
        wanted = reference.attention_gradients(*exact, 0.125, mask)
        for one, other in zip(got, wanted):
            # The forward result that the kernel starts from is rounded: its error goes into every D, times |dO|'s
            # length (8 for 64 columns), and from there into sums over the softmax's weights, which are 1.
            largest = np.abs(other).max()
            np.testing.assert_allclose(reference.exact(one, "fp16"), other, rtol=0,
                                       atol=reference.tolerance("fp16", largest) + 8 * 2.0 ** -11 * 0.5)

    def test_backward_whole_tiles(self):
        self.check_backward(64, 128)

    def test_backward_odd_lengths(self):
        self.check_backward(45, 150)

    def test_backward_few_keys(self):
        self.check_backward(70, 100, key_heads=4)

    def test_backward_deterministic(self):
        self.check_backward(45, 300, deterministic=True)

    def test_backward_causal(self):
        self.check_backward(45, 150, mask=(reference.BOTTOM_RIGHT, -1, 0))
        self.check_backward(150, 45, mask=(reference.BOTTOM_RIGHT, -1, 0))  # some rows see nothing

    def test_backward_no_kernel(self):
        q = self.numbers("bf16", 1, 1, 8, 64)
        with self.assertRaisesRegex(NoKernel, "no kernel"):
            backward(self.backward_library, q, q, q, q, np.zeros((1, 1, 8), np.float32), q, "bf16", 1.0)
