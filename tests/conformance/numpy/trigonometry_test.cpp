#include <catch2/catch.hpp>

#include "tests/conformance/numpy/op_cases.h"

using namespace hearth;
using namespace hearth::client;
using hearth::conformance::numpy::check_family;
using hearth::conformance::numpy::OpCase;
using hearth::conformance::numpy::Tensors;

namespace {

// What hearth/ops/trigonometry.h promises; a subnormal may be one step off.
constexpr double kF32 = 4 * 0x1p-24, kF64 = 4 * 0x1p-53, kStep = 0x1p-149;

}  // namespace

TEST_CASE("inverse and hyperbolic functions give numpy's results") {
  std::vector<OpCase> cases = {
      {"asin_f16", [](const Tensors& in) { return Tensors{asin(in[0])}; }, 0x1p-11, 0},
      {"sinh_integers", [](const Tensors& in) { return Tensors{sinh(in[0])}; }, kF32, 0},
      {"atan2", [](const Tensors& in) { return Tensors{atan2(in[0], in[1])}; }, kF32, kStep},
      {"copysign", [](const Tensors& in) { return Tensors{copysign(in[0], in[1])}; }},
      {"zeros_keep_their_sign",
       [](const Tensors& in) {
         return Tensors{1.0 / asin(in[0]),  1.0 / atan(in[0]),  1.0 / sinh(in[0]),
                        1.0 / asinh(in[0]), 1.0 / atanh(in[0]), 1.0 / atan2(in[0], 1.0)};
       }},
      {"lerp", [](const Tensors& in) { return Tensors{lerp(in[0], in[1], in[2])}; }, 1e-6, 1e-6},
  };
  const std::pair<const char*, Tensor (*)(const Tensor&, Loc)> functions[] = {
      {"asin", asin},   {"acos", acos},   {"atan", atan},   {"sinh", sinh},   {"cosh", cosh},
      {"log1p", log1p}, {"asinh", asinh}, {"acosh", acosh}, {"atanh", atanh},
  };
  for (const auto& [name, function] : functions) {
    const auto record = [function = function](const Tensors& in) { return Tensors{function(in[0], Loc::current())}; };
    cases.push_back({name, record, kF32, kStep});
    cases.push_back({std::string(name) + "_f64", record, kF64, 0});
  }
  check_family("trigonometry", cases);
}
