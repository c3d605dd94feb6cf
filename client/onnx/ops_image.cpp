// Operators of images: blocks, grids of coordinates and regions of interest.
#include "base/text.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "hearth/ops/blocks.h"
#include "hearth/ops/regions.h"
#include "hearth/ops/sample.h"

namespace hearth::onnx {
namespace {

using client::BlockOrder;

BlockOrder block_order(NodeContext& node) {
  const std::string mode = node.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") reject_unsupported(str_cat("mode '", mode, "'"));
  return mode == "DCR" ? BlockOrder::kBlockFirst : BlockOrder::kChannelFirst;
}

Values depth_to_space(NodeContext& node) {
  const std::int64_t block = node.required_integer("blocksize");
  return {Value(client::depth_to_space(node.tensor(0), block, block_order(node)))};
}

constexpr int kSpaceToDepthMode = 28;  // first opset of SpaceToDepth's mode

Values space_to_depth(NodeContext& node) {
  const std::int64_t block = node.required_integer("blocksize");
  const BlockOrder order = node.opset() < kSpaceToDepthMode ? BlockOrder::kBlockFirst : block_order(node);
  return {Value(client::space_to_depth(node.tensor(0), block, order))};
}

Values center_crop_pad(NodeContext& node) {
  const Ints lengths = node.known_integers(1, "the shape");
  Ints axes;
  for (std::int64_t i = 0; i < node.input(0).rank(); ++i) axes.push_back(i);
  axes = node.integers("axes").value_or(axes);
  return {Value(client::center_crop_pad(node.tensor(0), lengths, axes))};
}

Values col2im(NodeContext& node) {
  const Ints image = node.known_integers(1, "image_shape"), block = node.known_integers(2, "block_shape");
  client::ConvConfig config;
  config.strides = node.integers("strides").value_or(Ints());
  config.dilations = node.integers("dilations").value_or(Ints());
  if (const auto pads = node.integers("pads")) {
    if (pads->size() != 2 * image.size()) reject(str_cat("pads must be ", 2 * image.size(), " numbers"));
    const auto middle = pads->begin() + static_cast<std::ptrdiff_t>(image.size());
    config.pads_begin.assign(pads->begin(), middle);
    config.pads_end.assign(middle, pads->end());
  }
  return {Value(client::fold(node.tensor(0), image, block, config))};
}

constexpr int kSampleVolumes = 20;  // first opset of GridSample with other names of modes and any number of axes

Values affine_grid(NodeContext& node) {
  const Ints size = node.known_integers(1, "the size");
  if (size.size() < 3) reject(str_cat("size ", to_string(size), " must be [N, C, lengths...]"));
  const bool align_corners = node.integer("align_corners", 0) != 0;
  return {Value(client::affine_grid(node.tensor(0), Ints(size.begin() + 2, size.end()), align_corners))};
}

Values grid_sample(NodeContext& node) {
  client::SampleConfig config;
  const bool renamed = node.opset() >= kSampleVolumes;
  if (!renamed && node.input(0).rank() != 4) reject("x must have four axes before opset 20");
  const std::string mode = node.text("mode", renamed ? "linear" : "bilinear"),
                    padding = node.text("padding_mode", "zeros");
  if (mode == "nearest") {
    config.mode = client::SampleMode::kNearest;
  } else if (mode == (renamed ? "cubic" : "bicubic")) {
    config.mode = client::SampleMode::kCubic;
  } else if (mode != (renamed ? "linear" : "bilinear")) {
    reject_unsupported(str_cat("mode '", mode, "'"));
  }
  if (padding == "border") {
    config.padding = client::SamplePadding::kBorder;
  } else if (padding == "reflection") {
    config.padding = client::SamplePadding::kReflection;
  } else if (padding != "zeros") {
    reject_unsupported(str_cat("padding_mode '", padding, "'"));
  }
  config.align_corners = node.integer("align_corners", 0) != 0;
  return {Value(client::grid_sample(node.tensor(0), node.tensor(1), config))};
}

constexpr int kRoiCoordinates = 16;  // first opset of RoiAlign's coordinate_transformation_mode

Values roi_align(NodeContext& node) {
  // ONNX's reference takes the greatest weighted corner, its text the greatest sample.
  const std::string mode = node.text("mode", "avg");
  if (mode != "avg") reject_unsupported(str_cat("mode '", mode, "'"));
  client::RoiConfig config;
  config.height = node.integer("output_height", 1);
  config.width = node.integer("output_width", 1);
  config.spatial_scale = node.real("spatial_scale", 1.0);
  config.sampling_ratio = node.integer("sampling_ratio", 0);
  if (config.sampling_ratio == 0) reject_unsupported("sampling_ratio 0, as many samples as each region needs,");
  const std::string coordinates =
      node.opset() < kRoiCoordinates ? "output_half_pixel" : node.text("coordinate_transformation_mode", "half_pixel");
  config.half_pixel = coordinates == "half_pixel";
  if (!config.half_pixel && coordinates != "output_half_pixel") {
    reject_unsupported(str_cat("coordinate_transformation_mode '", coordinates, "'"));
  }
  return {Value(client::roi_align(node.tensor(0), node.tensor(1), node.tensor(2), config))};
}

Values max_roi_pool(NodeContext& node) {
  const auto pooled = node.integers("pooled_shape");
  if (!pooled || pooled->size() != 2) reject("attribute 'pooled_shape' must be two numbers");
  client::RoiConfig config;
  config.height = (*pooled)[0];
  config.width = (*pooled)[1];
  config.spatial_scale = node.real("spatial_scale", 1.0);
  return {Value(client::max_roi_pool(node.tensor(0), node.tensor(1), config))};
}

constexpr OperatorEntry kOperators[] = {
    {"DepthToSpace", depth_to_space}, {"SpaceToDepth", space_to_depth},    {"CenterCropPad", center_crop_pad, 18},
    {"Col2Im", col2im, 18},           {"GridSample", grid_sample, 16, 20}, {"RoiAlign", roi_align, 10},
    {"MaxRoiPool", max_roi_pool},     {"AffineGrid", affine_grid, 20},
};

}  // namespace

std::span<const OperatorEntry> image_operators() { return kOperators; }

}  // namespace hearth::onnx
