// Random programs along rows, beside the reference interpreter: a product's rows, statistics of them (sums, maxima), rows
// made of rows and statistics, and a product behind them. What attention is an instance of: softmax with a mask, a bias,
// ALiBi, a row that sees nothing. Kernels keep such rows in their readers' kernel, on the CPU and in a GPU's workgroup.
// HEARTH_FUZZ_GRAPHS says how many (default 40; in the long tier 300), HEARTH_FUZZ_SEED where to begin.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "absl/strings/match.h"
#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"
#include "tests/conformance/ops/random_graph.h"
#include "tests/support/skip.h"

namespace hearth::conformance {
namespace {

using ir::Scalar;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kPrograms = 20;
#else
constexpr std::uint64_t kPrograms = 40;
#endif

// Values stay below about one in magnitude: sums are divided by their length, what grows goes through tanh.
class RowProgram {
 public:
  RowProgram(std::uint64_t seed, bool of_workgroup) : random_(seed) {
    const std::vector<std::int64_t> few = {1, 4, 8, 12, 16, 24, 7}, many = {16, 24, 32, 37, 48};
    heads_ = random_.in(1, 3);
    rows_ = random_.pick(of_workgroup ? few : many);
    length_ = of_workgroup ? random_.in(8, 70) : random_.in(24, 80);
    shape_ = {Dim(heads_), Dim(rows_), Dim(length_)};
    if (random_.one_in(4)) {
      feed_.vars.push_back(length_);
      shape_[2] = b_.var("k", 1, length_ + random_.in(0, 3));
    }
  }

  v1::Graph build() {
    const std::int64_t depth = random_.in(2, 9), width = random_.in(2, 20);
    const Node q = input({heads_, rows_, depth}, {Dim(heads_), Dim(rows_), Dim(depth)});
    const Node k = input({heads_, depth, length_}, {Dim(heads_), Dim(depth), shape_[2]});
    matrices_.push_back(b_.op(v1::TANH, {b_.op(v1::MATMUL, {q, k})}));
    if (random_.one_in(2)) matrices_.push_back(b_.op(v1::ADD, {matrices_[0], mask()}));
    for (std::int64_t steps = random_.in(2, 6); steps > 0; --steps) step();
    if (statistics_.empty()) reduce();
    combine();
    const Node v = input({heads_, length_, width}, {Dim(heads_), shape_[2], Dim(width)});
    Node out = b_.op(v1::MATMUL, {matrices_.back(), v});
    const Dims out_shape = {Dim(heads_), Dim(rows_), Dim(width)};
    if (random_.one_in(3)) out = b_.op(v1::MUL, {out, b_.expand(random_.pick(statistics_), out_shape)});
    b_.output(out);
    return b_.graph();
  }
  const Feed& feed() const { return feed_; }

 private:
  Node input(const Shape& values, const Dims& shape) {
    feed_.inputs.push_back(uniform(Scalar::F32, values, feed_.inputs.size() + 1));
    return b_.input(v1::F32, shape);
  }
  // A mask with a row for each query or one row for all; its rows hold a number for each key or one for all.
  Node mask() {
    Shape values = {random_.one_in(2) ? heads_ : 1, random_.one_in(2) ? rows_ : 1, length_};
    Dims shape = {Dim(values[0]), Dim(values[1]), shape_[2]};
    if (random_.one_in(4)) values[2] = 1, shape[2] = Dim(1);
    return b_.expand(input(values, shape), shape_);
  }
  void reduce() {
    const Node x = some(matrices_);
    if (random_.one_in(2)) return statistics_.push_back(b_.reduce(v1::REDUCE_MAX, x, {2}));
    const Dims one = {Dim(heads_), Dim(rows_), Dim(1)};
    const Node share = b_.fill(v1::F32, {0, 1.0 / static_cast<double>(length_)}, one);
    statistics_.push_back(b_.op(v1::MUL, {b_.reduce(v1::REDUCE_SUM, x, {2}), share}));
  }
  // The newest more often: what is made is used.
  Node some(const std::vector<Node>& nodes) { return random_.one_in(2) ? nodes.back() : random_.pick(nodes); }
  void combine() {
    static const std::vector<v1::Op> kOps = {v1::ADD, v1::SUB, v1::MUL, v1::MAX};
    const Node x = some(matrices_);
    Node made = x;
    for (std::int64_t count = random_.in(1, 3); count > 0; --count) {
      const Node row = b_.expand(random_.pick(statistics_), shape_);
      made = random_.one_in(4) ? b_.op(v1::WHERE, {b_.op(v1::LT, {row, x}), made, row})
                               : b_.op(random_.pick(kOps), {made, row});
    }
    matrices_.push_back(b_.op(random_.one_in(3) ? v1::TANH : v1::SIN, {made}));
  }
  void step() {
    if (statistics_.empty() || random_.one_in(2)) return reduce();
    if (random_.one_in(4)) {
      const Node exp = b_.op(v1::EXP, {b_.op(v1::SUB, {some(matrices_), b_.fill(v1::F32, {0, 2}, shape_)})});
      return matrices_.push_back(b_.op(v1::TANH, {exp}));
    }
    combine();
  }

