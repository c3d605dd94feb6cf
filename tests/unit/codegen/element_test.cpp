// Every elementwise op on every dtype, and every cast, on edge values: scalar and by lanes, on a modern CPU and on the
// oldest x86-64, where rounding, fma and f16 conversions are expanded.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/skip.h"
#include "tests/unit/codegen/element_value.h"
#include "tests/unit/codegen/kernel_runner.h"

namespace hearth::codegen {
namespace {

using ir::DType;
using ir::Op;
using ir::OpClass;
using ir::Scalar;
using ir::UOpRef;

std::vector<Op> ops_of(Scalar s, bool is_baseline) {
  std::vector<Op> compares = {Op::Lt, Op::Le, Op::Eq, Op::Ne};
  std::vector<Op> ops;
  if (ir::is_bool(s))
    ops = {Op::Not, Op::And, Op::Or, Op::Xor, Op::Max, Op::Min};
  else if (ir::is_float(s))
    ops = {Op::Neg,   Op::Abs, Op::Recip, Op::Sqrt, Op::Floor, Op::Ceil, Op::Round,
           Op::Trunc, Op::Add, Op::Sub,   Op::Mul,  Op::Div,   Op::Max,  Op::Min};
  else
    ops = {Op::Neg,      Op::Not, Op::Abs, Op::Add, Op::Sub, Op::Mul, Op::TruncDiv, Op::TruncMod, Op::FloorDiv,
           Op::FloorMod, Op::Max, Op::Min, Op::And, Op::Or,  Op::Xor, Op::Shl,      Op::Shr};
  if (s == Scalar::F32 || (s == Scalar::F64 && !is_baseline)) ops.push_back(Op::Fma);
  ops.insert(ops.end(), compares.begin(), compares.end());
  return ops;
}

struct Setting {
  const char* name;
  v1::Target target;
  std::uint16_t lanes;
  bool is_baseline;
};
std::vector<Setting> settings() {
  return {{"host", host_target(), 1, false},
          {"host", host_target(), 8, false},
          {"baseline", baseline_target(), 1, true},
          {"baseline", baseline_target(), 4, true}};
}

// All pairs of `samples`, filled up to a multiple of 8.
struct Pairs {
  explicit Pairs(Scalar s) {
    auto values = samples(s);
    for (std::uint64_t x : values) {
      for (std::uint64_t y : values)
        a.push_back(x), b.push_back(y), c.push_back(values[(a.size() * 7) % values.size()]);
    }
    while (a.size() % 8) a.push_back(a[0]), b.push_back(b[0]), c.push_back(c[0]);
  }
  std::vector<std::uint64_t> a, b, c;
};

void check_ops(Scalar s, const Setting& setting) {
  Pairs pairs(s);
  std::size_t count = pairs.a.size();
  std::vector<Op> ops = ops_of(s, setting.is_baseline);
  ir::Graph g;
  Body body(g);
  std::vector<UOpRef> in = {body.param(0, s), body.param(1, s), body.param(2, s)};
  std::vector<UOpRef> out;
  std::vector<Elements> results;
  for (std::uint32_t k = 0; k < ops.size(); ++k) {
    Scalar type = ir::op_class(ops[k]) == OpClass::Compare ? Scalar::Bool : s;
    out.push_back(body.param(3 + k, type));
    results.emplace_back(type, count);
  }
  UOpRef range = body.open(body.i64(static_cast<std::int64_t>(count / setting.lanes)));
  UOpRef position = body.put(g.mul(range, body.i64(setting.lanes)));
  std::vector<UOpRef> v;
  for (UOpRef param : in) v.push_back(body.load(param, position, DType(s, setting.lanes)));
  for (std::size_t k = 0; k < ops.size(); ++k) {
    std::size_t arity = static_cast<std::size_t>(ir::max_sources(ops[k]));
    DType type(ir::op_class(ops[k]) == OpClass::Compare ? Scalar::Bool : s, setting.lanes);
    body.store(out[k], position, body.put(g.make(ops[k], type, std::span<const UOpRef>(v.data(), arity))));
  }
  body.close(range);

  Elements a(s, count), b(s, count), c(s, count);
  for (std::size_t i = 0; i < count; ++i) a.set(i, pairs.a[i]), b.set(i, pairs.b[i]), c.set(i, pairs.c[i]);
  std::vector<void*> buffers = {a.data(), b.data(), c.data()};
  for (Elements& each : results) buffers.push_back(each.data());
  Loaded run(body.kernel(), setting.target);
  run(buffers);

  for (std::size_t k = 0; k < ops.size(); ++k) {
    Scalar type = ir::op_class(ops[k]) == OpClass::Compare ? Scalar::Bool : s;
    bool any_zero = ops[k] == Op::Max || ops[k] == Op::Min;
    std::size_t wrong = 0, first = 0;
    for (std::size_t i = count; i-- > 0;) {
      std::uint64_t want =
          encode(type, apply(ops[k], s, decode(s, pairs.a[i]), decode(s, pairs.b[i]), decode(s, pairs.c[i])));
      if (!same(type, want, results[k].bits(i), any_zero)) ++wrong, first = i;
    }
    std::uint64_t want =
        encode(type, apply(ops[k], s, decode(s, pairs.a[first]), decode(s, pairs.b[first]), decode(s, pairs.c[first])));
    INFO(setting.name << " x" << setting.lanes << " " << ir::op_name(ops[k]) << " " << ir::to_string(s) << std::hex
                      << " a=" << pairs.a[first] << " b=" << pairs.b[first] << " c=" << pairs.c[first] << " got "
                      << results[k].bits(first) << " want " << want);
    CHECK(wrong == 0);
  }
}

TEST_CASE("every op on every dtype") {
  for (const Setting& setting : settings()) {
    check_ops(Scalar::Bool, setting);
    for (Scalar s : kIntegers) check_ops(s, setting);
    for (Scalar s : kFloats) check_ops(s, setting);
    for (Scalar s : {Scalar::F8E4M3, Scalar::F8E5M2}) check_ops(s, setting);
  }
}

TEST_CASE("every cast") {
  std::vector<Scalar> all = kIntegers;
  all.insert(all.end(), kFloats.begin(), kFloats.end());
  for (Scalar s : {Scalar::Bool, Scalar::F8E4M3, Scalar::F8E5M2}) all.push_back(s);
  for (const Setting& setting : settings()) {
    for (Scalar from : all) {
      auto values = samples(from);
      while (values.size() % 8) values.push_back(values[0]);
      ir::Graph g;
      Body body(g);
      UOpRef in = body.param(0, from);
      std::vector<UOpRef> out;
      std::vector<Elements> results;
      Elements source(from, values.size());
      std::vector<void*> buffers = {source.data()};
      for (std::uint32_t k = 0; k < all.size(); ++k) {
        out.push_back(body.param(k + 1, all[k]));
        results.emplace_back(all[k], values.size());
      }
      for (Elements& each : results) buffers.push_back(each.data());
      for (std::size_t i = 0; i < values.size(); ++i) source.set(i, values[i]);
      UOpRef range = body.open(body.i64(static_cast<std::int64_t>(values.size() / setting.lanes)));
      UOpRef position = body.put(g.mul(range, body.i64(setting.lanes)));
      UOpRef x = body.load(in, position, DType(from, setting.lanes));
      for (std::size_t k = 0; k < all.size(); ++k)
        body.store(out[k], position, body.put(g.cast(x, DType(all[k], setting.lanes))));
      body.close(range);
      Loaded run(body.kernel(), setting.target);
      run(buffers);
      for (std::size_t k = 0; k < all.size(); ++k) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          std::uint64_t want =
              all[k] == from ? values[i] : encode(all[k], convert(from, all[k], decode(from, values[i])));
          INFO(setting.name << " x" << setting.lanes << " " << ir::to_string(from) << " -> " << ir::to_string(all[k])
                            << std::hex << " of " << values[i] << " got " << results[k].bits(i) << " want " << want);
          CHECK(same(all[k], want, results[k].bits(i), false));
        }
      }
    }
  }
}

