#include "client/tensor/range_parts.h"

#include "base/text.h"

namespace hearth::client {

std::string parts_text(const Variable& variable) {
  const auto& [ends, points] = variable.parts;
  std::string text;
  for (std::size_t i = 0; i < ends.size(); ++i) str_append(&text, i == 0 ? " in parts " : ",", ends[i]);
  for (std::size_t i = 0; i < points.size(); ++i) str_append(&text, i == 0 ? " in parts @" : ",", points[i]);
  if (variable.unit != 1) str_append(&text, " by ", variable.unit);
  return text;
}

std::string refusal_of(const Variable& variable) {
  const auto& [name, min, max, parts, unit] = variable;
  if (unit < 1 || min % unit != 0 || max % unit != 0) return str_cat("its ends are no multiples of ", unit);
  if (!parts.ends.empty() && !parts.points.empty()) return "give ends or points, not both";
  const std::vector<std::int64_t>& values = parts.ends.empty() ? parts.points : parts.ends;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < min || values[i] > max) return str_cat(values[i], " lies outside of the range");
    if (values[i] % unit != 0) return str_cat(values[i], " is no multiple of ", unit);
    if (i > 0 && values[i] <= values[i - 1])
      return str_cat(values[i], " stands behind ", values[i - 1], "; they ascend");
  }
  if (!parts.ends.empty() && parts.ends.back() != max) return "the last one is not the greatest value";
  return "";
}

}  // namespace hearth::client
