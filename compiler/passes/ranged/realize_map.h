// Which tensor-level values rangeify stores: `Forced` for good (contiguous, values computed from parameters alone,
// over-long chains), `Candidate` unless fuse finds that computing them where they are used is cheaper.
#pragma once
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "compiler/ir/shape.h"

namespace hearth::passes {

enum class Realize { No, Candidate, Forced };

using RealizeMap = absl::flat_hash_map<ir::UOpRef, Realize>;

// What must be stored for a kernel that takes `x` as a buffer in row-major order: a Buffer, or what gets a stage.
ir::UOpRef stored_operand(ir::UOpRef x);

RealizeMap realize_map(ir::ShapeCache& shapes, const std::vector<ir::UOpRef>& outputs);

}  // namespace hearth::passes
