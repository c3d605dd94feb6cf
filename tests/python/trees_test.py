"""Operators of ai.onnx.ml beside walks in Python: trees of every mode, missing values, targets and aggregates."""

import math
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import hearth

rng = np.random.default_rng(5)
LEQ, LT, GTE, GT, EQ, NEQ, MEMBER = range(7)
TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float64): TensorProto.DOUBLE}


def load(op, inputs, attributes):
    """A function of `inputs` {name: (array, dims)}."""
    graph = helper.make_graph(
        [helper.make_node(op, list(inputs), ["y"], domain="ai.onnx.ml", **attributes)], "g",
        [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), dims) for name, (x, dims) in inputs.items()],
        [helper.make_empty_tensor_value_info("y")])  # fmt: skip
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 5)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    return hearth.load(model.SerializeToString(), threads=1)


def run(op, inputs, attributes):
    f = load(op, {name: (x, x.shape) for name, x in inputs.items()}, attributes)
    return np.asarray(f(*inputs.values()))


class Forest:
    """Random trees, as TreeEnsemble's attributes and as a walk."""

    def __init__(self, modes, features=4, trees=5, depth=4, targets=1, dtype=np.float32, missing=False):
        self.nodes, self.leaves, self.roots = [], [], []
        self.modes, self.features, self.targets, self.dtype, self.missing = modes, features, targets, dtype, missing
        for _ in range(trees):
            self.roots.append(self.grow(depth, True))

    def grow(self, depth, inner=False):
        number = len(self.nodes)
        mode = int(rng.choice(self.modes))
        members = [float(v) for v in rng.integers(-3, 4, rng.integers(0, 4))] if mode == MEMBER else []
        node = dict(mode=mode, split=float(rng.integers(-2, 3)), feature=int(rng.integers(self.features)), members=members,
                    missing=bool(self.missing and rng.integers(2)))  # fmt: skip
        self.nodes.append(node)
        for way in (True, False):
            if depth > 1 and rng.random() < 0.8:
                node[way] = (self.grow(depth - 1), False)
            else:
                self.leaves.append((float(self.dtype(rng.standard_normal())), int(rng.integers(self.targets))))
                node[way] = (len(self.leaves) - 1, True)
        return number

    def attributes(self, **more):
        def of(key):
            return [int(node[key]) for node in self.nodes]

        made = dict(
            nodes_splits=numpy_helper.from_array(np.array([node["split"] for node in self.nodes], self.dtype)),
            nodes_modes=numpy_helper.from_array(np.array(of("mode"), np.uint8)), nodes_featureids=of("feature"),
            nodes_truenodeids=[node[True][0] for node in self.nodes], nodes_falsenodeids=[node[False][0] for node in self.nodes],
            nodes_trueleafs=[int(node[True][1]) for node in self.nodes],
            nodes_falseleafs=[int(node[False][1]) for node in self.nodes],
            leaf_weights=numpy_helper.from_array(np.array([w for w, _ in self.leaves], self.dtype)),
            leaf_targetids=[t for _, t in self.leaves], tree_roots=self.roots, n_targets=self.targets)  # fmt: skip
        if self.missing:
            made["nodes_missing_value_tracks_true"] = of("missing")
        sets = [node["members"] for node in self.nodes if node["mode"] == MEMBER]
        if sets:
            made["membership_values"] = numpy_helper.from_array(np.array([v for s in sets for v in [*s, math.nan]], self.dtype))
        return {**made, **more}

    def holds(self, node, value):
        tests = [value <= node["split"], value < node["split"], value >= node["split"], value > node["split"],
                 value == node["split"], value != node["split"], value in node["members"]]  # fmt: skip
        return tests[node["mode"]] or (node["missing"] and math.isnan(value))

    def leaf(self, root, row):
        at, leaf = root, False
        while not leaf:
            node = self.nodes[at]
            at, leaf = node[self.holds(node, float(row[node["feature"]]))]
        return self.leaves[at]

    def expected(self, x, aggregate=sum):
        y = np.zeros((len(x), self.targets))
        for i, row in enumerate(x):
            hits = [self.leaf(root, row) for root in self.roots]
            for target in range(self.targets):
                weights = [w for w, t in hits if t == target]
                y[i, target] = aggregate(weights) if weights else 0
        return y


def rows(count, features=4, missing=False):
    x = rng.integers(-3, 4, (count, features)).astype(np.float32)
    x += rng.choice([0, 0.5], x.shape).astype(np.float32)
    if missing:
        x[rng.random(x.shape) < 0.3] = np.nan
    return x


