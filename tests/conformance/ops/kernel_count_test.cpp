// How many kernels a replay of well-known compositions runs: what a good engineer would draw by hand, at most.
#include <catch2/catch.hpp>
#include <functional>

#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"
#include "tests/support/x86_target.h"

namespace hearth::conformance {
namespace {

using ir::Scalar;

class Recipe {
 public:
  GraphBuilder b;

  Node input(const Dims& shape) { return b.input(v1::F32, shape); }
  Node parameter(const Dims& shape) { return b.parameter(v1::F32, shape); }
  Node number(double value, const Dims& shape) { return b.fill(v1::F32, {0, value}, shape); }
  Node add(Node x, Node y) { return b.op(v1::ADD, {x, y}); }
  Node sub(Node x, Node y) { return b.op(v1::SUB, {x, y}); }
  Node mul(Node x, Node y) { return b.op(v1::MUL, {x, y}); }
  Node sigmoid(Node x) { return b.op(v1::SIGMOID, {x}); }
  Node tanh(Node x) { return b.op(v1::TANH, {x}); }
  Node sum(Node x, const Dims& shape) { return b.expand(b.reduce(v1::REDUCE_SUM, x, {1}), shape); }
  Node max(Node x, const Dims& shape) { return b.expand(b.reduce(v1::REDUCE_MAX, x, {1}), shape); }
  Node mean(Node x, const Dims& shape, double n) { return mul(sum(x, shape), number(1 / n, shape)); }
  // x [m, k] times a parameter [k, n], plus a bias.
  Node linear(Node x, std::int64_t m, std::int64_t k, std::int64_t n) {
    return add(b.op(v1::MATMUL, {x, parameter({k, n})}), b.expand(parameter({1, n}), {m, n}));
  }
  // All 3 x 3 windows of an image with a border of zeros: [channels, height, width, 3, 3].
  Node windows(const Dims& image) {
    const Node padded = b.pad(input(image), {0, 0, 1, 1, 1, 1});
    return b.unfold(b.unfold(padded, 1, 3, 1, 1), 2, 3, 1, 1);
  }
  // Of 16 channels of 14 x 14 to `channels`, with batch norm and relu.
  void convolution(std::int64_t channels) {
    const Dims out = {channels, 14, 14}, products = {channels, 16, 14, 14, 9};
    const Node images = b.expand(b.reshape(windows({16, 14, 14}), {1, 16, 14, 14, 9}), products);
    const Node weights = b.expand(b.reshape(parameter({channels, 16, 9}), {channels, 16, 1, 1, 9}), products);
    const Node y = b.reshape(b.reduce(v1::REDUCE_SUM, mul(images, weights), {1, 4}), out);
    auto channel = [&] { return b.expand(parameter({channels, 1, 1}), out); };
    const Node normal = add(mul(sub(y, channel()), channel()), channel());
    b.output(b.op(v1::MAX, {normal, number(0, out)}));
  }
};

constexpr std::int64_t kRows = 64, kColumns = 256;
const Dims kShape = {kRows, kColumns};

struct Case {
  const char* name;
  int most;
  std::function<void(Recipe&)> build;
};

const std::vector<Case> kCases = {
    {"softmax", 1,
     [](Recipe& r) {
       const Node x = r.input(kShape), e = r.b.op(v1::EXP, {r.sub(x, r.max(x, kShape))});
       r.b.output(r.b.op(v1::DIV, {e, r.sum(e, kShape)}));
     }},
    {"logsumexp", 1,
     [](Recipe& r) {
       const Node x = r.input(kShape), m = r.b.reduce(v1::REDUCE_MAX, x, {1});
       const Node e = r.b.op(v1::EXP, {r.sub(x, r.b.expand(m, kShape))});
       r.b.output(r.add(r.b.op(v1::LOG, {r.b.reduce(v1::REDUCE_SUM, e, {1})}), m));
     }},
    {"layernorm with scale and shift", 1,
     [](Recipe& r) {
       const Node x = r.input(kShape), centred = r.sub(x, r.mean(x, kShape, kColumns));
       const Node variance = r.mean(r.mul(centred, centred), kShape, kColumns);
       const Node normal = r.b.op(v1::DIV, {centred, r.b.op(v1::SQRT, {r.add(variance, r.number(1e-5, kShape))})});
       const Node scale = r.b.expand(r.parameter({1, kColumns}), kShape);
       r.b.output(r.add(r.mul(normal, scale), r.b.expand(r.parameter({1, kColumns}), kShape)));
     }},
    {"rmsnorm", 1,
     [](Recipe& r) {
       const Node x = r.input(kShape), square = r.mean(r.mul(x, x), kShape, kColumns);
       const Node normal = r.b.op(v1::DIV, {x, r.b.op(v1::SQRT, {r.add(square, r.number(1e-6, kShape))})});
       r.b.output(r.mul(normal, r.b.expand(r.parameter({1, kColumns}), kShape)));
     }},
    {"variance", 1,
     [](Recipe& r) {
       const Node x = r.input(kShape), centred = r.sub(x, r.mean(x, kShape, kColumns));
       r.b.output(r.b.reduce(v1::REDUCE_SUM, r.mul(centred, centred), {1}));
     }},
    {"matmul with bias, gelu, residual and cast", 1,
     [](Recipe& r) {
       const Node x = r.input(kShape), y = r.linear(x, kRows, kColumns, kColumns);
       const Node half = r.number(0.5, kShape), one = r.number(1, kShape), root = r.number(0.70710678, kShape);
       const Node gelu = r.mul(r.mul(y, half), r.add(r.b.op(v1::ERF, {r.mul(y, root)}), one));
       r.b.output(r.b.cast(r.add(gelu, x), v1::F16));
     }},
    {"three layers of a perceptron", 3,
     [](Recipe& r) {
       Node x = r.input({kRows, 784});
       x = r.b.op(v1::MAX, {r.linear(x, kRows, 784, 512), r.number(0, {kRows, 512})});
       x = r.b.op(v1::MAX, {r.linear(x, kRows, 512, 512), r.number(0, {kRows, 512})});
       r.b.output(r.linear(x, kRows, 512, 10));
     }},
    {"convolution of a padded image, batch norm and relu", 1, [](Recipe& r) { r.convolution(32); }},
    {"pooling of a padded image", 1,
     [](Recipe& r) {
       const Node windows = r.windows({16, 14, 14});
       r.b.output(r.b.reduce(v1::REDUCE_MAX, windows, {3, 4}));
     }},
    // Both states are written: the new cell state, which the new hidden state reads.
    {"LSTM cell", 3,
     [](Recipe& r) {
       const Node x = r.input({1, 128}), h = r.input({1, 128}), c = r.input({1, 128});
       const Node gates = r.add(r.linear(x, 1, 128, 512), r.linear(h, 1, 128, 512));
       auto gate = [&](std::int64_t i) { return r.b.shrink(gates, {0, 1, 128 * i, 128 * (i + 1)}); };
       const Node next = r.add(r.mul(r.sigmoid(gate(1)), c), r.mul(r.sigmoid(gate(0)), r.tanh(gate(2))));
       r.b.output(r.mul(r.sigmoid(gate(3)), r.tanh(next)));
       r.b.output(next);
     }},
    {"GRU cell", 3,
     [](Recipe& r) {
       const Dims state = {1, 128};
       const Node x = r.input(state), h = r.input(state);
       const Node gx = r.linear(x, 1, 128, 384), gh = r.linear(h, 1, 128, 384);
       auto gate = [&](Node g, std::int64_t i) { return r.b.shrink(g, {0, 1, 128 * i, 128 * (i + 1)}); };
       const Node reset = r.sigmoid(r.add(gate(gx, 0), gate(gh, 0)));
       const Node update = r.sigmoid(r.add(gate(gx, 1), gate(gh, 1)));
       const Node candidate = r.tanh(r.add(gate(gx, 2), r.mul(reset, gate(gh, 2))));
       r.b.output(r.add(r.mul(r.sub(r.number(1, state), update), candidate), r.mul(update, h)));
     }},
    {"gather, concatenate, slice and flip around one sum", 1,
     [](Recipe& r) {
       const Node table = r.parameter({100, 32}), rows = r.b.input(v1::I64, {16});
       const Node taken = r.b.gather(table, rows, 0), x = r.input({16, 32});
       const Node both = r.b.cat({taken, x}, 1);
       r.b.output(r.b.flip(r.b.shrink(r.add(both, both), {2, 14, 5, 60}), {1}));
     }},
};

int launches_of(Recipe& recipe, const v1::Target& target) {
  const Program program(recipe.b.graph(), target);
  int launches = 0;
  for (const v1::Launch& launch : program.lowered().plan().launches()) launches += !launch.once();
  return launches;
}

TEST_CASE("compositions run in as few kernels as by hand", "[masks]") {
  for (const Case& c : kCases) {
    Recipe recipe;
    c.build(recipe);
    const int launches = launches_of(recipe, wide_target());
    INFO(c.name << ": " << launches << " kernels, at most " << c.most << " wanted");
    CHECK(launches > 0);
    CHECK(launches <= c.most);
  }
}

TEST_CASE("a padded image is copied where masks would cost more: few channels, no mask registers") {
  for (const auto& [channels, target] : {std::pair(std::int64_t{20}, wide_target()), {32, test::x86_target(256)}}) {
    Recipe recipe;
    recipe.convolution(channels);
    INFO(channels << " channels, vectors of " << target.vector_bits() << " bits");
    CHECK(launches_of(recipe, target) == 2);
  }
}

}  // namespace
}  // namespace hearth::conformance
