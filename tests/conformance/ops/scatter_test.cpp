// Updates written at indices, beside the oracle, which writes them one after the other.
#include <catch2/catch.hpp>

#include "compiler/compile.h"
#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"

namespace hearth::conformance {
namespace {

using ir::Scalar;

enum How : std::int64_t { kReplace, kAdd, kMultiply, kLess, kGreater, kHows };

// data [n, row], indices [m] from a little below 0 to a little beyond n, each place hit several times.
Feed feed_of(Scalar dtype, const conformance::Shape& data, std::int64_t m, const std::vector<std::int64_t>& vars = {}) {
  conformance::Shape updates = data;
  updates[0] = m;
  Random random(static_cast<std::uint64_t>(m) * 31 + 5);
  std::vector<double> places;
  for (std::int64_t i = 0; i < m; ++i) places.push_back(static_cast<double>(random.in(-2, data[0] + 1)));
  return {{ramp(dtype, data, 1, 2), HostTensor::from_values(Scalar::I64, {m}, places), ramp(dtype, updates, 2, 2)},
          vars};
}

GraphBuilder graph_of(v1::DType dtype, const Dims& data, const Dim& m, std::int64_t how) {
  GraphBuilder b;
  Dims updates = data;
  updates[0] = m;
  const Node x = b.input(dtype, data), at = b.input(v1::I64, {m});
  b.output(b.scatter(x, at, b.input(dtype, updates), how));
  return b;
}

TEST_CASE("updates of every dtype, in every way, the last of one place standing") {
  for (const Scalar dtype :
       {Scalar::F32, Scalar::F64, Scalar::BF16, Scalar::I8, Scalar::U16, Scalar::I64, Scalar::Bool}) {
    for (std::int64_t how = kReplace; how < (dtype == Scalar::Bool ? kAdd : kHows); ++how) {
      CAPTURE(ir::to_string(dtype), how);
      // Products of eight factors of up to 2 are exact in bf16's 8 bits: they are powers of two.
      Program program(graph_of(wire(dtype), {5, 19}, 7, how).graph(), wide_target());
      program.check(feed_of(dtype, {5, 19}, 7), Tolerance::exact());
    }
  }
}

TEST_CASE("rows of every width, single updates and single places") {
  for (const v1::Target& target : {baseline_target(), host_target(), wide_target()}) {
    for (const std::int64_t row : {1, 3, 4, 16, 17, 32, 50}) {
      for (const auto& [n, m] : {std::pair{1, 1}, {1, 4}, {40, 1}, {9, 30}}) {
        for (const std::int64_t how : {kReplace, kAdd}) {
          CAPTURE(target.vector_bits(), row, n, m, how);
          Program program(graph_of(v1::F32, {n, row}, m, how).graph(), target);
          program.check(feed_of(Scalar::F32, {n, row}, m), Tolerance::exact());
        }
      }
    }
  }
}

TEST_CASE("columns are divided between threads where each gets whole lines") {
  v1::Target target = wide_target();
  target.set_threads(2);
  Program program(graph_of(v1::F32, {300, 64}, 1500, kAdd).graph(), target);
  program.check(feed_of(Scalar::F32, {300, 64}, 1500), Tolerance::exact());
  REQUIRE(program.lowered().plan().launches_size() == 1);
  CHECK(program.lowered().plan().launches(0).grid().tokens(0).value() == 2);
}

TEST_CASE("of 16 threads as many take part as get whole lines, of rows without whole lines one") {
  for (const auto& [row, units] : {std::pair{96, 6}, {20, 1}}) {
    CAPTURE(row, units);
    v1::Target target = wide_target();
    target.set_threads(16);
    Program program(graph_of(v1::F32, {40, row}, 5000, kAdd).graph(), target);
    program.check(feed_of(Scalar::F32, {40, row}, 5000), Tolerance::exact());
    CHECK(program.lowered().plan().launches(0).grid().tokens(0).value() == units);
  }
}

TEST_CASE("places, updates and rows of symbolic length") {
  GraphBuilder b;
  const Dim n = b.var("n", 0, 9), m = b.var("m", 0, 7), row = b.var("r", 1, 20);
  const Node x = b.input(v1::I32, {n, row}), at = b.input(v1::I64, {m});
  b.output(b.scatter(x, at, b.input(v1::I32, {m, row}), kAdd));
  Program program(b.graph());
  for (const auto& [places, updates, columns] : {std::tuple{9, 7, 20}, {1, 7, 1}, {0, 3, 5}, {4, 0, 16}, {5, 1, 17}}) {
    CAPTURE(places, updates, columns);
    program.check(feed_of(Scalar::I32, {places, columns}, updates, {places, updates, columns}), Tolerance::exact());
  }
}

TEST_CASE("indices of every integer dtype, those beyond 64 signed bits outside") {
  for (const Scalar dtype : kIntegers) {
    CAPTURE(ir::to_string(dtype));
    GraphBuilder b;
    const Node x = b.input(v1::F32, {6, 2}), at = b.input(wire(dtype), {4});
    b.output(b.scatter(x, at, b.input(v1::F32, {4, 2}), kReplace));
    HostTensor places = HostTensor::from_values(dtype, {4}, {5, 0, 7, 3});
    if (dtype == Scalar::U64) places.set(3, codegen::reference::Element::of_int(-1));
    Program program(b.graph());
    program.check({{ramp(Scalar::F32, {6, 2}, 1), places, ramp(Scalar::F32, {4, 2}, 2)}, {}}, Tolerance::exact());
  }
}

TEST_CASE("what is written, where, and into what are computed; the result is read at once") {
  GraphBuilder b;
  const Dims data = {6, 3, 4}, indices = {2, 5}, updates = {2, 5, 3, 4};
  const Node x = b.input(v1::F32, data), at = b.input(v1::I32, indices), u = b.input(v1::F32, updates);
  const Node twice = b.op(v1::ADD, {x, x}), next = b.op(v1::ADD, {at, b.fill(v1::I32, {1, 1.0}, indices)});
  const Node first = b.scatter(twice, next, b.op(v1::NEG, {u}), kAdd);
  const Node second = b.scatter(first, at, b.gather(first, at, 0), kGreater);  // reads what it writes into
  b.output(b.op(v1::ADD, {second, twice}));
  b.output(first);
  b.output(b.reduce(v1::REDUCE_SUM, second, {0, 1}));
  Program program(b.graph());
  program.check(
      {{ramp(Scalar::F32, {6, 3, 4}, 3), ramp(Scalar::I32, {2, 5}, 4, 6), ramp(Scalar::F32, {2, 5, 3, 4}, 5)}, {}},
      Tolerance::exact());
}

TEST_CASE("two results written into one constant do not meet") {
  GraphBuilder b;
  const Node none = b.fill(v1::F32, {}, {8, 4}), at = b.input(v1::I64, {3});
  b.output(b.scatter(none, at, b.input(v1::F32, {3, 4}), kAdd));
  b.output(b.scatter(none, at, b.input(v1::F32, {3, 4}), kReplace));
  Program program(b.graph());
  program.check({{HostTensor::from_values(Scalar::I64, {3}, {6, 1, 6}), ramp(Scalar::F32, {3, 4}, 1),
                  ramp(Scalar::F32, {3, 4}, 2)},
                 {}},
                Tolerance::exact());
}

TEST_CASE("what parameters alone are written into is made once, updates of a replay each time") {
  GraphBuilder b;
  const Node table = b.parameter(v1::F32, {8, 4}), at = b.parameter(v1::I64, {3});
  const Node made = b.scatter(table, at, b.parameter(v1::F32, {3, 4}), kReplace), late = b.input(v1::I64, {2});
  b.output(b.scatter(made, late, b.input(v1::F32, {2, 4}), kAdd));
  Program program(b.graph());
  for (const std::int64_t place : {0, 5}) {  // the second feed finds nothing of the first
    const Feed feed = {
        {ramp(Scalar::F32, {8, 4}, 1), HostTensor::from_values(Scalar::I64, {3}, {6, 1, 6}),
         ramp(Scalar::F32, {3, 4}, 2), HostTensor::from_values(Scalar::I64, {2}, {static_cast<double>(place), 1}),
         ramp(Scalar::F32, {2, 4}, 3)},
        {}};
    program.check(feed, Tolerance::exact());
  }
  int once = 0;
  for (const v1::Launch& launch : program.lowered().plan().launches()) once += launch.once() ? 1 : 0;
  CHECK(once == 1);
}

// A cache that each step writes a row into.
TEST_CASE("updates within a loop, into what the loop carries and into what stays the same") {
  for (const bool carried : {true, false}) {
    CAPTURE(carried);
    GraphBuilder body;
    const Node held = body.input(v1::F32, {5, 3}), at = body.input(v1::I64, {1}), row = body.input(v1::F32, {1, 3});
    const Node fixed = carried ? held : body.input(v1::F32, {5, 3});
    const Node written = body.scatter(fixed, at, row, kAdd);
    body.output(carried ? written : body.op(v1::ADD, {held, written}));
    GraphBuilder b;
    std::vector<Node> operands = {b.input(v1::F32, {5, 3}), b.input(v1::I64, {4, 1}), b.input(v1::F32, {4, 1, 3})};
    Feed feed = {{ramp(Scalar::F32, {5, 3}, 1), HostTensor::from_values(Scalar::I64, {4, 1}, {2, 0, 2, 4}),
                  ramp(Scalar::F32, {4, 1, 3}, 2)},
                 {}};
    if (!carried) {
      operands.push_back(b.input(v1::F32, {5, 3}));
      feed.inputs.push_back(ramp(Scalar::F32, {5, 3}, 3));
    }
    const std::int64_t loop = b.loop(body, 4, 1, 2, {false});
    b.output(b.loop_result(loop, 0, v1::F32, operands));
    Program program(b.graph());
    program.check(feed, Tolerance::exact());
  }
}

}  // namespace
}  // namespace hearth::conformance
