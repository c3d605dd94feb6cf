// The types that every part of this small ck_tile builds on: numbers, sequences, architecture tags.
#pragma once
#include "ck_tile/config.hpp"
#include "ck_tile/core/execution.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

namespace ck_tile {

using index_t = std::int32_t;
using long_index_t = std::int64_t;

using fp16_t = _Float16;
using half_t = fp16_t;

struct bf16_t {
  std::uint16_t bits;
};

template <typename T>
CK_TILE_HOST_DEVICE inline float to_float(T value) {
  return static_cast<float>(value);
}
template <>
CK_TILE_HOST_DEVICE inline float to_float<bf16_t>(bf16_t value) {
  const std::uint32_t word = static_cast<std::uint32_t>(value.bits) << 16;
  float result;
  std::memcpy(&result, &word, sizeof result);
  return result;
}

template <typename T>
CK_TILE_HOST_DEVICE inline T from_float(float value) {
  return static_cast<T>(value);
}
// Round to nearest, ties to even; a NaN stays one.
template <>
CK_TILE_HOST_DEVICE inline bf16_t from_float<bf16_t>(float value) {
  std::uint32_t word;
  std::memcpy(&word, &value, sizeof word);
  if (value != value) return {static_cast<std::uint16_t>((word >> 16) | 0x40u)};
  return {static_cast<std::uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16)};
}

template <typename T>
using remove_cvref_t = std::remove_cv_t<std::remove_reference_t<T>>;

CK_TILE_HOST_DEVICE constexpr index_t integer_divide_ceil(index_t a, index_t b) { return (a + b - 1) / b; }
CK_TILE_HOST_DEVICE constexpr index_t min(index_t a, index_t b) { return a < b ? a : b; }
CK_TILE_HOST_DEVICE constexpr index_t max(index_t a, index_t b) { return a > b ? a : b; }

CK_TILE_HOST_DEVICE inline float negative_infinity() { return -__builtin_inff(); }

template <index_t... Is>
struct sequence {
  static constexpr index_t size = sizeof...(Is);
  static constexpr index_t at(index_t i) {
    constexpr index_t values[] = {Is...};
    return values[i];
  }
  static constexpr index_t product() { return (Is * ... * 1); }
};

// What the second template argument of a 2026 entry point says it was compiled for.
struct gfx9_t {};
struct gfx90a_t {};
struct gfx942_t {};
struct gfx950_t {};

}  // namespace ck_tile
