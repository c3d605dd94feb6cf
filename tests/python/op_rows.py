"""What each case of tests/conformance/numpy records, in Python: {family: {case: (record, relative, absolute)}}.

`record` takes the case's inputs as tensors and gives its outputs. Zero tolerances: exact. A case of the script without a
row here, or the other way round, fails (ops_test.py), as in C++.
"""
import hearth

o = hearth.ops
R = 1e-6  # a float op or two


def same(op, *more, **named):
    """One op of all inputs."""
    return lambda *x: [getattr(o, op)(*x, *more, **named)]


def one(op, *more, **named):
    """One op of the first input."""
    return lambda x, *_: [getattr(o, op)(x, *more, **named)]


def rows(names, tolerance=0.0):
    return {name: (same(name), tolerance, tolerance) for name in names.split()}


def tuples(call):
    """The outputs of an op that gives a named tuple."""
    return lambda *x: list(call(*x))


ELEMENTWISE = {
    **rows("relu relu6 hard_tanh hard_shrink hardmax prelu thresholded_relu_none".replace("thresholded_relu_none", "")),
    **rows("selu silu mish softplus softsign hard_swish log_sigmoid tanh_shrink gelu hard_sigmoid soft_shrink glu softmin",
           R),
    "leaky_relu": (one("leaky_relu", 0.1), R, R), "elu": (one("elu", alpha=0.7), R, R), "celu": (one("celu", 2), R, R),
    "gelu_tanh": (one("gelu", tanh_approximation=True), R, R), "thresholded_relu": (one("thresholded_relu", 0.8), 0, 0),
    **rows("neg abs floor ceil round trunc sign is_nan is_inf logical_not bitwise_not maximum minimum less less_equal"
           " greater greater_equal equal not_equal floor_div floor_mod trunc_div trunc_mod bit_and bit_or bit_xor"
           " shift_left shift_right where add subtract multiply"),
    **rows("recip square exp exp2 sin cos tan tanh erf sigmoid sqrt rsqrt log log2 log1p divide", R),
    "pow": (same("pow"), 2e-6, 2e-6), "swiglu": (same("swiglu", alpha=1.7), R, R),
    "floor_mod_float": (same("floor_mod"), 0, 0), "trunc_mod_float": (same("trunc_mod"), 0, 0),
    "floor_div_float": (same("floor_div"), 0, 0), "clip": (one("clip", -1.0, 0.5), 0, 0),
    "cast": (one("cast", "int32"), 0, 0), "bitcast": (one("bitcast", "int32"), 0, 0),
    "contiguous": (lambda x: [o.contiguous(o.transpose(x))], 0, 0),
}

K = 2e-6
REDUCE = {
    "reduce_sum": (one("reduce_sum", (0, 2)), K, K), "reduce_sum_all": (one("reduce_sum"), K, K),
    "reduce_sum_small_integers": (one("reduce_sum", 1, True), 0, 0), "reduce_prod": (one("reduce_prod", 1), K, 0),
    "reduce_max": (one("reduce_max", -1), 0, 0), "reduce_min": (one("reduce_min", [0]), 0, 0),
    "mean": (one("mean", (1, 2), keepdims=True), K, K), "variance": (one("variance", 2), K, 0),
    "variance_corrected": (one("variance", 2, correction=1), K, 0), "lp_norm": (one("lp_norm", 3, 1), K, 0),
    "any": (one("any", 1), 0, 0), "all": (one("all", 2), 0, 0), "argmax": (one("argmax", 1), 0, 0),
    "argmin_last": (one("argmin", 1, last=True), 0, 0), "cumsum": (one("cumsum", 2), K, K),
    "cumsum_exclusive_reverse": (one("cumsum", 2, exclusive=True, reverse=True), K, K),
    "cumsum_long": (one("cumsum", 1), K, K), "cumsum_long_exclusive": (one("cumsum", 1, True), K, K),
    "cumsum_long_reverse": (one("cumsum", 1, reverse=True), K, K), "cumsum_long_i8": (one("cumsum", 0), 0, 0),
    "cumprod_long": (one("cumprod", 0), K, K), "softmax": (one("softmax", 1), K, 0),
    "log_softmax": (one("log_softmax"), K, K), "logsumexp": (one("logsumexp", 2), K, K),
}

