#include "hearth/subnormals.h"

#include <array>

namespace hearth {

static constexpr std::array<std::string_view, 3> kSubnormalsNames = {"keep", "results", "all"};

std::string_view subnormals_name(Subnormals subnormals) {
  return kSubnormalsNames[static_cast<std::size_t>(subnormals) % 3];
}

std::optional<Subnormals> subnormals_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kSubnormalsNames.size(); ++i) {
    if (kSubnormalsNames[i] == name) return static_cast<Subnormals>(i);
  }
  return std::nullopt;
}

}  // namespace hearth
