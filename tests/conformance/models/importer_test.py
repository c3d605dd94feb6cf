#!/usr/bin/env python3
"""Models as today's tools write them: functions with newer fields, nodes in any order, defaults that callers replace,
shapes computed by whatever operators, lengths that are expressions of names. Expected values: numpy."""
import json

import onnx

from places import Cases, F, H, I, U64, ints, model, node, np, skipping
from onnx import helper

rng = np.random.default_rng(41)
X = rng.standard_normal((2, 3)).astype(F)


def varint(value):
    made = b""
    while True:
        low, value = value & 127, value >> 7
        made += bytes([low | 128 if value else low])
        if not value:
            return made


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def function(nodes, extra=b"", name="F", inputs=("a",), outputs=("b",)):
    made = helper.make_function("own.domain", name, list(inputs), list(outputs), nodes, [helper.make_opsetid("", 18)])
    return onnx.FunctionProto.FromString(made.SerializeToString() + extra)


def call(source, result, overload=b"", name="F"):
    made = node(name, [source], [result], "own.domain")
    return onnx.NodeProto.FromString(made.SerializeToString() + (field(8, overload) if overload else b""))


class Functions(Cases):
    def calling(self, nodes, functions):
        return model(nodes, {"x": X}, {"y": F}, opset=18, functions=functions, domains=["own.domain"])

    def test_metadata_and_types_of_values_are_passed_over(self):
        value_info = helper.make_tensor_value_info("b", 1, [2, 3]).SerializeToString()
        metadata = field(1, b"source") + field(2, b"exported")
        for extra in (field(14, metadata), field(12, value_info), field(12, value_info) + field(14, metadata)):
            self.check(self.calling([call("x", "y")], [function([node("Relu", ["a"], ["b"])], extra)]), {"x": X},
                       {"y": np.maximum(X, 0)})

    def test_two_functions_of_one_name_are_told_apart_by_their_overload(self):
        functions = [function([node("Relu", ["a"], ["b"])]), function([node("Neg", ["a"], ["b"])], field(13, b"n")),
                     function([node("Mul", ["a", "a"], ["b"])], field(13, b"sq"))]
        self.check(self.calling([call("x", "t"), call("t", "u", b"n"), call("u", "y", b"sq")], functions), {"x": X},
                   {"y": np.maximum(X, 0)**2})
        self.refused(self.calling([call("x", "y", b"other")], functions), {"x": X}, "own.domain::F")
        self.refused(self.calling([call("x", "y")], functions + [functions[1]]), {"x": X}, "is defined twice",
                     "with the overload 'n'")

    def test_the_nodes_of_a_function_may_stand_in_any_order(self):
        body = [node("Neg", ["t"], ["b"]), node("Relu", ["a"], ["t"])]
        self.check(self.calling([call("x", "y")], [function(body)]), {"x": X}, {"y": -np.maximum(X, 0)})


class Order(Cases):
    def test_nodes_in_any_order(self):
        nodes = [node("Relu", ["g"], ["t"]), node("Cast", ["t"], ["y"], to=1), node("Cast", ["x"], ["g"], to=10)]
        want = np.maximum(X.astype(H), 0).astype(F)
        for order in ((0, 1, 2), (1, 0, 2), (2, 0, 1), (1, 2, 0)):
            self.check(model([nodes[i] for i in order], {"x": X}, {"y": F}), {"x": X}, {"y": want}, devices=["cpu"])

    def test_a_branch_that_reads_what_a_later_node_of_the_graph_around_it_makes(self):
        value = helper.make_tensor_value_info
        then = helper.make_graph([node("Neg", ["late"], ["r"])], "t", [], [value("r", 1, None)])
        other = helper.make_graph([node("Abs", ["u"], ["r2"]), node("Relu", ["late"], ["u"])], "e", [],
                                  [value("r2", 1, None)])
        made = model([node("If", ["c"], ["y"], then_branch=then, else_branch=other), node("Exp", ["x"], ["late"])],
                     {"c": np.array(True), "x": X}, {"y": F})
        for condition, want in ((True, -np.exp(X)), (False, np.exp(X))):
            self.check(made, {"c": np.array(condition), "x": X}, {"y": want}, rtol=1e-6, devices=["cpu"])

    def test_a_cycle_is_an_error_that_names_its_nodes(self):
        made = model([node("Add", ["x", "b"], ["a"], name="first"), node("Relu", ["a"], ["b"], name="second"),
                      node("Neg", ["b"], ["y"])], {"x": X}, {"y": F})
        self.refused(made, {"x": X}, "'first'", "'second'", "cycle")
        self.refused(model([node("Add", ["x", "y"], ["y"], name="own")], {"x": X}, {"y": F}), {"x": X}, "'own'",
                     "its own result")

    def test_what_no_output_needs_is_not_imported(self):
        dead = [node("NoSuchOperator", ["x"], ["d"]), node("Div", ["one", "zero"], ["e"]), node("Relu", ["x"], ["y"])]
        self.check(model(dead, {"x": X}, {"y": F}, {"one": ints(1), "zero": ints(0)}), {"x": X},
                   {"y": np.maximum(X, 0)}, devices=["cpu"])

    def test_a_constant_division_by_zero_behind_a_choice(self):
        made = model([node("Div", ["a", "b"], ["q"]), node("Mod", ["a", "b"], ["m"]), node("Add", ["q", "m"], ["s"]),
                      node("Where", ["k", "s", "a"], ["r"]), node("Cast", ["r"], ["f"], to=1),
                      node("Add", ["x", "f"], ["y"])], {"x": X[0, :2]}, {"y": F},
                     {"a": ints(6, 7), "b": ints(0, 2), "k": np.array([False, True])})
        self.check(made, {"x": X[0, :2]}, {"y": X[0, :2] + np.array([6, 4], F)})