class Trees(unittest.TestCase):
    def check(self, forest, x, aggregate=sum, finish=lambda y: y, **attributes):
        y = run("TreeEnsemble", {"x": x}, forest.attributes(**attributes))
        self.assertEqual(y.dtype, x.dtype)
        np.testing.assert_allclose(y, finish(forest.expected(x, aggregate)), rtol=2e-6, atol=2e-6)

    def test_each_mode(self):
        for mode in range(7):
            with self.subTest(mode=mode):
                self.check(Forest([mode]), rows(40))

    def test_modes_together_and_missing_values(self):
        for missing in (False, True):
            with self.subTest(missing=missing):
                self.check(Forest(range(7), missing=missing, trees=9, depth=6), rows(60, missing=missing))
                self.check(Forest([LT], missing=missing), rows(60, missing=True))

    def test_aggregates_and_targets(self):
        forest = Forest([LEQ], targets=3, trees=7)
        for number, aggregate in enumerate([lambda w: sum(w) / 7, sum, min, max]):
            with self.subTest(aggregate=number):
                self.check(forest, rows(30), aggregate, aggregate_function=number)

    def test_post_transforms(self):
        forest = Forest([LEQ, GT], targets=3)
        self.check(forest, rows(30), finish=lambda y: 1 / (1 + np.exp(-y)), post_transform=2)
        self.check(forest, rows(30), finish=lambda y: np.exp(y) / np.exp(y).sum(1, keepdims=True), post_transform=1)
        with self.assertRaisesRegex(hearth.Error, "PROBIT"):
            run("TreeEnsemble", {"x": rows(2)}, forest.attributes(post_transform=4))

    def test_doubles_one_row_one_test_and_a_lone_leaf(self):
        forest = Forest([LEQ], dtype=np.float64)
        self.check(forest, rows(20).astype(np.float64))
        self.check(Forest([LEQ], trees=1, depth=1), rows(1))
        forest = Forest([LEQ], trees=1, depth=1)
        forest.nodes[0][False] = forest.nodes[0][True]
        self.check(forest, rows(5))

    def test_any_number_of_rows(self):
        forest = Forest([LEQ, MEMBER], trees=6, depth=5)
        f = load("TreeEnsemble", {"x": (rows(2), ["n", 4])}, forest.attributes())
        for count in (1, 2, 33, 5):
            x = rows(count)
            np.testing.assert_allclose(np.asarray(f(x)), forest.expected(x), rtol=2e-6, atol=2e-6)

    def test_trees_that_are_wrong_are_said(self):
        forest = Forest([LEQ], trees=2, depth=3)
        good = forest.attributes()
        ids, leafs = good["nodes_truenodeids"], good["nodes_trueleafs"]
        inner = leafs.index(0)
        circle = [0 if i == inner else id for i, id in enumerate(ids)]
        for changed, message in [
            (dict(nodes_truenodeids=circle), "leads back to itself"),
            (dict(nodes_truenodeids=[99] * len(ids)), "nodes_truenodeids' holds 99"),
            (dict(nodes_falsenodeids=[-1] * len(ids)), "nodes_falsenodeids' holds -1"),
            (dict(nodes_featureids=[4] * len(ids)), "holds 4; the input has 4 features"),
            (dict(leaf_targetids=[1] * len(forest.leaves)), "leaf_targetids' holds 1"),
            (dict(nodes_trueleafs=leafs[1:]), "nodes_trueleafs' has"),
            (dict(tree_roots=[1000]), "tree_roots' holds 1000"),
            (dict(tree_roots=None), "'tree_roots' is missing"),
            (dict(n_targets=0), "n_targets' is 0"),
            (dict(aggregate_function=7), "aggregate_function' is 7"),
            (dict(post_transform=2**32), "post_transform.*4294967296"),
            (dict(post_transform=9), "post_transform' is 9"),
            (dict(nodes_modes=numpy_helper.from_array(np.full(len(ids), 9, np.uint8))), "nodes_modes' holds 9"),
            (dict(nodes_modes=numpy_helper.from_array(np.full(len(ids), MEMBER, np.uint8))), "membership_values"),
        ]:
            with self.subTest(message), self.assertRaisesRegex(hearth.Error, message):
                run("TreeEnsemble", {"x": rows(2)}, {**good, **changed})


class Features(unittest.TestCase):
    def test_features_are_extracted(self):
        x = rng.standard_normal((3, 5)).astype(np.float32)
        for picks in ([0, 4, 4], [2]):
            y = run("ArrayFeatureExtractor", {"x": x, "i": np.array(picks)}, {})
            np.testing.assert_array_equal(y, x[:, picks])
        y = run("ArrayFeatureExtractor", {"x": x[0], "i": np.array([[1, 3]])}, {})
        np.testing.assert_array_equal(y, x[:1, [1, 3]])

    def test_binarizer(self):
        for x in (rows(7), rows(7).astype(np.float64), np.array([-1, 0, 1, 5], np.int32)):
            y = run("Binarizer", {"x": x}, {"threshold": 0.5})
            self.assertEqual(y.dtype, x.dtype)
            np.testing.assert_array_equal(y, (x > 0.5).astype(x.dtype))


if __name__ == "__main__":
    sys.exit(unittest.main())
