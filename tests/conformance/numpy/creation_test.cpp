#include <catch2/catch.hpp>

#include "tests/conformance/numpy/op_cases.h"

using namespace hearth;
using namespace hearth::client;
using hearth::conformance::numpy::check_family;
using hearth::conformance::numpy::Tensors;

TEST_CASE("tensors by formula are numpy's") {
  check_family(
      "creation",
      {
          {"linspace",
           [](const Tensors&) {
             return Tensors{linspace(-1, 2, 7), linspace(5, 5, 1, DType::kF64), linspace(0.1, 0.3, 11, DType::kF64)};
           },
           0x1p-24, 0x1p-25},
          {"eye",
           [](const Tensors&) {
             return Tensors{eye(3, 5, 1), eye(4, 3, -2, DType::kI64), eye(2, 2, 0, DType::kBool)};
           }},
          {"triu",
           [](const Tensors& in) { return Tensors{triu(in[0]), triu(in[0], 2), triu(in[0], -1), triu(in[0], 9)}; }},
          {"tril",
           [](const Tensors& in) { return Tensors{tril(in[0]), tril(in[0], 2), tril(in[0], -1), tril(in[0], -9)}; }},
          {"meshgrid_xy", [](const Tensors& in) { return meshgrid(in); }},
          {"meshgrid_ij", [](const Tensors& in) { return meshgrid(in, GridIndexing::kMatrix); }},
          {"roll", [](const Tensors& in) { return Tensors{roll(in[0], 2, 1), roll(in[0], -7, 2), roll(in[0], 5, 2)}; }},
          {"cumprod",
           [](const Tensors& in) {
             return Tensors{cumprod(in[0], 0), cumprod(in[0], 1, true), cumprod(in[0], 2, false, true)};
           },
           1e-6, 0},
          {"cumprod_integers", [](const Tensors& in) { return Tensors{cumprod(in[0], 1)}; }},
          {"std_deviation",
           [](const Tensors& in) {
             return Tensors{std_deviation(in[0], {1}), std_deviation(in[0], {0, 2}, true, 1), std_deviation(in[0])};
           },
           1e-6, 0},
      });
}
