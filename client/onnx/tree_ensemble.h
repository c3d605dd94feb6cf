// The decision trees of ai.onnx.ml's TreeEnsemble as tables by node, checked: every tree ends. Leaves are nodes that
// lead to themselves, so that a walk of `depth` steps from the roots ends at the leaves of all trees. A test for
// membership is a chain of tests for equality. Pure functions of a node's attributes. Errors: JitError naming the
// attribute.
//
//   TreeTables trees = read_trees(node);
//   // trees.if_true[i] is where node i leads to when its test holds.
#pragma once
#include <vector>

#include "client/onnx/node_context.h"

namespace hearth::onnx {

enum class SplitMode { kLessEqual, kLess, kGreaterEqual, kGreater, kEqual, kNotEqual };

struct TreeTables {
  // One element a node.
  Ints feature, if_true, if_false;
  std::vector<SplitMode> mode;
  std::vector<double> split;
  std::vector<bool> nan_is_true;
  // What a leaf adds, and to which target; 0 for other nodes.
  Ints target;
  std::vector<double> weight;

  Ints roots;                 // one a tree
  std::int64_t depth = 0;     // the most tests on a way from a root to a leaf
  std::int64_t features = 0;  // those below this one are tested
};

// `targets`: attribute n_targets, at least 1.
TreeTables read_trees(NodeContext& node, std::int64_t targets);

}  // namespace hearth::onnx
