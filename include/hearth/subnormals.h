// What becomes of subnormal floats (|f32| and |bf16| below 1.18e-38, |f64| below 2.2e-308), on which CPUs compute some
// 50 times slower than on others. Values only.
//
//   PrepareConfig config = {.subnormals = Subnormals::kKeep};
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "hearth/config.h"

#pragma GCC visibility push(default)
namespace hearth {

enum class Subnormals : std::uint8_t {
  // IEEE 754 to the last bit: nothing is changed.
  kKeep,
  // Operations have zero for a subnormal result, and weights that are only multiplied and added have zeros in place of
  // their subnormal values, each of its sign. What is divided by, compared, copied or given as input is read as it is.
  kResults,
  // And operations read subnormal values as zeros.
  kAll,
};

// "keep", "results", "all" and back.
std::string_view subnormals_name(Subnormals subnormals);
std::optional<Subnormals> subnormals_from_name(std::string_view name);

}  // namespace hearth
#pragma GCC visibility pop
