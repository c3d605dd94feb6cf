// Element types that models only store numbers in, by the names that ml_dtypes has for them. Their tensors are u8, one
// code an element in the lowest bits (onnx::ModelValue::stored). Thread-safe (constant). No errors.
//
//   static_assert(is_stored_type("int4"));
#pragma once
#include <string_view>

namespace hearth {

inline constexpr std::string_view kStoredTypes[] = {
    "int4",          "uint4",         "int2",           "uint2",           "float4_e2m1fn",
    "float6_e2m3fn", "float6_e3m2fn", "float8_e8m0fnu", "float8_e4m3fnuz", "float8_e5m2fnuz"};

constexpr bool is_stored_type(std::string_view name) {
  for (const std::string_view type : kStoredTypes)
    if (type == name) return true;
  return false;
}

}  // namespace hearth