MOVEMENT = {
    "permute": (one("permute", (2, 0, 1)), 0, 0), "transpose": (one("transpose", 0, 1), 0, 0),
    "flip": (one("flip", (0, 2)), 0, 0),
    "slice_steps": (one("slice", [{"axis": 0, "begin": 2, "end": 0, "step": -1}, (2, 1, 5, 2)]), 0, 0),
    "pad": (one("pad", (1, 0, 3), (0, 2, 1), 2.5), 0, 0), "pad_integer": (one("pad_integer", (1, 0), (0, 2), 2**63 - 1), 0, 0),
    "pad_integer_u64": (one("pad_integer", (0,), (1,), -1), 0, 0),
    "pad_edge": (one("pad_edge", (1, 0, 2), (2, 0, 2)), 0, 0), "pad_reflect": (one("pad_reflect", (1, 0, 2), (2, 0, 2)), 0, 0),
    "expand": (one("expand", (2, 3, 4, 5)), 0, 0), "cat": (lambda *x: [o.cat(x, 1)], 0, 0),
    "stack": (lambda *x: [o.stack(x, 2)], 0, 0), "split": (lambda x: o.split(x, [1, 2, 2], 2), 0, 0),
    "tile": (one("tile", (2, 3, 1)), 0, 0), "repeat_interleave": (one("repeat_interleave", 3, 2), 0, 0),
    "unfold": (one("unfold", 2, 3, 2), 0, 0), "reshape": (one("reshape", (5, -1)), 0, 0),
    "flatten": (one("flatten", 2), 0, 0), "squeeze": (one("squeeze"), 0, 0), "unsqueeze": (one("unsqueeze", (1, -1)), 0, 0),
    "shrink": (one("shrink", (1, 0, 2), (3, 2, 5)), 0, 0), "select": (one("select", 1, -2), 0, 0),
    "split_every": (lambda x: o.split_every(x, 2, 2), 0, 0),
    "creation": (lambda x: [o.arange(7), o.iota((3, 4), 1, "int32"), o.full((2, 2), 1.5, "float32"), x], 0, 0),
}

N = 4e-6
POOL = {"kernel": (2, 3), "strides": (2, 1)}
NN = {name: (record, N, N) for name, record in {
    "matmul": same("matmul"), "matmul_vectors": same("matmul"), "linear": same("linear"), "gather": same("gather", 0),
    "conv_1d_groups": same("conv", strides=2, pads_begin=[1], pads_end=[1], dilations=[2], groups=2),
    "conv_2d": same("conv", strides=(2, 1), pads_begin=(1, 0), pads_end=(1, 0), dilations=(1, 2)),
    "conv_3d": same("conv", strides=(1, 2, 1), pads_begin=(0, 1, 0), pads_end=(0, 1, 0)),
    "max_pool": one("max_pool", **POOL), "avg_pool": one("avg_pool", **POOL), "global_max_pool": one("global_max_pool"),
    "global_avg_pool": one("global_avg_pool"), "layer_norm": same("layer_norm"), "rms_norm": same("rms_norm"),
    "batch_norm": same("batch_norm"), "instance_norm": same("instance_norm"),
    "group_norm": lambda x, scale, bias: [o.group_norm(x, 2, scale, bias)],
    "lstm_cell": lambda x, h, c, w, r, b: list(o.lstm_cell(x, (h, c), w, r, b, "input_forget_cell_output")),
    "gru_cell": same("gru_cell", True), "cross_entropy": same("cross_entropy"),
    "nll_loss": same("nll_loss", reduction="sum"),
}.items()}

