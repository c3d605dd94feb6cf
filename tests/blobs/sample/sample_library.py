"""Calls an emitted sample's libraries from Python: SampleFwdArgs and its likes of csrc/include by ctypes.

  library = ctypes.CDLL("…/libmha_fwd.so")
  o, lse = forward(library, q, k, v, "fp16", scale=0.125, lse=True)      # q, k, v: (batch, head, row, column)

A call that finds no kernel raises NoKernel, one that threw raises CallFailed with the exception's text.
"""
import ctypes

import numpy as np

POINTER, INT, FLOAT = ctypes.c_void_p, ctypes.c_int32, ctypes.c_float


class NoKernel(Exception):
    pass


class CallFailed(Exception):
    pass


def fields(text, kind):
    return [(name, kind) for name in text.split()]


class FwdArgs(ctypes.Structure):
    _fields_ = (fields("q k v bias lse o seqstart_q seqstart_k seqlen_k_of stream", POINTER)
                + [("data_type", ctypes.c_char_p)]
                + fields("batch nhead_q nhead_k seqlen_q seqlen_k max_seqlen_q hdim_q hdim_v", INT)
                + fields("stride_q stride_k stride_v stride_bias stride_o", INT)
                + [(prefix + name, INT) for prefix in ("nhead_stride_", "batch_stride_")
                   for name in ("q", "k", "v", "bias", "lse", "o")]
                + fields("mask_type window_left window_right bias_type", INT)
                + fields("is_group_mode is_v_rowmajor has_lse has_logits_soft_cap log_level", INT)
                + fields("scale logits_soft_cap", FLOAT))


def call(library, name, arguments):
    error = ctypes.create_string_buffer(65536)
    status = getattr(library, name)(ctypes.byref(arguments), error, ctypes.c_size_t(len(error)))
    if status == 1:
        raise NoKernel(error.value.decode())
    if status != 0:
        raise CallFailed(error.value.decode(errors="replace"))


def steps(array):
    """(of a batch entry, of a head, of a row), in elements."""
    return [stride // array.itemsize for stride in array.strides[:3]]


def place(arguments, letter, array):
    """Fills in pointer and strides of one array."""
    setattr(arguments, letter, array.ctypes.data)
    for name, step in zip(("batch_stride_", "nhead_stride_", "stride_"), steps(array)):
        setattr(arguments, name + letter, step)


def forward(library, q, k, v, dtype, scale, mask=(0, -1, -1), bias=None, slopes=None, lse=False, soft_cap=None,
            v_columns=False, log_level=0):
    """(o, lse or None). v_columns: v is (batch, head, column, row)."""
    batch, heads, rows, depth = q.shape
    width = v.shape[2] if v_columns else v.shape[3]
    o = np.zeros((batch, heads, rows, width), q.dtype)
    sums = np.zeros((batch, heads, rows), np.float32)
    a = FwdArgs(data_type=dtype.encode(), batch=batch, nhead_q=heads, nhead_k=k.shape[1], seqlen_q=rows,
                seqlen_k=k.shape[2], max_seqlen_q=rows, hdim_q=depth, hdim_v=width, mask_type=mask[0],
                window_left=mask[1], window_right=mask[2], is_v_rowmajor=not v_columns, has_lse=lse, scale=scale,
                has_logits_soft_cap=soft_cap is not None, logits_soft_cap=soft_cap or 0, log_level=log_level)
    for letter, array in (("q", q), ("k", k), ("v", v), ("o", o)):
        place(a, letter, array)
    a.lse, a.batch_stride_lse, a.nhead_stride_lse = sums.ctypes.data, heads * rows, rows
    if bias is not None:
        a.bias_type = 1
        place(a, "bias", bias)
    if slopes is not None:
        a.bias_type, a.bias = 2, slopes.ctypes.data
    call(library, "sample_mha_fwd", a)
    return o, sums if lse else None


def forward_group(library, q, k, v, lengths_q, lengths_k, dtype, scale, mask=(0, -1, -1)):
    """Sequences behind each other: q, k, v and the result are (row, head, column)."""
    starts = [np.concatenate(([0], np.cumsum(lengths))).astype(np.int32) for lengths in (lengths_q, lengths_k)]
    o = np.zeros((*q.shape[:2], v.shape[2]), q.dtype)
    a = FwdArgs(data_type=dtype.encode(), batch=len(lengths_q), nhead_q=q.shape[1], nhead_k=k.shape[1],
                seqlen_q=q.shape[0], seqlen_k=k.shape[0], max_seqlen_q=max(lengths_q), hdim_q=q.shape[2],
                hdim_v=v.shape[2], mask_type=mask[0], window_left=mask[1], window_right=mask[2], is_group_mode=1,
                is_v_rowmajor=1, scale=scale, seqstart_q=starts[0].ctypes.data, seqstart_k=starts[1].ctypes.data)
    for letter, array in (("q", q), ("k", k), ("v", v), ("o", o)):
        setattr(a, letter, array.ctypes.data)
        setattr(a, "stride_" + letter, array.strides[0] // array.itemsize)
        setattr(a, "nhead_stride_" + letter, array.strides[1] // array.itemsize)
    call(library, "sample_mha_fwd", a)
    return o
