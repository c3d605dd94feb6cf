// Operators of the domain ai.onnx.ml that compute with numbers.
#include <algorithm>
#include <limits>

#include "base/text.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/onnx/tree_ensemble.h"
#include "hearth/ops/activation.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/loop.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::onnx {
namespace {

using client::Dim;
using client::Tensor;

// Elements of the last axis by number.
Values array_feature_extractor(NodeContext& node) {
  const Tensor x = node.tensor(0);
  if (x.rank() == 0) reject("the input has no axis of features");
  const Dim& length = x.dim(x.rank() - 1);
  if (node.input(1).is_host() && length.is_const()) {
    for (const std::int64_t index : node.input(1).host().integers()) {
      if (index < 0 || index >= length.value()) {
        reject(str_cat("index ", index, " is out of range for ", length.value(), " features"));
      }
    }
  }
  const Tensor picked = client::gather(x, client::reshape(node.tensor(1), {Dim(-1)}), x.rank() - 1);
  return {Value(x.rank() == 1 ? client::unsqueeze(picked, {0}) : picked)};
}

Values binarizer(NodeContext& node) {
  const Tensor x = node.tensor(0);
  return {Value(client::cast(client::greater(x, node.real("threshold", 0)), x.dtype()))};
}

// A table as a constant of the plan.
template <typename Table>
Tensor constant(const NodeContext& node, DType dtype, const Table& table, std::string_view part) {
  const auto size = static_cast<std::int64_t>(table.size());
  std::string bytes(table.size() * dtype_bytes(dtype), '\0');
  for (std::int64_t i = 0; i < size; ++i)
    put_real(bytes, dtype, i, static_cast<double>(table[static_cast<std::size_t>(i)]));
  return node.made(HostTensor(dtype, {size}, std::move(bytes)), part).tensor();
}

Tensor holds(SplitMode mode, const Tensor& x, const Tensor& split) {
  switch (mode) {
    case SplitMode::kLessEqual:
      return client::less_equal(x, split);
    case SplitMode::kLess:
      return client::less(x, split);
    case SplitMode::kGreaterEqual:
      return client::greater_equal(x, split);
    case SplitMode::kGreater:
      return client::greater(x, split);
    case SplitMode::kEqual:
      return client::equal(x, split);
    case SplitMode::kNotEqual:
      return client::not_equal(x, split);
  }
  reject("a mode of nodes that is not known");
}

// The tests of a walk through the trees, one at each tree's place: [N, trees].
class TreeWalk {
 public:
  TreeWalk(const NodeContext& node, const TreeTables& trees, const Tensor& x)
      : x_(x),
        feature_(constant(node, DType::kI32, trees.feature, "feature")),
        split_(constant(node, x.dtype(), trees.split, "split")),
        if_true_(constant(node, DType::kI32, trees.if_true, "true")),
        if_false_(constant(node, DType::kI32, trees.if_false, "false")),
        modes_(trees.mode) {
    std::sort(modes_.begin(), modes_.end());
    modes_.erase(std::unique(modes_.begin(), modes_.end()), modes_.end());
    if (modes_.size() > 1) mode_ = constant(node, DType::kI32, trees.mode, "mode");
    if (std::count(trees.nan_is_true.begin(), trees.nan_is_true.end(), true) > 0) {
      nan_is_true_ = constant(node, DType::kBool, trees.nan_is_true, "nan");
    }
  }
  // Where the trees' places `at` lead to.
  Tensor step(const Tensor& at) const {
    const Tensor x = client::gather_elements(x_, client::gather(feature_, at), 1);
    const Tensor split = client::gather(split_, at);
    Tensor test = holds(modes_[0], x, split);
    if (modes_.size() > 1) {
      const Tensor mode = client::gather(mode_, at);
      for (std::size_t i = 1; i < modes_.size(); ++i) {
        test = client::where(client::equal(mode, static_cast<int>(modes_[i])), holds(modes_[i], x, split), test);
      }
    }
    if (!nan_is_true_.empty()) {
      test = client::bit_or(test, client::bit_and(client::is_nan(x), client::gather(nan_is_true_, at)));
    }
    return client::where(test, client::gather(if_true_, at), client::gather(if_false_, at));
  }

