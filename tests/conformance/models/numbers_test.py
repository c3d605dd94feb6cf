#!/usr/bin/env python3
"""Numbers at the edges of their types: integers that stay integers, exact remainders, NaN and infinities by the rules of
numpy and of ONNX's text. Expected values: numpy in f64 and Python's integers, by formulas of their own."""
import math

from places import B, Cases, D, F, H, I, I32, U8, U64, ints, model, node, np, skipping

rng = np.random.default_rng(40)


def wrapped(value, dtype):
    return int(np.array(value % 2**(8 * np.dtype(dtype).itemsize), object).astype(np.uint64).astype(dtype))


class Integers(Cases):
    def test_powers_of_integers_are_exact_and_wrap(self):
        for dtype in (I, I32, np.uint32):
            base = np.array([13, 3, 7, 2, 0, 0, 1, 10, 5], dtype)
            power = np.array([8, 39, 20, 31, 0, 5, 1000, 9, 1], dtype)
            want = np.array([wrapped(int(a)**int(b), dtype) for a, b in zip(base, power)], dtype)
            self.check(model([node("Pow", ["a", "b"], ["y"])], {"a": base, "b": power}, {"y": dtype}),
                       {"a": base, "b": power}, {"y": want})

    def test_negative_bases_and_negative_exponents(self):
        base, power = ints(-3, -1, -1, 2, 1, -2, 0), ints(3, -5, -4, -1, -7, -3, -1)
        self.check(model([node("Pow", ["a", "b"], ["y"])], {"a": base, "b": power}, {"y": I}), {"a": base, "b": power},
                   {"y": ints(-27, -1, 1, 0, 1, 0, 0)})

    def test_known_exponents_of_integers(self):
        x = ints(16777217, -46341, 3037000499, 2)
        for power in (1, 2, 3, 4, 5):
            want = np.array([wrapped(int(v)**power, I) for v in x], I)
            for exponent in (np.array(power, I), np.array(power, F)):
                self.check(model([node("Pow", ["x", "k"], ["y"])], {"x": x}, {"y": I}, {"k": exponent}), {"x": x},
                           {"y": want})

    def test_integer_to_a_real_power(self):
        x, p = ints(16777217, 81, 10), np.array([1, 0.5, 2], F)
        self.check(model([node("Pow", ["x", "p"], ["y"])], {"x": x, "p": p}, {"y": I}), {"x": x, "p": p},
                   {"y": ints(16777217, 9, 100)}, devices=["cpu"])

    def test_least_and_greatest_of_integers(self):
        for dtype in (I, U64, I32, np.int8, U8, np.uint16):
            x = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (3, 5), dtype, endpoint=True)
            x[0, :2] = np.iinfo(dtype).min, np.iinfo(dtype).max
            for op, reduced in (("ReduceMin", x.min(1)), ("ReduceMax", x.max(1))):
                self.check(model([node(op, ["x"], ["y"], axes=[1], keepdims=0)], {"x": x}, {"y": dtype}, opset=13),
                           {"x": x}, {"y": reduced})

    def test_least_and_greatest_of_nothing(self):
        for dtype in (I, U64, I32, U8):
            x = np.zeros((2, 0), dtype)
            for op, value in (("ReduceMin", np.iinfo(dtype).max), ("ReduceMax", np.iinfo(dtype).min)):
                self.check(model([node(op, ["x"], ["y"], axes=[1], keepdims=0)], {"x": x}, {"y": dtype}, opset=13),
                           {"x": x}, {"y": np.full(2, value, dtype)}, devices=["cpu"])
        nothing = np.zeros((2, 0), F)
        self.check(model([node("ReduceMean", ["x"], ["y"], axes=[1], keepdims=0)], {"x": nothing}, {"y": F}, opset=13),
                   {"x": nothing}, {"y": np.full(2, np.nan, F)}, devices=["cpu"])

    def test_mean_of_integers(self):
        for row, mean in (([-7, 2], -2), ([7, 2], 4), ([2**53 + 1, 2**53 + 3], 2**53 + 2)):
            x = np.array([row], I)
            self.check(model([node("ReduceMean", ["x"], ["y"], axes=[1], keepdims=0)], {"x": x}, {"y": I}, opset=13),
                       {"x": x}, {"y": ints(mean)})

    def test_pad_with_the_ends_of_integer_types(self):
        for dtype in (I, U64, I32, U8, np.int8):
            x = np.arange(3).astype(dtype)
            for value in (np.iinfo(dtype).max, np.iinfo(dtype).min):
                fill = np.array(value, dtype)
                self.check(model([node("Pad", ["x", "p", "v"], ["y"])], {"x": x}, {"y": dtype},
                                 {"p": ints(1, 2), "v": fill}, 18), {"x": x}, {"y": np.pad(x, (1, 2), constant_values=fill)})

    def test_range_of_large_integers(self):
        start = 2**60
        x = np.zeros(4, I)
        weights = {"a": np.array(start, I), "b": np.array(start + 10, I), "d": np.array(3, I)}
        self.check(model([node("Range", ["a", "b", "d"], ["r"]), node("Add", ["x", "r"], ["y"])], {"x": x}, {"y": I},
                         weights), {"x": x}, {"y": np.arange(start, start + 10, 3)})


