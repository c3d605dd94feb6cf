// Loops, grid parts, accumulators, and every way to load and store.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <tuple>

#include "compiler/codegen/llvm/codegen.h"
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

template <class T>
T fold(ReduceKind kind, const std::vector<T>& values) {
  T total = kind == ReduceKind::Prod ? T(1) : kind == ReduceKind::Sum ? T(0) : values[0];
  for (T v : values) {
    switch (kind) {
      case ReduceKind::Sum:
        total = static_cast<T>(total + v);
        break;
      case ReduceKind::Prod:
        total = static_cast<T>(total * v);
        break;
      case ReduceKind::Max:
        total = v != v || v > total ? v : total;
        break;
      case ReduceKind::Min:
        total = v != v || v < total ? v : total;
        break;
    }
  }
  return total;
}

UOpRef identity(ir::Graph& g, ReduceKind kind, DType t) {
  bool is_real = ir::is_float(t);
  constexpr double kInf = std::numeric_limits<double>::infinity();
  switch (kind) {
    case ReduceKind::Sum:
      return g.constant(t, 0);
    case ReduceKind::Prod:
      return g.constant(t, 1);
    case ReduceKind::Max:
      return is_real ? g.constant(t, -kInf) : g.constant(t, ir::int_min(t));
    default:
      return is_real ? g.constant(t, kInf) : g.constant(t, ir::int_max(t));
  }
}

// Rows of 24: one accumulator a row, by lanes with a horizontal step at the end where lanes > 1.
template <class T>
void check_reduce(Scalar scalar, const std::vector<T>& values) {
  const std::int64_t rows = static_cast<std::int64_t>(values.size()) / 24;
  for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Prod, ReduceKind::Max, ReduceKind::Min}) {
    for (std::uint16_t lanes : {1, 8}) {
      ir::Graph g;
      Body body(g);
      DType type(scalar, lanes);
      UOpRef out = body.param(0, scalar), in = body.param(1, scalar);
      UOpRef row = body.open(body.i64(rows), RangeKind::Grid);
      UOpRef acc = body.acc(body.put(identity(g, kind, type)));
      UOpRef k = body.open(body.i64(24 / lanes), RangeKind::Reduce);
      UOpRef position = body.put(g.add(g.mul(row, body.i64(24)), g.mul(k, body.i64(lanes))));
      body.update(acc, body.load(in, position, type), kind);
      UOpRef end = body.close(k);
      UOpRef total = body.result(acc, end);
      if (lanes > 1) total = body.put(g.make(Op::Horizontal, scalar, {total}, ir::ReduceInfo{kind, {}}));
      body.store(out, row, total);
      body.close(row);
      Loaded run(body.kernel(), host_target());
      std::vector<T> got(static_cast<std::size_t>(rows)), input = values;
      run({got.data(), input.data()}, {}, 0, rows);
      for (std::int64_t r = 0; r < rows; ++r) {
        T want = fold(kind, std::vector<T>(values.begin() + r * 24, values.begin() + (r + 1) * 24));
        T have = got[static_cast<std::size_t>(r)];
        INFO(ir::to_string(scalar) << " kind " << static_cast<int>(kind) << " lanes " << lanes << " row " << r << ": "
                                   << +have << " want " << +want);
        CHECK((have != have) == (want != want));  // both NaN, or none
        if (want == want) CHECK(have == want);
      }
    }
  }
}

TEST_CASE("accumulators of every kind and dtype, scalar and vector") {
  // Small integers: exact in every order, in every float dtype.
  auto fill = [](auto example, auto special) {
    using T = decltype(example);
    std::vector<T> values;
    for (int i = 0; i < 24 * 4; ++i) values.push_back(static_cast<T>(i % 7 == 3 ? 2 : i % 11 == 5 ? -1 : 1));
    values[30] = static_cast<T>(special);
    return values;
  };
  check_reduce<float>(Scalar::F32, fill(0.0f, std::numeric_limits<float>::quiet_NaN()));
  check_reduce<double>(Scalar::F64, fill(0.0, std::numeric_limits<double>::quiet_NaN()));
  check_reduce<std::int8_t>(Scalar::I8, fill(std::int8_t{}, 100));
  check_reduce<std::int32_t>(Scalar::I32, fill(std::int32_t{}, -5));
  check_reduce<std::int64_t>(Scalar::I64, fill(std::int64_t{}, 1LL << 40));
  check_reduce<std::uint8_t>(Scalar::U8, fill(std::uint8_t{}, 200));
  check_reduce<std::uint64_t>(Scalar::U64, fill(std::uint64_t{}, 1ULL << 63));
}