P = 1e-5
PADDED = {"kernel": (3, 2), "strides": (2, 1), "pads_begin": (1, 1), "pads_end": (1, 0)}
DILATED = {"kernel": (2, 3), "strides": (1, 2), "pads_begin": (0, 2), "pads_end": (0, 1), "dilations": (2, 2)}
LARGE = {"kernel": (5, 4), "strides": (1, 2), "pads_begin": (2, 1), "pads_end": (2, 3)}
LARGE_DILATED = {"kernel": (4, 5), "strides": (2, 1), "pads_begin": (1, 4), "pads_end": (2, 4), "dilations": (1, 2)}
CEILED = {"kernel": 3, "strides": 2, "ceil_mode": True}
POOLS = {
    "max_padded": (tuples(lambda x: o.max_pool_with_indices(x, **PADDED)), 0, 0),
    "max_columns": (tuples(lambda x: o.max_pool_with_indices(x, **DILATED, column_major=True)), 0, 0),
    "max_ties": (tuples(lambda x: o.max_pool_with_indices(x, **PADDED)), 0, 0),
    "max_ceil": (tuples(lambda x: o.max_pool_with_indices(x, **CEILED)), 0, 0),
    "max_unpool": (same("max_unpool", (5, 6)), 0, 0), "max_large": (one("max_pool", **LARGE), 0, 0),
    "max_large_dilated": (one("max_pool", **LARGE_DILATED), 0, 0),
    **{name: (record, P, P) for name, record in {
        "lp_1": one("lp_pool", 1, **PADDED), "lp_2": one("lp_pool", 2, **PADDED), "lp_3": one("lp_pool", 3, **PADDED),
        "lp_ceil": one("lp_pool", 2, **CEILED), "global_lp": one("global_lp_pool", 3), "average": one("avg_pool", **DILATED),
        "average_ceil": one("avg_pool", **CEILED), "average_large": one("avg_pool", **LARGE),
        "transposed": same("conv_transpose"),
        "transposed_far": same("conv_transpose", strides=(2, 3), pads_begin=(1, 0), pads_end=(0, 1), dilations=(2, 1),
                               output_pads=(1, 2)),
        "transposed_groups": same("conv_transpose", strides=2, pads_begin=1, pads_end=1, groups=2),
        "transposed_uneven": same("conv_transpose", strides=(3, 2), pads_begin=(1, 0), pads_end=(0, 1), output_pads=(2, 1)),
        "transposed_long": same("conv_transpose", strides=3, pads_begin=0, pads_end=4, groups=2, output_pads=1),
        "lrn_3": one("local_response_norm", 3, 0.3, 0.6, 1.5), "lrn_4": one("local_response_norm", 4, 0.3, 0.6, 1.5),
        "mean_variance": one("mean_variance_norm", (0, 2, 3)), "lp_normalize_1": one("lp_normalize", 1, 1),
        "lp_normalize_2": one("lp_normalize", 1), "lp_normalize_zeros": one("lp_normalize", -3),
        "batch_training": tuples(lambda *x: o.batch_norm_training(*x, 1e-3)),
    }.items()},
}

ATTENTION = {
    "embedding": (same("embedding"), 0, 0), "rotary": (same("rotary_embedding"), P, R),
    "rotary_interleaved": (same("rotary_embedding", interleaved=True), P, R),
    **{name: (lambda q, k, v, *m, named=named, masked=masked: [
        o.scaled_dot_product_attention(q, k, v, **named, **({"mask": m[0]} if masked else {}))], P, R)
       for name, named, masked in (("attention", {}, 0), ("attention_bias", {"scale": 0.3}, 1), ("attention_mask", {}, 1),
                                   ("attention_causal", {"causal": True, "past": 3}, 0), ("attention_groups", {}, 0),
                                   ("window_left", {"past": 2, "left_window": 1}, 0),
                                   ("window_right", {"past": 2, "right_window": 1}, 0),
                                   ("window_both", {"past": 2, "left_window": 0, "right_window": 1}, 0),
                                   ("window_causal_bias", {"past": 2, "left_window": 1, "causal": True}, 1))},
    "flex": (lambda q, k, v, distance: [o.flex_attention(
        q, k, v, scale=0.4, scores=lambda x: x - distance,
        weights=lambda x: x * o.cast(o.floor_mod(o.arange(6, "int64"), 2), "float32"))], P, R),
    **{f"linear_attention_{name}": (lambda q, k, v, past, *more, words=words: list(o.linear_attention(
        q, k, v, past=past, **dict(zip(words, more)))), P, 2e-6)
       for name, words in (("linear", ()), ("gated", ("decay",)), ("delta", ("beta",)), ("gated_delta", ("decay", "beta")))},
    "linear_attention_one_step": (lambda *x: list(o.linear_attention(*x, scale=0.7)), P, R),
    "causal_conv": (lambda *x: list(o.causal_conv(*x)), P, R), "causal_conv_plain": (lambda *x: list(o.causal_conv(*x)), P, R),
}

