// One family of Tensor API ops checked against numpy: what make_cases.py wrote (HEARTH_NUMPY_CASES/<family>) against
// the reference interpreter, and the reference interpreter against the other executions (tests/conformance/ops).
// A case of the script without a row here, or the other way round, fails.
//
//   check_family("movement", {{"flip", [](const Tensors& in) { return Tensors{flip(in[0], {0, 2})}; }}});
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "hearth/ops.h"

namespace hearth::conformance::numpy {

using Tensors = std::vector<client::Tensor>;

struct OpCase {
  std::string name;
  std::function<Tensors(const Tensors&)> record;
  // |got - want| <= absolute + relative * |want| for floats; integers and bool are exact always. Both zero: exact, and
  // -0 is not +0 unless uop.h leaves it open (tests/conformance/ops/zero_sign.h) or `any_zero_sign` says why.
  double relative = 0;
  double absolute = 0;
  const char* any_zero_sign = nullptr;
};

// Catch2 assertions.
void check_family(const std::string& family, const std::vector<OpCase>& cases);

}  // namespace hearth::conformance::numpy