class Remainders(Cases):
    def test_fmod_of_floats_is_exact(self):
        for dtype in (F, D, H):
            most = np.finfo(dtype).max
            x = np.array([1e4, 5.5, -5.5, most, most, 0.0, -0.0, 7, np.inf, np.nan, 3, 6e-8, 1], dtype)
            y = np.array([3, 0.1, 2, 0.5, 3, np.inf, np.inf, -7, 2, 1, 0, 6e-8, np.nan], dtype)
            with np.errstate(all="ignore"):
                want = np.array([math.fmod(float(a), float(b)) if np.isfinite(a) and b != 0 and not np.isnan(b) else
                                 np.nan for a, b in zip(x, y)]).astype(dtype)
            self.check(model([node("Mod", ["x", "m"], ["y"], fmod=1)], {"x": x, "m": y}, {"y": dtype}, opset=13),
                       {"x": x, "m": y}, {"y": want}, devices=["cpu"] if dtype == D else None)

    def test_fmod_over_many_quotients(self):
        x = (rng.standard_normal(400) * 10.0**rng.integers(-20, 30, 400)).astype(F)
        y = (rng.standard_normal(400) * 10.0**rng.integers(-20, 10, 400)).astype(F)
        want = np.array([math.fmod(float(a), float(b)) for a, b in zip(x, y)], F)
        self.check(model([node("Mod", ["x", "m"], ["y"], fmod=1)], {"x": x, "m": y}, {"y": F}, opset=13),
                   {"x": x, "m": y}, {"y": want})
        x, y = x.astype(D) * 1e50, y.astype(D)
        want = np.array([math.fmod(a, b) for a, b in zip(x, y)])
        self.check(model([node("Mod", ["x", "m"], ["y"], fmod=1)], {"x": x, "m": y}, {"y": D}, opset=13),
                   {"x": x, "m": y}, {"y": want}, devices=["cpu"])


