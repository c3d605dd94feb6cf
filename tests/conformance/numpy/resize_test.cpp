#include <catch2/catch.hpp>

#include "tests/conformance/numpy/op_cases.h"

using namespace hearth;
using namespace hearth::client;
using hearth::conformance::numpy::check_family;
using hearth::conformance::numpy::OpCase;
using hearth::conformance::numpy::Tensors;

namespace {

OpCase row(std::string name, std::vector<ResizeAxis> axes, ResizeConfig config) {
  const bool exact = config.mode == ResizeMode::kNearest;
  return {std::move(name), [=](const Tensors& in) { return Tensors{resize(in[0], axes, config)}; }, exact ? 0 : 1e-5,
          exact ? 0 : 1e-5};
}

}  // namespace

TEST_CASE("resizing gives numpy's results") {
  const std::vector<ResizeAxis> up = {{.axis = 1, .length = 7}, {.axis = -1, .length = 9}};
  const std::vector<ResizeAxis> down = {{.axis = 1, .length = 3}, {.axis = 2, .length = 2}};
  const auto nearest = [](NearestMode mode, ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel) {
    return ResizeConfig{.coordinates = coordinates, .nearest = mode};
  };
  const ResizeConfig linear = {.mode = ResizeMode::kLinear}, cubic = {.mode = ResizeMode::kCubic};
  const auto linear_by = [](ResizeCoordinates coordinates) {
    return ResizeConfig{.mode = ResizeMode::kLinear, .coordinates = coordinates, .extrapolation = 7.5};
  };
  check_family("resize",
               {
                   row("nearest_repeats", {{.axis = 1, .length = 6}, {.axis = 2, .length = 12}}, {}),
                   row("nearest_prefer_floor", up, {}),
                   row("nearest_prefer_ceil", up, nearest(NearestMode::kRoundPreferCeil)),
                   row("nearest_floor_asymmetric", up, nearest(NearestMode::kFloor, ResizeCoordinates::kAsymmetric)),
                   row("nearest_ceil_tf", up, nearest(NearestMode::kCeil, ResizeCoordinates::kTfHalfPixelForNn)),
                   row("linear_up", up, linear),
                   row("linear_down", down, linear),
                   row("linear_antialias", down, {.mode = ResizeMode::kLinear, .antialias = true}),
                   row("cubic_up", up, cubic),
                   row("cubic_down", down, cubic),
                   row("cubic_antialias", down, {.mode = ResizeMode::kCubic, .antialias = true}),
                   row("cubic_exclude", up, {.mode = ResizeMode::kCubic, .cubic_a = -0.5, .exclude_outside = true}),
                   row("linear_align_corners", up, linear_by(ResizeCoordinates::kAlignCorners)),
                   row("linear_pytorch_one", {{.axis = 1, .length = 1}, {.axis = 2, .length = 2}},
                       linear_by(ResizeCoordinates::kPytorchHalfPixel)),
                   row("linear_symmetric", {{.axis = 1, .length = 9, .scale = 2.3}},
                       linear_by(ResizeCoordinates::kHalfPixelSymmetric)),
                   row("linear_crop", {{.axis = 1, .length = 5, .crop_begin = 0.4, .crop_end = 1.2}},
                       linear_by(ResizeCoordinates::kTfCropAndResize)),
                   row("linear_f64", {{.axis = 1, .length = 7}}, linear),
               });
}
