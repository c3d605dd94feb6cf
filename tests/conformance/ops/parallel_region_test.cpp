// Launches that one fork runs (passes/plan/parallel_regions), judged by values: Program runs a region's launches
// together, a part of the grid at a time, in one execution from the last part on and in another from the first.
#include <catch2/catch.hpp>
#include <functional>
#include <random>

#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"

namespace hearth::conformance {
namespace {

using ir::Scalar;

// The launches of each region, and how many there are in all.
std::string regions_of(const Program& program) {
  std::string text;
  for (const v1::ParallelRegion& region : program.lowered().plan().regions())
    text += std::to_string(region.num_launches()) + " ";
  return text + "of " + std::to_string(program.lowered().plan().launches_size());
}

Node stored(GraphBuilder& b, Node x) { return b.op(v1::CONTIGUOUS, {x}); }

// Each of six matrices is transposed and doubled, again and again.
TEST_CASE("values that are moved within a row are one region") {
  GraphBuilder b;
  Node x = b.input(v1::F32, {6, 16, 16});
  for (int i = 0; i < 5; ++i) x = stored(b, b.permute(b.op(v1::ADD, {x, x}), {0, 2, 1}));
  b.output(x);
  Program program(b.graph(), threaded_target());
  program.check({{uniform(Scalar::F32, {6, 16, 16}, 1)}, {}}, Tolerance::exact());
  CHECK(regions_of(program) == "5 of 5");
}

TEST_CASE("a value that moves from row to row ends a region") {
  GraphBuilder b;
  Node x = b.input(v1::F32, {6, 6, 16});
  for (int i = 0; i < 6; ++i)
    x = stored(b, b.permute(b.op(v1::ADD, {x, x}),
                            i == 2 ? std::vector<std::int64_t>{1, 0, 2} : std::vector<std::int64_t>{0, 1, 2}));
  b.output(x);
  Program program(b.graph(), threaded_target());
  program.check({{uniform(Scalar::F32, {6, 6, 16}, 2)}, {}}, Tolerance::exact());
  CHECK(regions_of(program) == "2 4 of 6");
}

// Four times: six matrices and what was moved of them, added and transposed.
std::string regions_with(const std::function<Node(GraphBuilder&, Node)>& moved) {
  GraphBuilder b;
  Node x = b.input(v1::F32, {6, 16, 16});
  for (int i = 0; i < 4; ++i) x = stored(b, b.permute(b.op(v1::ADD, {x, moved(b, x)}), {0, 2, 1}));
  b.output(x);
  Program program(b.graph(), threaded_target());
  program.check({{uniform(Scalar::F32, {6, 16, 16}, 3)}, {}}, Tolerance::exact());
  return regions_of(program);
}

// Zeros move in from the begin or the end of an axis.
std::function<Node(GraphBuilder&, Node)> shifted(std::size_t axis, bool from_begin) {
  return [=](GraphBuilder& b, Node x) {
    Dims pairs = {0, 0, 0, 0, 0, 0}, kept = {0, 6, 0, 16, 0, 16};
    const int length = axis == 0 ? 6 : 16;
    pairs[2 * axis + (from_begin ? 0 : 1)] = 1;
    if (!from_begin) kept[2 * axis] = 1;
    kept[2 * axis + 1] = from_begin ? length : length + 1;
    return b.shrink(b.pad(x, pairs), kept);
  };
}

TEST_CASE("a matrix and itself upside down are one region") {
  CHECK(regions_with([](GraphBuilder& b, Node x) { return b.flip(x, {1}); }) == "4 of 4");
}

TEST_CASE("the matrix before, the one behind and those from the end are read after they are made") {
  CHECK(regions_with(shifted(0, true)) == "of 4");
  CHECK(regions_with(shifted(0, false)) == "of 4");
  CHECK(regions_with([](GraphBuilder& b, Node x) { return b.flip(x, {0}); }) == "of 4");
}

TEST_CASE("an element's neighbours in its matrix are right") {
  for (const std::size_t axis : {1, 2}) {
    for (const bool from_begin : {true, false}) static_cast<void>(regions_with(shifted(axis, from_begin)));
  }
}

TEST_CASE("a gather within a row and a sum over rows are right") {
  GraphBuilder b;
  const Node x = b.input(v1::F32, {6, 32}), at = b.input(v1::I64, {6, 32});
  const Node doubled = stored(b, b.op(v1::ADD, {x, x}));
  const Node sums = b.reduce(v1::REDUCE_SUM, doubled, {0});
  const Node all = b.op(v1::ADD, {doubled, b.expand(b.reshape(sums, {1, 32}), {6, 32})});
  b.output(stored(b, all));
  b.output(b.gather(stored(b, b.op(v1::NEG, {doubled})), b.reshape(b.shrink(at, {0, 1, 0, 32}), {32}), 1));
  Program program(b.graph(), threaded_target());
  program.check({{uniform(Scalar::F32, {6, 32}, 4), ramp(Scalar::I64, {6, 32}, 5, 31)}, {}},
                roundings(Scalar::F32, 16));
}

TEST_CASE("rows of a symbolic number are a region") {
  GraphBuilder b;
  const Dim n = b.var("n", 1, 9);
  Node x = b.input(v1::F32, {n, 16, 16});
  for (int i = 0; i < 4; ++i) x = stored(b, b.permute(b.op(v1::ADD, {x, x}), {0, 2, 1}));
  b.output(x);
  Program program(b.graph(), threaded_target());
  CHECK(regions_of(program) == "4 of 4");
  for (const std::int64_t rows : {1, 2, 9})
    program.check({{uniform(Scalar::F32, {rows, 16, 16}, 6)}, {rows}}, Tolerance::exact());
}

// Stored values, each made of one or two of those before by what moves within matrices, and now and then across.
GraphBuilder random_chain(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  GraphBuilder b;
  std::vector<Node> values = {b.input(v1::F32, {6, 16, 16})};
  const auto moved = [&](Node x) {
    switch (below(8)) {
      case 0:
        return b.flip(x, {1});
      case 1:
        return shifted(1 + below(2), below(2) == 0)(b, x);
      case 2:
        return below(4) == 0 ? shifted(0, below(2) == 0)(b, x) : x;
      case 3:
        return below(4) == 0 ? b.flip(x, {0}) : b.op(v1::NEG, {x});
      case 4:
        return b.expand(b.reduce(v1::REDUCE_MAX, x, {2}), {6, 16, 16});
      default:
        return b.permute(x, {0, 2, 1});
    }
  };
  const std::uint64_t length = 4 + below(12);
  for (std::uint64_t i = 0; i < length; ++i) {
    const Node x = moved(values[values.size() - 1 - below(std::min<std::uint64_t>(values.size(), 3))]);
    const Node y = moved(values[values.size() - 1 - below(std::min<std::uint64_t>(values.size(), 6))]);
    values.push_back(stored(b, b.op(v1::MAX, {x, b.op(v1::NEG, {y})})));
  }
  b.output(values.back());
  if (below(2) == 0) b.output(values[values.size() / 2]);
  return b;
}

TEST_CASE("random chains of stored values are right") {
  int regions = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Program program(random_chain(seed).graph(), threaded_target());
    program.check({{uniform(Scalar::F32, {6, 16, 16}, seed)}, {}}, Tolerance::exact());
    regions += program.lowered().plan().regions_size();
  }
  CHECK(regions > 20);
}

}  // namespace
}  // namespace hearth::conformance
