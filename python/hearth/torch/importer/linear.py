"""Products, attention and convolutions."""

from hearth import ops

from .table import Unsupported, aten, is_fixed, is_float, lift, records


def _product(node, a, b):
    if is_float(node.dtype):
        return ops.matmul(a, b)
    if node.dtype == "bool":
        raise Unsupported("a product of bools")
    # A sum of products, whose integers wrap as torch's do.
    a, b = ops.unsqueeze(a, (-1,)), ops.unsqueeze(b, (-3,))
    return ops.reduce_sum(ops.multiply(a, b), -2)


@records(aten.mm.default, aten.bmm.default, aten.matmul, aten.mv, aten.dot)
def mm(node, a, b):
    if a.ndim == 1 or b.ndim == 1:
        rows = ops.reshape(a, (1, -1)) if a.ndim == 1 else a
        columns = ops.reshape(b, (-1, 1)) if b.ndim == 1 else b
        return ops.reshape(_product(node, rows, columns), node.shape)
    return _product(node, a, b)


def _plus(node, bias, product, beta, alpha):
    if alpha != 1:
        product = ops.multiply(product, lift(alpha, node.dtype))
    if beta == 0:
        return product
    return ops.add(bias if beta == 1 else ops.multiply(bias, lift(beta, node.dtype)), product)


@records(aten.addmm.default, aten.baddbmm.default)
def addmm(node, bias, a, b, *, beta=1, alpha=1):
    return _plus(node, bias, _product(node, a, b), beta, alpha)


@records(aten.addbmm)
def addbmm(node, bias, a, b, *, beta=1, alpha=1):
    return _plus(node, bias, ops.reduce_sum(_product(node, a, b), 0), beta, alpha)


@records(aten.addmv)
def addmv(node, bias, a, b, *, beta=1, alpha=1):
    return _plus(node, bias, mm(_Shaped(node, a), a, b), beta, alpha)


class _Shaped:
    """The node, for a product of another shape than its result."""

    def __init__(self, node, a):
        self.dtype, self.shape = node.dtype, (a.shape[0],)


@records(aten._scaled_dot_product_flash_attention_for_cpu)
def attention(node, q, k, v, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    if dropout_p:
        raise Unsupported("dropout")
    groups = q.shape[1] // k.shape[1] if is_fixed(q.shape[1], k.shape[1]) else 1
    if groups > 1:
        k, v = ops.repeat_interleave(k, groups, 1), ops.repeat_interleave(v, groups, 1)
    if attn_mask is not None and attn_mask.dtype not in ("bool", q.dtype):
        attn_mask = lift(attn_mask, q.dtype)
    return ops.scaled_dot_product_attention(q, k, v, mask=attn_mask, causal=is_causal, scale=scale), None


@records(aten.convolution)
def convolution(node, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    axes = weight.ndim - 2
    if not is_float(node.dtype):
        raise Unsupported("a convolution of integers")

    def each(values):
        return list(values) * axes if len(values) == 1 else list(values)

    is_single = x.ndim == axes + 1
    x = ops.unsqueeze(x, (0,)) if is_single else x
    options = dict(strides=each(stride), pads_begin=each(padding), pads_end=each(padding), dilations=each(dilation), groups=groups)
    if transposed:
        made = ops.conv_transpose(x, weight, bias, output_pads=each(output_padding), **options)
    else:
        made = ops.conv(x, weight, bias, **options)
    return ops.reshape(made, node.shape) if is_single else made
