#include "client/onnx/tree_ensemble.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/text.h"
#include "client/onnx/reject.h"

namespace hearth::onnx {
namespace {

constexpr std::int64_t kMember = 6;  // the modes before it are SplitMode's
constexpr std::int64_t kMaxNodes = std::numeric_limits<std::int32_t>::max() / 2;

Ints required_integers(NodeContext& node, std::string_view name) {
  std::optional<Ints> values = node.integers(name);
  if (!values) reject(str_cat("attribute '", name, "' is missing"));
  return *values;
}

HostTensor required_tensor(NodeContext& node, std::string_view name) {
  std::optional<HostTensor> values = node.host_tensor(name);
  if (!values) reject(str_cat("attribute '", name, "' is missing"));
  return *values;
}

void expect_count(std::string_view name, std::int64_t count, std::int64_t expected, std::string_view of) {
  if (count != expected) {
    reject(str_cat("attribute '", name, "' has ", count, " elements; expected one for each of ", expected, " ", of));
  }
}

void expect_below(std::string_view name, std::int64_t value, std::int64_t limit, std::string_view of) {
  if (value < 0 || value >= limit)
    reject(str_cat("attribute '", name, "' holds ", value, "; there are ", limit, " ", of));
}

// The values that each node of mode BRANCH_MEMBER tests for, in the order of the nodes.
std::vector<std::vector<double>> read_members(NodeContext& node, std::int64_t sets) {
  std::vector<std::vector<double>> members;
  const std::optional<HostTensor> values = node.host_tensor("membership_values");
  bool begins = true;
  for (std::int64_t i = 0; values && i < values->size(); ++i) {
    if (begins) members.emplace_back();
    begins = std::isnan(values->real(i));
    if (!begins) members.back().push_back(values->real(i));
  }
  if (static_cast<std::int64_t>(members.size()) != sets || (sets > 0 && !begins)) {
    reject(str_cat("attribute 'membership_values' must have ", sets, " sets, each ended by a NaN"));
  }
  return members;
}

// Where a node leads to, of its attributes: a node's number, or a leaf's after all `nodes` nodes.
class Branches {
 public:
  Branches(NodeContext& node, bool when_true, std::int64_t nodes, std::int64_t leaves)
      : ids_name_(when_true ? "nodes_truenodeids" : "nodes_falsenodeids"), nodes_(nodes), leaves_(leaves) {
    const std::string_view leafs_name = when_true ? "nodes_trueleafs" : "nodes_falseleafs";
    ids_ = required_integers(node, ids_name_);
    leafs_ = required_integers(node, leafs_name);
    expect_count(ids_name_, static_cast<std::int64_t>(ids_.size()), nodes, "nodes");
    expect_count(leafs_name, static_cast<std::int64_t>(leafs_.size()), nodes, "nodes");
  }
  std::int64_t operator[](std::size_t i) const {
    const bool leaf = leafs_[i] != 0;
    expect_below(ids_name_, ids_[i], leaf ? leaves_ : nodes_, leaf ? "leaves" : "nodes");
    return leaf ? nodes_ + ids_[i] : ids_[i];
  }

