// Weights that a contraction reads at digits of its loops (passes/ranged/arrange_weights), as transposed convolutions
// whose windows overlap do, beside the reference interpreter.
#include <catch2/catch.hpp>

#include "compiler/compile.h"
#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"
#include "tests/conformance/ops/stages.h"

namespace hearth::conformance {
namespace {

using ir::Scalar;

// Rows of length `inner` made of x by a product with a matrix, then a transposed convolution of stride s with a window
// of 2 s: each result is a sum over 2x2 neighbours, and the s x s results of one place stay together.
struct Net {
  GraphBuilder builder;
  Feed feed;
};
Net net_of(std::int64_t batch, std::int64_t channels, std::int64_t made, std::int64_t side, std::int64_t stride) {
  Net net;
  GraphBuilder& b = net.builder;
  const auto fed = [&](const conformance::Shape& shape, bool is_parameter) {
    net.feed.inputs.push_back(uniform(Scalar::F32, shape, 50 + net.feed.inputs.size()));
    const Dims dims(shape.begin(), shape.end());
    return is_parameter ? b.parameter(v1::F32, dims) : b.input(v1::F32, dims);
  };
  const Dims mixed = {batch, channels, 3, side, side};
  const Node x = b.expand(b.reshape(fed({batch, 3, side, side}, false), {batch, 1, 3, side, side}), mixed);
  const Node mix = b.expand(b.reshape(fed({channels, 3}, true), {1, channels, 3, 1, 1}), mixed);
  const Node image = b.reshape(b.reduce(v1::REDUCE_SUM, b.op(v1::MUL, {x, mix}), {2}), {batch, channels, side, side});
  const Node windows = b.unfold(b.unfold(image, 2, 2, 1, 1), 3, 2, 1, 1);  // [n, c, places, places, 2, 2]
  const std::int64_t places = side - 1, results = made * stride * stride;
  const Node stored = fed({channels, made, 2 * stride, 2 * stride}, true);
  const Node digits = b.flip(b.reshape(stored, {channels, made, 2, stride, 2, stride}), {2, 4});
  const Node weights = b.reshape(b.permute(digits, {0, 1, 3, 5, 2, 4}), {1, channels, results, 1, 1, 2, 2});
  const Dims products = {batch, channels, results, places, places, 2, 2};
  const Node images = b.expand(b.reshape(windows, {batch, channels, 1, places, places, 2, 2}), products);
  const Node sums = b.reduce(v1::REDUCE_SUM, b.op(v1::MUL, {images, b.expand(weights, products)}), {1, 5, 6});
  b.output(b.reshape(sums, {batch, results, places, places}));
  return net;
}

TEST_CASE("transposed convolutions with overlapping windows: their weights are stored as they are read") {
  struct Case {
    std::int64_t batch, channels, made, side, stride;
  };
  for (const Case& c : {Case{2, 32, 16, 7, 2}, Case{1, 24, 11, 6, 3}, Case{3, 40, 5, 9, 4}}) {
    CAPTURE(c.batch, c.channels, c.made, c.side, c.stride);
    const Net net = net_of(c.batch, c.channels, c.made, c.side, c.stride);
    Program program(net.builder.graph(), wide_target());
    program.check(net.feed, roundings(Scalar::F32, 1024));  // sums of up to 160 products of sums of three
    CHECK(stages_after(program.lowered(), "arrange_weights") == stages_after(program.lowered(), "merge_loads") + 1);
  }
}

}  // namespace
}  // namespace hearth::conformance
