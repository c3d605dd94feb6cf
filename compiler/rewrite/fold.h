// fold: the value of one operation on constants, with the semantics of ir/uop.h. No value: the operation is not folded
// (an index overflow, a transcendental whose last bit depends on the maths library).
#pragma once
#include <optional>
#include <span>

#include "compiler/ir/graph.h"

namespace hearth::rewrite {

// `result` and `operand` are element types; where: `operand` is that of the branches.
std::optional<ir::ConstValue> fold(ir::Op op, ir::DType result, ir::DType operand,
                                   std::span<const ir::ConstValue> args);

// An integer as a constant of `dtype`: wrapped, converted for floats, != 0 for bool.
ir::ConstValue wrap_literal(ir::DType dtype, std::int64_t value);

// The constant as a node; a vector dtype gives a broadcast.
ir::UOpRef make_const(ir::Graph& graph, ir::DType dtype, const ir::ConstValue& value);

// Floor division and modulo on int64 with x div 0 = 0, x mod 0 = 0; INT64_MIN div -1 wraps.
std::int64_t floor_div(std::int64_t a, std::int64_t b);
std::int64_t floor_mod(std::int64_t a, std::int64_t b);

}  // namespace hearth::rewrite
