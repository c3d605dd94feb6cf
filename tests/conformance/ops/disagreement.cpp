// Running a random graph in every execution, and reducing one that disagrees.
#include "absl/strings/str_cat.h"
#include "tests/conformance/ops/random_graph.h"

namespace hearth::conformance {
namespace {

Tolerances tolerances_of(const RandomGraph& random) {
  Tolerances tolerances;
  for (const v1::GraphOutput& output : random.graph.outputs())
    tolerances.push_back({0, 2 * random.errors[output.node()]});
  return tolerances;
}

std::string run_all(const RandomGraph& random, const v1::Target& target) {
  Program program(random.graph, target);
  for (const Feed& feed : random.feeds) {
    std::string what = program.disagreement(feed, tolerances_of(random));
    if (what.empty()) continue;
    absl::StrAppend(&what, "\nvars:");
    for (const std::int64_t var : feed.vars) absl::StrAppend(&what, " ", var);
    return what;
  }
  return "";
}

// The graph with `node` as its only output, without the ops it does not need (leaves stay: feeds name them by order).
RandomGraph only(const RandomGraph& random, int node) {
  RandomGraph result = random;
  result.graph.clear_nodes();
  result.graph.clear_outputs();
  result.errors.clear();
  std::vector<bool> needed(static_cast<std::size_t>(node) + 1, false);
  needed[node] = true;
  std::vector<std::uint32_t> renamed(needed.size(), 0);
  for (int k = node; k >= 0; --k) {
    const v1::Node& source = random.graph.nodes(k);
    if (source.op() == v1::INPUT || source.op() == v1::PARAMETER) needed[k] = true;
    if (!needed[k]) continue;
    for (const std::uint32_t input : source.inputs()) needed[input] = true;
  }
  for (int k = 0; k <= node; ++k) {
    if (!needed[k]) continue;
    v1::Node* made = result.graph.add_nodes();
    *made = random.graph.nodes(k);
    for (std::uint32_t& input : *made->mutable_inputs()) input = renamed[input];
    renamed[k] = static_cast<std::uint32_t>(result.graph.nodes_size() - 1);
    result.errors.push_back(random.errors[k]);
  }
  std::size_t leaves = 0;
  for (const v1::Node& n : result.graph.nodes()) leaves += n.op() == v1::INPUT || n.op() == v1::PARAMETER ? 1 : 0;
  for (Feed& feed : result.feeds) feed.inputs.resize(leaves);
  v1::GraphOutput* output = result.graph.add_outputs();
  output->set_name("out0");
  output->set_node(renamed[node]);
  return result;
}

}  // namespace

std::string find_disagreement(const RandomGraph& random, const v1::Target& target) {
  const std::string whole = run_all(random, target);
  if (whole.empty()) return "";
  for (int node = 0; node < random.graph.nodes_size(); ++node) {
    const RandomGraph part = only(random, node);
    const std::string what = run_all(part, target);
    if (!what.empty()) return absl::StrCat(what, "\nreduced to one output:\n", part.graph.DebugString());
  }
  return absl::StrCat(whole, "\nno single output shows it:\n", random.graph.DebugString());
}

}  // namespace hearth::conformance
