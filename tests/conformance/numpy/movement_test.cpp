#include <catch2/catch.hpp>

#include "tests/conformance/numpy/op_cases.h"

using namespace hearth;
using namespace hearth::client;
using hearth::conformance::numpy::check_family;
using hearth::conformance::numpy::Tensors;

TEST_CASE("movement ops give numpy's results") {
  check_family("movement",
               {
                   {"permute", [](const Tensors& in) { return Tensors{permute(in[0], {2, 0, 1})}; }},
                   {"transpose", [](const Tensors& in) { return Tensors{transpose(in[0], 0, 1)}; }},
                   {"flip", [](const Tensors& in) { return Tensors{flip(in[0], {0, 2})}; }},
                   {"slice_steps",
                    [](const Tensors& in) {
                      return Tensors{slice(in[0], {{.axis = 0, .begin = 2, .end = 0, .step = -1},
                                                   {.axis = 2, .begin = 1, .end = 5, .step = 2}})};
                    }},
                   {"pad", [](const Tensors& in) { return Tensors{pad(in[0], {1, 0, 3}, {0, 2, 1}, 2.5)}; }},
                   {"pad_integer",
                    [](const Tensors& in) {
                      return Tensors{pad_integer(in[0], {1, 0}, {0, 2}, std::numeric_limits<std::int64_t>::max())};
                    }},
                   {"pad_integer_u64", [](const Tensors& in) { return Tensors{pad_integer(in[0], {0}, {1}, -1)}; }},
                   {"pad_edge", [](const Tensors& in) { return Tensors{pad_edge(in[0], {1, 0, 2}, {2, 0, 2})}; }},
                   {"pad_reflect", [](const Tensors& in) { return Tensors{pad_reflect(in[0], {1, 0, 2}, {2, 0, 2})}; }},
                   {"expand", [](const Tensors& in) { return Tensors{expand(in[0], {2, 3, 4, 5})}; }},
                   {"cat", [](const Tensors& in) { return Tensors{cat(in, 1)}; }},
                   {"stack", [](const Tensors& in) { return Tensors{stack(in, 2)}; }},
                   {"split", [](const Tensors& in) { return split(in[0], {1, 2, 2}, 2); }},
                   {"tile", [](const Tensors& in) { return Tensors{tile(in[0], {2, 3, 1})}; }},
                   {"repeat_interleave", [](const Tensors& in) { return Tensors{repeat_interleave(in[0], 3, 2)}; }},
                   {"unfold", [](const Tensors& in) { return Tensors{unfold(in[0], 2, 3, 2)}; }},
                   {"reshape", [](const Tensors& in) { return Tensors{reshape(in[0], {5, -1})}; }},
                   {"flatten", [](const Tensors& in) { return Tensors{flatten(in[0], 2)}; }},
                   {"squeeze", [](const Tensors& in) { return Tensors{squeeze(in[0])}; }},
                   {"unsqueeze", [](const Tensors& in) { return Tensors{unsqueeze(in[0], {1, -1})}; }},
                   {"shrink", [](const Tensors& in) { return Tensors{shrink(in[0], {1, 0, 2}, {3, 2, 5})}; }},
                   {"select", [](const Tensors& in) { return Tensors{select(in[0], 1, -2)}; }},
                   {"split_every", [](const Tensors& in) { return split_every(in[0], 2, 2); }},
                   {"creation",
                    [](const Tensors& in) {
                      return Tensors{arange(7), iota({3, 4}, 1, DType::kI32), full({2, 2}, 1.5, DType::kF32), in[0]};
                    }},
               });
}
