#include "client/onnx/cache_lengths.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace hearth::onnx {
namespace {

// "0.key" of "past_key_values.0.key", "3_value" of "present_3_value": from the first number on, with the words behind.
std::string place_in_name(const std::string& name) {
  const auto digit = std::find_if(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  std::string place(digit, name.end());
  std::replace(place.begin(), place.end(), '.', '_');
  return place;
}

// The axis along which they differ in the name of their length alone; -1: they differ otherwise.
int growing_axis(const SummaryValue& output, const SummaryValue& input) {
  if (output.shape.size() < 3 || output.shape.size() != input.shape.size() || output.type != input.type) return -1;
  int found = -1;
  for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
    const SummaryDim &a = output.shape[axis], &b = input.shape[axis];
    if (a.length == b.length && a.name == b.name) continue;
    if (found >= 0 || a.length >= 0 || b.length >= 0) return -1;
    found = static_cast<int>(axis);
  }
  return found;
}

}  // namespace

std::vector<Cache> caches_of(const ModelSummary& summary) {
  const std::set<std::string> open(summary.symbolic_dims.begin(), summary.symbolic_dims.end());
  std::vector<Cache> caches;
  for (const SummaryValue& output : summary.outputs) {
    for (const SummaryValue& input : summary.inputs) {
      const int axis = growing_axis(output, input);
      if (axis < 0 || place_in_name(output.name) != place_in_name(input.name)) continue;
      const auto at = static_cast<std::size_t>(axis);
      if (!open.contains(output.shape[at].name) || !open.contains(input.shape[at].name)) continue;
      caches.push_back({output.name, input.name, output.shape[at].name, input.shape[at].name});
      break;
    }
  }
  return caches;
}

std::string new_length_of(const ModelSummary& summary, const Cache& cache) {
  for (const SummaryValue& input : summary.inputs) {
    if ((input.type != "i64" && input.type != "i32") || input.shape.size() != 2) continue;
    const std::string& name = input.shape[1].name;
    if (!name.empty() && name != cache.total && name != cache.past) return name;
  }
  return "";
}

}  // namespace hearth::onnx
