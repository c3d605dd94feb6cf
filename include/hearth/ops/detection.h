// Choosing boxes. Errors: JitError.
//
//   auto [chosen, length] = non_max_suppression(boxes, scores, {.max_per_class = 100, .iou_threshold = 0.5});
#pragma once
#include <optional>

#include "hearth/ops/compaction.h"
#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

// What one class may choose at most: each is a step that looks at all boxes, whether any are left or not.
inline constexpr std::int64_t kMaxChosenPerClass = 4096;

enum class BoxFormat {
  kCorners,  // [y1, x1, y2, x2], any two opposite corners
  kCenter,   // [x, y, width, height] around the center
};

struct SuppressionConfig {
  std::int64_t max_per_class = 0;
  Operand iou_threshold = 0.0;                  // a box overlapping a chosen one by more is dropped
  std::optional<Operand> score_threshold = {};  // only boxes with a higher score are considered
  BoxFormat format = BoxFormat::kCorners;
};

// Greedy non-maximum suppression as ONNX defines it. boxes [batch, n, 4], scores [batch, classes, n], floats, constant
// lengths -> i64 [batch * classes * min(max_per_class, n), 3] of (batch, class, box), a class' best boxes first. Boxes
// scored NaN or minus infinity are never chosen. Time: min(max_per_class, n) steps over all scores.
Compacted non_max_suppression(const Tensor& boxes, const Tensor& scores, const SuppressionConfig& config,
                              Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
