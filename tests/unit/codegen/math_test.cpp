// decompose against libm in higher precision: dense sweeps over bit patterns, every special value, ulp bounds.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

#include "compiler/passes/lowered/decompose.h"
#include "tests/unit/codegen/kernel_runner.h"

namespace hearth::codegen {
namespace {

using ir::Op;
using ir::Scalar;
using ir::UOpRef;
using Wide = long double;

template <class T>
constexpr Scalar kScalar = sizeof(T) == 4 ? Scalar::F32 : Scalar::F64;

// Distance in units in the last place of T at `exact`; infinity counts as the next power of two.
template <class T>
double ulp_error(T got, Wide exact) {
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) == std::isnan(got) ? 0 : 1e30;
  int digits = std::numeric_limits<T>::digits, least = std::numeric_limits<T>::min_exponent;
  Wide overflow = std::ldexp(Wide{1}, std::numeric_limits<T>::max_exponent);
  if (exact == 0 && got == 0) return std::signbit(exact) == std::signbit(got) ? 0 : 1e30;
  auto finite = [&](Wide v) { return std::isinf(v) || std::fabs(v) > overflow ? std::copysign(overflow, v) : v; };
  Wide a = finite(got), b = finite(exact);
  int exponent = 0;
  std::frexp(b, &exponent);
  Wide unit = std::ldexp(Wide{1}, std::max(std::min(exponent, std::numeric_limits<T>::max_exponent), least) - digits);
  return static_cast<double>(std::fabs(a - b) / unit);
}

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

// `count` arguments: special values, then bit patterns at a stride that visits every exponent and sign.
template <class T>
std::vector<T> sweep(std::size_t count) {
  using L = std::numeric_limits<T>;
  std::vector<T> values;
  for (T v : {T(0),
              T(1),
              T(0.5),
              T(2),
              T(3),
              T(10),
              T(88.7),
              T(88.73),
              T(103.9),
              T(104.1),
              T(709.7),
              T(709.8),
              T(745.1),
              T(745.2),
              L::min(),
              L::denorm_min(),
              L::max(),
              L::infinity(),
              L::quiet_NaN(),
              T(1.5707963267948966),
              T(3.141592653589793),
              T(1e5),
              T(0.625),
              T(0.9277),
              T(0.78539816339),
              T(1e22),
              T(710),
              T(16367173) * 0x1p72f}) {
    for (T signed_value : {v, -v}) {
      for (T each :
           {signed_value, std::nextafter(signed_value, L::infinity()), std::nextafter(signed_value, -L::infinity())}) {
        values.push_back(each);
      }
    }
  }
  Bits<T> step = static_cast<Bits<T>>(static_cast<long double>(std::numeric_limits<Bits<T>>::max()) / count) | 1;
  for (Bits<T> pattern = 0; values.size() < count - count / 4; pattern += step)
    values.push_back(std::bit_cast<T>(pattern));
  // Half of the patterns are tiny or huge: the rest goes where models live.
  std::mt19937_64 random(7);
  std::uniform_real_distribution<T> usual(-12, 12);
  while (values.size() < count) values.push_back(usual(random));
  return values;
}

template <class T>
std::vector<T> run_op(Op op, const std::vector<std::vector<T>>& arguments, const v1::Target& target,
                      std::uint16_t lanes) {
  ir::Graph g;
  std::size_t count = arguments[0].size();
  REQUIRE(count % lanes == 0);
  std::vector<ir::DType> inputs(arguments.size(), kScalar<T>);
  auto kernel = elementwise_kernel(
      g, static_cast<std::int64_t>(count), inputs, kScalar<T>, lanes, [&](ir::Graph& graph, auto& v) {
        return passes::decompose(graph, graph.make(op, v[0]->dtype, std::span<const UOpRef>(v)), target);
      });
  Loaded run(kernel, target);
  std::vector<T> out(count);
  std::vector<void*> buffers = {out.data()};
  for (auto& argument : arguments) buffers.push_back(const_cast<T*>(argument.data()));
  run(buffers);
  return out;
}

template <class T, class Reference>
void check(const char* name, Op op, double bound, const std::vector<std::vector<T>>& arguments, Reference reference) {
  struct Setting {
    v1::Target target;
    std::uint16_t lanes;
    std::size_t stride;
  };
  // 512 bits: AVX-512's own ways.
  for (const Setting& setting : {Setting{host_target(), sizeof(T) == 4 ? 8 : 4, 1}, Setting{baseline_target(), 1, 16},
                                 Setting{widest_target(), 64 / sizeof(T), 1}}) {
    std::vector<std::vector<T>> used(arguments.size());
    for (std::size_t a = 0; a < arguments.size(); ++a) {
      for (std::size_t i = 0; i < arguments[a].size(); ++i) {
        if (i % setting.stride == 0 || i < 4096) used[a].push_back(arguments[a][i]);
      }
      while (used[a].size() % setting.lanes) used[a].push_back(1);
    }
    std::vector<T> got = run_op<T>(op, used, setting.target, setting.lanes);
    double worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      double error = ulp_error<T>(got[i], reference(used[0][i], used.back()[i]));
      if (error > worst) worst = error, at = i;
    }
    std::printf("  %-8s %s x%-2d %9zu arguments, max %.4g ulp (bound %.2g) at %a\n", name,
                sizeof(T) == 4 ? "f32" : "f64", setting.lanes, got.size(), worst, bound,
                static_cast<double>(used[0][at]));
    INFO(name << "(" << used[0][at] << ", " << used.back()[at] << ") = " << got[at] << ", exact "
              << static_cast<double>(reference(used[0][at], used.back()[at])) << ", " << worst << " ulp");
    CHECK(worst <= bound);
  }
}