BLOCKS = {
    **{name: (one(name, 2), 0, 0) for name in ("depth_to_space", "space_to_depth", "pixel_shuffle", "pixel_unshuffle")},
    "center_crop": (one("center_crop_pad", (5, 1), (1, 3)), 0, 0), "center_pad": (one("center_crop_pad", (5, 4), (2, -1)), 0, 0),
    "fold": (one("fold", (5, 4), (3, 2)), R, R), "fold_1d": (one("fold", 6, 3), 0, 0),
    "fold_strided": (one("fold", (5, 6), (2, 2), strides=(2, 3), pads_begin=(1, 0), pads_end=(1, 1), dilations=(2, 3)), R, R),
}

COMPACTION = {
    **{name: (tuples(o.nonzero), 0, 0) for name in ("nonzero", "nonzero_bool", "nonzero_none")},
    "compress": (tuples(lambda x, c: o.compress(x, c, 1)), 0, 0), "compress_short": (tuples(lambda x, c: o.compress(x, c, 0)), 0, 0),
    **{name: (tuples(o.unique), 0, 0) for name in ("unique", "unique_bool", "unique_nan")},
    "unique_unsorted": (tuples(lambda x: o.unique(x, sorted=False)), 0, 0),
    "unique_rows": (tuples(lambda x: o.unique(x, 0)), 0, 0), "unique_columns": (tuples(lambda x: o.unique(x, 1)), 0, 0),
    "unique_rows_unsorted": (tuples(lambda x: o.unique(x, 0, False)), 0, 0),
    "suppression": (tuples(lambda b, s: o.non_max_suppression(b, s, max_per_class=4, iou_threshold=0.4, score_threshold=0.2)), 0, 0),
}

CREATION = {
    "linspace": (lambda: [o.linspace(-1, 2, 7), o.linspace(5, 5, 1, "float64"), o.linspace(0.1, 0.3, 11, "float64")], 2**-24, 2**-25),
    "eye": (lambda: [o.eye(3, 5, 1), o.eye(4, 3, -2, "int64"), o.eye(2, 2, 0, "bool")], 0, 0),
    "triu": (lambda x: [o.triu(x, d) for d in (0, 2, -1, 9)], 0, 0), "tril": (lambda x: [o.tril(x, d) for d in (0, 2, -1, -9)], 0, 0),
    "meshgrid_xy": (lambda *x: o.meshgrid(x), 0, 0), "meshgrid_ij": (lambda *x: o.meshgrid(x, "matrix"), 0, 0),
    "roll": (lambda x: [o.roll(x, 2, 1), o.roll(x, -7, 2), o.roll(x, 5, 2)], 0, 0),
    "cumprod": (lambda x: [o.cumprod(x, 0), o.cumprod(x, 1, True), o.cumprod(x, 2, False, True)], R, 0),
    "cumprod_integers": (one("cumprod", 1), 0, 0),
    "std_deviation": (lambda x: [o.std_deviation(x, 1), o.std_deviation(x, (0, 2), True, 1), o.std_deviation(x)], R, 0),
}

EINSUM = {
    "integers": (lambda *x: [o.einsum("ij,jk->ik", x)], 0, 0), "determinant": (same("determinant"), P, P),
    "determinant_sizes": (lambda *x: [o.determinant(one_) for one_ in x], R, 0),
    "reverse_sequence": (same("reverse_sequence", 1, 0), 0, 0), "reverse_sequence_time_first": (same("reverse_sequence", 0, 1), 0, 0),
    **{name: (lambda *x, equation=equation: [o.einsum(equation, x)], P, P) for name, equation in {
        "matmul": "ij,jk->ik", "attention": "bhqd,bhkd->bhqk", "transpose": "abc->cab", "implicit": "ba,cb", "sum_all": "ij->",
        "trace": "ii", "diagonal": "...ii->...i", "two_diagonals": "iijj->ji", "ellipsis": "...ij, ...jk -> ...ik",
        "ellipsis_inside": "i...k,k->...i", "ellipsis_summed": "a...,b...->ab", "outer": "i,j->ji", "broadcast_label": "ij,ij->i",
        "sum_of_one": "ij,k->k", "three": "ij,jk,kl->il", "bilinear": "bi,oij,bj->bo", "scalar": ",i->i"}.items()},
}

