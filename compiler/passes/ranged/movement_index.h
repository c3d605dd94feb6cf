// Movement ops as index arithmetic: where in the source lies the element at `index` of the result?
//   shrink = offset, permute = reorder, expand = 0, flip = mirror, unfold = step and dilation, pad = offset and a gate,
//   reshape = div/mod within the smallest groups of axes of equal size.
#pragma once
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/shape.h"

namespace hearth::passes {

struct SourceIndex {
  std::vector<ir::UOpRef> index;  // one an axis of the source
  ir::UOpRef inside = nullptr;    // bool: the element comes from the source (Pad); null: always
};

// `node`: any single-source Movement op except Contiguous.
absl::StatusOr<SourceIndex> source_index(ir::ShapeCache& shapes, ir::UOpRef node, const std::vector<ir::UOpRef>& index);

// An integer as a position. What u64 has beyond 64 signed bits is beyond every end too.
ir::UOpRef as_index(ir::Graph& graph, ir::UOpRef value);

// Row-major position of `index` in `shape`.
ir::UOpRef flat_index(ir::Graph& graph, const ir::Shape& shape, const std::vector<ir::UOpRef>& index);

}  // namespace hearth::passes
