#include <catch2/catch.hpp>

#include "tests/conformance/numpy/op_cases.h"

using namespace hearth;
using namespace hearth::client;
using hearth::conformance::numpy::check_family;
using hearth::conformance::numpy::OpCase;
using hearth::conformance::numpy::Tensors;

TEST_CASE("einsum, determinants and reversed sequences are numpy's") {
  std::vector<OpCase> cases = {
      {"integers", [](const Tensors& in) { return Tensors{einsum("ij,jk->ik", in)}; }},
      {"determinant", [](const Tensors& in) { return Tensors{determinant(in[0])}; }, 1e-5, 1e-5},
      {"determinant_sizes", [](const Tensors& in) { return Tensors{determinant(in[0]), determinant(in[1])}; }, 1e-6, 0},
      {"reverse_sequence", [](const Tensors& in) { return Tensors{reverse_sequence(in[0], in[1], 1, 0)}; }},
      {"reverse_sequence_time_first", [](const Tensors& in) { return Tensors{reverse_sequence(in[0], in[1], 0, 1)}; }},
  };
  const std::pair<const char*, const char*> equations[] = {
      {"matmul", "ij,jk->ik"},
      {"attention", "bhqd,bhkd->bhqk"},
      {"transpose", "abc->cab"},
      {"implicit", "ba,cb"},
      {"sum_all", "ij->"},
      {"trace", "ii"},
      {"diagonal", "...ii->...i"},
      {"two_diagonals", "iijj->ji"},
      {"ellipsis", "...ij, ...jk -> ...ik"},
      {"ellipsis_inside", "i...k,k->...i"},
      {"ellipsis_summed", "a...,b...->ab"},
      {"outer", "i,j->ji"},
      {"broadcast_label", "ij,ij->i"},
      {"sum_of_one", "ij,k->k"},
      {"three", "ij,jk,kl->il"},
      {"bilinear", "bi,oij,bj->bo"},
      {"scalar", ",i->i"},
  };
  for (const auto& [name, equation] : equations) {
    cases.push_back(
        {name, [equation = equation](const Tensors& in) { return Tensors{einsum(equation, in)}; }, 1e-5, 1e-5});
  }
  check_family("einsum", cases);
}
