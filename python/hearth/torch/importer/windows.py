"""Pools, changes of size and samples."""

import hearth
from hearth import ops

from .table import Unsupported, aten, is_fixed, is_float, records


def _each(values, axes):
    values = [values] if isinstance(values, int) else list(values)
    return values * axes if len(values) == 1 else values


def _batched(x, axes):
    """With a batch in front, as windows want it."""
    return ops.unsqueeze(x, (0,)) if x.ndim == axes + 1 else x


@records(aten.max_pool2d_with_indices, aten.max_pool3d_with_indices)
def max_pool(node, x, kernel, stride=(), padding=0, dilation=1, ceil_mode=False):
    axes = 2 if node.op == "max_pool2d_with_indices" else 3
    if not is_float(x.dtype):
        raise Unsupported("a pool of integers")
    values, places = (node._shapes.shape(one) for one in node.fake)
    x = _batched(x, axes)
    options = dict(kernel=_each(kernel, axes), strides=_each(stride or kernel, axes), pads_begin=_each(padding, axes),
                   pads_end=_each(padding, axes), dilations=_each(dilation, axes), ceil_mode=ceil_mode)  # fmt: skip
    if not node.uses(1):
        return ops.reshape(ops.max_pool(x, **options), values), None
    plane = 1  # torch counts within the plane of each channel
    for length in x.shape[2:]:
        plane = plane * length
    made = ops.max_pool_with_indices(x, **options)
    return ops.reshape(made[0], values), ops.reshape(ops.floor_mod(made[1], plane), places)


@records(aten.avg_pool1d, aten.avg_pool2d, aten.avg_pool3d)
def avg_pool(node, x, kernel, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    axes = int(node.op[-2])
    if divisor_override is not None or not is_float(x.dtype):
        raise Unsupported("avg_pool with a divisor of its own, or of integers")
    if ceil_mode and count_include_pad and any(_each(padding, axes)):
        raise Unsupported("avg_pool that counts padding and rounds lengths up")
    made = ops.avg_pool(_batched(x, axes), kernel=_each(kernel, axes), strides=_each(stride or kernel, axes),
                        pads_begin=_each(padding, axes), pads_end=_each(padding, axes), ceil_mode=ceil_mode,
                        count_include_pad=count_include_pad)  # fmt: skip
    return ops.reshape(made, node.shape)


@records(aten._adaptive_avg_pool2d, aten._adaptive_avg_pool3d, aten.adaptive_avg_pool1d)
def adaptive_avg_pool(node, x, lengths):
    axes = len(lengths)
    spatial = x.shape[-axes:]
    if not is_float(x.dtype):
        raise Unsupported("a pool of integers")
    if all(is_fixed(length) and length == 1 for length in lengths):
        return ops.mean(x, tuple(range(x.ndim - axes, x.ndim)), True)
    if not is_fixed(*spatial, *lengths):
        raise Unsupported("an adaptive pool of a length that varies")
    if all(length % wanted == 0 for length, wanted in zip(spatial, lengths)):
        kernel = [length // wanted for length, wanted in zip(spatial, lengths)]
        return ops.reshape(ops.avg_pool(_batched(x, axes), kernel=kernel, strides=kernel), node.shape)
    for axis, length, wanted in zip(range(x.ndim - axes, x.ndim), spatial, lengths):  # windows that overlap
        parts = []
        for i in range(wanted):
            low, high = [0] * x.ndim, list(x.shape)
            low[axis], high[axis] = i * length // wanted, -(-(i + 1) * length // wanted)
            parts.append(ops.mean(ops.shrink(x, low, high), axis, True))
        x = ops.cat(parts, axis)
    return x


def _resized(node, x, mode, coordinates, scales, **options):
    axes = x.ndim - 2
    if not is_float(x.dtype):
        raise Unsupported("a change of size of integers")
    if any(isinstance(length, hearth.Dim) for length in (*x.shape[2:], *node.shape[2:])):
        raise Unsupported("a change of size of a length that varies")
    rows = []
    for i in range(axes):
        length, wanted = x.shape[i + 2], node.shape[i + 2]
        scale = scales[i] if scales and scales[i] else wanted / length
        rows.append({"axis": i + 2, "length": wanted, "scale": scale})
    return ops.resize(x, rows, mode=mode, coordinates=coordinates, **options)


def _scales(node, scales):
    """Of upsample_*.vec, a list; of upsample_*.default, one number an axis."""
    if len(scales) == 1 and (scales[0] is None or isinstance(scales[0], (list, tuple))):
        return scales[0]
    return scales


@records(aten.upsample_nearest1d, aten.upsample_nearest2d, aten.upsample_nearest3d)
def upsample_nearest(node, x, size, *scales, **named):
    return _resized(node, x, "nearest", "asymmetric", _scales(node, scales or tuple(named.values())), nearest="floor")


@records(aten.upsample_linear1d, aten.upsample_bilinear2d, aten.upsample_trilinear3d, aten.upsample_bicubic2d)
def upsample_linear(node, x, size, align_corners=False, *scales, **named):
    mode = "cubic" if node.op == "upsample_bicubic2d" else "linear"
    coordinates = "align_corners" if align_corners else "half_pixel"
    return _resized(node, x, mode, coordinates, None if align_corners else _scales(node, scales or tuple(named.values())))


@records(aten.grid_sampler_2d, aten.grid_sampler_3d)
def grid_sampler(node, x, grid, mode, padding, align_corners):
    return ops.grid_sample(x, grid, mode=("linear", "nearest", "cubic")[mode], padding=("zeros", "border", "reflection")[padding],
                           align_corners=align_corners)  # fmt: skip


@records(aten.col2im)
def col2im(node, x, size, kernel, dilation, padding, stride):
    single = x.ndim == 2
    x = ops.unsqueeze(x, (0,)) if single else x
    made = ops.fold(x, list(size), list(kernel), strides=list(stride), pads_begin=list(padding), pads_end=list(padding),
                    dilations=list(dilation))  # fmt: skip
    return ops.reshape(made, node.shape)
