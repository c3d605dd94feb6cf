#include "client/tensor/range_parts.h"

#include "base/text.h"

namespace hearth::client {

std::string parts_text(const RangeParts& parts) {
  std::string text;
  for (const std::int64_t end : parts.ends) str_append(&text, text.empty() ? "" : ",", end);
  for (std::size_t i = 0; i < parts.points.size(); ++i) str_append(&text, i == 0 ? "@" : ",", parts.points[i]);
  return text;
}

std::string refusal_of(const RangeParts& parts, std::int64_t min, std::int64_t max) {
  if (!parts.ends.empty() && !parts.points.empty()) return "give ends or points, not both";
  const std::vector<std::int64_t>& values = parts.ends.empty() ? parts.points : parts.ends;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < min || values[i] > max) return str_cat(values[i], " lies outside of the range");
    if (i > 0 && values[i] <= values[i - 1])
      return str_cat(values[i], " stands behind ", values[i - 1], "; they ascend");
  }
  if (!parts.ends.empty() && parts.ends.back() != max) return "the last one is not the greatest value";
  return "";
}

}  // namespace hearth::client
