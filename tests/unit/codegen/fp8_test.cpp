// fp8 in generated code against the OCP definition: every bit pattern, every f16 value, every boundary of rounding,
// every pair of operands; scalar and by lanes, with and without the CPU's f16 instructions.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "tests/unit/codegen/kernel_runner.h"
#include "tests/unit/fp8_judge.h"

namespace hearth::codegen {
namespace {

using ir::DType;
using ir::Op;
using ir::Scalar;
using ir::UOpRef;
using test::Fp8Judge;

struct Fp8Format {
  Scalar scalar;
  Fp8Judge judge;
};
const Fp8Format kFormats[] = {{Scalar::F8E4M3, test::kE4M3}, {Scalar::F8E5M2, test::kE5M2}};

struct Fp8Setting {
  const char* name;
  v1::Target target;
  std::uint16_t lanes;
};
std::vector<Fp8Setting> fp8_settings() {
  return {{"host", host_target(), 1},
          {"host", host_target(), 16},
          {"baseline", baseline_target(), 1},
          {"baseline", baseline_target(), 4}};
}

// out[i] = cast(in[i]); the count is a multiple of 16.
template <class To, class From>
std::vector<To> run_cast(Scalar to, Scalar from, const std::vector<From>& in, const Fp8Setting& setting) {
  ir::Graph g;
  auto kernel =
      elementwise_kernel(g, static_cast<std::int64_t>(in.size()), {from}, to, setting.lanes,
                         [to](ir::Graph& graph, auto& v) { return graph.cast(v[0], DType(to, v[0]->dtype.lanes)); });
  std::vector<To> out(in.size());
  Loaded run(kernel, setting.target);
  run({out.data(), const_cast<From*>(in.data())});
  return out;
}

std::vector<std::uint8_t> every_pattern() {
  std::vector<std::uint8_t> bits(256);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint8_t>(i);
  return bits;
}

bool same_float(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

TEST_CASE("every fp8 bit pattern widens to its value") {
  for (const Fp8Setting& setting : fp8_settings()) {
    for (const auto& [scalar, judge] : kFormats) {
      const std::vector<float> wide = run_cast<float>(Scalar::F32, scalar, every_pattern(), setting);
      const std::vector<std::uint16_t> half = run_cast<std::uint16_t>(Scalar::F16, scalar, every_pattern(), setting);
      for (int i = 0; i < 256; ++i) {
        const double want = judge.value(static_cast<std::uint8_t>(i));
        INFO(setting.name << " x" << setting.lanes << " " << ir::to_string(scalar) << " " << i << " gives " << wide[i]);
        CHECK(same_float(wide[i], want));
        CHECK(same_float(test::f16_value(half[i]), want));
      }
    }
  }
}

#if defined(__x86_64__)
TEST_CASE("fp8 subnormals survive a process that flushes f32 subnormals") {
  const unsigned mode = _mm_getcsr();
  for (const Fp8Setting& setting : fp8_settings()) {
    for (const auto& [scalar, judge] : kFormats) {
      _mm_setcsr(mode | 0x8040);  // flush to zero, denormals are zero
      const std::vector<float> wide = run_cast<float>(Scalar::F32, scalar, every_pattern(), setting);
      const std::vector<std::uint8_t> back = run_cast<std::uint8_t>(scalar, Scalar::F32, wide, setting);
      _mm_setcsr(mode);
      for (int i = 0; i < 256; ++i) {
        INFO(setting.name << " x" << setting.lanes << " " << ir::to_string(scalar) << " " << i);
        CHECK(same_float(wide[i], judge.value(static_cast<std::uint8_t>(i))));
        CHECK(judge.same(back[i], static_cast<std::uint8_t>(i)));
      }
    }
  }
}
#endif

template <class From>
void check_narrowing(const Fp8Setting& setting, const Fp8Format& format, Scalar from, std::vector<From> in,
                     double (*value)(From)) {
  while (in.size() % 16) in.push_back(in[0]);
  const std::vector<std::uint8_t> got = run_cast<std::uint8_t>(format.scalar, from, in, setting);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::uint8_t want = format.judge.nearest(value(in[i]));
    if (format.judge.same(got[i], want)) continue;
    if (wrong++ == 0) {
      UNSCOPED_INFO(setting.name << " x" << setting.lanes << " " << ir::to_string(from) << " " << value(in[i]) << " to "
                                 << ir::to_string(format.scalar) << " gives " << int{got[i]} << ", not " << int{want});
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("f16, f32, f64 and integers narrow to the nearest fp8 value") {
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  std::vector<std::int32_t> integers;
  for (std::int32_t x = -70000; x <= 70000; x += 7) integers.push_back(x);
  for (const Fp8Setting& setting : fp8_settings()) {
    for (const Fp8Format& format : kFormats) {
      check_narrowing<std::uint16_t>(setting, format, Scalar::F16, halves, test::f16_value);
      const std::vector<float> floats = test::fp8_boundaries(format.judge);
      check_narrowing<float>(setting, format, Scalar::F32, floats, [](float x) -> double { return x; });
      std::vector<double> doubles;
      for (const double x : floats) {
        for (const double near : {x, std::nextafter(x, INFINITY), std::nextafter(x, -INFINITY)})
          doubles.push_back(near);
      }
      check_narrowing<double>(setting, format, Scalar::F64, doubles, [](double x) { return x; });
      check_narrowing<std::int32_t>(setting, format, Scalar::I32, integers, [](std::int32_t x) -> double { return x; });
    }
  }
}

TEST_CASE("fp8 arithmetic is f32 arithmetic rounded once, for every pair of operands") {
  std::vector<std::uint8_t> a(65536), b(65536);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<std::uint8_t>(i >> 8), b[i] = static_cast<std::uint8_t>(i);
  }
  struct Row {
    Op op;
    float (*exact)(float, float);
  };
  const Row rows[] = {{Op::Add, [](float x, float y) { return x + y; }},
                      {Op::Sub, [](float x, float y) { return x - y; }},
                      {Op::Mul, [](float x, float y) { return x * y; }},
                      {Op::Div, [](float x, float y) { return x / y; }}};
  for (const Fp8Setting& setting : {fp8_settings()[1], fp8_settings()[2]}) {
    for (const auto& [scalar, judge] : kFormats) {
      for (const Row& row : rows) {
        ir::Graph g;
        auto kernel =
            elementwise_kernel(g, 65536, {scalar, scalar}, scalar, setting.lanes,
                               [&row](ir::Graph& graph, auto& v) { return graph.binary(row.op, v[0], v[1]); });
        std::vector<std::uint8_t> got(65536);
        Loaded run(kernel, setting.target);
        run({got.data(), a.data(), b.data()});
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < got.size(); ++i) {
          const auto x = static_cast<float>(judge.value(a[i])), y = static_cast<float>(judge.value(b[i]));
          wrong += judge.same(got[i], judge.nearest(row.exact(x, y))) ? 0 : 1;
        }
        INFO(setting.name << " x" << setting.lanes << " " << ir::op_name(row.op) << " " << ir::to_string(scalar));
        CHECK(wrong == 0);
      }
    }
  }
}

}  // namespace
}  // namespace hearth::codegen
