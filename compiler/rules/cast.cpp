// Casts: of the same type, of bools, of constants (folded), of exact widenings.
#include "compiler/rules/rules.h"

namespace hearth::rules {

using ir::DType;
using ir::Op;
using ir::Scalar;
using ir::UOpRef;
using namespace rewrite;
using namespace rewrite::dsl;

namespace {

// Whether every value of integer or bool type `from` is one of `to`. Index stands for any int64 value.
bool contains(DType to, DType from) {
  if (ir::is_float(to) || ir::is_float(from)) return false;
  if (ir::is_bool(from)) return true;
  if (ir::is_bool(to)) return false;
  const int bits_to = ir::bit_width(to), bits_from = ir::bit_width(from);
  if (ir::is_signed_int(from)) return ir::is_signed_int(to) && bits_to >= bits_from;
  return ir::is_signed_int(to) ? bits_to > bits_from : bits_to >= bits_from;
}

int mantissa_bits(DType t) {
  switch (t.scalar) {
    case Scalar::F64:
      return 53;
    case Scalar::F32:
      return 24;
    case Scalar::F16:
      return 11;
    case Scalar::BF16:
      return 8;
    case Scalar::F8E4M3:
      return 4;
    case Scalar::F8E5M2:
      return 3;
    default:
      return 0;
  }
}

// Whether a cast from `from` to `to` keeps every value.
bool exact(DType to, DType from) {
  if (!ir::is_float(to)) return contains(to, from);
  if (ir::is_bool(from)) return mantissa_bits(to) > 0;
  if (!ir::is_float(from)) return mantissa_bits(to) >= ir::bit_width(from);
  // Wider in bytes holds every value: of the 16-bit types in f32, of both fp8 types in both 16-bit types.
  return ir::byte_size(to) > ir::byte_size(from);
}

// Whether A -> B -> C is A -> C, given that A -> B is exact.
bool composes(DType a, DType b, DType c) {
  if (ir::is_bool(c)) return true;
  if (ir::is_float(c)) {
    // Into the types that round once; the narrow ones may round by way of f32.
    return c.scalar == Scalar::F32 || c.scalar == Scalar::F64 || (ir::is_float(a) && ir::is_float(b));
  }
  if (ir::is_float(b) && !ir::is_float(a)) return contains(c, a);  // float -> int saturates, int -> int wraps
  return true;
}

bool casts_compose(DType a, DType b, DType c) {
  // Both wrap: only the low bits of C count. An index does not wrap: u64 -> i64 -> index may be negative.
  const bool wraps_through = ir::is_int(a) && ir::is_int(b) && ir::is_int(c) && !ir::is_index(b) && !ir::is_index(c) &&
                             ir::bit_width(b) >= ir::bit_width(c);
  return wraps_through || (exact(b, a) && composes(a, b, c));
}

// Bits stay what they are, in elements of any types of one size.
bool bits_compose(DType a, DType b, DType c) {
  return ir::byte_size(a) == ir::byte_size(b) && ir::byte_size(b) == ir::byte_size(c);
}

constexpr Rule kCastRules[] = {
    rule("cast_same", kAll, cast(x), x),
    for_types(casts_compose, rule("cast_cast", kAll, cast(through(u)), cast(u))),
    // A comparison with zero is what a cast to bool means; of a bool widened before it is the bool.
    rule("bool_round_trip_ne", kInts, ne(cast(p), 0), p),
    rule("bool_round_trip_eq", kInts, eq(cast(p), 0), !p),
    // For floats 0 * x is no zero where x is infinite or NaN.
    rule("times_bool", kInts, cast(p) * x, where(p, x, 0)),
    rule("bitcast_same", kAll, bitcast(x), x),
    for_types(bits_compose, rule("bitcast_bitcast", kAll, bitcast(through_bits(u)), bitcast(u))),
};

}  // namespace

std::span<const Rule> cast_rules() { return kCastRules; }

}  // namespace hearth::rules