TEST_CASE("bitcast keeps bits, where chooses, lanes move") {
  ir::Graph g;
  Body body(g);
  UOpRef in = body.param(0, Scalar::F32), bits = body.param(1, Scalar::I32), chosen = body.param(2, Scalar::F32),
         moved = body.param(3, Scalar::F32);
  UOpRef x = body.load(in, body.i64(0), DType(Scalar::F32, 4));
  body.store(bits, body.i64(0), body.put(g.make(Op::Bitcast, DType(Scalar::I32, 4), {x})));
  UOpRef positive = g.lt(g.constant(DType(Scalar::F32, 4), 0.0), x);
  body.store(chosen, body.i64(0), body.put(g.where(positive, x, g.constant(DType(Scalar::F32, 4), 0.0))));
  auto lane = [&](std::uint32_t k) { return g.make(Op::Extract, Scalar::F32, {x}, ir::LaneInfo{k}); };
  body.store(moved, body.i64(0),
             body.put(g.make(Op::Stack, DType(Scalar::F32, 4), {lane(3), lane(2), lane(0), lane(1)})));
  Loaded run(body.kernel(), host_target());
  float data[4] = {1, -2, NAN, -0.0f}, where[4], lanes[4];
  std::int32_t raw[4];
  run({data, raw, where, lanes});
  CHECK(std::memcmp(raw, data, sizeof raw) == 0);
  CHECK((where[0] == 1 && where[1] == 0 && where[2] == 0 && where[3] == 0));
  CHECK((lanes[1] != lanes[1] && lanes[2] == 1 && lanes[3] == -2 && std::signbit(lanes[0])));
}

