#include <algorithm>

#include "base/text.h"
#include "hearth/dim.h"

namespace hearth::client {

bool operator==(const Shape& a, const std::vector<std::int64_t>& b) { return a == Shape(b.begin(), b.end()); }

Dim num_elements(const Shape& shape) {
  Dim count = 1;
  for (const Dim& dim : shape) count = count * dim;
  return count;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) str_append(&text, i ? ", " : "", shape[i].to_string());
  return text + "]";
}

bool is_const(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& dim) { return dim.is_const(); });
}

std::vector<std::int64_t> const_shape(const Shape& shape) {
  std::vector<std::int64_t> lengths;
  for (const Dim& dim : shape) lengths.push_back(dim.value());
  return lengths;
}

}  // namespace hearth::client