class Infinities(Cases):
    def test_positions_of_extremes_with_nan(self):
        rows = np.array([[1, np.nan, 3], [np.nan, 2, np.nan], [0, 5, 2], [-np.inf, np.nan, 0], [4, 4, 1]])
        for dtype in (F, H):
            x = rows.astype(dtype)
            self.check(model([node("ArgMax", ["x"], ["y"], axis=1, keepdims=0)], {"x": x}, {"y": I}, opset=13), {"x": x},
                       {"y": np.argmax(x, 1)})
            self.check(model([node("ArgMin", ["x"], ["y"], axis=1, keepdims=0)], {"x": x}, {"y": I}, opset=13), {"x": x},
                       {"y": np.argmin(x, 1)})
            self.check(model([node("ArgMax", ["x"], ["y"], axis=1, keepdims=0, select_last_index=1)], {"x": x}, {"y": I},
                             opset=13), {"x": x}, {"y": ints(1, 2, 1, 1, 1)})

    def test_hardmax_of_a_row_with_nan_has_one_one(self):
        x = np.array([[1, np.nan, 3], [0, 5, 2]], F)
        self.check(model([node("Hardmax", ["x"], ["y"], axis=1)], {"x": x}, {"y": F}), {"x": x},
                   {"y": np.array([[0, 1, 0], [0, 1, 0]], F)})

    def test_log_sum_exp_of_infinities(self):
        x = np.array([[-np.inf] * 3, [np.inf, 0, 1], [np.inf, -np.inf, np.inf], [np.nan, 1, 2], [5000, 5000, 4990]], F)
        want = np.array([-np.inf, np.inf, np.inf, np.nan, 5000 + math.log(2 + math.exp(-10))], F)
        self.check(model([node("ReduceLogSumExp", ["x"], ["y"], axes=[1], keepdims=0)], {"x": x}, {"y": F}, opset=13),
                   {"x": x}, {"y": want}, rtol=1e-6)

    def test_roots_of_infinities_and_negative_zero(self):
        x = np.array([-np.inf, np.inf, -0.0, 0.0, 4, -1, np.nan], F)
        for power, want in ((0.5, [np.inf, np.inf, 0, 0, 2, np.nan, np.nan]),
                            (-0.5, [0, 0, np.inf, np.inf, 0.5, np.nan, np.nan])):
            self.check(model([node("Pow", ["x", "k"], ["y"])], {"x": x}, {"y": F}, {"k": np.array(power, F)}), {"x": x},
                       {"y": np.array(want, F)}, signs=False)

    def test_inverse_tangents_beyond_one(self):
        x = np.array([0.5, -0.5, 1, -1, 1.5, 2**26, -2**31, 1e15, np.inf, np.nan, 0], F)
        with np.errstate(all="ignore"):
            want = np.arctanh(x.astype(D)).astype(F)
        self.check(model([node("Atanh", ["x"], ["y"])], {"x": x}, {"y": F}), {"x": x}, {"y": want}, rtol=1e-6)

    def test_softplus_and_mish_of_negative_numbers_keep_their_digits(self):
        x = np.array([-12.3392, -20, -60, -87, -8, -17.5, 0, 3, 100], F)
        plus = np.log1p(np.exp(x.astype(D)))
        self.check(model([node("Softplus", ["x"], ["y"])], {"x": x}, {"y": F}), {"x": x}, {"y": plus.astype(F)}, rtol=2e-6)
        self.check(model([node("Mish", ["x"], ["y"])], {"x": x}, {"y": F}, opset=18), {"x": x},
                   {"y": (x.astype(D) * np.tanh(plus)).astype(F)}, rtol=2e-6)

    def test_exponential_units_near_zero_keep_their_digits(self):
        x = np.array([-1e-7, -3e-5, -1e-3, -0.03, -0.2, -0.5, -1, -9, -100, 0, 2, 1e-20, -1e-20], F)
        below, d = x < 0, x.astype(D)
        alpha, gamma = float(F(1.67326324)), float(F(1.05070098))
        for name, want in (("Elu", np.expm1(d)), ("Celu", np.expm1(d)), ("Selu", gamma * alpha * np.expm1(d))):
            with self.subTest(operator=name):
                want = np.where(below, want, gamma * d if name == "Selu" else d).astype(F)
                self.check(model([node(name, ["x"], ["y"])], {"x": x}, {"y": F}), {"x": x}, {"y": want}, rtol=1e-6)


class Casts(Cases):
    def test_a_constant_is_cast_as_an_input_is(self):
        x = np.array([300.7, -300.7, 3e9, -3e9, 1e19, 9.3e18, -1e19, np.nan, np.inf, -np.inf, 7.9, -7.9, 0.5, -0.5], F)
        for dtype in (np.int8, U8, np.int16, np.uint16, I32, np.uint32, I, U64):
            info = np.iinfo(dtype)
            want = np.array([0 if np.isnan(v) else max(info.min, min(info.max, int(v))) if np.isfinite(v) else
                             info.max if v > 0 else info.min for v in x.astype(D)], dtype)
            to = model([node("Cast", ["x"], ["y"], to=int(kind(dtype)))], {"x": x}, {"y": dtype}, opset=19)
            self.check(to, {"x": x}, {"y": want})
            zeros = np.zeros(x.size, dtype)
            known = model([node("Cast", ["c"], ["k"], to=int(kind(dtype))), node("Where", ["b", "k", "z"], ["y"])],
                          {"b": zeros == 0, "z": zeros}, {"y": dtype}, {"c": x}, 19)
            self.check(known, {"b": zeros == 0, "z": zeros}, {"y": want}, devices=["cpu"])