TEST_CASE("scaleb is one rounding of x * 2^n, and refused by name without the instruction") {
#if defined(__x86_64__)
  ir::Graph g;
  constexpr std::size_t kCount = 64;
  auto kernel =
      elementwise_kernel(g, kCount, {Scalar::F32, Scalar::F32}, Scalar::F32, 16,
                         [](ir::Graph& graph, auto& v) { return graph.make(Op::ScaleB, v[0]->dtype, {v[0], v[1]}); });
  auto refused = compile_cpu(kernel, baseline_target(), default_options());
  CHECK(refused.status().code() == absl::StatusCode::kUnimplemented);
  CHECK(refused.status().ToString().find("scaleb") != std::string::npos);
  if (widest_target().vector_bits() < 512) SKIP_CASE("this processor has no AVX-512: scaleb is compiled, not run");
  Loaded run(kernel, widest_target());
  float x[kCount], n[kCount], out[kCount];
  const float values[] = {1.0F, -0x1.fffffep0F, 0x1.000002p0F, 0x1.8p-126F, 0x1p-149F, 0.0F, -0.0F, INFINITY};
  const float powers[] = {0, 1, -1, 127, 128, -126, -149, -150};
  for (std::size_t i = 0; i < kCount; ++i) x[i] = values[i % 8], n[i] = powers[i / 8];
  run({out, x, n});
  for (std::size_t i = 0; i < kCount; ++i) {
    INFO(x[i] << " * 2^" << n[i]);
    const float exact = std::ldexp(x[i], static_cast<int>(n[i]));
    CHECK(std::bit_cast<std::uint32_t>(out[i]) == std::bit_cast<std::uint32_t>(exact));
  }
#endif
}

TEST_CASE("fma on f64 without the instruction is refused by name") {
#if defined(__x86_64__)
  ir::Graph g;
  auto kernel = elementwise_kernel(g, 4, {Scalar::F64}, Scalar::F64, 1, [](ir::Graph& graph, auto& v) {
    return graph.make(Op::Fma, Scalar::F64, {v[0], v[0], v[0]});
  });
  auto result = compile_cpu(kernel, baseline_target(), default_options());
  CHECK(result.status().code() == absl::StatusCode::kUnimplemented);
  CHECK(result.status().ToString().find("fma") != std::string::npos);
#endif
}

}  // namespace
}  // namespace hearth::codegen
