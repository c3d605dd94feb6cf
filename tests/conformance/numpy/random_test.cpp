#include <catch2/catch.hpp>

#include "tests/conformance/numpy/op_cases.h"

using namespace hearth;
using namespace hearth::client;
using hearth::conformance::numpy::check_family;
using hearth::conformance::numpy::OpCase;
using hearth::conformance::numpy::Tensors;

TEST_CASE("random numbers are Threefry's") {
  std::vector<OpCase> cases = {
      {"bits", [](const Tensors& in) { return Tensors{random_bits({3, 5}, in[0]), random_bits({6}, in[0])}; }},
      {"seeded_bits", [](const Tensors&) { return Tensors{random_bits({4}, random_key(0x1122334455667788))}; }},
      {"uniform",
       [](const Tensors& in) { return Tensors{random_uniform({4, 5}, in[0]), random_uniform({7}, in[0], -1, 2)}; }, 0,
       2e-7},
      {"uniform_widths",
       [](const Tensors& in) {
         return Tensors{random_uniform({9}, in[0], 0, 1, DType::kF64), random_uniform({9}, in[0], 0, 1, DType::kF16)};
       }},
      // The angle is a f32 of up to 2 pi: its rounding is an absolute error, times a radius of up to 6.8.
      {"normal",
       [](const Tensors& in) {
         return Tensors{random_normal({3, 7}, in[0]), random_normal({5}, in[0], 1, 2, DType::kF64)};
       },
       1e-5, 4e-6},
      {"bernoulli", [](const Tensors& in) { return Tensors{random_bernoulli(in[1], in[0])}; }},
      {"multinomial", [](const Tensors& in) { return Tensors{random_multinomial(in[1], 7, in[0])}; }},
  };
  for (const char* name : {"known_answer_0", "known_answer_1", "known_answer_2"}) {
    cases.push_back({name, [](const Tensors& in) { return Tensors{threefry2x32(in[0], in[1])}; }});
  }
  check_family("random", cases);
}