CONV = {"strides": 2, "pads_begin": 1, "pads_end": 1}
CONV = {name: (value, value) for name, value in CONV.items()}
QUANTIZE = {
    **{f"quantize_{kind}": (same("quantize_linear"), 0, 0) for kind in ("uint8", "int8", "uint16", "int16", "axis")},
    "quantize_no_zero": (same("quantize_linear", dtype="int8"), 0, 0),
    "dequantize_axis": (same("dequantize_linear"), 0, 0), "dequantize_i32": (same("dequantize_linear"), 0, 0),
    **{f"dynamic_{kind}": (tuples(o.dynamic_quantize_linear), 0, 0) for kind in ("mixed", "positive", "zeros")},
    **{f"matmul_{a}_{b}": (same("matmul_integer"), 0, 0) for a in ("uint8", "int8") for b in ("uint8", "int8")},
    "matmul_zero_points": (same("matmul_integer"), 0, 0), "matmul_vector": (same("matmul_integer"), 0, 0),
    "conv": (same("conv_integer"), 0, 0),
    "conv_known_zero": (lambda x, w, z: [o.conv_integer(x, w, o.full((), 131, "uint8"), z, **CONV)], 0, 0),
    "conv_computed_zero": (same("conv_integer", **CONV), 0, 0),
}

RANDOM = {
    "bits": (lambda k: [o.random_bits((3, 5), k), o.random_bits((6,), k)], 0, 0),
    "seeded_bits": (lambda: [o.random_bits((4,), o.random_key(0x1122334455667788))], 0, 0),
    "uniform": (lambda k: [o.random_uniform((4, 5), k), o.random_uniform((7,), k, -1, 2)], 0, 2e-7),
    "uniform_widths": (lambda k: [o.random_uniform((9,), k, dtype=d) for d in ("float64", "float16")], 0, 0),
    "normal": (lambda k: [o.random_normal((3, 7), k), o.random_normal((5,), k, 1, 2, "float64")], 1e-5, 4e-6),
    "bernoulli": (lambda k, p: [o.random_bernoulli(p, k)], 0, 0), "multinomial": (lambda k, w: [o.random_multinomial(w, 7, k)], 0, 0),
    **{f"known_answer_{i}": (same("threefry2x32"), 0, 0) for i in range(3)},
}


def averages(reverse):
    def record(x, start, factor):
        def body(carried, sliced):
            row = sliced[0] * factor
            following = carried[0] * 0.5 + row
            return (following,), (carried[0] * row, following)
        made = o.loop(x.shape[0], [start], [x], body, reverse=reverse)
        return [made.last[0], *made.stacked]
    return record


def gru(linear, lengths=False, **named):
    return tuples(lambda *x: o.gru(*x[:6], linear, **named, **({"lengths": x[6]} if lengths else {})))


def lstm(coupled, lengths=False, **named):
    def record(x, h, c, w, r, b, peepholes, *rest):
        made = o.lstm(x, (h, c), w, r, b, order="input_output_forget_cell", peepholes=peepholes, input_forget=coupled,
                      **named, **({"lengths": rest[0]} if lengths else {}))
        return [made.y, *made.last]
    return record


RECURRENT = {name: (record, P, R) for name, record in {
    "loop": averages(False), "loop_reverse": averages(True), "rnn": tuples(o.rnn),
    "rnn_lengths_reverse_clip_relu": tuples(
        lambda x, h, w, r, n: o.rnn(x, h, w, r, reverse=True, lengths=n, clip=0.4, cell=o.relu)),
    "gru": gru(False), "gru_linear_lengths": gru(True, lengths=True), "gru_clip_reverse": gru(False, reverse=True, clip=0.4),
    "lstm_peepholes": lstm(False), "lstm_coupled_lengths_reverse": lstm(True, lengths=True, reverse=True),
    "lstm_clip": lstm(False, clip=0.4),
}.items()}

UP, DOWN = [{"axis": 1, "length": 7}, (-1, 9)], [(1, 3), (2, 2)]


def resized(axes, **named):
    tolerance = 0 if named.get("mode", "nearest") == "nearest" else P
    return one("resize", axes, **named), tolerance, tolerance