template <class T>
void check_unary(std::size_t count, double tanh_bound, double trig_bound, double sigmoid_bound) {
  // libm in the next wider type: double for f32 (faster), long double for f64.
  using W = std::conditional_t<sizeof(T) == 4, double, long double>;
  std::vector<std::vector<T>> x = {sweep<T>(count)};
  check<T>("exp", Op::Exp, 1, x, [](T v, T) -> Wide { return std::exp(W(v)); });
  check<T>("exp2", Op::Exp2, 1, x, [](T v, T) -> Wide { return std::exp2(W(v)); });
  check<T>("log", Op::Log, 1, x, [](T v, T) -> Wide { return std::log(W(v)); });
  check<T>("log2", Op::Log2, 1, x, [](T v, T) -> Wide { return std::log2(W(v)); });
  check<T>("sigmoid", Op::Sigmoid, sigmoid_bound, x, [](T v, T) -> Wide { return W(1) / (W(1) + std::exp(-W(v))); });
  check<T>("tanh", Op::Tanh, tanh_bound, x, [](T v, T) -> Wide { return std::tanh(W(v)); });
  check<T>("erf", Op::Erf, tanh_bound, x, [](T v, T) -> Wide { return std::erf(W(v)); });
  check<T>("sin", Op::Sin, trig_bound, x, [](T v, T) -> Wide { return std::sin(W(v)); });
  check<T>("cos", Op::Cos, trig_bound, x, [](T v, T) -> Wide { return std::cos(W(v)); });
}

template <class T>
std::vector<std::vector<T>> pow_arguments(std::size_t count) {
  using L = std::numeric_limits<T>;
  std::vector<T> special = {0,
                            1,
                            2,
                            3,
                            4,
                            0.5,
                            1.5,
                            1e-3,
                            1e3,
                            1e30,
                            L::min(),
                            L::denorm_min(),
                            L::max(),
                            L::infinity(),
                            L::quiet_NaN(),
                            7,
                            1e-30,
                            std::nextafter(T(1), T(2)),
                            std::nextafter(T(1), T(0)),
                            std::ldexp(T(1), L::digits - 1) + 1,
                            std::ldexp(T(1), L::digits) + 2};
  for (std::size_t i = special.size(); i-- > 0;) special.push_back(-special[i]);
  std::vector<std::vector<T>> xy(2);
  for (T x : special) {
    for (T y : special) xy[0].push_back(x), xy[1].push_back(y);
  }
  std::mt19937_64 random(11);
  std::uniform_real_distribution<T> base(0, 20), exponent(-30, 30);
  std::uniform_real_distribution<T> logarithm(static_cast<T>(L::min_exponent), static_cast<T>(L::max_exponent));
  while (xy[0].size() < count / 2) xy[0].push_back(base(random)), xy[1].push_back(exponent(random));
  // Results over the whole range, overflow and subnormals included.
  while (xy[0].size() < count * 3 / 4) {
    T x = std::exp2(logarithm(random));
    xy[0].push_back(x), xy[1].push_back(logarithm(random) * T(1.1) / std::log2(x));
  }
  while (xy[0].size() < count) {
    xy[0].push_back(std::bit_cast<T>(static_cast<Bits<T>>(random()))),
        xy[1].push_back(std::bit_cast<T>(static_cast<Bits<T>>(random())));
  }
  return xy;
}

TEST_CASE("f32 functions within their bounds") { check_unary<float>(std::size_t{1} << 20, 2, 1, 3); }
TEST_CASE("f64 functions within their bounds") { check_unary<double>(std::size_t{1} << 18, 3, 3, 3); }
// Every whole power that the type holds, subnormals included: exact both ways.
template <class T>
void check_powers_of_two() {
  using L = std::numeric_limits<T>;
  std::vector<T> exponents, powers;
  for (int e = L::min_exponent - L::digits; e < L::max_exponent; ++e) exponents.push_back(T(e));
  while (exponents.size() % 16) exponents.push_back(0);
  for (T e : exponents) powers.push_back(std::ldexp(T(1), static_cast<int>(e)));
  for (const auto& [target, lanes] : {std::pair(host_target(), std::uint16_t{256 / 8 / sizeof(T)}),
                                      {widest_target(), 512 / 8 / sizeof(T)},
                                      {baseline_target(), 1}}) {
    CHECK(run_op<T>(Op::Exp2, {exponents}, target, lanes) == powers);
    CHECK(run_op<T>(Op::Log2, {powers}, target, lanes) == exponents);
  }
}
TEST_CASE("exp2 and log2 are exact at powers of two") {
  check_powers_of_two<float>();
  check_powers_of_two<double>();
}
TEST_CASE("pow within its bounds") {
  check<float>("pow", Op::Pow, 1, pow_arguments<float>(1 << 19),
               [](float x, float y) -> Wide { return std::pow(double(x), double(y)); });
  check<double>("pow", Op::Pow, 1, pow_arguments<double>(1 << 18),
                [](double x, double y) -> Wide { return std::pow(Wide(x), Wide(y)); });
}

}  // namespace
}  // namespace hearth::codegen
