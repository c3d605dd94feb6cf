// How loops are recorded and sent, and what is wrong with them.
#include "hearth/ops/loop.h"

#include <catch2/catch.hpp>
#include <set>

#include "client/trace/encoded_graph.h"
#include "client/trace/node.h"
#include "hearth/ops.h"
#include "tests/unit/client/error_rows.h"

using namespace hearth;
using namespace hearth::client;
using namespace hearth::client::error_rows;

namespace {

const std::vector<float> kWeights(16, 0.5f);

// h' = tanh(x + h r + shift) with a parameter and a value made of an input.
LoopResult layer(const Dim& steps) {
  const Tensor r = parameter("r", {4, 4}, DType::kF32, bytes_of(kWeights));
  const Tensor shift = exp(input("shift", {4}, DType::kF32));
  const Tensor half = transpose(r) * 0.5;
  return loop(steps, {input("h", {2, 4}, DType::kF32)}, {input("x", {steps, 2, 4}, DType::kF32)},
              [&](LoopStep step) -> LoopValues {
                const Tensor next = tanh(step.sliced[0] + matmul(step.carried[0], half) + shift);
                return {{next}, {next}};
              });
}

std::string graph_bytes(const LoopResult& result) {
  const absl::StatusOr<EncodedGraph> traced = encode_graph({{"y", result.stacked[0]}, {"last", result.last[0]}});
  REQUIRE(traced.ok());
  return traced->graph.SerializeAsString();
}

}  // namespace

TEST_CASE("a loop is sent once: operands are what is carried, sliced and invariant, parameters as they are") {
  const LoopResult result = layer(9);
  const absl::StatusOr<EncodedGraph> traced = encode_graph({{"y", result.stacked[0]}, {"last", result.last[0]}});
  REQUIRE(traced.ok());
  const v1::Graph& graph = traced->graph;
  REQUIRE(graph.loops_size() == 1);
  const v1::Loop& loop = graph.loops(0);
  CHECK(loop.carried() == 1);
  CHECK(loop.sliced() == 1);
  REQUIRE(loop.collected_size() == 1);
  CHECK(loop.collected(0));  // what is stacked is what is carried
  CHECK(loop.body().outputs_size() == 1);
  CHECK(traced->parameters.contains("r"));
  int loops = 0;
  for (const v1::Node& node : graph.nodes()) {
    if (node.op() != v1::LOOP) continue;
    ++loops;
    REQUIRE(node.inputs_size() == 4);
    // What is computed of a parameter alone belongs to the body, what is computed of an input does not.
    std::multiset<v1::Op> invariants = {graph.nodes(static_cast<int>(node.inputs(2))).op(),
                                        graph.nodes(static_cast<int>(node.inputs(3))).op()};
    CHECK(invariants == std::multiset<v1::Op>{v1::PARAMETER, v1::EXP});
  }
  CHECK(loops == 1);
  for (const v1::Node& node : loop.body().nodes()) CHECK(node.op() != v1::PARAMETER);
}

TEST_CASE("equal loops are sent as equal bytes, and a loop's size does not depend on its steps") {
  CHECK(graph_bytes(layer(9)) == graph_bytes(layer(9)));
  CHECK(graph_bytes(layer(9)) != graph_bytes(layer(8)));
  CHECK(graph_bytes(layer(100'000)).size() < graph_bytes(layer(9)).size() + 50);
  const Dim t = Dim::variable("t", 1, 50);
  const absl::StatusOr<EncodedGraph> traced = encode_graph({{"y", layer(t).stacked[0]}});
  REQUIRE(traced.ok());
  REQUIRE(traced->graph.vars_size() == 1);
  CHECK(traced->shapes.back() == Shape{t, 2, 4});
}

TEST_CASE("each wrong argument of a loop gets its own message") {
  const Tensor x = input("x", {4, 2}, DType::kF32), h = input("h", {2}, DType::kF32);
  const Dim none = Dim::variable("none", 0, 4), some = Dim::variable("some", 1, 4);
  const LoopBody same = [](LoopStep step) -> LoopValues { return {{step.carried.begin(), step.carried.end()}, {}}; };
  check_rows({
      {"loop: 'count' is none, which may be less than 1", [&] { loop(none, {h}, {}, same); }},
      {"argument 'carried' is an empty tensor", [&] { loop(4, {Tensor()}, {}, same); }},
      {"a sliced operand is f32 [4, 2]; its first axis must be 3", [&] { loop(3, {h}, {x}, same); }},
      {"a sliced operand is f32 []", [&] { loop(3, {h}, {scalar(1, DType::kF32)}, same); }},
      {"nothing is carried and nothing is sliced", [&] { loop(4, {}, {}, same); }},
      {"the body gives 0 carried values of 1", [&] { loop(4, {h}, {x}, [](LoopStep) { return LoopValues(); }); }},
      {"the body makes f32 [4, 2] of carried value 0, which is f32 [2]",
       [&] { loop(4, {h}, {x}, [&](LoopStep) -> LoopValues { return {{x}, {}}; }); }},
      {"argument 'stacked' is an empty tensor",
       [&] { loop(4, {h}, {x}, [&](LoopStep step) -> LoopValues { return {{step.carried[0]}, {Tensor()}}; }); }},
      {"a loop within a loop's body needs a constant count",
       [&] {
         loop(4, {h}, {x},
              [&](LoopStep step) -> LoopValues { return {loop(some, {step.carried[0]}, {}, same).last, {}}; });
       }},
  });
  // A body that failed leaves nothing behind: the next loop is recorded as one.
  CHECK(loop(4, {h}, {x}, same).last[0].node()->op == v1::LOOP);
}
