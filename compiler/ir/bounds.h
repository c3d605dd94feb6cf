// Bounds (vmin/vmax) of integer and bool nodes by interval arithmetic, sound for wrapping types: a result that could
// leave its type's range gets the type's whole range. An end at INT64_MIN or INT64_MAX means "no bound on this side"
// (values of u64 above INT64_MAX are covered by it).
#pragma once
#include "compiler/ir/uop.h"

namespace hearth::ir {

// Bounds of a node with these fields; sources carry theirs.
Bounds derive_bounds(Op op, DType dtype, std::span<const UOpRef> sources, const Payload& payload);

// Everything the dtype can hold.
Bounds full_bounds(DType dtype);

inline bool is_single_value(const Bounds& b) { return b.min == b.max; }

}  // namespace hearth::ir
