#include <catch2/catch.hpp>

#include "tests/conformance/numpy/op_cases.h"

using namespace hearth;
using namespace hearth::client;
using hearth::conformance::numpy::check_family;
using hearth::conformance::numpy::Tensors;

TEST_CASE("blocks of images give numpy's results") {
  check_family(
      "blocks",
      {
          {"depth_to_space", [](const Tensors& in) { return Tensors{depth_to_space(in[0], 2)}; }},
          {"space_to_depth", [](const Tensors& in) { return Tensors{space_to_depth(in[0], 2)}; }},
          {"pixel_shuffle", [](const Tensors& in) { return Tensors{pixel_shuffle(in[0], 2)}; }},
          {"pixel_unshuffle", [](const Tensors& in) { return Tensors{pixel_unshuffle(in[0], 2)}; }},
          {"center_crop", [](const Tensors& in) { return Tensors{center_crop_pad(in[0], {5, 1}, {1, 3})}; }},
          {"center_pad", [](const Tensors& in) { return Tensors{center_crop_pad(in[0], {5, 4}, {2, -1})}; }},
          {"fold", [](const Tensors& in) { return Tensors{fold(in[0], {5, 4}, {3, 2})}; }, 1e-6, 1e-6},
          {"fold_strided",
           [](const Tensors& in) {
             return Tensors{fold(in[0], {5, 6}, {2, 2},
                                 {.strides = {2, 3}, .pads_begin = {1, 0}, .pads_end = {1, 1}, .dilations = {2, 3}})};
           },
           1e-6, 1e-6},
          {"fold_1d", [](const Tensors& in) { return Tensors{fold(in[0], {6}, {3})}; }},
      });
}
