// 3x3 convolutions by tiles (passes/ranged/winograd) beside the reference interpreter, which sums each window by
// itself; buffers end at pages that may not be touched (guarded_block.h).
#include <catch2/catch.hpp>

#include "absl/strings/match.h"
#include "compiler/compile.h"
#include "compiler/passes/import/import_expr.h"
#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"

namespace hearth::conformance {
namespace {

using ir::Scalar;

constexpr int kTileRounds = 4;

struct Shape3x3 {
  std::int64_t batch = 1, channels = 16, between = 16, outputs = 16, height = 8, width = 8;
  std::int64_t top = 1, bottom = 1, left = 1, right = 1;
  bool scaled_by_row = false;                // every window, by the number of the row of its result
  bool any_batch = false, any_size = false;  // a variable instead
  std::int64_t least_size = 6;               // of any
};

// Sum over channels and a 3x3 window at distance 1.
Node convolved(GraphBuilder& b, Node image, Node weights, std::int64_t in, std::int64_t out, bool scaled_by_row,
               const Dim& batch, const Dim& rows, const Dim& columns) {
  const Node windows = b.unfold(b.unfold(image, 2, 3, 1, 1), 3, 3, 1, 1);  // [n, in, rows, columns, 3, 3]
  const Dims products = {batch, out, in, rows, columns, 3, 3};
  Node images = b.expand(b.reshape(windows, {batch, 1, in, rows, columns, 3, 3}), products);
  if (scaled_by_row) images = b.op(v1::MUL, {images, b.expand(b.iota(v1::F32, {1, 1, 1, rows, 1, 1, 1}, 3), products)});
  const Node factors = b.expand(b.reshape(weights, {1, out, in, 1, 1, 3, 3}), products);
  return b.reshape(b.reduce(v1::REDUCE_SUM, b.op(v1::MUL, {images, factors}), {2, 5, 6}), {batch, out, rows, columns});
}

struct TiledNet {
  GraphBuilder builder;
  Feed feed;
};

// A 1x1 convolution, so that the image is a stage of the graph; a padded 3x3 one with bias and ReLU; another 1x1.
TiledNet tiled_net_of(const Shape3x3& s, std::uint64_t seed) {
  TiledNet net;
  GraphBuilder& b = net.builder;
  const auto length = [&](bool any, const char* name, std::int64_t value, std::int64_t most) {
    if (any) net.feed.vars.push_back(value);
    return any ? b.var(name, most == 64 ? s.least_size : 1, most) : Dim(value);
  };
  const Dim batch = length(s.any_batch, "batch", s.batch, 4), height = length(s.any_size, "height", s.height, 64),
            width = length(s.any_size, "width", s.width, 64);
  const auto fed = [&](const conformance::Shape& shape) {
    net.feed.inputs.push_back(uniform(Scalar::F32, shape, seed + net.feed.inputs.size()));
    return Dims(shape.begin(), shape.end());
  };
  const auto weights_of = [&](const conformance::Shape& shape) { return b.parameter(v1::F32, fed(shape)); };
  const auto pointwise = [&](Node x, std::int64_t in, std::int64_t out, const Dim& rows, const Dim& columns) {
    const Node weights = weights_of({out, in});
    const Dims products = {batch, out, in, rows, columns};
    const Node images = b.expand(b.reshape(x, {batch, 1, in, rows, columns}), products);
    const Node factors = b.expand(b.reshape(weights, {1, out, in, 1, 1}), products);
    return b.reshape(b.reduce(v1::REDUCE_SUM, b.op(v1::MUL, {images, factors}), {2}), {batch, out, rows, columns});
  };
  const Dim rows = height + (s.top + s.bottom - 2), columns = width + (s.left + s.right - 2);
  fed({s.batch, s.channels, s.height, s.width});
  Node x = b.input(v1::F32, {batch, s.channels, height, width});
  x = pointwise(x, s.channels, s.between, height, width);
  x = b.pad(x, {0, 0, 0, 0, s.top, s.bottom, s.left, s.right});
  x = convolved(b, x, weights_of({s.outputs, s.between, 3, 3}), s.between, s.outputs, s.scaled_by_row, batch, rows,
                columns);
  const Dims made = {batch, s.outputs, rows, columns};
  x = b.op(v1::ADD, {x, b.expand(b.reshape(weights_of({s.outputs}), {1, s.outputs, 1, 1}), made)});
  x = b.op(v1::MAX, {x, b.fill(v1::F32, {}, made)});
  b.output(pointwise(x, s.outputs, s.channels, rows, columns));
  return net;
}

bool is_tiled(const v1::LoweredPlan& plan) {
  for (const v1::PassReport& pass : plan.passes()) {
    if (pass.name() == "winograd") return absl::StrContains(pass.text(), "36:index");
  }
  return false;
}

TEST_CASE("convolutions by tiles equal the sums of their windows whatever their sizes and padding") {
  Random random(31);
  int tiled = 0;
  for (int round = 0; round < kTileRounds; ++round) {
    Shape3x3 s;
    s.batch = random.in(1, 2);
    s.channels = random.in(1, 3);
    s.between = 16 * random.in(1, 2) + (random.one_in(3) ? random.in(1, 15) : 0);
    s.outputs = 16 * random.in(2, 3) + (random.one_in(3) ? random.in(1, 15) : 0);
    s.height = random.in(5, 10), s.width = random.in(7, 13);
    for (std::int64_t* border : {&s.top, &s.bottom, &s.left, &s.right}) *border = random.in(0, 2);
    const TiledNet net = tiled_net_of(s, static_cast<std::uint64_t>(round) * 100);
    CAPTURE(round, s.batch, s.channels, s.between, s.outputs, s.height, s.width, s.top, s.bottom, s.left, s.right);
    Program program(net.builder.graph(), round % 4 == 3 ? host_target() : wide_target());
    // Sums of up to 47 x 9, then 63 products of numbers below 2.
    program.check(net.feed, roundings(Scalar::F32, 4096));
    tiled += is_tiled(program.lowered());
  }
  CHECK(tiled >= kTileRounds / 2);
}

TEST_CASE("convolutions by tiles of any batch and of images of any size") {
  Random random(37);
  for (int round = 0; round < kTileRounds; ++round) {
    Shape3x3 s;
    s.any_batch = round % 3 != 1, s.any_size = round % 3 != 0;
    s.batch = random.in(1, 4);
    s.channels = random.in(2, 3), s.between = 32, s.outputs = 48;
    s.height = random.in(6, 20), s.width = random.in(6, 20);
    if (s.any_size) s.top = s.bottom = s.left = s.right = 1;  // whose images have results at any size
    const TiledNet net = tiled_net_of(s, static_cast<std::uint64_t>(round) * 100);
    CAPTURE(round, s.any_batch, s.any_size, s.batch, s.channels, s.between, s.height, s.width);
    Program program(net.builder.graph(), wide_target());
    program.check(net.feed, roundings(Scalar::F32, 4096));
    CHECK(is_tiled(program.lowered()));
  }
}

// Launches that have something to do at these values.
int launches_at(const v1::Plan& plan, const std::vector<std::int64_t>& values) {
  ir::Graph g;
  std::vector<ir::UOpRef> vars;
  for (const std::int64_t value : values) vars.push_back(g.index(value));
  int count = 0;
  for (const v1::Launch& launch : plan.launches()) {
    const auto units = passes::import_expr(g, launch.grid(), vars);
    REQUIRE(units.ok());
    count += (*units)->bounds.max > 0;
  }
  return count;
}

TEST_CASE("small images sum each window, large ones go by tiles, in one plan for images of any size") {
  Shape3x3 s;
  s.channels = 2, s.between = 64, s.outputs = 64, s.least_size = 2, s.any_size = true;
  std::vector<int> launches;
  for (const std::int64_t size : {2, 3, 7, 20, 41, 64}) {
    s.height = s.width = size;
    CAPTURE(size);
    const TiledNet net = tiled_net_of(s, 3);
    Program program(net.builder.graph(), wide_target());
    Tolerance tolerance = roundings(Scalar::F32, 4096);
    tolerance.absolute = 0x1p-18 * 512;  // of sums of 64 sums of 576 products, many of which cancel
    REQUIRE(is_tiled(program.lowered()));
    const bool is_checked_by_tiles = !launches.empty() && launches.front() + 2 == launches.back();
    if (!is_checked_by_tiles) program.check(net.feed, tolerance);
    launches.push_back(launches_at(program.lowered().plan(), {size, size}));
  }
  CHECK(launches.front() + 2 == launches.back());  // the image's transform, products, and theirs, in place of a sum
  CHECK(std::ranges::is_sorted(launches));
}

TEST_CASE("windows that are scaled by the place of their result are no convolution's") {
  Shape3x3 s;
  s.channels = 2, s.between = 32, s.outputs = 48, s.height = 12, s.width = 12;
  for (const bool scaled_by_row : {false, true}) {
    CAPTURE(scaled_by_row);
    s.scaled_by_row = scaled_by_row;
    const TiledNet net = tiled_net_of(s, 11);
    Program program(net.builder.graph(), wide_target());
    program.check(net.feed, roundings(Scalar::F32, 4096));
    CHECK(is_tiled(program.lowered()) == !scaled_by_row);
  }
}

TEST_CASE("direct convolutions: every window is summed by itself") {
  Shape3x3 s;
  s.channels = 2, s.between = 32, s.outputs = 48, s.height = 12, s.width = 12;
  const TiledNet net = tiled_net_of(s, 7);
  v1::CompileOptions options;
  options.set_opt_level(2);
  options.set_dump(true);
  const v1::Target target = wide_target();
  const auto tiles = compiler::lower(net.builder.graph(), target, options);
  REQUIRE(tiles.ok());
  CHECK(is_tiled(*tiles));
  options.set_direct_convolutions(true);
  const auto direct = compiler::lower(net.builder.graph(), target, options);
  REQUIRE(direct.ok());
  CHECK_FALSE(is_tiled(*direct));
}

}  // namespace
}  // namespace hearth::conformance