class Defaults(Cases):
    def test_an_initializer_that_is_an_input_may_be_replaced(self):
        w = np.array([1, 2, 3], F)
        for opset in (8, 17):
            made = model([node("Add", ["x", "w"], ["y"])], {"x": X, "w": w}, {"y": F}, {"w": w}, opset)
            self.check(made, {"x": X}, {"y": X + w})
            self.check(made, {"x": X, "w": w * 10}, {"y": X + w * 10})


class Constants(Cases):
    def test_fill_values_in_half_precision(self):
        x = rng.standard_normal((1, 2, 4, 4)).astype(H)
        for value in (0, -65504, 1.5, -np.inf):
            want = np.pad(x, ((0, 0), (0, 0), (1, 2), (0, 1)), constant_values=H(value))
            self.check(model([node("Pad", ["x", "p", "v"], ["y"])], {"x": x}, {"y": H},
                             {"p": ints(0, 0, 1, 0, 0, 0, 2, 1), "v": np.array(value, H)}, 13), {"x": x}, {"y": want})
        bf16 = [node("Cast", ["x"], ["a"], to=16), node("Cast", ["f"], ["v"], to=16), node("Pad", ["a", "p", "v"], ["o"]),
                node("Cast", ["o"], ["y"], to=1)]
        self.check(model(bf16, {"x": np.ones(3, F)}, {"y": F}, {"p": ints(1, 2), "f": np.array(-3.0, F)}, 13),
                   {"x": np.ones(3, F)}, {"y": np.array([-3, 1, 1, 1, -3, -3], F)})

    def test_bounds_regions_and_lengths_in_half_precision(self):
        x = rng.standard_normal((2, 4)).astype(H)
        self.check(model([node("Clip", ["x", "a", "b"], ["y"])], {"x": x}, {"y": H},
                         {"a": np.array(-0.5, H), "b": np.array(0.25, H)}), {"x": x}, {"y": np.clip(x, H(-.5), H(.25))})
        filled = [node("Shape", ["x"], ["s"]),
                  node("ConstantOfShape", ["s"], ["k"], value=onnx.numpy_helper.from_array(np.array([1.5], H))),
                  node("Add", ["x", "k"], ["y"])]
        made = model(filled, {"x": (H, ["n", 4])}, {"y": H}, opset=13)
        self.check(made, {"x": x}, {"y": x + H(1.5)})
        self.check(made, {"x": x}, {"y": x + H(1.5)}, "--dim", "n=1:4")
        image = rng.standard_normal((1, 1, 4, 4)).astype(H)
        self.check(model([node("Resize", ["x", "r", "s"], ["y"], mode="nearest", nearest_mode="floor",
                               coordinate_transformation_mode="tf_crop_and_resize")], {"x": image}, {"y": H},
                         {"r": np.array([0, 0, 0, 0, 1, 1, 1, 1], H), "s": np.ones(4, F)}, 13), {"x": image}, {"y": image})

    def test_statistics_of_another_type_than_the_data(self):
        x = rng.standard_normal((2, 3, 4)).astype(H)
        s, b, m, v = (np.abs(rng.standard_normal(3)).astype(F) + F(0.1) for _ in range(4))
        want = ((x.astype(np.float64) - m[:, None]) / np.sqrt(v[:, None] + 1e-5) * s[:, None] + b[:, None]).astype(H)
        self.check(model([node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"])], {"x": x}, {"y": H},
                         {"s": s, "b": b, "m": m, "v": v}, 15), {"x": x}, {"y": want}, rtol=2e-3)

    def test_the_statistics_of_a_layer_norm_have_the_type_that_stash_type_says(self):
        x = (rng.standard_normal((2, 64)) * 300).astype(H)
        mean, deviation = x.astype(np.float64).mean(1, keepdims=True), x.astype(np.float64).std(1, keepdims=True)
        self.check(model([node("LayerNormalization", ["x", "s"], ["y", "m", "i"])], {"x": x},
                         {"y": H, "m": F, "i": F}, {"s": np.ones(64, H)}), {"x": x},
                   {"y": ((x - mean) / deviation).astype(H), "m": mean.astype(F), "i": (1 / deviation).astype(F)},
                   rtol=2e-3, atol=1e-3)


class Shapes(Cases):
    """A Reshape to lengths that are computed by an operator of the model from the input's own."""
    x = rng.standard_normal((2, 6, 4)).astype(F)

    def through(self, nodes, weights, shape, *words, x=None):
        x = self.x if x is None else x
        made = model([node("Shape", ["x"], ["sh"])] + nodes + [node("Reshape", ["x", "k"], ["y"])], {"x": x}, {"y": F},
                     {"rest": ints(-1), **weights}, 18)
        self.check(made, {"x": x}, {"y": x.reshape(shape)}, *words, devices=["cpu"])

    def test_lengths_by_operators_that_are_no_arithmetic(self):
        last = node("Concat", ["g", "rest"], ["k"], axis=0)
        cases = {
            "Clip": ([node("Clip", ["sh", "low"], ["k"])], {"low": np.array(1)}, (2, 6, 4)),
            "ScatterND": ([node("ScatterND", ["sh", "i", "rest"], ["k"])], {"i": np.array([[1]])}, (2, -1, 4)),
            "ScatterElements": ([node("ScatterElements", ["sh", "i", "rest"], ["k"])], {"i": ints(2)}, (2, 6, -1)),
            "GatherND": ([node("GatherND", ["sh", "i"], ["g"]), last], {"i": np.array([[1], [0]])}, (6, 2, -1)),
            "GatherElements": ([node("GatherElements", ["sh", "i"], ["g"]), last], {"i": ints(1, 0)}, (6, 2, -1)),
            "CumSum": ([node("CumSum", ["sh", "a"], ["c"]), node("Slice", ["c", "z", "o"], ["g"]), last],
                       {"a": np.array(0), "z": ints(0), "o": ints(1)}, (2, -1)),
            "TopK": ([node("TopK", ["sh", "o"], ["g", "at"]), last], {"o": ints(1)}, (6, -1)),
            "ArgMax": ([node("ArgMax", ["sh"], ["m"]), node("Gather", ["sh", "m"], ["g"]), last], {}, (6, -1)),
            "ReduceMean": ([node("ReduceMean", ["sh"], ["g"]), last], {}, (4, -1)),
            "Pad": ([node("Slice", ["sh", "o", "t"], ["s"]), node("Pad", ["s", "p", "v"], ["k"])],
                    {"o": ints(1), "t": ints(2), "p": ints(0, 1), "v": np.array(-1)}, (6, -1)),
            "MatMul": ([node("MatMul", ["sh", "w"], ["g"]), last], {"w": np.array([[1], [0], [1]])}, (6, -1)),
            "Compress": ([node("Compress", ["sh", "b"], ["k"])], {"b": np.array([True, True, True])}, (2, 6, 4)),
            "u64": ([node("Cast", ["sh"], ["u"], to=13), node("Mul", ["u", "w"], ["m"]), node("Cast", ["m"], ["k"], to=7)],
                    {"w": np.array([1, 1, 1], U64)}, (2, 6, 4)),
            "floats": ([node("Cast", ["sh"], ["f"], to=1), node("Mul", ["f", "h"], ["m"]), node("Round", ["m"], ["r"]),
                        node("Cast", ["r"], ["u"], to=7), node("Slice", ["u", "o", "t"], ["g"]), last],
                       {"h": np.array(0.5, F), "o": ints(1), "t": ints(2)}, (3, -1)),
            "halves": ([node("Cast", ["sh"], ["f"], to=10), node("Exp", ["f"], ["e"]), node("Log", ["e"], ["l"]),
                        node("Cast", ["l"], ["r"], to=1), node("Round", ["r"], ["q"]), node("Cast", ["q"], ["u"], to=7),
                        node("Slice", ["u", "z", "o"], ["g"]), last], {"z": ints(0), "o": ints(1)}, (2, -1)),
        }
        for name, (nodes, weights, shape) in cases.items():
            with self.subTest(operator=name):
                self.through(nodes, weights, shape)

    def test_a_condition_that_only_shapes_decide(self):
        value = helper.make_tensor_value_info
        then = helper.make_graph([node("Neg", ["x"], ["r"])], "t", [], [value("r", 1, None)])
        other = helper.make_graph([node("Exp", ["x"], ["r2"])], "e", [], [value("r2", 1, None)])
        made = model([node("Shape", ["x"], ["sh"]), node("ArgMax", ["sh"], ["m"], keepdims=0),
                      node("Equal", ["m", "one"], ["c"]), node("If", ["c"], ["y"], then_branch=then, else_branch=other)],
                     {"x": self.x}, {"y": F}, {"one": np.array(1)}, 18)
        self.check(made, {"x": self.x}, {"y": -self.x}, devices=["cpu"])

    def test_what_the_elements_of_an_input_decide_is_said_to_depend_on_it(self):
        made = model([node("TopK", ["s", "o"], ["g", "at"]), node("Concat", ["g", "rest"], ["k"], axis=0),
                      node("Reshape", ["x", "k"], ["y"])], {"x": self.x, "s": (I, [2])}, {"y": F},
                     {"o": ints(1), "rest": ints(-1)}, 18)
        self.refused(made, {"x": self.x}, "input 's'", "--const s=VALUE", words=["--dim", "n=1"][:0])

    def test_a_symbolic_axis_cut_at_a_computed_place(self):
        x = rng.standard_normal((2, 5, 8)).astype(F)
        weights = {"i": np.array(1), "z": ints(0), "a": ints(1), "big": ints(2**63 - 1), "two": np.array(2),
                   "four": np.array(4)}
        half = [node("Shape", ["x"], ["sh"]), node("Gather", ["sh", "i"], ["s"]), node("Div", ["s", "two"], ["h"]),
                node("Unsqueeze", ["h", "z"], ["u"])]
        least = [node("Shape", ["x"], ["sh"]), node("Gather", ["sh", "i"], ["s"]), node("Min", ["s", "four"], ["h"]),
                 node("Unsqueeze", ["h", "z"], ["u"])]
        for cut, at in ((half, 2), (least, 4)):
            for bounds, want in ((["z", "u"], x[:, :at]), (["u", "big"], x[:, at:])):
                made = model(cut + [node("Slice", ["x", *bounds, "a"], ["y"])], {"x": (F, ["b", "s", 8])}, {"y": F}, weights)
                self.check(made, {"x": x}, {"y": want})
                self.check(made, {"x": x}, {"y": want}, "--dim", "b=1:4", "--dim", "s=1:16")
        both = half + [node("Slice", ["x", "z", "u", "a"], ["l"]), node("Slice", ["x", "u", "big", "a"], ["r"]),
                       node("Concat", ["r", "l"], ["c"], axis=1), node("Add", ["c", "x"], ["y"])]
        self.check(model(both, {"x": (F, ["b", "s", 8])}, {"y": F}, weights), {"x": x},
                   {"y": np.concatenate([x[:, 2:], x[:, :2]], 1) + x}, "--dim", "b=1:4", "--dim", "s=1:16")


    def test_a_symbolic_axis_cut_near_its_end_clipped_or_split(self):
        x = rng.standard_normal((2, 7, 8)).astype(F)
        weights = {"i": np.array(1), "z": ints(0), "a": ints(1), "big": ints(2**63 - 1), "two": np.array(2),
                   "four": np.array(4)}
        start = [node("Shape", ["x"], ["sh"]), node("Gather", ["sh", "i"], ["s"])]
        length = node("Unsqueeze", ["h", "z"], ["u"])
        tail = [length, node("Slice", ["x", "u", "big", "a"], ["y"])]
        half = node("Div", ["s", "two"], ["h"])
        cases = {
            "x[:, -(s // 2):]": ([node("Div", ["s", "two"], ["d"]), node("Neg", ["d"], ["h"])] + tail, x[:, 4:]),
            "x[:, s - 4:]": ([node("Sub", ["s", "four"], ["h"])] + tail, x[:, 3:]),
            "x[:, :min(s, 4)]": ([node("Clip", ["s", "", "four"], ["h"]), length,
                                  node("Slice", ["x", "z", "u", "a"], ["y"])], x[:, :4]),
            "halves, exchanged": ([half, length, node("Sub", ["s", "h"], ["r"]), node("Unsqueeze", ["r", "z"], ["v"]),
                                   node("Concat", ["u", "v"], ["parts"], axis=0),
                                   node("Split", ["x", "parts"], ["p", "q"], axis=1),
                                   node("Concat", ["q", "p"], ["y"], axis=1)], np.concatenate([x[:, 3:], x[:, :3]], 1)),
        }
        for name, (nodes, want) in cases.items():
            made = model(start + nodes, {"x": (F, ["b", "s", 8])}, {"y": F}, weights)
            for words in ((), ("--dim", "b=1:4", "--dim", "s=4:16")):
                with self.subTest(cut=name, words=words):
                    self.check(made, {"x": x}, {"y": want}, *words)


class Branches(Cases):
    """An If whose condition a replay decides: one of its branches runs, whichever it is."""
    x, w, v = (rng.standard_normal((16, 96)).astype(F), rng.standard_normal((96, 96)).astype(F) / 10,
               rng.standard_normal((96, 96)).astype(F) / 10)

    def branching(self, condition=(), inputs=None, weights=None):
        def branch(nodes, result):
            return helper.make_graph(nodes, result, [], [helper.make_tensor_value_info(result, 1, None)])
        then = branch([node("MatMul", ["x", "w"], ["a"]), node("Tanh", ["a"], ["b"]), node("MatMul", ["b", "v"], ["t"])], "t")
        other = branch([node("MatMul", ["x", "v"], ["c"]), node("Abs", ["c"], ["e"])], "e")
        return model([*condition, node("If", ["which"], ["r"], then_branch=then, else_branch=other),
                      node("Neg", ["r"], ["y"])], {"x": self.x, **(inputs or {})}, {"y": F},
                     {"w": self.w, "v": self.v, **(weights or {})}, 18)

    def want(self, taken, x):
        x, w, v = (a.astype(np.float64) for a in (x, self.w, self.v))
        return {"y": (-np.tanh(x @ w) @ v if taken else -np.abs(x @ v)).astype(F)}

    def test_either_branch_of_a_condition_that_is_an_input(self):
        for shape in ((), (1,)):
            made = self.branching(inputs={"which": np.zeros(shape, np.bool_)})
            for taken in (True, False):
                with self.subTest(taken=taken, shape=shape):
                    self.check(made, {"x": self.x, "which": np.full(shape, taken)}, self.want(taken, self.x), rtol=1e-4, atol=1e-5)

    def test_either_branch_of_a_condition_that_is_computed(self):
        made = self.branching([node("ReduceSum", ["x"], ["m"], keepdims=0), node("Greater", ["m", "zero"], ["which"])],
                              weights={"zero": np.zeros((), F)})
        for taken in (True, False):
            x = np.abs(self.x) if taken else -np.abs(self.x)
            for words in ((), ("--threads", "3")):
                with self.subTest(taken=taken, words=words):
                    self.check(made, {"x": x}, self.want(taken, x), *words, rtol=1e-4, atol=1e-5)

    def test_explain_and_emit_say_which_kernels_a_condition_may_leave_out(self):
        path = self.folder / "if.onnx"
        path.write_bytes(self.branching(inputs={"which": np.zeros((), np.bool_)}).SerializeToString())
        explained = self.hearth_json("explain", path, "--json", "--device", "cpu")
        conditional = [k for k in explained["kernels"] if k["conditional_launches"]]
        self.assertGreaterEqual(len(conditional), 3)
        text = self.hearth("explain", path, "--device", "cpu")
        for part in ("0 to 1", f"{len(conditional)} of them only where the model's conditions say so"):
            self.assertIn(part, text)
        self.hearth("emit", path, "--target", "cpu:x86-64-v3", "--output-dir", self.folder / "emitted")
        launches = json.loads((self.folder / "emitted" / "manifest.json").read_text())["launches"]
        which = {c["value"] for launch in launches for c in launch.get("run_if", [])}
        self.assertEqual(which, {True, False})
        self.assertEqual(len({c["buffer"] for launch in launches for c in launch.get("run_if", [])}), 1)


class Pads(Cases):
    def test_pads_around_the_end_and_pads_that_crop(self):
        x = rng.standard_normal((2, 3, 5)).astype(F)
        amounts = ((0, 0, 2, 0, 0, 1), (0, 1, 9, 1, 2, 12), (0, 0, -1, 0, 0, 2), (0, -1, 2, 0, 1, -2))
        for mode in ("wrap", "edge", "reflect"):
            for pads in amounts:
                kept = x[tuple(slice(max(-b, 0), n - max(-a, 0)) for b, a, n in zip(pads[:3], pads[3:], x.shape))]
                pairs = [(max(b, 0), max(a, 0)) for b, a in zip(pads[:3], pads[3:])]
                if mode == "reflect" and any(max(p) >= n for p, n in zip(pairs, kept.shape)):
                    continue
                made = model([node("Pad", ["x", "p"], ["y"], mode=mode)], {"x": x}, {"y": F}, {"p": ints(*pads)}, 19)
                with self.subTest(mode=mode, pads=pads):
                    self.check(made, {"x": x}, {"y": np.pad(kept, pairs, mode)})


class Unread(Cases):
    def test_inputs_that_no_node_reads_may_be_of_any_kind(self):
        made = model([node("Relu", ["x"], ["y"])], {"x": X}, {"y": F})
        text = made.graph.input.add()
        text.name = "text"
        text.type.tensor_type.elem_type = onnx.TensorProto.STRING
        text.type.tensor_type.shape.dim.add().dim_param = "n"
        loose = made.graph.input.add()
        loose.name = "loose"
        loose.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
        self.check(made, {"x": X}, {"y": np.maximum(X, 0)}, devices=["cpu"])


class Lengths(Cases):
    def cache(self, mask):
        return model([node("Concat", ["past", "x"], ["c"], axis=1), node("Mul", ["c", "mask"], ["y"])],
                     {"x": (F, ["b", "s"]), "past": (F, ["b", "p"]), "mask": (F, ["b", mask])}, {"y": F}, opset=18)

    def feeds(self, b, s, p):
        return {n: rng.standard_normal((b, k)).astype(F) for n, k in (("x", s), ("past", p), ("mask", p + s))}

    def test_a_length_that_is_the_sum_of_others_is_derived(self):
        for mask in ("p + s", "p+s", "s + p", "(p + s)", "2*p + s - p", "Max(p + s, s)"):
            for words in ((), ("--dim", "b=1:4", "--dim", "p=1:16", "--dim", "s=1:3"),
                          ("--dim", "b=1:4", "--dim", "p=1:16", "--dim", "s=1:3", "--dim", f"{mask}=2:19")):
                for b, s, p in ((2, 1, 4), (1, 3, 1)):
                    f = self.feeds(b, s, p)
                    with self.subTest(mask=mask, words=words):
                        self.check(self.cache(mask), f, {"y": np.concatenate([f["past"], f["x"]], 1) * f["mask"]}, *words,
                                   devices=["cpu"])

    def test_quotients_and_differences(self):
        x = rng.standard_normal((2, 9)).astype(F)
        made = model([node("Slice", ["x", "z", "n", "a", "t"], ["h"]), node("Add", ["h", "w"], ["y"])],
                     {"x": (F, ["b", "2*s - 1"]), "w": (F, ["b", "s"])}, {"y": F},
                     {"z": ints(0), "n": ints(2**62), "a": ints(1), "t": ints(2)})
        w = rng.standard_normal((2, 5)).astype(F)
        for words in ((), ("--dim", "b=2", "--dim", "s=1:8")):
            self.check(made, {"x": x, "w": w}, {"y": x[:, ::2] + w}, *words, devices=["cpu"])

    def test_quotients_keep_their_remainders_until_they_are_rounded(self):
        x = rng.standard_normal((2, 7)).astype(F)
        cases = {"floor(s/2 + 1/2)": 4, "floor(s/2 - 1/2) + 1": 4, "ceiling(s/3)": 3, "CeilToInt(IntTrueDiv(s, 2))": 4,
                 "FloorDiv(s, 2) + PythonMod(s, 4)": 6, "s/2 + s/2": 7, "s^2 + 2": 51, "floor(s/3 + s/6)": 3,
                 "floor(2*s/3)": 4, "(s - 1)//2 + 1": 4, "Max(s/2, 3)": 3}
        for name, length in cases.items():
            w = rng.standard_normal((2, length)).astype(F)
            made = model([node("ReduceSum", ["w", "a"], ["r"]), node("Add", ["x", "r"], ["y"])],
                         {"x": (F, ["b", "s"]), "w": (F, ["b", name])}, {"y": F}, {"a": ints(1)})
            for words in ((), ("--dim", "b=2", "--dim", "s=3:16")):
                with self.subTest(name=name, words=words):
                    self.check(made, {"x": x, "w": w}, {"y": x + w.sum(1, keepdims=True)}, *words, devices=["cpu"],
                               rtol=1e-5, atol=1e-6)
            self.refused(made, {"x": x, "w": np.zeros((2, length + 1), F)}, f"'{name}' is {length}")

    def test_lengths_that_contradict_their_names_are_refused(self):
        f = self.feeds(2, 1, 4)
        self.refused(self.cache("p + s"), {**f, "mask": f["mask"][:, :3]}, "dimension 'p + s' is 5", "p = 4")
        self.refused(self.cache("p + s"), f, "--dim p + s=9", "leave it out", words=["--dim", "p + s=9"])
        self.refused(self.cache("p - s"), {}, "may be negative",
                     words=["--dim", "b=1", "--dim", "p=1:4", "--dim", "s=1:8"])

    def test_a_name_that_only_looks_like_an_expression_is_a_length_of_its_own(self):
        made = model([node("Relu", ["x"], ["y"])], {"x": (F, ["batch-size", "seq/2"])}, {"y": F})
        self.check(made, {"x": X}, {"y": np.maximum(X, 0)}, "--dim", "batch-size=1:4", "--dim", "seq/2=1:5", devices=["cpu"])

    def test_a_range_for_a_length_that_the_plan_does_not_need(self):
        made = model([node("Relu", ["x"], ["y"])], {"x": (F, ["n", 3]), "z": (F, ["k"])}, {"y": F})
        words = ["--dim", "n=1:4", "--dim", "k=1:8"]
        self.check(made, {"x": X, "z": np.ones(4, F)}, {"y": np.maximum(X, 0)}, *words)
        self.check(made, {"x": X}, {"y": np.maximum(X, 0)}, *words)


class Samples(Cases):
    def test_cubic_samples_beyond_the_border(self):
        x = rng.standard_normal((1, 2, 5, 6)).astype(F)
        grid = rng.uniform(-1.8, 1.8, (1, 4, 4, 2)).astype(F)
        for corners in (0, 1):
            want = np.zeros((1, 2, 4, 4))
            for i, j in np.ndindex(4, 4):
                at = [(grid[0, i, j, k].astype(np.float64) + 1) / 2 * (n - 1) if corners else
                      ((grid[0, i, j, k].astype(np.float64) + 1) * n - 1) / 2 for k, n in ((0, 6), (1, 5))]
                for dy in range(-1, 3):
                    for dx in range(-1, 3):
                        column, row = int(np.floor(at[0])) + dx, int(np.floor(at[1])) + dy
                        weight = keys(at[0] - column) * keys(at[1] - row)
                        want[0, :, i, j] += weight * x[0, :, min(max(row, 0), 4), min(max(column, 0), 5)]
            self.check(model([node("GridSample", ["x", "g"], ["y"], mode="cubic", padding_mode="border",
                                   align_corners=corners)], {"x": x, "g": grid}, {"y": F}, opset=20), {"x": x, "g": grid},
                       {"y": want.astype(F)}, rtol=1e-4, atol=1e-5)


def keys(t, a=-0.75):
    t = abs(t)
    return ((a + 2) * t - (a + 3)) * t * t + 1 if t <= 1 else (((t - 5) * t + 8) * t - 4) * a if t < 2 else 0.0


if __name__ == "__main__":
    skipping.main()
