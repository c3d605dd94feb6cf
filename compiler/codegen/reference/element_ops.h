// What every elementwise op means for one element, written from the semantics in compiler/ir/uop.h.
//
// Floats compute in double (fma and int -> float: one rounding) and round once to the dtype; transcendentals use libm
// in double. Errors: an op that is not defined for the dtype, index arithmetic that leaves int64. Thread-safe.
//
//   Element args[] = {Element::of_int(-7), Element::of_int(2)};
//   absl::StatusOr<Element> q = evaluate(ir::Op::FloorDiv, Scalar::I32, Scalar::I32, args);   // -4
#pragma once
#include <span>

#include "absl/status/statusor.h"
#include "compiler/codegen/reference/element.h"
#include "compiler/ir/uop.h"

namespace hearth::codegen::reference {

// `operand` is the dtype of the values the op works on: of the first source (of the second for where).
absl::StatusOr<Element> evaluate(ir::Op op, ir::Scalar result, ir::Scalar operand, std::span<const Element> args);

// The value an empty reduction has.
Element reduce_identity(ir::ReduceKind kind, ir::Scalar scalar);
// One step, `accumulator` (kind) `value`, rounded to `scalar`.
Element reduce_step(ir::ReduceKind kind, ir::Scalar scalar, Element accumulator, Element value);
// The dtype a reduction accumulates in: f64 for floats, else its own.
inline ir::Scalar accumulator_scalar(ir::Scalar scalar) { return ir::is_float(scalar) ? ir::Scalar::F64 : scalar; }

}  // namespace hearth::codegen::reference
