// Which tensor-level values rangeify stores: `Forced` for good (contiguous, values computed from parameters alone,
// over-long chains), `Candidate` unless fuse finds that computing them where they are used is cheaper.
#pragma once
#include <unordered_map>
#include <vector>

#include "compiler/ir/shape.h"

namespace hearth::passes {

enum class Realize { No, Candidate, Forced };

using RealizeMap = std::unordered_map<ir::UOpRef, Realize>;

RealizeMap realize_map(ir::ShapeCache& shapes, const std::vector<ir::UOpRef>& outputs);

}  // namespace hearth::passes
