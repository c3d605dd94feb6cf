"""Norms."""

from hearth import ops

from .table import Unsupported, aten, is_float, lift, records


def _ones(x, shape, scale, bias):
    scale = ops.full(shape, 1, x.dtype) if scale is None else scale
    return scale, ops.full(shape, 0, x.dtype) if bias is None else bias


@records(aten.native_layer_norm)
def layer_norm(node, x, shape, weight, bias, eps):
    if node.uses(1) or node.uses(2):
        raise Unsupported("a layer norm whose mean is read")
    weight, bias = _ones(x, tuple(shape), weight, bias)
    return ops.layer_norm(x, lift(weight, x.dtype), lift(bias, x.dtype), -len(shape), eps), None, None


@records(aten._fused_rms_norm)
def rms_norm(node, x, shape, weight, eps):
    if node.uses(1):
        raise Unsupported("an RMS norm whose deviation is read")
    weight, _ = _ones(x, tuple(shape), weight, None)
    eps = {"float64": 2.220446049250313e-16}.get(str(x.dtype), 1.1920928955078125e-07) if eps is None else eps
    return ops.rms_norm(x, lift(weight, x.dtype), -len(shape), eps), None


@records(aten.native_group_norm)
def group_norm(node, x, weight, bias, batch, channels, size, groups, eps):
    if node.uses(1) or node.uses(2):
        raise Unsupported("a group norm whose mean is read")
    weight, bias = _ones(x, (channels,), weight, bias)
    return ops.group_norm(x, groups, weight, bias, eps), None, None


@records(aten._native_batch_norm_legit_no_training)
def batch_norm(node, x, weight, bias, mean, variance, momentum, eps):
    if not is_float(x.dtype):
        raise Unsupported("a batch norm of integers")
    weight, bias = _ones(x, (x.shape[1],), weight, bias)
    weight, bias, mean, variance = (lift(one, x.dtype) for one in (weight, bias, mean, variance))
    return ops.batch_norm(x, weight, bias, mean, variance, eps), None, None
