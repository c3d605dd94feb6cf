// Element types, with the numbering of proto/hearth/v1/graph.proto.
// Values only; thread-safe. Example:
//
//   DType type = DType::kF32;
//   std::size_t bytes = dtype_bytes(type);        // 4
//   std::string_view name = dtype_name(type);     // "f32"
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "hearth/config.h"

#pragma GCC visibility push(default)
namespace hearth {

enum class DType : std::uint8_t {
  kBool = 1,
  kI8 = 2,
  kI16 = 3,
  kI32 = 4,
  kI64 = 5,
  kU8 = 6,
  kU16 = 7,
  kU32 = 8,
  kU64 = 9,
  kF16 = 10,
  kBF16 = 11,
  kF32 = 12,
  kF64 = 13,
  kF8E4M3 = 14,
  kF8E5M2 = 15,
};

// The type with a wire number of graph.proto; nothing for an unknown one.
std::optional<DType> dtype_from_wire(int wire);
// "f32", "i64", "bool", … and back.
std::string_view dtype_name(DType type);
std::optional<DType> dtype_from_name(std::string_view name);

std::size_t dtype_bytes(DType type);
bool is_float(DType type);
bool is_integer(DType type);  // excludes bool
bool is_signed(DType type);   // signed integers and floats

}  // namespace hearth
#pragma GCC visibility pop
