// Values of kernel nodes: one Element a lane, and the ops that need nothing but their sources' values.
// Thread-safe.
//
//   Value v = {Element::of_int(1), Element::of_int(2)};     // an i32x2
#pragma once
#include <span>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "compiler/codegen/reference/element.h"
#include "compiler/ir/uop.h"

namespace hearth::codegen::reference {

using Value = absl::InlinedVector<Element, 1>;  // a scalar, which most are, without an allocation

// Const, elementwise ops, stack, broadcast, extract, horizontal and wmma (floats: summed in double, rounded once).
// Errors: another op, lane counts that do not agree, those of `evaluate`.
absl::StatusOr<Value> evaluate_lanes(ir::UOpRef node, std::span<const Value* const> sources);

}  // namespace hearth::codegen::reference
