#include "client/cli/subnormal_note.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/weights/subnormal_weights.h"

namespace hearth::cli {
namespace {

constexpr std::size_t kNamed = 4;  // tensors

std::string_view what_is_done(Subnormals subnormals) {
  if (subnormals == Subnormals::kKeep) return "kept (--subnormals keep); CPUs are slow with them";
  return "zeros stand in their place where they are only multiplied and added (--subnormals keep keeps them)";
}

}  // namespace

absl::StatusOr<std::string> subnormal_note(const client::EncodedGraph& traced, const client::PrepareConfig& config) {
  std::vector<std::pair<std::size_t, std::string>> found;
  std::size_t all = 0, subnormal = 0;
  for (const v1::Node& node : traced.graph.nodes()) {
    const auto parameter = traced.parameters.find(node.name());
    const auto dtype = static_cast<DType>(node.dtype());
    if (node.op() != v1::PARAMETER || parameter == traced.parameters.end() || !is_float(dtype)) continue;
    const client::ParameterData& data = parameter->second;
    HEARTH_ASSIGN_OR_RETURN(const std::size_t count,
                            runtime::count_subnormals({static_cast<const char*>(data.data), data.size}, dtype));
    all += data.size / dtype_bytes(dtype);
    subnormal += count;
    if (count > 0) found.emplace_back(count, node.name());
  }
  if (found.empty()) return std::string();
  std::ranges::sort(found, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string names;
  for (std::size_t i = 0; i < std::min(found.size(), kNamed); ++i)
    str_append(&names, i == 0 ? "" : "; ", found[i].second, " ", found[i].first);
  if (found.size() > kNamed) str_append(&names, "; ", found.size() - kNamed, " more tensors");
  return str_cat(subnormal, " of ", all, " weights are subnormal (", names,
                 "): ", what_is_done(config.subnormals.value_or(Subnormals::kResults)));
}

}  // namespace hearth::cli
