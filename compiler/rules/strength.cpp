// Floor division and modulo of fixed widths by powers of two: a shift and a mask, right for negative values too. A
// truncating division is one only where nothing is negative. (The code generator would divide and correct.)
#include <bit>

#include "compiler/rules/rules.h"

namespace hearth::rules {

using ir::Op;
using ir::UOpRef;
using namespace rewrite;

namespace {

// log2 of the divisor; -1 when it is no power of two or the division is no floor division.
int shift_of(UOpRef node, bool floors) {
  if (!ir::is_int(node->dtype) || ir::is_index(node->dtype)) return -1;
  if (!floors && node->source(0)->bounds.min < 0) return -1;
  const ir::ConstValue* divisor = as_const(node->source(1));
  if (divisor == nullptr || (divisor->i <= 0 && node->dtype.scalar != ir::Scalar::U64)) return -1;
  const auto bits = static_cast<std::uint64_t>(divisor->i);
  return std::has_single_bit(bits) ? std::countr_zero(bits) : -1;
}

UOpRef divide(Context& context, UOpRef node, const Match&) {
  const int shift = shift_of(node, node->is(Op::FloorDiv));
  if (shift < 0) return nullptr;
  return context.graph.binary(Op::Shr, node->source(0), context.graph.constant(node->dtype, shift));
}

UOpRef modulo(Context& context, UOpRef node, const Match&) {
  const int shift = shift_of(node, node->is(Op::FloorMod));
  if (shift < 0) return nullptr;
  const auto mask = static_cast<std::int64_t>((std::uint64_t{1} << shift) - 1);
  return context.graph.binary(Op::And, node->source(0), context.graph.constant(node->dtype, mask));
}

// (x >> k) * 2^k + (x & (2^k - 1)) -> x
UOpRef recombine(Context&, UOpRef node, const Match&) {
  if (!ir::is_int(node->dtype)) return nullptr;
  for (std::size_t s = 0; s < 2; ++s) {
    const UOpRef multiple = node->source(s), rest = node->source(1 - s);
    if (!multiple->is(Op::Mul) || !rest->is(Op::And) || !multiple->source(0)->is(Op::Shr)) continue;
    const UOpRef x = multiple->source(0)->source(0);
    const ir::ConstValue *shift = as_const(multiple->source(0)->source(1)), *factor = as_const(multiple->source(1)),
                         *mask = as_const(rest->source(1));
    if (shift == nullptr || factor == nullptr || mask == nullptr || rest->source(0) != x) continue;
    if (shift->i < 0 || shift->i >= ir::bit_width(node->dtype)) continue;
    const std::uint64_t size = std::uint64_t{1} << shift->i;
    if (static_cast<std::uint64_t>(factor->i) == size && static_cast<std::uint64_t>(mask->i) == size - 1) return x;
  }
  return nullptr;
}

constexpr Rule kRules[] = {
    rule_fn("floordiv_pow2", dsl::any(Op::FloorDiv), divide), rule_fn("truncdiv_pow2", dsl::any(Op::TruncDiv), divide),
    rule_fn("floormod_pow2", dsl::any(Op::FloorMod), modulo), rule_fn("truncmod_pow2", dsl::any(Op::TruncMod), modulo),
    rule_fn("recombine_pow2", dsl::any(Op::Add), recombine),
};

}  // namespace

std::span<const Rule> strength_rules() { return kRules; }

}  // namespace hearth::rules
