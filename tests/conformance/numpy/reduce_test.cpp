#include <catch2/catch.hpp>

#include "tests/conformance/numpy/op_cases.h"

using namespace hearth;
using namespace hearth::client;
using hearth::conformance::numpy::check_family;
using hearth::conformance::numpy::Tensors;

TEST_CASE("reductions and row functions give numpy's results") {
  constexpr double kRounding = 2e-6;
  check_family(
      "reduce",
      {
          {"reduce_sum", [](const Tensors& in) { return Tensors{reduce_sum(in[0], {0, 2})}; }, kRounding, kRounding},
          {"reduce_sum_all", [](const Tensors& in) { return Tensors{reduce_sum(in[0])}; }, kRounding, kRounding},
          {"reduce_sum_small_integers", [](const Tensors& in) { return Tensors{reduce_sum(in[0], {1}, true)}; }},
          {"reduce_prod", [](const Tensors& in) { return Tensors{reduce_prod(in[0], {1})}; }, kRounding},
          {"reduce_max", [](const Tensors& in) { return Tensors{reduce_max(in[0], {-1})}; }},
          {"reduce_min", [](const Tensors& in) { return Tensors{reduce_min(in[0], {0})}; }},
          {"mean", [](const Tensors& in) { return Tensors{mean(in[0], {1, 2}, true)}; }, kRounding, kRounding},
          {"variance", [](const Tensors& in) { return Tensors{variance(in[0], {2})}; }, kRounding},
          {"variance_corrected", [](const Tensors& in) { return Tensors{variance(in[0], {2}, false, 1)}; }, kRounding},
          {"lp_norm", [](const Tensors& in) { return Tensors{lp_norm(in[0], 3, {1})}; }, kRounding},
          {"any", [](const Tensors& in) { return Tensors{any(in[0], {1})}; }},
          {"all", [](const Tensors& in) { return Tensors{all(in[0], {2})}; }},
          {"argmax", [](const Tensors& in) { return Tensors{argmax(in[0], 1)}; }},
          {"argmin_last", [](const Tensors& in) { return Tensors{argmin(in[0], 1, false, true)}; }},
          {"cumsum", [](const Tensors& in) { return Tensors{cumsum(in[0], 2)}; }, kRounding, kRounding},
          {"cumsum_exclusive_reverse", [](const Tensors& in) { return Tensors{cumsum(in[0], 2, true, true)}; },
           kRounding, kRounding},
          {"cumsum_long", [](const Tensors& in) { return Tensors{cumsum(in[0], 1)}; }, kRounding, kRounding},
          {"cumsum_long_exclusive", [](const Tensors& in) { return Tensors{cumsum(in[0], 1, true)}; }, kRounding,
           kRounding},
          {"cumsum_long_reverse", [](const Tensors& in) { return Tensors{cumsum(in[0], 1, false, true)}; }, kRounding,
           kRounding},
          {"cumsum_long_i8", [](const Tensors& in) { return Tensors{cumsum(in[0], 0)}; }},
          {"cumprod_long", [](const Tensors& in) { return Tensors{cumprod(in[0], 0)}; }, kRounding, kRounding},
          {"softmax", [](const Tensors& in) { return Tensors{softmax(in[0], 1)}; }, kRounding},
          {"log_softmax", [](const Tensors& in) { return Tensors{log_softmax(in[0])}; }, kRounding, kRounding},
          {"logsumexp", [](const Tensors& in) { return Tensors{logsumexp(in[0], {2})}; }, kRounding, kRounding},
      });
}