 private:
  std::string_view ids_name_;
  std::int64_t nodes_, leaves_;
  Ints ids_, leafs_;
};

void add_node(TreeTables& trees, std::int64_t feature, SplitMode mode, double split, bool nan_is_true,
              std::int64_t if_true, std::int64_t if_false) {
  trees.feature.push_back(feature);
  trees.mode.push_back(mode);
  trees.split.push_back(split);
  trees.nan_is_true.push_back(nan_is_true);
  trees.if_true.push_back(if_true);
  trees.if_false.push_back(if_false);
  trees.target.push_back(0);
  trees.weight.push_back(0);
}

// Node i tests for each of `members` in turn: the first test is node i, the others are new nodes.
void chain_members(TreeTables& trees, std::size_t i, const std::vector<double>& members) {
  trees.mode[i] = SplitMode::kEqual;
  trees.split[i] = members.empty() ? std::numeric_limits<double>::quiet_NaN() : members[0];
  const std::int64_t otherwise = trees.if_false[i];
  std::size_t last = i;
  for (std::size_t m = 1; m < members.size(); ++m) {
    trees.if_false[last] = static_cast<std::int64_t>(trees.feature.size());
    last = trees.feature.size();
    add_node(trees, trees.feature[i], SplitMode::kEqual, members[m], trees.nan_is_true[i], trees.if_true[i], otherwise);
  }
}

// Steps from each root to the farthest leaf; JitError where a way comes back to a node that it has passed.
std::int64_t depth_of(const TreeTables& trees, std::int64_t first_leaf, std::int64_t leaves) {
  constexpr std::int64_t kUnknown = -1, kOpen = -2;
  std::vector<std::int64_t> depth(trees.feature.size(), kUnknown);
  Ints open;
  std::int64_t most = 0;
  for (const std::int64_t root : trees.roots) {
    open.push_back(root);
    while (!open.empty()) {
      const auto i = static_cast<std::size_t>(open.back());
      const std::int64_t ways[] = {trees.if_true[i], trees.if_false[i]};
      const bool leaf = open.back() >= first_leaf && open.back() < first_leaf + leaves;
      const bool seen = depth[i] == kOpen;
      if (depth[i] == kUnknown && !leaf) {
        depth[i] = kOpen;
        for (const std::int64_t way : ways) {
          const std::int64_t known = depth[static_cast<std::size_t>(way)];
          if (known == kOpen) reject(str_cat("node ", way, " of the trees leads back to itself"));
          if (known == kUnknown) open.push_back(way);
        }
        continue;
      }
      if (leaf) depth[i] = 0;
      if (seen) {
        depth[i] = 1 + std::max(depth[static_cast<std::size_t>(ways[0])], depth[static_cast<std::size_t>(ways[1])]);
      }
      open.pop_back();
    }
    most = std::max(most, depth[static_cast<std::size_t>(root)]);
  }
  return most;
}

}  // namespace

TreeTables read_trees(NodeContext& node, std::int64_t targets) {
  const Ints features = required_integers(node, "nodes_featureids");
  const HostTensor modes = required_tensor(node, "nodes_modes"), splits = required_tensor(node, "nodes_splits");
  const HostTensor weights = required_tensor(node, "leaf_weights");
  const Ints leaf_targets = required_integers(node, "leaf_targetids");
  const auto nodes = static_cast<std::int64_t>(features.size()), leaves = weights.size();
  if (nodes > kMaxNodes || leaves > kMaxNodes) reject_unsupported("trees of more than 2^30 nodes");
  if (nodes == 0) reject("attribute 'nodes_featureids' is empty");
  expect_count("nodes_modes", modes.size(), nodes, "nodes");
  expect_count("nodes_splits", splits.size(), nodes, "nodes");
  expect_count("leaf_targetids", static_cast<std::int64_t>(leaf_targets.size()), leaves, "leaves");
  std::optional<Ints> missing = node.integers("nodes_missing_value_tracks_true");
  if (missing)
    expect_count("nodes_missing_value_tracks_true", static_cast<std::int64_t>(missing->size()), nodes, "nodes");
  (void)node.host_tensor("nodes_hitrates");  // how often each was passed: a hint
  const Branches if_true(node, true, nodes, leaves), if_false(node, false, nodes, leaves);

  TreeTables trees;
  Ints with_members;
  for (std::size_t i = 0; i < features.size(); ++i) {
    const std::int64_t mode = modes.integer(static_cast<std::int64_t>(i));
    expect_below("nodes_modes", mode, kMember + 1, "modes");
    if (features[i] < 0) reject(str_cat("attribute 'nodes_featureids' holds ", features[i]));
    trees.features = std::max(trees.features, features[i] + 1);
    if (mode == kMember) with_members.push_back(static_cast<std::int64_t>(i));
    add_node(trees, features[i], static_cast<SplitMode>(mode % kMember), splits.real(static_cast<std::int64_t>(i)),
             missing && (*missing)[i] != 0, if_true[i], if_false[i]);
  }
  for (std::int64_t i = 0; i < leaves; ++i) {
    const std::int64_t target = leaf_targets[static_cast<std::size_t>(i)];
    expect_below("leaf_targetids", target, targets, "targets");
    add_node(trees, 0, SplitMode::kLessEqual, 0, false, nodes + i, nodes + i);
    trees.target.back() = target;
    trees.weight.back() = weights.real(i);
  }
  const auto members = read_members(node, static_cast<std::int64_t>(with_members.size()));
  for (std::size_t i = 0; i < members.size(); ++i) {
    chain_members(trees, static_cast<std::size_t>(with_members[i]), members[i]);
  }
  // Leaves test nothing.
  std::fill_n(trees.mode.begin() + nodes, leaves, trees.mode[0]);
  trees.roots = required_integers(node, "tree_roots");
  if (trees.roots.empty()) reject("attribute 'tree_roots' is empty");
  for (const std::int64_t root : trees.roots) expect_below("tree_roots", root, nodes, "nodes");
  trees.depth = depth_of(trees, nodes, leaves);
  return trees;
}

}  // namespace hearth::onnx