class Constants(Cases):
    """Results of constants alone beside the same operator of inputs."""

    def both(self, made, consts, want, opset=18, **tolerance):
        zeros = np.zeros(want.shape, want.dtype)
        last = node("Where", ["chosen", "r", "zeros"], ["y"])
        given = {"chosen": zeros == 0, "zeros": zeros}
        self.check(model([made, last], given, {"y": want.dtype}, consts, opset), given, {"y": want}, devices=["cpu"],
                   **tolerance)
        self.check(model([made], consts, {"r": want.dtype}, opset=opset), consts, {"r": want}, **tolerance)

    def test_sum_and_mean_of_halves_pass_their_greatest_number_on_the_way(self):
        parts = {"a": np.array([40000, -60000, 3], H), "b": np.array([40000, -60000, 4], H),
                 "c": np.array([-20000, 60000, 6], H)}
        total = sum(v.astype(D) for v in parts.values())
        self.both(node("Sum", list(parts), ["r"]), parts, total.astype(H))
        self.both(node("Mean", list(parts), ["r"]), parts, (total / 3).astype(H))

    def test_large_results_of_small_constants(self):
        a, b = np.arange(1100, dtype=I)[:, None], np.arange(1000, dtype=I)[None]
        self.both(node("Add", ["a", "b"], ["r"]), {"a": a, "b": b}, a + b)
        self.both(node("Where", ["c", "a", "b"], ["r"]), {"c": a % 2 == 0, "a": a, "b": b}, np.where(a % 2 == 0, a, b))

    def test_distinct_elements_of_a_constant_have_a_known_length(self):
        x = np.array([3, 1, 2, 1, 3, 7], I)
        z = np.zeros(4, I)
        made = model([node("Unique", ["c"], ["u", "", "", "n"]), node("Mul", ["u", "n"], ["m"]), node("Add", ["m", "z"], ["y"])],
                     {"z": z}, {"y": I}, {"c": x}, 18)
        values, counts = np.unique(x, return_counts=True)
        self.check(made, {"z": z}, {"y": values * counts}, devices=["cpu"])

    def test_boxes_chosen_of_constants_have_a_known_number(self):
        boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]]], F)
        weights = {"boxes": boxes, "scores": np.array([[[0.9, 0.8, 0.7]]], F), "most": ints(5), "iou": np.array([0.5], F)}
        z = np.zeros((2, 3), I)
        made = model([node("NonMaxSuppression", ["boxes", "scores", "most", "iou"], ["k"]), node("Add", ["k", "z"], ["y"])],
                     {"z": z}, {"y": I}, weights, 11)
        self.check(made, {"z": z}, {"y": np.array([[0, 0, 0], [0, 0, 2]])}, devices=["cpu"])

    def test_floor_and_not_as_of_inputs(self):
        self.both(node("Not", ["a"], ["r"]), {"a": np.array([True, False])}, np.array([False, True]))
        self.both(node("Floor", ["a"], ["r"]), {"a": np.array([-1.5, 2.5, -0.0], F)}, np.array([-2, 2, -0.0], F))


class Reductions(Cases):
    def test_norms_and_logarithms_of_integers_do_not_wrap(self):
        for dtype in (I32, I):
            x = np.array([[2**30, -2**30, 12345], [3, 4, 0], [2**31 - 1, 0, 0]], dtype)
            with np.errstate(all="ignore"):
                norm = np.minimum(np.sqrt((x.astype(D)**2).sum(1)), 2.0**31 - 1 if dtype == I32 else 2.0**62).astype(dtype)
                log = np.log(np.abs(x).astype(D).sum(1)).astype(dtype)
            for op, value, want in (("ReduceL2", x, norm), ("ReduceLogSum", np.abs(x), log)):
                with self.subTest(operator=op, dtype=dtype):
                    self.check(model([node(op, ["x", "a"], ["y"], keepdims=0)], {"x": value}, {"y": dtype}, {"a": ints(1)},
                                     18), {"x": value}, {"y": want}, devices=["cpu"])

    def test_over_no_axes_the_function_is_applied_to_each_element(self):
        x = np.array([[-1.5, 2, 0.25], [3, -4, 0.5]], F)
        for op, value, want in (("ReduceSum", x, x), ("ReduceL1", x, np.abs(x)), ("ReduceL2", x, np.abs(x)),
                                ("ReduceSumSquare", x, x * x), ("ReduceMax", x, x), ("ReduceProd", x, x),
                                ("ReduceLogSum", np.abs(x), np.log(np.abs(x))), ("ReduceLogSumExp", x, x),
                                ("ReduceMean", x, x)):
            for weights in ({}, {"a": np.zeros(0, I)}):
                self.check(model([node(op, ["x"] + list(weights), ["y"], noop_with_empty_axes=1)], {"x": value},
                                 {"y": F}, weights, 18), {"x": value}, {"y": want}, rtol=1e-6, atol=1e-7)


