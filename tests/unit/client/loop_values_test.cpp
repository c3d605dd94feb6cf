// What recorded loops compute, by the interpreter of traced graphs, beside sums worked out by hand.
#include <catch2/catch.hpp>
#include <cstring>

#include "client/trace/encoded_graph.h"
#include "compiler/codegen/reference/wire_interpreter.h"
#include "hearth/ops.h"

using namespace hearth;
using namespace hearth::client;

namespace {

std::vector<float> values_of(const Tensor& tensor) {
  const absl::StatusOr<EncodedGraph> traced = encode_graph({{"y", tensor}});
  REQUIRE(traced.ok());
  const auto results = codegen::reference::interpret_wire(traced->graph, {}, {});
  INFO(results.status().ToString());
  REQUIRE(results.ok());
  REQUIRE((*results)[0].shape == const_shape(tensor.shape()));
  std::vector<float> values((*results)[0].bytes.size() / 4);
  std::memcpy(values.data(), (*results)[0].bytes.data(), values.size() * 4);
  return values;
}

const Tensor kX = constant_f32({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});

LoopResult running_sums(const LoopConfig& config) {
  return loop(
      4, {constant_f32({2}, {10, 20})}, {kX},
      [](LoopStep step) -> LoopValues {
        const Tensor next = step.carried[0] + step.sliced[0];
        return {{next}, {next, next * 2.0}};
      },
      config);
}

}  // namespace

TEST_CASE("a loop carries, slices and stacks, in both directions") {
  const LoopResult forward = running_sums({});
  CHECK(values_of(forward.last[0]) == std::vector<float>{26, 40});
  CHECK(values_of(forward.stacked[0]) == std::vector<float>{11, 22, 14, 26, 19, 32, 26, 40});
  CHECK(values_of(forward.stacked[1]) == std::vector<float>{22, 44, 28, 52, 38, 64, 52, 80});
  const LoopResult backward = running_sums({.reverse = true});
  CHECK(values_of(backward.last[0]) == std::vector<float>{26, 40});
  CHECK(values_of(backward.stacked[0]) == std::vector<float>{26, 40, 25, 38, 22, 34, 17, 28});
}

TEST_CASE("a loop's body may use what is around it, and a loop within it is written out") {
  const Tensor around = exp(constant_f32({2}, {0, 0}));  // ones
  const LoopResult result = loop(4, {constant_f32({2}, {0, 0})}, {kX}, [&](LoopStep step) -> LoopValues {
    const LoopResult inner = loop(
        2, {step.sliced[0]}, {}, [&](LoopStep twice) -> LoopValues { return {{twice.carried[0] * 2.0 + around}, {}}; });
    return {{step.carried[0] + inner.last[0]}, {}};  // + 4 x + 3
  });
  CHECK(values_of(result.last[0]) == std::vector<float>{4 * 16 + 12, 4 * 20 + 12});
}

TEST_CASE("a loop of one step is its body") {
  int calls = 0;
  const LoopResult result =
      loop(1, {constant_f32({2}, {1, 2})}, {constant_f32({1, 2}, {3, 4})}, [&](LoopStep step) -> LoopValues {
        ++calls;
        return {{step.carried[0]}, {step.carried[0] * step.sliced[0]}};
      });
  CHECK(calls == 1);
  CHECK(values_of(result.last[0]) == std::vector<float>{1, 2});
  CHECK(values_of(result.stacked[0]) == std::vector<float>{3, 8});
  const absl::StatusOr<EncodedGraph> traced = encode_graph({{"y", result.stacked[0]}});
  REQUIRE(traced.ok());
  CHECK(traced->graph.loops_size() == 0);
}
