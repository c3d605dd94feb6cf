"""Calls an emitted sample's attention over a cache of keys: SampleSplitArgs, SampleAppendArgs of csrc/include.

A cache is (batch entry or page, head, row, column); see sample_library.py for the rest.
"""
import ctypes

import numpy as np

from sample_library import FLOAT, INT, POINTER, call, fields, place


class SplitArgs(ctypes.Structure):
    _fields_ = (fields("q k v lse_acc o_acc lse o seqlen_k_of block_table cache_batch_idx seqstart_q seqstart_k stream",
                       POINTER) + [("data_type", ctypes.c_char_p)]
                + fields("batch nhead_q nhead_k seqlen_q seqlen_k max_seqlen_q hdim_q hdim_v num_splits", INT)
                + fields("pages_of_batch page_rows", INT)
                + fields("stride_q stride_k stride_v stride_o", INT)
                + fields("nhead_stride_q nhead_stride_k nhead_stride_v nhead_stride_o", INT)
                + fields("batch_stride_q batch_stride_k batch_stride_v batch_stride_o", INT)
                + fields("mask_type window_left window_right is_group_mode has_lse log_level", INT)
                + fields("scale", FLOAT))


class AppendArgs(ctypes.Structure):
    _fields_ = (fields("q k v knew vnew seqlen_k_of block_table cache_batch_idx rotary_cos rotary_sin stream", POINTER)
                + [("data_type", ctypes.c_char_p)]
                + fields("batch nhead_q nhead_k seqlen_q seqlen_knew hdim_q hdim_v rotary_dim rope_type has_mask", INT)
                + fields("pages_of_batch page_rows", INT)
                + fields("stride_q stride_k stride_v stride_knew stride_vnew", INT)
                + fields("nhead_stride_q nhead_stride_k nhead_stride_v nhead_stride_knew nhead_stride_vnew", INT)
                + fields("batch_stride_q batch_stride_k batch_stride_v batch_stride_knew batch_stride_vnew log_level",
                         INT))


def split_forward(library, q, k, v, dtype, scale, splits, mask=(0, -1, -1), lengths=None, table=None, places=None,
                  lse=True):
    """(o, lse or None). lengths: keys a batch entry; table: its pages; places: where in the cache it is."""
    batch, heads, rows, depth = q.shape
    width = v.shape[3]
    o = np.zeros((batch, heads, rows, width), q.dtype)
    sums = np.zeros((batch, heads, rows), np.float32)
    # A split that no block writes would show up.
    o_acc = np.full((batch, heads, splits, rows, width), np.nan, np.float32)
    lse_acc = np.full((batch, heads, splits, rows), np.nan, np.float32)
    a = SplitArgs(data_type=dtype.encode(), batch=batch, nhead_q=heads, nhead_k=k.shape[1], seqlen_q=rows,
                  seqlen_k=k.shape[2], max_seqlen_q=rows, hdim_q=depth, hdim_v=width, num_splits=splits,
                  mask_type=mask[0], window_left=mask[1], window_right=mask[2], has_lse=lse, scale=scale,
                  lse_acc=lse_acc.ctypes.data, o_acc=o_acc.ctypes.data, lse=sums.ctypes.data)
    for letter, array in (("q", q), ("k", k), ("v", v), ("o", o)):
        place(a, letter, array)
    if lengths is not None:
        a.seqlen_k_of = lengths.ctypes.data
    if table is not None:
        a.block_table, a.pages_of_batch, a.page_rows = table.ctypes.data, table.shape[1], k.shape[2]
    if places is not None:
        a.cache_batch_idx = places.ctypes.data
    call(library, "sample_mha_fwd_splitkv", a)
    return o, sums if lse else None


def append(library, q, k, v, knew, vnew, filled, dtype, rope=0, cosines=None, sines=None, causal=False, table=None):
    """In place: q is rotated, k and v are the cache, `filled` the rows that each batch entry already has there."""
    a = AppendArgs(data_type=dtype.encode(), batch=q.shape[0], nhead_q=q.shape[1], nhead_k=k.shape[1],
                   seqlen_q=q.shape[2], seqlen_knew=knew.shape[2], hdim_q=q.shape[3], hdim_v=v.shape[3], rope_type=rope,
                   has_mask=causal, seqlen_k_of=filled.ctypes.data)
    for letter, array in (("q", q), ("k", k), ("v", v), ("knew", knew), ("vnew", vnew)):
        place(a, letter, array)
    if rope:
        a.rotary_dim, a.rotary_cos, a.rotary_sin = 2 * cosines.shape[1], cosines.ctypes.data, sines.ctypes.data
    if table is not None:
        a.block_table, a.pages_of_batch, a.page_rows = table.ctypes.data, table.shape[1], k.shape[2]
    call(library, "sample_mha_fwd_appendkv", a)
