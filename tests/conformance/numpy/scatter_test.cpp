#include <catch2/catch.hpp>

#include "tests/conformance/numpy/op_cases.h"

using namespace hearth;
using namespace hearth::client;
using hearth::conformance::numpy::check_family;
using hearth::conformance::numpy::OpCase;
using hearth::conformance::numpy::Tensors;

TEST_CASE("writing by index, gathering by coordinates and sorting give numpy's results") {
  const std::pair<std::string, ScatterReduction> reductions[] = {{"none", ScatterReduction::kNone},
                                                                 {"add", ScatterReduction::kAdd},
                                                                 {"mul", ScatterReduction::kMultiply},
                                                                 {"min", ScatterReduction::kMinimum},
                                                                 {"max", ScatterReduction::kMaximum}};
  std::vector<OpCase> cases = {
      {"elements_i8",
       [&](const Tensors& in) {
         Tensors results;
         for (const auto& [name, how] : reductions) results.push_back(scatter_elements(in[0], in[1], in[2], 0, how));
         return results;
       }},
      {"elements_bool", [](const Tensors& in) { return Tensors{scatter_elements(in[0], in[1], in[2], 0)}; }},
      {"nd_cells",
       [](const Tensors& in) {
         return Tensors{scatter_nd(in[0], in[1], in[2]), scatter_nd(in[0], in[1], in[2], ScatterReduction::kAdd)};
       },
       1e-6, 0},
      {"gather_elements", [](const Tensors& in) { return Tensors{gather_elements(in[0], in[1], 1)}; }},
      {"gather_elements_part", [](const Tensors& in) { return Tensors{gather_elements(in[0], in[1], 1)}; }},
      {"one_hot", [](const Tensors& in) { return Tensors{one_hot(in[0], 3, DType::kBool, 1)}; }},
      {"gather_nd", [](const Tensors& in) { return Tensors{gather_nd(in[0], in[1])}; }},
      {"gather_nd_cells", [](const Tensors& in) { return Tensors{gather_nd(in[0], in[1])}; }},
      {"gather_nd_batch", [](const Tensors& in) { return Tensors{gather_nd(in[0], in[1], 1)}; }},
      {"gather_nd_batches", [](const Tensors& in) { return Tensors{gather_nd(in[0], in[1], 2)}; }},
      {"sort_integers", [](const Tensors& in) { return Tensors{sort(in[0], 0), sort(in[0], 1, true)}; }},
      {"argsort_ties", [](const Tensors& in) { return Tensors{argsort(in[0], 1), argsort(in[0], 1, true)}; }},
      {"sort_nan", [](const Tensors& in) { return Tensors{sort(in[0]), argsort(in[0]), sort(in[0], -1, true)}; }},
      {"sort_bytes", [](const Tensors& in) { return Tensors{sort(in[0])}; }},
      {"topk_none",
       [](const Tensors& in) {
         const TopK none = topk(in[0], 0, 1);
         return Tensors{none.values, none.indices};
       }},
      {"scatter_nothing", [](const Tensors& in) { return Tensors{scatter_elements(in[0], in[1], in[2], 1)}; }},
      {"sort_bool", [](const Tensors& in) { return Tensors{sort(in[0]), argsort(in[0])}; }},
      {"sort_f16", [](const Tensors& in) { return Tensors{sort(in[0], 0)}; }},
      {"sort_long", [](const Tensors& in) { return Tensors{sort(in[0])}; }},
      {"argsort_long", [](const Tensors& in) { return Tensors{argsort(in[0]), argsort(in[0], 0)}; }},
      {"argsort_long_falling", [](const Tensors& in) { return Tensors{argsort(in[0], -1, true)}; }},
      {"order_bool", [](const Tensors& in) { return Tensors{sort(in[0]), argsort(in[0])}; }},
      {"topk_long_i64",
       [](const Tensors& in) {
         const TopK best = topk(in[0], 3);
         return Tensors{best.values, best.indices};
       }},
      {"topk",
       [](const Tensors& in) {
         const TopK best = topk(in[0], 2, 1), least = topk(in[0], 1, 2, false);
         return Tensors{best.values, best.indices, least.values, least.indices};
       }},
  };
  for (const std::string name :
       {"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float64"}) {
    cases.push_back({"order_" + name,
                     [](const Tensors& in) { return Tensors{sort(in[0]), argsort(in[0]), argsort(in[0], -1, true)}; }});
  }
  for (const std::int64_t count : {1, 5, 50, 1000}) {
    cases.push_back({"topk_long_" + std::to_string(count), [count](const Tensors& in) {
                       const TopK best = topk(in[0], count), least = topk(in[0], count, -1, false);
                       return Tensors{best.values, best.indices, least.values, least.indices};
                     }});
  }
  for (const auto& [name, how] : reductions) {
    cases.push_back({"elements_" + name,
                     [how = how](const Tensors& in) { return Tensors{scatter_elements(in[0], in[1], in[2], 1, how)}; },
                     1e-6, 1e-6});
    cases.push_back({"nd_" + name,
                     [how = how](const Tensors& in) { return Tensors{scatter_nd(in[0], in[1], in[2], how)}; }, 1e-6,
                     1e-6});
  }
  check_family("scatter", cases);
}
