// Convolutions and pooling of padded images whose padding is a condition in their kernel (passes/ranged/fuse) rather
// than a copy, beside the reference interpreter; buffers end at pages that may not be touched (guarded_block.h).
#include <catch2/catch.hpp>
#include <limits>

#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"

namespace hearth::conformance {
namespace {

using ir::Scalar;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kWindowRounds = 16;
#else
constexpr int kWindowRounds = 60;
#endif

struct Windows {
  std::int64_t channels = 1, height = 1, width = 1, size = 1, stride = 1, dilation = 1;
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;

  std::int64_t span() const { return dilation * (size - 1) + 1; }
  std::int64_t rows() const { return (height + top + bottom - span()) / stride + 1; }
  std::int64_t columns() const { return (width + left + right - span()) / stride + 1; }
};

Windows random_windows(Random& random) {
  Windows w;
  w.channels = random.in(1, 5);
  w.size = random.in(1, 4), w.stride = random.in(1, 3), w.dilation = random.in(1, 2);
  for (std::int64_t* border : {&w.top, &w.bottom, &w.left, &w.right}) *border = random.in(0, 3);
  w.height = random.in(w.span(), 12), w.width = random.in(w.span(), 40);
  return w;
}

// [channels, rows, columns, size, size] of an input [channels, height, width].
Node windows_of(GraphBuilder& b, Node image, const Windows& w, codegen::reference::Element border) {
  const Node padded = b.pad(image, {0, 0, w.top, w.bottom, w.left, w.right}, border);
  return b.unfold(b.unfold(padded, 1, w.size, w.stride, w.dilation), 2, w.size, w.stride, w.dilation);
}

TEST_CASE("convolutions and pooling of padded images, with and without masks") {
  Random random(23);
  int without_copy = 0;
  for (int round = 0; round < kWindowRounds; ++round) {
    const Windows w = random_windows(random);
    const Scalar dtype = random.one_in(4) ? Scalar::F64 : Scalar::F32;
    GraphBuilder b;
    Feed feed;
    feed.inputs.push_back(uniform(dtype, {w.channels, w.height, w.width}, static_cast<unsigned>(round)));
    const Node image = b.input(wire(dtype), {w.channels, w.height, w.width});
    if (random.one_in(3)) {
      const double border = random.one_in(2) ? -std::numeric_limits<double>::infinity() : 0.5;
      b.output(b.reduce(v1::REDUCE_MAX, windows_of(b, image, w, {0, border}), {3, 4}));
    } else {
      const std::int64_t outputs = random.one_in(4) ? random.in(1, 31) : random.in(32, 70);
      feed.inputs.push_back(uniform(dtype, {outputs, w.channels, w.size, w.size}, static_cast<unsigned>(round) + 99));
      const Node weights = b.input(wire(dtype), {outputs, w.channels, w.size, w.size});
      const Dims products = {outputs, w.channels, w.rows(), w.columns(), w.size, w.size};
      const Dims of_images = {1, w.channels, w.rows(), w.columns(), w.size, w.size};
      const Dims of_weights = {outputs, w.channels, 1, 1, w.size, w.size};
      const Node images = b.expand(b.reshape(windows_of(b, image, w, {}), of_images), products);
      const Node factors = b.expand(b.reshape(weights, of_weights), products);
      b.output(b.reduce(v1::REDUCE_SUM, b.op(v1::MUL, {images, factors}), {1, 4, 5}));
    }
    CAPTURE(round, w.channels, w.height, w.width, w.size, w.stride, w.dilation, w.top, w.bottom, w.left, w.right);
    Program program(b.graph(), round % 4 == 3 ? host_target() : wide_target());
    program.check(feed, roundings(dtype, 128));
    int launches = 0;
    for (const v1::Launch& launch : program.lowered().plan().launches()) launches += !launch.once();
    without_copy += launches == 1;
  }
  CHECK(without_copy > kWindowRounds / 4);
}

// What is left of 64 channels and of 56 columns is stored in loops of its own.
TEST_CASE("a convolution whose last tiles are smaller is divided between threads") {
  const Windows w = {.channels = 64, .height = 4, .width = 56, .size = 3, .top = 1, .bottom = 1, .left = 1, .right = 1};
  GraphBuilder b;
  const Node image = b.input(v1::F32, {w.channels, w.height, w.width});
  const Node weights = b.parameter(v1::F32, {64, w.channels, 3, 3});
  const Dims products = {64, w.channels, w.rows(), w.columns(), 3, 3};
  const Node images = b.expand(b.reshape(windows_of(b, image, w, {}), {1, 64, w.rows(), w.columns(), 3, 3}), products);
  const Node factors = b.expand(b.reshape(weights, {64, w.channels, 1, 1, 3, 3}), products);
  b.output(b.reduce(v1::REDUCE_SUM, b.op(v1::MUL, {images, factors}), {1, 4, 5}));
  for (const std::uint32_t threads : {2, 3}) {
    v1::Target target = host_target();
    target.set_threads(threads);
    Program program(b.graph(), target);
    program.check({{uniform(Scalar::F32, {64, 4, 56}, 1), uniform(Scalar::F32, {64, 64, 3, 3}, 2)}, {}},
                  roundings(Scalar::F32, 600));
  }
}

}  // namespace
}  // namespace hearth::conformance
