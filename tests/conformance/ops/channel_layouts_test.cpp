// Nets whose channels move innermost (passes/ranged/choose_layouts) but for some of what they make, beside the
// reference interpreter: the padded copy in front of a convolution of few channels, and an output that is interpolated.
#include <catch2/catch.hpp>

#include "compiler/compile.h"
#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"
#include "tests/conformance/ops/stages.h"

namespace hearth::conformance {
namespace {

using ir::Scalar;

struct LayoutNet {
  GraphBuilder b;
  Feed feed;

  Node fed(const conformance::Shape& shape, bool is_parameter) {
    feed.inputs.push_back(uniform(Scalar::F32, shape, 70 + feed.inputs.size()));
    const Dims dims(shape.begin(), shape.end());
    return is_parameter ? b.parameter(v1::F32, dims) : b.input(v1::F32, dims);
  }
  // x [in, side, side] -> [out, places, places], a window of `kernel` elements at a distance of `stride`.
  Node convolved(Node x, std::int64_t in, std::int64_t out, std::int64_t places, std::int64_t kernel,
                 std::int64_t stride) {
    const Node windows = b.unfold(b.unfold(x, 1, kernel, stride, 1), 2, kernel, stride, 1);
    const Dims products = {out, in, places, places, kernel, kernel};
    const Node images = b.expand(b.reshape(windows, {1, in, places, places, kernel, kernel}), products);
    const Node weights =
        b.expand(b.reshape(fed({out, in, kernel, kernel}, true), {out, in, 1, 1, kernel, kernel}), products);
    return b.reshape(b.reduce(v1::REDUCE_SUM, b.op(v1::MUL, {images, weights}), {1, 4, 5}), {out, places, places});
  }
  Node relu(Node x, const Dims& shape) { return b.op(v1::MAX, {x, b.fill(v1::F32, {}, shape)}); }
  // [channels, side, side], channels innermost in memory: a convolution of distance 2 wants them so.
  Node features(std::int64_t channels, std::int64_t side) {
    const std::int64_t wide = 2 * side + 1;
    const Node x = relu(convolved(fed({8, wide, wide}, false), 8, channels, wide, 1, 1), {channels, wide, wide});
    return relu(convolved(x, channels, channels, side, 3, 2), {channels, side, side});
  }
};

TEST_CASE("a convolution of few channels behind others whose channels lie innermost") {
  for (const std::int64_t made : {1, 3}) {
    for (const std::int64_t side : {17, 20}) {
      CAPTURE(made, side);
      LayoutNet net;
      const Node x = net.b.pad(net.features(16, side), {0, 0, 1, 1, 1, 1});
      net.b.output(net.convolved(x, 16, made, side, 3, 1));
      Program program(net.b.graph(), wide_target());
      program.check(net.feed, roundings(Scalar::F32, 65536));  // three sums of up to 144 products, one in the other
    }
  }
}

// Along the last axis, each between two neighbours.
constexpr std::int64_t kChannels = 16, kSide = 8, kLength = 512;
Node interpolated(LayoutNet& net) {
  const Node x = net.features(kChannels, kSide);
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < kLength; ++i) {
    for (std::int64_t tap = 0; tap < 2; ++tap) places.push_back(std::min(i * kSide / kLength + tap, kSide - 1));
  }
  const Node near =
      net.b.gather(x, net.b.constant(codegen::reference::HostTensor::from_ints(Scalar::I64, {kLength, 2}, places)), 2);
  const Dims shape = {kChannels, kSide, kLength, 2};
  const Node weights = net.b.expand(net.b.reshape(net.fed({kLength, 2}, true), {1, 1, kLength, 2}), shape);
  return net.b.reshape(net.b.reduce(v1::REDUCE_SUM, net.b.op(v1::MUL, {near, weights}), {3}),
                       {kChannels, kSide, kLength});
}

TEST_CASE("an output that is interpolated from channels that lie innermost") {
  LayoutNet net;
  net.b.output(interpolated(net));
  Program program(net.b.graph(), wide_target());
  program.check(net.feed, roundings(Scalar::F32, 65536));
  // The copy is one more stage.
  CHECK(stages_after(program.lowered(), "choose_layouts") == stages_after(program.lowered(), "rangeify") + 1);
}

TEST_CASE("an interpolated output that a loop reads by its place in memory, too") {
  LayoutNet net;
  const Node y = interpolated(net);
  net.b.output(y);
  GraphBuilder body;
  const Node row = body.input(v1::F32, {kSide, kLength});
  body.output(body.op(v1::MUL, {row, row}));
  const std::int64_t loop = net.b.loop(body, kChannels, 0, 1, {});
  net.b.output(net.b.loop_result(loop, 0, v1::F32, {y}));
  Program program(net.b.graph(), wide_target());
  program.check(net.feed, roundings(Scalar::F32, 65536));
}

}  // namespace
}  // namespace hearth::conformance
