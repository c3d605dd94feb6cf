// Element types. A DType is a scalar type and a number of lanes (1 for scalars).
// Values of the wire types equal hearth.v1.DType's, so conversion is a cast after a range check.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hearth::ir {

enum class Scalar : std::uint8_t {
  Void = 0,
  Bool = 1,
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  F16,
  BF16,
  F32,
  F64,
  F8E4M3,
  F8E5M2,
  Index,  // unbounded integer of index arithmetic; lowered to i64 before code generation
};

struct DType {
  Scalar scalar = Scalar::Void;
  std::uint16_t lanes = 1;
  constexpr DType() = default;
  constexpr DType(Scalar scalar, std::uint16_t lanes = 1)
      : scalar(scalar), lanes(lanes) {}  // NOLINT: implicit on purpose
  constexpr bool operator==(const DType&) const = default;
  constexpr DType with_lanes(std::uint16_t count) const { return DType(scalar, count); }
  constexpr DType element() const { return DType(scalar, 1); }
};

constexpr bool is_float(DType t) { return t.scalar >= Scalar::F16 && t.scalar <= Scalar::F8E5M2; }
constexpr bool is_signed_int(DType t) {
  return (t.scalar >= Scalar::I8 && t.scalar <= Scalar::I64) || t.scalar == Scalar::Index;
}
constexpr bool is_unsigned_int(DType t) { return t.scalar >= Scalar::U8 && t.scalar <= Scalar::U64; }
constexpr bool is_int(DType t) { return is_signed_int(t) || is_unsigned_int(t); }
constexpr bool is_bool(DType t) { return t.scalar == Scalar::Bool; }
constexpr bool is_index(DType t) { return t.scalar == Scalar::Index; }

// The dtype in which a wmma sums products of two dtypes; Void: it takes no such operands.
constexpr Scalar wmma_result(Scalar a, Scalar b) {
  auto is_byte = [](Scalar s) { return s == Scalar::I8 || s == Scalar::U8; };
  if (a == Scalar::BF16 && b == Scalar::BF16) return Scalar::F32;
  return is_byte(a) && is_byte(b) ? Scalar::I32 : Scalar::Void;
}

// The dtype in which a GPU's matrix unit sums products of two dtypes; Void: it takes no such operands.
constexpr Scalar matrix_result(Scalar a, Scalar b) {
  const bool are_bytes = (a == Scalar::I8 || a == Scalar::U8) && (b == Scalar::I8 || b == Scalar::U8);
  if (are_bytes) return Scalar::I32;
  return a == b && (a == Scalar::F16 || a == Scalar::BF16) ? Scalar::F32 : Scalar::Void;
}

// Width in bits of one element: 1 for Bool, 64 for Index, 0 for Void.
int bit_width(DType t);
// Size in bytes of one element in a buffer (Bool is one byte).
int byte_size(DType t);

// Least and greatest value of an integer or bool type (u64's greatest is clipped to INT64_MAX; see bounds.h).
std::int64_t int_min(DType t);
std::int64_t int_max(DType t);

// "f32", "index", "f32x8".
std::string to_string(DType t);
std::optional<DType> parse_dtype(std::string_view text);

}  // namespace hearth::ir