TEST_CASE("a bool accumulator is any or all; bool buffers are one byte") {
  for (std::uint16_t lanes : {1, 4}) {
    ir::Graph g;
    Body body(g);
    DType type(Scalar::Bool, lanes);
    UOpRef out = body.param(0, Scalar::Bool), in = body.param(1, Scalar::Bool), inverted = body.param(2, Scalar::Bool);
    UOpRef any = body.acc(body.put(g.constant(type, 0))), all = body.acc(body.put(g.constant(type, 1)));
    UOpRef k = body.open(body.i64(8 / lanes));
    UOpRef position = body.put(g.mul(k, body.i64(lanes)));
    UOpRef x = body.load(in, position, type);
    body.update(any, x, ReduceKind::Max);
    body.update(all, x, ReduceKind::Min);
    body.store(inverted, position, body.put(g.unary(Op::Not, x)));
    UOpRef end = body.close(k);
    for (auto [acc, kind, at] : {std::tuple{any, ReduceKind::Max, 0}, std::tuple{all, ReduceKind::Min, 1}}) {
      UOpRef total = body.result(acc, end);
      if (lanes > 1) total = body.put(g.make(Op::Horizontal, Scalar::Bool, {total}, ir::ReduceInfo{kind, {}}));
      body.store(out, body.i64(at), total);
    }
    Loaded run(body.kernel(), host_target());
    std::vector<std::uint8_t> mixed = {0, 1, 1, 0, 1, 1, 1, 0}, ones(8, 1), zeros(8, 0), result(2, 9), flipped(8, 9);
    run({result.data(), mixed.data(), flipped.data()});
    CHECK(result == std::vector<std::uint8_t>{1, 0});
    CHECK(flipped == std::vector<std::uint8_t>{1, 0, 0, 1, 0, 0, 0, 1});
    run({result.data(), ones.data(), flipped.data()});
    CHECK(result == std::vector<std::uint8_t>{1, 1});
    run({result.data(), zeros.data(), flipped.data()});
    CHECK(result == std::vector<std::uint8_t>{0, 0});
  }
}

TEST_CASE("nested accumulators start anew in every turn; each opt level gives code of its own") {
  ir::Graph g;
  Body body(g);
  UOpRef out = body.param(0, Scalar::F32), in = body.param(1, Scalar::F32);
  UOpRef best = body.acc(g.constant(Scalar::F32, -1e30));
  UOpRef i = body.open(body.i64(5));
  UOpRef sum = body.acc(g.constant(Scalar::F32, 0.5));
  UOpRef j = body.open(body.i64(3));
  body.update(sum, body.load(in, body.put(g.add(g.mul(i, body.i64(3)), j)), Scalar::F32), ReduceKind::Sum);
  UOpRef inner = body.close(j);
  body.update(best, body.result(sum, inner), ReduceKind::Max);
  UOpRef outer = body.close(i);
  body.store(out, body.i64(0), body.result(best, outer));
  std::set<std::string> texts;
  for (std::uint32_t level : {0, 1, 2}) {
    v1::CompileOptions options;
    options.set_opt_level(level);
    // Of one record on every host: what little this kernel leaves to optimise differs with the instructions there are.
    texts.insert(emit_assembly(body.kernel(), avx512_target(), options).value());
    Loaded run(body.kernel(), host_target(), options);
    std::vector<float> x = {1, 2, 3, 9, 9, 9, 0, 0, 0, -5, 40, 1, 2, 2, 2};
    float result = 0;
    run({&result, x.data()});
    CHECK(result == 36.5f);
  }
  CHECK(texts.size() == 3);
}