class Attention(Cases):
    def test_causal_queries_over_a_padded_cache_see_the_keys_up_to_their_own(self):
        # The queries are the last ones before the padding: query i sees keys up to count - queries + i.
        for mask in (None, rng.random((3, 6)) < 0.8, rng.standard_normal((3, 6)).astype(F)):
            q, k, v = (rng.standard_normal((2, 2, n, 8)).astype(F) for n in (3, 6, 6))
            count, key, query = ints(6, 4), np.arange(6), np.arange(3)[:, None]
            seen = np.stack([(key <= query + n - 3) & (key < n) for n in count])[:, None]
            added = np.where(seen, 0.0, -np.inf)
            if mask is not None:
                added = added + (np.where(mask, 0.0, -np.inf) if mask.dtype == bool else mask)
            feeds = {"q": q, "k": k, "v": v, "count": count, **({} if mask is None else {"mask": mask})}
            inputs = ["q", "k", "v", "" if mask is None else "mask", "", "", "count"]
            for cap in (0.0, 3.0):  # both ways of computing it
                want = self.weighted(self.scores(q, k, cap) + added, v)
                self.check(model([node("Attention", inputs, ["y"], is_causal=1, softcap=cap)], feeds, {"y": F}, opset=24),
                           feeds, {"y": want}, rtol=1e-4, atol=1e-5)

    def scores(self, q, k, cap):
        raw = q.astype(D) @ k.astype(D).transpose(0, 1, 3, 2) / math.sqrt(q.shape[-1])
        return cap * np.tanh(raw / cap) if cap else raw

    def weighted(self, scores, v):
        with np.errstate(all="ignore"):
            powers = np.exp(scores - scores.max(-1, keepdims=True))
            weights = np.nan_to_num(powers / powers.sum(-1, keepdims=True))
        return (weights @ v.astype(D)).astype(F)

    def test_rows_that_see_nothing_are_zero_however_the_mask_says_it(self):
        q, k, v = (rng.standard_normal(s).astype(F) for s in ((1, 2, 4, 8), (1, 2, 6, 8), (1, 2, 6, 5)))
        seen = rng.integers(0, 2, (4, 6)).astype(bool)
        seen[2] = False
        seen[:2, 0] = True
        want = self.weighted(np.where(seen, self.scores(q, k, 0), -np.inf), v)
        for mask in (seen, np.where(seen, 0, -np.inf).astype(F)):
            for cap in (0.0, 2.0):
                right = self.weighted(np.where(seen, self.scores(q, k, cap), -np.inf), v) if cap else want
                self.check(model([node("Attention", ["q", "k", "v", "m"], ["y"], softcap=cap)],
                                 {"q": q, "k": k, "v": v, "m": mask}, {"y": F}, opset=23),
                           {"q": q, "k": k, "v": v, "m": mask}, {"y": right}, rtol=1e-4, atol=1e-5)

    def test_scores_are_capped_before_they_are_masked(self):
        q, k, v = (rng.standard_normal(s).astype(F) for s in ((1, 2, 4, 8), (1, 2, 6, 8), (1, 2, 6, 5)))
        added = rng.standard_normal((4, 6)).astype(F)
        raw, capped = self.scores(q, k, 0), self.scores(q, k, 1.5)
        masked = capped + added
        powers = np.exp(masked - masked.max(-1, keepdims=True))
        steps = (raw, capped, masked, powers / powers.sum(-1, keepdims=True))
        for mode, want in enumerate(steps):
            self.check(model([node("Attention", ["q", "k", "v", "m"], ["y", "", "", "s"], softcap=1.5,
                                   qk_matmul_output_mode=mode)], {"q": q, "k": k, "v": v, "m": added},
                             {"y": F, "s": F}, opset=23), {"q": q, "k": k, "v": v, "m": added},
                       {"y": self.weighted(masked, v), "s": want.astype(F)}, rtol=1e-4, atol=1e-5, devices=["cpu"])


def kind(dtype):
    from places import KINDS
    return KINDS[np.dtype(dtype)]


if __name__ == "__main__":
    skipping.main()
