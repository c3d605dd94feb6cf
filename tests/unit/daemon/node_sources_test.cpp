#include "daemon/prepare/node_sources.h"

#include <catch2/catch.hpp>

namespace hearth::daemon {
namespace {

// input, loop, add; the loop's body is an input and an add.
v1::Graph graph() {
  v1::Graph graph;
  for (const v1::Op op : {v1::INPUT, v1::LOOP, v1::ADD}) graph.add_nodes()->set_op(op);
  graph.mutable_nodes(1)->add_axes(0);
  v1::Graph& body = *graph.add_loops()->mutable_body();
  for (const v1::Op op : {v1::INPUT, v1::ADD}) body.add_nodes()->set_op(op);
  const auto add = [](v1::Graph& to, std::uint32_t node, const std::string& text) {
    v1::Provenance& row = *to.add_provenance();
    row.set_node(node);
    row.set_text(text);
  };
  add(graph, 1, "model.py:7");
  add(graph, 2, "model.py:9");
  add(graph, 2, "model.py:10");
  add(graph, 99, "nowhere.py:1");
  add(body, 1, "body.py:3");
  return graph;
}

std::string named(const std::string& message) {
  const absl::Status told = NodeSources(graph()).name(absl::InvalidArgumentError(message));
  CHECK(absl::IsInvalidArgument(told));
  return std::string(told.message());
}

TEST_CASE("an error of a build that users share names the caller's own source lines") {
  CHECK(named("node 2 (ADD): f32 and i8") == "node 2 (ADD) from model.py:9: f32 and i8");
  CHECK(named("node 1 (LOOP): body: node 1 (ADD): has shape") ==
        "node 1 (LOOP) from model.py:7: body: node 1 (ADD) from body.py:3: has shape");
  CHECK(named("node 1 (LOOP): body: node 0 (INPUT): x") == "node 1 (LOOP) from model.py:7: body: node 0 (INPUT): x");
  for (const char* same : {"node 0 (INPUT): rank 18", "node 99 (ADD): x", "node (ADD): x", "node 4294967296 (ADD)",
                           "node 2", "the graph has no output", "variable 0 'node 2 (ADD)': x", ""})
    CHECK(named(same) == same);
}

TEST_CASE("naming a source keeps when to try again") {
  absl::Status status = absl::ResourceExhaustedError("node 2 (ADD): full");
  status.SetPayload("key", absl::Cord("value"));
  CHECK(NodeSources(graph()).name(status).GetPayload("key") == absl::Cord("value"));
}

}  // namespace
}  // namespace hearth::daemon
