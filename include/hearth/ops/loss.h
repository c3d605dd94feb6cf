// Losses of a classification, as PyTorch and ONNX define them.
#pragma once
#include <optional>

#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

enum class LossReduction { kNone, kSum, kMean };

struct LossConfig {
  LossReduction reduction = LossReduction::kMean;  // kMean: over the weights of the targets that count
  std::optional<std::int64_t> ignore_index = {};   // a target that does not count; may be no class at all
};

// Minus the value of the target's class. `x` [n, classes, d...] holds logarithms of probabilities, `target` [n, d...]
// integers, `weight` (may be empty) one factor a class. [n, d...], or a scalar when reduced. A target that is neither
// a class nor ignored counts as the nearest class.
Tensor nll_loss(const Tensor& x, const Tensor& target, const Tensor& weight = {}, const LossConfig& config = {},
                Loc loc = Loc::current());
// nll_loss of log_softmax(x, 1).
Tensor cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight = {}, const LossConfig& config = {},
                     Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