RESIZE = {
    "nearest_repeats": resized([(1, 6), (2, 12)]), "nearest_prefer_floor": resized(UP),
    "nearest_prefer_ceil": resized(UP, nearest="round_prefer_ceil"),
    "nearest_floor_asymmetric": resized(UP, nearest="floor", coordinates="asymmetric"),
    "nearest_ceil_tf": resized(UP, nearest="ceil", coordinates="tf_half_pixel_for_nn"),
    "linear_up": resized(UP, mode="linear"), "linear_down": resized(DOWN, mode="linear"),
    "linear_antialias": resized(DOWN, mode="linear", antialias=True), "cubic_up": resized(UP, mode="cubic"),
    "cubic_down": resized(DOWN, mode="cubic"), "cubic_antialias": resized(DOWN, mode="cubic", antialias=True),
    "cubic_exclude": resized(UP, mode="cubic", cubic_a=-0.5, exclude_outside=True),
    "linear_align_corners": resized(UP, mode="linear", coordinates="align_corners"),
    "linear_pytorch_one": resized([(1, 1), (2, 2)], mode="linear", coordinates="pytorch_half_pixel"),
    "linear_symmetric": resized([{"axis": 1, "length": 9, "scale": 2.3}], mode="linear", coordinates="half_pixel_symmetric"),
    "linear_crop": resized([{"axis": 1, "length": 5, "crop_begin": 0.4, "crop_end": 1.2}], mode="linear",
                           coordinates="tf_crop_and_resize", extrapolation=7.5),
    "linear_f64": resized([(1, 7)], mode="linear"),
}

SAMPLE = {
    **{f"{mode}_{padding}{suffix}": (same("grid_sample", mode=mode, padding=padding, align_corners=bool(suffix)),
                                     *[0 if mode == "nearest" else P] * 2)
       for mode in ("nearest", "linear", "cubic") for padding in ("zeros", "border", "reflection") for suffix in ("", "_aligned")},
    "linear_1d": (same("grid_sample"), P, P), "linear_3d": (same("grid_sample", padding="border"), P, P),
    "linear_infinite": (same("grid_sample"), P, P), "affine": (one("affine_grid", (3, 4)), P, P),
    "affine_aligned": (one("affine_grid", (3, 4), True), P, P), "deform": (same("deform_conv"), P, P),
    "deform_groups": (lambda x, w, d, b, m: [o.deform_conv(
        x, w, d, b, m, strides=(2, 3), pads_begin=(1, 1), pads_end=(1, 1), dilations=(2, 2), groups=2, offset_groups=2)], P, P),
    "roi_align": (same("roi_align", height=2, width=3, spatial_scale=0.5, sampling_ratio=2), P, P),
    "roi_align_whole": (same("roi_align", height=3, width=2, spatial_scale=0.5, half_pixel=False), P, P),
    "max_roi_pool": (lambda x, rois: [o.max_roi_pool(x, rois, height=2, width=3, spatial_scale=0.5, sampling_ratio=2)], 0, 0),
}

HOW = {"none": "none", "add": "add", "mul": "multiply", "min": "minimum", "max": "maximum"}
SCATTER = {
    "elements_i8": (lambda *x: [o.scatter_elements(*x, 0, how) for how in HOW.values()], 0, 0),
    "elements_bool": (same("scatter_elements", 0), 0, 0),
    "nd_cells": (lambda *x: [o.scatter_nd(*x), o.scatter_nd(*x, "add")], R, 0),
    "gather_elements": (same("gather_elements", 1), 0, 0), "gather_elements_part": (same("gather_elements", 1), 0, 0),
    "one_hot": (one("one_hot", 3, "bool", 1), 0, 0), "gather_nd": (same("gather_nd"), 0, 0),
    "gather_nd_cells": (same("gather_nd"), 0, 0), "gather_nd_batch": (same("gather_nd", 1), 0, 0),
    "gather_nd_batches": (same("gather_nd", 2), 0, 0), "scatter_nothing": (same("scatter_elements", 1), 0, 0),
    "sort_integers": (lambda x: [o.sort(x, 0), o.sort(x, 1, True)], 0, 0),
    "argsort_ties": (lambda x: [o.argsort(x, 1), o.argsort(x, 1, True)], 0, 0),
    "sort_nan": (lambda x: [o.sort(x), o.argsort(x), o.sort(x, -1, True)], 0, 0), "sort_bytes": (one("sort"), 0, 0),
    "topk_none": (tuples(lambda x: o.topk(x, 0, 1)), 0, 0), "sort_f16": (one("sort", 0), 0, 0), "sort_long": (one("sort"), 0, 0),
    "sort_bool": (lambda x: [o.sort(x), o.argsort(x)], 0, 0), "order_bool": (lambda x: [o.sort(x), o.argsort(x)], 0, 0),
    "argsort_long": (lambda x: [o.argsort(x), o.argsort(x, 0)], 0, 0), "argsort_long_falling": (one("argsort", -1, True), 0, 0),
    "topk_long_i64": (tuples(lambda x: o.topk(x, 3)), 0, 0),
    "topk": (lambda x: [*o.topk(x, 2, 1), *o.topk(x, 1, 2, largest=False)], 0, 0),
    **{f"order_{kind}": (lambda x: [o.sort(x), o.argsort(x), o.argsort(x, -1, True)], 0, 0) for kind in
       "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float64".split()},
    **{f"topk_long_{k}": (lambda x, k=k: [*o.topk(x, k), *o.topk(x, k, -1, False)], 0, 0) for k in (1, 5, 50, 1000)},
    **{f"elements_{name}": (same("scatter_elements", 1, how), R, R) for name, how in HOW.items()},
    **{f"nd_{name}": (same("scatter_nd", how), R, R) for name, how in HOW.items()},
}

