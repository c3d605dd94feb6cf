// Bugs planted in the compiler's reading of a traced graph are seen by the oracle: were import shared by both sides,
// each of them would be invisible.
#include <catch2/catch.hpp>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/reference/graph_interpreter.h"
#include "compiler/codegen/reference/wire_interpreter.h"
#include "compiler/passes/import/import.h"
#include "tests/conformance/ops/graph_builder.h"
#include "tests/conformance/ops/random_graph.h"
#include "tests/support/planted_bug.h"

namespace hearth::conformance {

using codegen::reference::interpret_wire;
using codegen::reference::WireBindings;
namespace {

namespace reference = codegen::reference;

constexpr const char* kBugs[] = {
#include "planted_bug_names.inc"
};

absl::StatusOr<Tensors> through_import(const v1::Graph& proto, const Feed& feed) {
  ir::Graph graph;
  absl::StatusOr<passes::ImportedGraph> imported = passes::import_graph(graph, proto);
  if (!imported.ok()) return imported.status();
  reference::Bindings bindings;
  std::size_t next_input = 0;
  for (std::uint32_t id = 0; id < imported->buffers.size(); ++id) {
    const passes::ImportedBuffer& buffer = imported->buffers[id];
    if (buffer.kind != ir::BufferKind::Constant) {
      bindings.emplace(id, feed.inputs.at(next_input++));
      continue;
    }
    HostTensor constant;
    constant.dtype = buffer.dtype.scalar;
    for (ir::UOpRef dim : buffer.shape) constant.shape.push_back(dim->int_value());
    constant.bytes.assign(buffer.data.begin(), buffer.data.end());
    bindings.emplace(id, std::move(constant));
  }
  return reference::interpret(imported->outputs, bindings, feed.vars);
}

// What differs between import and the oracle, "" if nothing: they execute the same ops, so bytes are equal.
std::string difference_of_import(const v1::Graph& graph, const Feed& feed) {
  WireBindings bindings;
  for (const v1::Node& node : graph.nodes()) {
    if (node.op() == v1::INPUT || node.op() == v1::PARAMETER)
      bindings.emplace(node.name(), feed.inputs.at(bindings.size()));
  }
  const absl::StatusOr<Tensors> want = interpret_wire(graph, bindings, feed.vars);
  if (!want.ok()) return absl::StrCat("oracle: ", want.status().ToString());
  const absl::StatusOr<Tensors> got = through_import(graph, feed);
  if (!got.ok()) return absl::StrCat("import: ", got.status().ToString());
  return *got == *want ? "" : "values differ";
}

// What random graphs do not hold: positions along an axis that is not the last one, products of two square matrices.
RandomGraph square_graph() {
  RandomGraph made;
  GraphBuilder b;
  const Node x = b.input(v1::F32, {3, 3}), y = b.input(v1::F32, {3, 3});
  b.output(b.op(v1::MATMUL, {x, y}));
  b.output(b.iota(v1::I32, {3, 4}, 0));
  made.graph = b.graph();
  made.feeds = {{{ramp(ir::Scalar::F32, {3, 3}, 1), ramp(ir::Scalar::F32, {3, 3}, 2)}, {}}};
  return made;
}

// The first graph that shows the bug which is switched on, "" if none does.
std::string first_difference() {
  constexpr std::uint64_t kGraphs = 400;
  for (std::uint64_t seed = 0; seed <= kGraphs; ++seed) {
    const RandomGraph random = seed == 0 ? square_graph() : random_graph(seed);
    for (const Feed& feed : random.feeds) {
      const std::string what = difference_of_import(random.graph, feed);
      if (!what.empty()) return absl::StrCat("seed ", seed, ": ", what, "\n", random.graph.DebugString());
    }
  }
  return "";
}

TEST_CASE("import and oracle agree when nothing is planted") {
  test::planted_bug = 0;
  CHECK(first_difference() == "");
}

TEST_CASE("every bug planted in import is seen by the oracle") {
  for (std::size_t i = 0; i < std::size(kBugs); ++i) {
    test::planted_bug = static_cast<int>(i) + 1;
    INFO(kBugs[i]);
    CHECK(first_difference() != "");
  }
  test::planted_bug = 0;
}

}  // namespace
}  // namespace hearth::conformance
