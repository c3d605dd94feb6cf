#include <catch2/catch.hpp>

#include "tests/conformance/numpy/op_cases.h"

using namespace hearth;
using namespace hearth::client;
using hearth::conformance::numpy::check_family;
using hearth::conformance::numpy::OpCase;
using hearth::conformance::numpy::Tensors;

namespace {

OpCase sampled(std::string name, SampleConfig config) {
  // The places are rounded to f32; a cubic kernel's slope is up to 1.3 a place, its values up to about 4 here.
  const double absolute = config.mode == SampleMode::kNearest ? 0 : 1e-5;
  return {std::move(name), [=](const Tensors& in) { return Tensors{grid_sample(in[0], in[1], config)}; }, absolute,
          absolute};
}

}  // namespace

TEST_CASE("reading images at computed places gives numpy's results") {
  std::vector<OpCase> rows;
  for (const auto& [mode, mode_name] :
       {std::pair(SampleMode::kNearest, "nearest"), {SampleMode::kLinear, "linear"}, {SampleMode::kCubic, "cubic"}}) {
    for (const auto& [padding, padding_name] : {std::pair(SamplePadding::kZeros, "_zeros"),
                                                {SamplePadding::kBorder, "_border"},
                                                {SamplePadding::kReflection, "_reflection"}}) {
      const std::string name = std::string(mode_name) + padding_name;
      rows.push_back(sampled(name, {.mode = mode, .padding = padding}));
      rows.push_back(sampled(name + "_aligned", {.mode = mode, .padding = padding, .align_corners = true}));
    }
  }
  rows.push_back(sampled("linear_1d", {}));
  rows.push_back(sampled("linear_3d", {.padding = SamplePadding::kBorder}));
  rows.push_back(sampled("linear_infinite", {}));
  rows.push_back({"affine", [](const Tensors& in) { return Tensors{affine_grid(in[0], {3, 4})}; }, 1e-5, 1e-5});
  rows.push_back(
      {"affine_aligned", [](const Tensors& in) { return Tensors{affine_grid(in[0], {3, 4}, true)}; }, 1e-5, 1e-5});
  rows.push_back({"deform", [](const Tensors& in) { return Tensors{deform_conv(in[0], in[1], in[2])}; }, 1e-5, 1e-5});
  const ConvConfig far = {
      .strides = {2, 3}, .pads_begin = {1, 1}, .pads_end = {1, 1}, .dilations = {2, 2}, .groups = 2};
  rows.push_back({"deform_groups",
                  [=](const Tensors& in) { return Tensors{deform_conv(in[0], in[1], in[2], in[3], in[4], far, 2)}; },
                  1e-5, 1e-5});
  const RoiConfig half = {.height = 2, .width = 3, .spatial_scale = 0.5, .sampling_ratio = 2};
  const RoiConfig whole = {.height = 3, .width = 2, .spatial_scale = 0.5, .half_pixel = false};
  rows.push_back(
      {"roi_align", [=](const Tensors& in) { return Tensors{roi_align(in[0], in[1], in[2], half)}; }, 1e-5, 1e-5});
  rows.push_back({"roi_align_whole", [=](const Tensors& in) { return Tensors{roi_align(in[0], in[1], in[2], whole)}; },
                  1e-5, 1e-5});
  rows.push_back({"max_roi_pool", [=](const Tensors& in) { return Tensors{max_roi_pool(in[0], in[1], half)}; }});
  check_family("sample", rows);
}