 private:
  Tensor x_, feature_, split_, if_true_, if_false_, mode_, nan_is_true_;
  std::vector<SplitMode> modes_;
};

// The leaves that each row of x [N, F] comes to: [N, trees] of i32.
Tensor leaves_of(const NodeContext& node, const TreeTables& trees, const Tensor& x) {
  const Tensor roots = constant(node, DType::kI32, trees.roots, "roots");
  const Tensor start = client::expand(roots, {x.dim(0), static_cast<std::int64_t>(trees.roots.size())});
  const TreeWalk walk(node, trees, x);
  return client::loop(Dim(trees.depth), {start}, {},
                      [&](client::LoopStep step) -> client::LoopValues { return {{walk.step(step.carried[0])}, {}}; })
      .last[0];
}

enum class Aggregate { kAverage, kSum, kMin, kMax };

// [N, trees] of weights and of targets -> [N, targets]. A target that no leaf has is 0.
Tensor aggregated(Aggregate how, const Tensor& weight, const Tensor& target, std::int64_t targets) {
  const Tensor mine =
      client::equal(client::unsqueeze(target, {1}),
                    client::reshape(client::arange(Dim(targets), target.dtype()), {Dim(targets), Dim(1)}));
  const Tensor each = client::unsqueeze(weight, {1});
  if (how == Aggregate::kSum || how == Aggregate::kAverage) {
    const Tensor sum = client::reduce_sum(client::where(mine, each, 0), {2});
    return how == Aggregate::kSum ? sum : sum / static_cast<double>(weight.dim(1).value());
  }
  const bool least = how == Aggregate::kMin;
  const double neutral = least ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  const Tensor all = client::where(mine, each, neutral);
  return client::where(client::any(mine, {2}), least ? client::reduce_min(all, {2}) : client::reduce_max(all, {2}), 0);
}

Tensor transformed(std::int64_t how, const Tensor& y) {
  if (how == 0) return y;
  if (how == 1) return client::softmax(y, 1);
  if (how == 2) return client::sigmoid(y);
  if (how == 3) reject_unsupported("post_transform SOFTMAX_ZERO (3)");
  if (how == 4) reject_unsupported("post_transform PROBIT (4)");
  reject(str_cat("attribute 'post_transform' is ", how, "; expected 0 to 4"));
}

Values tree_ensemble(NodeContext& node) {
  const std::int64_t targets = node.required_integer("n_targets");
  if (targets < 1) reject(str_cat("attribute 'n_targets' is ", targets));
  const std::int64_t how = node.integer("aggregate_function", 1), transform = node.integer("post_transform", 0);
  if (how < 0 || how > 3) reject(str_cat("attribute 'aggregate_function' is ", how, "; expected 0 to 3"));
  const Tensor x = node.tensor(0);
  if (!is_float(x.dtype())) reject(str_cat("the input is ", dtype_name(x.dtype()), "; expected floats"));
  const TreeTables trees = read_trees(node, targets);
  if (x.rank() != 2) reject(str_cat("the input must have two axes, rows and features; it has ", x.rank()));
  if (x.dim(1).is_const() && trees.features > x.dim(1).value()) {
    reject(str_cat("attribute 'nodes_featureids' holds ", trees.features - 1, "; the input has ", x.dim(1).value(),
                   " features"));
  }
  const Tensor leaf = leaves_of(node, trees, x);
  const DType wide = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  const Tensor weight = client::gather(constant(node, wide, trees.weight, "weight"), leaf);
  const Tensor target = client::gather(constant(node, DType::kI32, trees.target, "target"), leaf);
  const Tensor y = aggregated(static_cast<Aggregate>(how), weight, target, targets);
  return {Value(client::cast(transformed(transform, y), x.dtype()))};
}

constexpr OperatorEntry kOperators[] = {
    {"ArrayFeatureExtractor", array_feature_extractor},
    {"Binarizer", binarizer, 1, kCommonOpset, BoundedInputs::kElementwise},
    {"TreeEnsemble", tree_ensemble},
};

}  // namespace

std::span<const OperatorEntry> ml_operators() { return kOperators; }

}  // namespace hearth::onnx
