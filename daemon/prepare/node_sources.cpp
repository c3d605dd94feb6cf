#include "daemon/prepare/node_sources.h"

#include <absl/strings/cord.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>

#include <optional>

#include "base/utf8.h"

namespace hearth::daemon {
namespace {

constexpr std::size_t kMaxTextBytes = 512;

// "node 2 (ADD)" at the beginning of `text`: its number, and how long it is.
struct Named {
  std::uint32_t node = 0;
  std::size_t bytes = 0;
};
std::optional<Named> node_at_the_beginning(absl::string_view text) {
  constexpr absl::string_view kNode = "node ";
  const std::size_t space = text.find(' ', kNode.size()), end = text.find(')');
  Named named;
  if (!absl::StartsWith(text, kNode) || space == text.npos || end == text.npos || end < space) return std::nullopt;
  if (!absl::SimpleAtoi(text.substr(kNode.size(), space - kNode.size()), &named.node)) return std::nullopt;
  named.bytes = end + 1;
  return named;
}

std::map<std::uint32_t, std::string> texts_of(const v1::Graph& graph) {
  std::map<std::uint32_t, std::string> texts;
  for (const v1::Provenance& row : graph.provenance()) {
    if (row.node() >= static_cast<std::uint32_t>(graph.nodes_size()) || row.text().empty()) continue;
    texts.try_emplace(row.node(), utf8_prefix(row.text(), kMaxTextBytes));
  }
  return texts;
}

}  // namespace

NodeSources::NodeSources(const v1::Graph& graph) : graph_(texts_of(graph)) {
  for (int i = 0; i < graph.nodes_size(); ++i) {
    const v1::Node& node = graph.nodes(i);
    if (node.op() != v1::LOOP || node.axes_size() == 0) continue;
    const std::int64_t loop = node.axes(0);
    if (loop < 0 || loop >= graph.loops_size()) continue;
    bodies_.emplace(static_cast<std::uint32_t>(i), texts_of(graph.loops(static_cast<int>(loop)).body()));
  }
}

absl::Status NodeSources::name(const absl::Status& status) const {
  constexpr absl::string_view kBody = ": body: ";
  absl::string_view rest = status.message();
  std::string message;
  for (const Texts* texts = &graph_; texts != nullptr;) {
    const std::optional<Named> named = node_at_the_beginning(rest);
    if (!named) break;
    absl::StrAppend(&message, rest.substr(0, named->bytes));
    rest.remove_prefix(named->bytes);
    if (const auto text = texts->find(named->node); text != texts->end())
      absl::StrAppend(&message, " from ", text->second);
    const auto body = bodies_.find(named->node);
    if (texts != &graph_ || body == bodies_.end() || !absl::ConsumePrefix(&rest, kBody)) break;
    absl::StrAppend(&message, kBody);
    texts = &body->second;
  }
  absl::Status told(status.code(), absl::StrCat(message, rest));
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) { told.SetPayload(type, payload); });
  return told;
}

}  // namespace hearth::daemon