// out[i] = in[i - 2] where that is inside the input, else 7: a false gate must not touch memory at all.
TEST_CASE("gates: scalar, and one a lane") {
  for (std::uint16_t lanes : {1, 8}) {
    for (bool is_vector_gate : {false, true}) {
      ir::Graph g;
      Body body(g);
      UOpRef out = body.param(0, Scalar::F32), in = body.param(1, Scalar::F32);
      UOpRef i = body.open(body.i64(48 / lanes));
      UOpRef base = body.put(g.mul(i, body.i64(lanes)));
      std::int64_t shift = is_vector_gate ? 2 : 8;
      UOpRef position = body.put(g.sub(base, body.i64(shift)));
      UOpRef tested = position;
      if (is_vector_gate && lanes > 1) {
        std::vector<UOpRef> each;
        for (std::uint16_t k = 0; k < lanes; ++k) each.push_back(g.add(position, body.i64(k)));
        tested = g.make(Op::Stack, DType(Scalar::I64, lanes), std::span<const UOpRef>(each));
      }
      UOpRef gate = body.put(
          g.logical_and(g.le(g.constant(tested->dtype, 0), tested), g.lt(tested, g.constant(tested->dtype, 32))));
      DType type(Scalar::F32, lanes);
      UOpRef x = body.load(in, position, type, gate, body.put(g.constant(type, 7.0)));
      body.store(out, base, x, is_vector_gate ? gate : nullptr);
      body.close(i);
      Loaded run(body.kernel(), host_target());
      std::vector<float> input = counting(32, 100), got(48, -1);
      run({got.data(), input.data()});
      for (std::int64_t k = 0; k < 48; ++k) {
        bool inside = k >= shift && k < 32 + shift;
        float want = inside ? 100.0f + static_cast<float>(k - shift) : is_vector_gate ? -1 : 7;
        INFO("lanes " << lanes << " vector gate " << is_vector_gate << " element " << k);
        CHECK(got[static_cast<std::size_t>(k)] == want);
      }
    }
  }
}

TEST_CASE("a closed gate touches no memory") {
  for (std::uint16_t lanes : {1, 4}) {
    ir::Graph g;
    Body body(g);
    UOpRef out = body.param(0, Scalar::F32), in = body.param(1, Scalar::F32);
    UOpRef limit = body.var(0, 0, 100);
    UOpRef i = body.open(body.i64(64 / lanes));
    UOpRef base = body.put(g.mul(i, body.i64(lanes)));
    UOpRef gate = body.put(g.lt(base, limit));
    UOpRef x = body.load(in, base, DType(Scalar::F32, lanes), gate);
    body.store(out, base, x, gate);
    body.close(i);
    Loaded run(body.kernel(), host_target());
    run({nullptr, nullptr}, {0});  // every gate is closed: null buffers are fine
    std::vector<float> input = counting(8, 1), got(8, -1);
    run({got.data(), input.data()}, {8});
    CHECK(got == input);
  }
}

TEST_CASE("gather and scatter") {
  ir::Graph g;
  Body body(g);
  UOpRef out = body.param(0, Scalar::I32), data = body.param(1, Scalar::I32), where = body.param(2, Scalar::I64),
         flags = body.param(3, Scalar::Bool);
  UOpRef i = body.open(body.i64(4));
  UOpRef base = body.put(g.mul(i, body.i64(4)));
  UOpRef index = body.load(where, base, DType(Scalar::I64, 4));
  UOpRef gate = body.load(flags, index, DType(Scalar::Bool, 4));
  UOpRef value = body.load(data, index, DType(Scalar::I32, 4), gate, body.put(g.constant(DType(Scalar::I32, 4), -7)));
  body.store(out, index, body.put(g.add(value, g.constant(DType(Scalar::I32, 4), 1))), gate);
  body.close(i);
  for (const v1::Target& target : {host_target(), baseline_target()}) {
    Loaded run(body.kernel(), target);
    std::vector<std::int64_t> order = {15, 3, 8, 1, 0, 2, 14, 9, 4, 13, 12, 11, 10, 5, 7, 6};
    std::vector<std::int32_t> numbers(16), got(16, -1);
    std::vector<std::uint8_t> open(16);
    std::iota(numbers.begin(), numbers.end(), 50);
    for (std::size_t k = 0; k < 16; ++k) open[k] = k % 3 != 0;
    run({got.data(), numbers.data(), order.data(), open.data()});
    for (std::size_t k = 0; k < 16; ++k) CHECK(got[k] == (open[k] ? 51 + static_cast<int>(k) : -1));
  }
}

TEST_CASE("loads see earlier stores of the same buffer") {
  ir::Graph g;
  Body body(g);
  UOpRef x = body.param(0, Scalar::F32);
  UOpRef i = body.open(body.i64(31));
  UOpRef previous = body.load(x, i, Scalar::F32);
  body.store(x, body.put(g.add(i, body.i64(1))), body.put(g.add(previous, previous)));
  body.close(i);
  Loaded run(body.kernel(), host_target());
  std::vector<float> values(32, 1);
  run({values.data()});
  for (int k = 0; k < 32; ++k) CHECK(values[static_cast<std::size_t>(k)] == std::ldexp(1.0f, k));
}

}  // namespace
}  // namespace hearth::codegen
