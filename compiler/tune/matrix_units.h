// Matrix units: what of a target multiplies small matrices of narrow numbers and sums in wide ones (Op::Wmma), and what
// it costs. A unit of one row works on the vectors of an ordinary register tile, whose second operand is packed with
// `group` neighbours of the reduced axis side by side.
//
//   std::optional<MatrixUnit> unit = vector_unit(reduce, target);   // f32 operands: never one
#pragma once
#include <optional>
#include <string_view>

#include "compiler/ir/graph.h"
#include "hearth/v1/artifact.pb.h"

namespace hearth::tune {

struct MatrixUnit {
  const char* name;
  int group;            // neighbours along the reduced axis that one operation sums
  double cycles;        // of one operation on a vector of results
  double latency;       // until the next operation on the same results
  double widen_cycles;  // to bring a vector of an operand into shape, once for all operations that read it
  int widen_registers;  // that a vector of an operand takes meanwhile
};

// The narrow operands of a sum of products in a wider dtype, in which they are exact.
struct Product {
  ir::UOpRef a = nullptr, b = nullptr;
};
std::optional<Product> narrow_product(ir::UOpRef reduce);

// Whether both operands are plain loads that move with `range`, one of the reduction's: loads that are switched off
// then add nothing to the sum.
bool is_product_along(ir::UOpRef reduce, ir::UOpRef range);

// The best unit of one row for a reduction; nothing if it is no narrow product.
std::optional<MatrixUnit> vector_unit(ir::UOpRef reduce, const v1::Target& target);

// Whether the processor sums pairs of bf16 products (vdpbf16ps) faster than it widens them and multiplies in f32.
bool has_fast_bf16_dot(const v1::Target& target);
bool has_feature(const v1::Target& target, std::string_view name);
// Whether vectors of the target are multiplied by powers of two in one instruction (Op::ScaleB).
bool has_scaleb(const v1::Target& target);

}  // namespace hearth::tune
