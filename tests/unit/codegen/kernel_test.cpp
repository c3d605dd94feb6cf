// Loops, grid parts, accumulators, and every way to load and store.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/unit/codegen/kernel_runner.h"

namespace hearth::codegen {
namespace {

using ir::DType;
using ir::Op;
using ir::RangeKind;
using ir::ReduceKind;
using ir::Scalar;
using ir::UOpRef;

std::vector<float> counting(std::size_t n, float start = 0) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), start);
  return values;
}

TEST_CASE("elementwise kernel, scalar and by lanes") {
  for (std::uint16_t lanes : {1, 4, 8, 16}) {
    ir::Graph g;
    auto kernel = elementwise_kernel(g, 96, {Scalar::F32, Scalar::F32}, Scalar::F32, lanes,
                                     [](ir::Graph& graph, auto& v) { return graph.add(graph.mul(v[0], v[1]), v[0]); });
    Loaded run(kernel, host_target());
    std::vector<float> a = counting(96), b = counting(96, 5), out(97, -1);
    run({out.data(), a.data(), b.data()});
    for (std::size_t i = 0; i < 96; ++i) REQUIRE(out[i] == a[i] * b[i] + a[i]);
    REQUIRE(out[96] == -1);
  }
}

TEST_CASE("a grid range computes its part only; empty loops and vars") {
  ir::Graph g;
  Body body(g);
  UOpRef out = body.param(0, Scalar::I64);
  UOpRef n = body.var(0, 0, 10);
  UOpRef row = body.open(body.i64(6), RangeKind::Grid);
  UOpRef col = body.open(n);
  body.store(out, body.put(g.add(g.mul(row, n), col)), body.put(g.add(g.mul(row, body.i64(100)), col)));
  body.close(col);
  body.close(row);
  Loaded run(body.kernel(), host_target());
  std::vector<std::int64_t> values(60, -1);
  run({values.data()}, {7}, 2, 4);
  for (std::int64_t r = 0; r < 6; ++r) {
    for (std::int64_t c = 0; c < 7; ++c)
      REQUIRE(values[static_cast<std::size_t>(r * 7 + c)] == (r == 2 || r == 3 ? r * 100 + c : -1));
  }
  std::vector<std::int64_t> untouched(60, -1);
  run({untouched.data()}, {0}, 0, 6);
  run({untouched.data()}, {10}, 3, 3);
  REQUIRE(untouched == std::vector<std::int64_t>(60, -1));
}

}  // namespace
}  // namespace hearth::codegen