GRAMS = [[1, 2], [3], [2, 2, 1], [3, 1], [1], [7, 7]]
SIGNAL = {
    **{name: (one("dft", **named), P, absolute) for name, named, absolute in (
        ("dft_real", {}, P), ("dft_complex", {"axis": -3}, P), ("dft_inverse", {"axis": 2, "inverse": True}, P),
        ("dft_onesided", {"onesided": True}, P),
        *((f"dft_onesided_inverse_{name}", {"onesided": True, "inverse": True, **length}, P) for name, length in (
            ("even", {}), ("odd", {"length": 11}), ("longer", {"length": 15}), ("shorter", {"length": 4}), ("real", {}))),
        ("dft_longer", {"length": 13}, P), ("dft_shorter", {"length": 7}, P),
        ("dft_67", {}, P), ("dft_130", {}, P), ("dft_480", {}, 1e-4), ("dft_1024_onesided", {"onesided": True}, 1e-4))},
    "dft_f64": (one("dft", inverse=True), 1e-12, 1e-12), "stft": (same("stft", 5), P, P), "stft_complex": (same("stft", 3, False), P, P),
    "hann": (lambda: [o.hann_window(9, False), o.hann_window(10)], R, R),
    "hamming": (lambda: [o.hamming_window(9, False), o.hamming_window(10)], R, R),
    "blackman": (lambda: [o.blackman_window(9, False), o.blackman_window(1, False)], R, R),
    "mel": (lambda: [o.mel_weight_matrix(bins=8, dft_length=64, sample_rate=8000, low_hertz=50, high_hertz=3900)], R, R),
    "ngrams": (one("count_ngrams", GRAMS), 0, 0), "ngrams_skip": (one("count_ngrams", GRAMS, 3), 0, 0),
    "ngrams_row": (one("count_ngrams", GRAMS, 1), 0, 0),
}

T = 4 * 2**-24
TRIGONOMETRY = {
    "asin_f16": (same("asin"), 2**-11, 0), "sinh_integers": (same("sinh"), T, 0), "atan2": (same("atan2"), T, 2**-149),
    "copysign": (same("copysign"), 0, 0), "lerp": (same("lerp"), R, R),
    "zeros_keep_their_sign": (lambda x: [1.0 / y for y in (o.asin(x), o.atan(x), o.sinh(x), o.asinh(x), o.atanh(x),
                                                            o.atan2(x, 1.0))], 0, 0),
    **{name + suffix: (same(name), t, a) for name in "asin acos atan sinh cosh log1p asinh acosh atanh".split()
       for suffix, t, a in (("", T, 2**-149), ("_f64", 4 * 2**-53, 0))},
}

FAMILIES = {"elementwise": ELEMENTWISE, "reduce": REDUCE, "movement": MOVEMENT, "nn": NN, "pool": POOLS,
            "attention": ATTENTION, "blocks": BLOCKS, "compaction": COMPACTION, "creation": CREATION, "einsum": EINSUM,
            "quantize": QUANTIZE, "random": RANDOM, "recurrent": RECURRENT, "resize": RESIZE, "sample": SAMPLE,
            "scatter": SCATTER, "signal": SIGNAL, "trigonometry": TRIGONOMETRY}
