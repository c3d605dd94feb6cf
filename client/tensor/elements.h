// Single elements as little-endian bytes, for every dtype; rounding is to nearest even, floats beyond the range
// become infinity (NaN for f8e4m3, which has none). Pure functions; thread-safe.
//
//   std::string half = encode_float(0.1, DType::kF16);   // 2 bytes
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "hearth/dtype.h"

namespace hearth::client {

// `dtype` is a float type.
std::string encode_float(double value, DType dtype);
// `dtype` is bool or an integer type; the value's low bits.
std::string encode_integer(std::int64_t value, DType dtype);
// Whether an integer dtype (or bool: 0, 1) holds the value.
bool fits(std::int64_t value, DType dtype);

// One element; `bytes` starts with it. Integers and bool become exact where a double can hold them.
double decode_float(std::string_view bytes, DType dtype);
std::int64_t decode_integer(std::string_view bytes, DType dtype);

}  // namespace hearth::client
