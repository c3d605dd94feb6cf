#include "hearth/ops/loss.h"

#include "base/text.h"
#include "client/ops/support.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::client {
namespace {

void check(const Tensor& x, const Tensor& target, const Tensor& weight) {
  if (require(x, "x").rank() < 2 || !is_float(x.dtype())) {
    fail_op(str_cat("'x' is ", describe(x), "; expected floats [n, classes, ...]"));
  }
  require_integer(target, "target");
  Shape expected = x.shape();
  expected.erase(expected.begin() + 1);
  if (target.shape() != expected) {
    fail_op(str_cat("'target' is ", describe(target), "; expected the axes of 'x', ", describe(x), ", but its second"));
  }
  if (!weight.empty() && weight.shape() != Shape{x.dim(1)}) {
    fail_op(str_cat("'weight' is ", describe(weight), "; expected one factor for each of the ", x.dim(1).to_string(),
                    " classes"));
  }
}

}  // namespace

Tensor nll_loss(const Tensor& given, const Tensor& target, const Tensor& weight, const LossConfig& config, Loc loc) {
  OpScope scope("nll_loss", loc);
  check(given, target, weight);
  const Tensor x = to_wide(given);
  Tensor index = target, counts;
  if (config.ignore_index) {
    counts = not_equal(cast(target, DType::kI64), *config.ignore_index);
    index = where(counts, target, 0);
  }
  Tensor loss = -squeeze(gather_elements(x, unsqueeze(index, {1}), 1), {1});
  Tensor factor = weight.empty() ? full(loss.shape(), 1, x.dtype()) : cast_to(gather(weight, index, 0), x.dtype());
  if (!counts.empty()) factor = where(counts, factor, 0.0);
  // Not a product: what is ignored may be infinite.
  loss = counts.empty() ? loss * factor : where(counts, loss * factor, 0.0);
  if (config.reduction == LossReduction::kNone) return cast_to(loss, given.dtype());
  const Tensor sum = reduce_sum(loss);
  return cast_to(config.reduction == LossReduction::kSum ? sum : sum / reduce_sum(factor), given.dtype());
}

Tensor cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight, const LossConfig& config, Loc loc) {
  OpScope scope("cross_entropy", loc);
  check(x, target, weight);
  return in_full_width(x, [&](const Tensor& value) { return nll_loss(log_softmax(value, 1), target, weight, config); });
}

}  // namespace hearth::client
