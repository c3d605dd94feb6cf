#include "client/onnx/node_order.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "absl/strings/str_join.h"
#include "base/text.h"
#include "client/onnx/graph_importer.h"
#include "client/onnx/reject.h"
#include "hearth_onnx.pb.h"

namespace hearth::onnx {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<::hearth_onnx::NodeProto>;

void add_reads(const ::hearth_onnx::NodeProto& node, std::set<std::string>& reads);

// What a nested graph reads of the graphs around it. Nesting is as deep as a parsed message can be, at most 100.
void add_free_names(const ::hearth_onnx::GraphProto& graph, std::set<std::string>& reads) {
  std::set<std::string> used, own;
  for (const auto& input : graph.input()) own.insert(input.name());
  for (const auto& initializer : graph.initializer()) own.insert(initializer.name());
  for (const ::hearth_onnx::NodeProto& node : graph.node()) {
    add_reads(node, used);
    own.insert(node.output().begin(), node.output().end());
  }
  for (const auto& output : graph.output()) used.insert(output.name());
  std::set_difference(used.begin(), used.end(), own.begin(), own.end(), std::inserter(reads, reads.end()));
}

void add_reads(const ::hearth_onnx::NodeProto& node, std::set<std::string>& reads) {
  reads.insert(node.input().begin(), node.input().end());
  for (const ::hearth_onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) add_free_names(attribute.g(), reads);
    for (const ::hearth_onnx::GraphProto& graph : attribute.graphs()) add_free_names(graph, reads);
  }
}

class Order {
 public:
  explicit Order(const Nodes& nodes) : nodes_(nodes), sources_(nodes.size()), state_(nodes.size(), State::kUnseen) {
    for (int i = 0; i < nodes.size(); ++i) {
      for (const std::string& name : nodes[i].output()) {
        if (name.empty() || makers_.emplace(name, i).second) continue;
        reject(str_cat("'", name, "' is defined twice, by node '", node_label(nodes[makers_.at(name)]),
                       "' and by node '", node_label(nodes[i]), "'"));
      }
    }
    for (int i = 0; i < nodes.size(); ++i) {
      std::set<std::string> reads;
      add_reads(nodes[i], reads);
      for (const std::string& name : reads) {
        if (const auto maker = makers_.find(name); maker != makers_.end()) at(sources_, i).push_back(maker->second);
      }
      std::ranges::sort(at(sources_, i));
    }
  }

  std::vector<const ::hearth_onnx::NodeProto*> needed(const std::vector<std::string>& outputs) {
    std::vector<bool> is_needed(sources_.size());
    std::vector<int> pending;
    for (const std::string& name : outputs) {
      if (const auto maker = makers_.find(name); maker != makers_.end()) pending.push_back(maker->second);
    }
    while (!pending.empty()) {
      const int node = pending.back();
      pending.pop_back();
      if (is_needed[static_cast<std::size_t>(node)]) continue;
      is_needed[static_cast<std::size_t>(node)] = true;
      pending.insert(pending.end(), at(sources_, node).begin(), at(sources_, node).end());
    }
    for (int i = 0; i < nodes_.size(); ++i) {
      if (is_needed[static_cast<std::size_t>(i)]) visit(i);
    }
    return std::move(order_);
  }

 private:
  enum class State : std::uint8_t { kUnseen, kUnderWay, kDone };

  template <typename T>
  static T& at(std::vector<T>& items, int index) {
    return items[static_cast<std::size_t>(index)];
  }

  // The node's sources first, with a stack of its own: chains are as long as files are large.
  void visit(int root) {
    std::vector<std::pair<int, std::size_t>> path = {{root, 0}};  // a node and how many of its sources are done
    while (!path.empty()) {
      auto& [node, next] = path.back();
      if (next == 0) {
        if (at(state_, node) == State::kDone) {
          path.pop_back();
          continue;
        }
        at(state_, node) = State::kUnderWay;
      }
      if (next == at(sources_, node).size()) {
        at(state_, node) = State::kDone;
        order_.push_back(&nodes_[node]);
        path.pop_back();
        continue;
      }
      const int source = at(sources_, node)[next++];
      if (at(state_, source) == State::kUnderWay) reject_cycle(path, source);
      if (at(state_, source) == State::kUnseen) path.emplace_back(source, 0);
    }
  }

  [[noreturn]] void reject_cycle(const std::vector<std::pair<int, std::size_t>>& path, int first) const {
    constexpr std::size_t kShown = 8;
    std::vector<std::string> labels;
    bool within = false;
    for (const auto& [node, next] : path) {
      within = within || node == first;
      if (within) labels.push_back(str_cat("'", node_label(nodes_[node]), "'"));
    }
    const std::size_t count = labels.size();
    if (count > kShown) labels.resize(kShown);
    reject(str_cat("the nodes ", absl::StrJoin(labels, ", "), count > kShown ? ", …" : "",
                   " form a cycle: ", count == 1 ? "it reads" : "each reads what another of them makes",
                   count == 1 ? " its own result" : "", "; a graph has none"));
  }

  const Nodes& nodes_;
  std::map<std::string, int> makers_;
  std::vector<std::vector<int>> sources_;  // nodes whose results a node reads, ascending
  std::vector<State> state_;
  std::vector<const ::hearth_onnx::NodeProto*> order_;
};

}  // namespace

NodeOrder needed_nodes(const Nodes& nodes, const std::vector<std::string>& outputs) {
  NodeOrder order;
  order.nodes = Order(nodes).needed(outputs);
  order.reads.insert(outputs.begin(), outputs.end());
  for (const ::hearth_onnx::NodeProto* node : order.nodes) add_reads(*node, order.reads);
  return order;
}

}  // namespace hearth::onnx
