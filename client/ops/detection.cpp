#include "hearth/ops/detection.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "client/ops/support.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/loop.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::client {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Boxes by their edges, each [batch, 1, n].
struct Edges {
  Tensor top, left, bottom, right;
};

Edges edges_of(const Tensor& boxes, BoxFormat format) {
  std::vector<Tensor> part;
  for (std::int64_t i = 0; i < 4; ++i) part.push_back(unsqueeze(select(boxes, -1, i), {1}));
  if (format == BoxFormat::kCenter) {
    const Tensor half_width = part[2] * 0.5, half_height = part[3] * 0.5;
    return {part[1] - half_height, part[0] - half_width, part[1] + half_height, part[0] + half_width};
  }
  return {minimum(part[0], part[2]), minimum(part[1], part[3]), maximum(part[0], part[2]), maximum(part[1], part[3])};
}

Tensor area(const Edges& box) { return (box.bottom - box.top) * (box.right - box.left); }

// Intersection over union > threshold; false where both areas are 0.
Tensor overlap(const Edges& a, const Edges& b, const Operand& threshold) {
  const Tensor height = maximum(minimum(a.bottom, b.bottom) - maximum(a.top, b.top), 0.0);
  const Tensor width = maximum(minimum(a.right, b.right) - maximum(a.left, b.left), 0.0);
  const Tensor common = height * width;
  return greater(common / (area(a) + area(b) - common), threshold);
}

void check_boxes(const Tensor& boxes, const Tensor& scores, std::int64_t max_per_class) {
  const bool fit = require(boxes, "boxes").rank() == 3 && require(scores, "scores").rank() == 3 &&
                   boxes.dim(2) == Dim(4) && boxes.dim(0) == scores.dim(0) && boxes.dim(1) == scores.dim(2) &&
                   is_float(boxes.dtype()) && is_float(scores.dtype());
  if (!fit) {
    fail_op(str_cat("'boxes' is ", describe(boxes), " and 'scores' is ", describe(scores),
                    "; expected floats [batch, n, 4] and [batch, classes, n]"));
  }
  if (max_per_class < 0) fail_op(str_cat("max_per_class is ", max_per_class, "; expected >= 0"));
}

}  // namespace

Compacted non_max_suppression(const Tensor& boxes, const Tensor& scores, const SuppressionConfig& config, Loc loc) {
  OpScope scope("non_max_suppression", loc);
  check_boxes(boxes, scores, config.max_per_class);
  constexpr const char* kWhy = "since the result's bound follows from it";
  const std::int64_t batches = const_length(scores, 0, kWhy), classes = const_length(scores, 1, kWhy);
  const std::int64_t n = const_length(scores, 2, kWhy), steps = std::min(config.max_per_class, n);
  if (steps > kMaxChosenPerClass) {
    fail_op(str_cat("each class may choose ", steps, " of ", n, " boxes; expected a max_per_class of at most ",
                    kMaxChosenPerClass));
  }
  if (batches * classes * steps == 0) {
    return {filled({Dim(0), Dim(3)}, std::int64_t{0}, DType::kI64), filled({}, std::int64_t{0}, DType::kI64)};
  }
  // Stored edge by edge, so that vectors run along the boxes; and what a step chose before what it is compared with, so
  // that no 64-bit position shortens them.
  const Edges given = edges_of(boxes, config.format);
  const Edges all = {contiguous(given.top), contiguous(given.left), contiguous(given.bottom), contiguous(given.right)};
  const Shape rows = scores.shape();
  const Tensor position = iota(rows, 2, DType::kI32);
  const Tensor open = greater(scores, config.score_threshold.value_or(-kInfinity));
  const LoopResult made = loop(Dim(steps), {open}, {}, [&](LoopStep step) -> LoopValues {
    const Tensor left = step.carried[0];
    const Tensor best = argmax(where(left, scores, -kInfinity), 2, true);  // [batch, classes, 1]
    const auto edge = [&](const Tensor& of_all) {
      return contiguous(gather_elements(expand_to(of_all, rows), best, 2));
    };
    const Edges box = {edge(all.top), edge(all.left), edge(all.bottom), edge(all.right)};
    const Tensor dropped =
        bit_or(overlap(box, all, config.iou_threshold), equal(position, contiguous(cast_to(best, DType::kI32))));
    return {.carried = {bit_and(left, logical_not(dropped))}, .stacked = {best, any(left, {2}, true)}};
  });
  const auto by_class = [](const Tensor& stacked) { return permute(squeeze(stacked, {3}), {1, 2, 0}); };
  const Tensor chosen = by_class(made.stacked[0]), taken = by_class(made.stacked[1]);  // [batch, classes, steps]
  const auto [at, length] = nonzero(taken);                                            // [3, bound]: batch, class, step
  const Tensor order = transpose(at, 0, 1);
  const Tensor box = unsqueeze(gather_nd(chosen, order), {1});
  const Tensor valid = less(iota({order.dim(0), Dim(1)}, 0, DType::kI64), length);
  return {cat({slice(order, {{.axis = 1, .end = 2}}), where(valid, box, 0)}, 1), length};
}

}  // namespace hearth::client