  Random random_;
  GraphBuilder b_;
  Feed feed_;
  std::int64_t heads_ = 0, rows_ = 0, length_ = 0;
  Dims shape_;
  std::vector<Node> matrices_, statistics_;
};

TEST_CASE("random rows with statistics of rows between two products") {
  const std::uint64_t count =
      number_from("HEARTH_FUZZ_GRAPHS", std::getenv("HEARTH_TEST_LONG") != nullptr ? 300 : kPrograms);
  const std::uint64_t first = number_from("HEARTH_FUZZ_SEED", 1);
  std::uint64_t kept = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    RowProgram rows(seed, on_gpu());
    CAPTURE(seed);
    v1::Target target = wide_target();
    target.set_l2_bytes(256);
    if (seed % 2 == 0) target = small_cache_target();
    if (on_gpu()) target = shared_tile_target(seed % 2 == 0 ? 4 : 8);
    Program program(rows.build(), target);
    program.check(rows.feed(), {.relative = 1e-4, .absolute = 1e-4});
    bool keeps = false;
    for (const v1::KernelSpec& kernel : program.lowered().kernels())
      keeps |= absl::StrContains(kernel.ast(), " allocate ");
    kept += keeps ? 1 : 0;
  }
  if (count >= kPrograms) CHECK(kept > count / 4);
}

// A row's greatest score beside its exponentials, each in loops of its own: softmax(x + mask) of a row that may see nothing.
TEST_CASE("attention with a float mask of any form, whose rows may see nothing") {
  if (on_gpu()) SKIP_CASE("of the CPU's blocks of rows");
  for (const auto& [heads, keys, depth] : {std::array{2, 96, 16}, {2, 100, 32}, {2, 64, 16}}) {
    for (int form = 0; form < 4; ++form) {
      GraphBuilder b;
      Feed feed;
      const std::int64_t h = heads, n = keys, d = depth;
      const auto input = [&](const Shape& shape, bool is_mask = false) {
        feed.inputs.push_back(uniform(Scalar::F32, shape, feed.inputs.size() + 1));
        if (is_mask && form == 0) {  // one row of it is minus infinity
          for (std::int64_t i = 0; i < n; ++i) feed.inputs.back().set(i, {0, -INFINITY});
        }
        return b.input(v1::F32, Dims(shape.begin(), shape.end()));
      };
      const Dims shape = {Dim(h), Dim(n), Dim(n)};
      const Node q = input({h, n, d}), k = input({h, d, n}), v = input({h, n, d});
      const Shape forms[] = {{1, n, n}, {h, n, n}, {1, 1, n}, {h, 1, 1}};
      const Node scores = b.op(v1::ADD, {b.op(v1::MATMUL, {q, k}), b.expand(input(forms[form], true), shape)});
      const Node greatest = b.expand(b.reduce(v1::REDUCE_MAX, scores, {2}), shape);
      const Node e = b.op(v1::EXP, {b.op(v1::SUB, {scores, greatest})});
      const Node p = b.op(v1::DIV, {e, b.expand(b.reduce(v1::REDUCE_SUM, e, {2}), shape)});
      const Node nothing = b.op(v1::EQ, {greatest, b.fill(v1::F32, {0, -INFINITY}, shape)});
      const Node seen = b.op(v1::WHERE, {nothing, b.fill(v1::F32, {0, 0}, shape), p});
      b.output(b.op(v1::MATMUL, {seen, v}));
      CAPTURE(heads, keys, depth, form);
      Program program(b.graph(), host_target());
      program.check(feed, {.relative = 1e-4, .absolute = 1e-4});
    }
  }
}

}  // namespace
}  // namespace hearth::conformance
