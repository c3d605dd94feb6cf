// Resize and Upsample.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "hearth/ops/resize.h"

namespace hearth::onnx {
namespace {

using client::ResizeAxis;
using client::ResizeConfig;
using client::ResizeCoordinates;
using client::Shape;

template <typename Choice, std::size_t kCount>
Choice choose(NodeContext& node, std::string_view attribute, std::string_view fallback,
              const std::pair<std::string_view, Choice> (&choices)[kCount]) {
  const std::string given = node.text(attribute, fallback);
  for (const auto& [name, choice] : choices) {
    if (name == given) return choice;
  }
  reject_unsupported(str_cat(attribute, " '", given, "'"));
}

client::ResizeMode resize_mode(NodeContext& node) {
  using enum client::ResizeMode;
  // "bilinear" is the first opset's word for it.
  return choose<client::ResizeMode>(
      node, "mode", "nearest", {{"nearest", kNearest}, {"linear", kLinear}, {"bilinear", kLinear}, {"cubic", kCubic}});
}

ResizeCoordinates coordinates(NodeContext& node) {
  using enum ResizeCoordinates;
  return choose<ResizeCoordinates>(node, "coordinate_transformation_mode", "half_pixel",
                                   {{"half_pixel", kHalfPixel},
                                    {"half_pixel_symmetric", kHalfPixelSymmetric},
                                    {"pytorch_half_pixel", kPytorchHalfPixel},
                                    {"align_corners", kAlignCorners},
                                    {"asymmetric", kAsymmetric},
                                    {"tf_half_pixel_for_nn", kTfHalfPixelForNn},
                                    {"tf_crop_and_resize", kTfCropAndResize}});
}

client::NearestMode nearest_mode(NodeContext& node) {
  using enum client::NearestMode;
  return choose<client::NearestMode>(node, "nearest_mode", "round_prefer_floor",
                                     {{"round_prefer_floor", kRoundPreferFloor},
                                      {"round_prefer_ceil", kRoundPreferCeil},
                                      {"floor", kFloor},
                                      {"ceil", kCeil}});
}

std::vector<double> reals(const HostTensor& x) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < x.size(); ++i) values.push_back(x.real(i));
  return values;
}

void check_entries(std::string_view what, std::size_t entries, std::size_t axes) {
  if (entries != axes) reject(str_cat(what, " has ", entries, " numbers for ", axes, " axes"));
}

// An axis's length; a symbolic one is only left as it is.
std::int64_t length_of(const Shape& shape, std::int64_t axis) {
  const client::Dim& length = shape[static_cast<std::size_t>(axis)];
  if (!length.is_const()) reject_unsupported(str_cat("resizing the symbolic length ", length.to_string()));
  return length.value();
}

// What changes nothing is dropped, so that axes which are never resized may be of any kind.
bool may_drop(const ResizeConfig& config) {
  return config.coordinates != ResizeCoordinates::kTfCropAndResize &&
         config.coordinates != ResizeCoordinates::kTfHalfPixelForNn;
}

// Axes scaled by `scales`; lengths are rounded down in f32, as ONNX's shape inference does.
std::vector<ResizeAxis> by_scales(const Shape& shape, const Ints& axes, const std::vector<double>& scales,
                                  const ResizeConfig& config) {
  check_entries("scales", scales.size(), axes.size());
  std::vector<ResizeAxis> resized;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!(scales[i] > 0)) reject(str_cat("scale ", scales[i], " is not positive"));
    if (scales[i] == 1 && may_drop(config)) continue;
    if (!shape[static_cast<std::size_t>(axes[i])].is_const()) {
      resized.push_back({axes[i], 0, scales[i]});
      continue;
    }
    const float length = std::floor(static_cast<float>(length_of(shape, axes[i])) * static_cast<float>(scales[i]));
    if (length > 1e9F) reject(str_cat("scale ", scales[i], " gives the length ", length));
    resized.push_back({axes[i], static_cast<std::int64_t>(length), scales[i]});
  }
  return resized;
}

// How many times as long; 0 where that is no whole number up to 64.
std::int64_t whole_quotient(const client::Dim& length, const client::Dim& of) {
  for (std::int64_t times = 1; times <= 64; ++times) {
    if (of * times == length) return times;
  }
  return 0;
}

std::vector<ResizeAxis> by_sizes(NodeContext& node, const Shape& shape, const Ints& axes, const ResizeConfig& config) {
  const std::vector<client::Dim> sizes = node.known_lengths(3, "sizes").elements;
  check_entries("sizes", sizes.size(), axes.size());
  const std::string policy = node.text("keep_aspect_ratio_policy", "stretch");
  std::vector<double> scales;
  std::vector<ResizeAxis> resized;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (policy == "stretch" && sizes[i] == shape[static_cast<std::size_t>(axes[i])] && may_drop(config)) continue;
    const client::Dim& from_length = shape[static_cast<std::size_t>(axes[i])];
    if (!sizes[i].is_const() || !from_length.is_const()) {
      const std::int64_t times = policy == "stretch" ? whole_quotient(sizes[i], from_length) : 0;
      if (times == 0)
        reject_unsupported(str_cat("resizing the length ", from_length.to_string(), " to ", sizes[i].to_string(),
                                   ", which is no whole number of times as long,"));
      resized.push_back({axes[i], 0, static_cast<double>(times)});
      continue;
    }
    const std::int64_t from = length_of(shape, axes[i]), length = sizes[i].value();
    if (from < 1) reject(str_cat("axis ", axes[i], " is empty"));
    scales.push_back(static_cast<double>(length) / static_cast<double>(from));
    resized.push_back({axes[i], length});
  }
  if (policy == "stretch" || resized.empty()) return resized;
  if (policy != "not_larger" && policy != "not_smaller") {
    reject_unsupported(str_cat("keep_aspect_ratio_policy '", policy, "'"));
  }
  const auto [least, greatest] = std::minmax_element(scales.begin(), scales.end());
  const double scale = policy == "not_larger" ? *least : *greatest;
  for (ResizeAxis& to : resized) {
    to.scale = scale;
    to.length = static_cast<std::int64_t>(std::floor(scale * static_cast<double>(length_of(shape, to.axis)) + 0.5));
  }
  return resized;
}

Value resized(const Value& x, const std::vector<ResizeAxis>& axes, const ResizeConfig& config) {
  return axes.empty() ? x : Value(client::resize(x.tensor(), axes, config));
}

Ints every_axis(const Shape& shape) {
  Ints axes(shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// Upsample, and Resize before opset 11.
Values upsample(NodeContext& node) {
  ResizeConfig config;
  config.mode = resize_mode(node);
  config.coordinates = ResizeCoordinates::kAsymmetric;
  config.nearest = client::NearestMode::kFloor;
  const Shape shape = node.input(0).dims();
  std::vector<double> scales;
  if (node.opset() < 9) {
    node.expect_no_input(1, "scales", 9);
    const auto given = node.reals("scales");
    if (!given) reject("attribute 'scales' is missing");
    scales = *given;
  } else {
    scales = reals(node.known(1, "scales"));
  }
  std::vector<ResizeAxis> growing = by_scales(shape, every_axis(shape), scales, config), shrinking;
  if (config.mode == client::ResizeMode::kNearest) {
    // Axes that shrink round up, as in ONNX's cases of opset 10.
    const auto shrinks = [](const ResizeAxis& to) { return to.scale < 1; };
    std::copy_if(growing.begin(), growing.end(), std::back_inserter(shrinking), shrinks);
    std::erase_if(growing, shrinks);
  }
  const Value grown = resized(node.input(0), growing, config);
  config.nearest = client::NearestMode::kCeil;
  return {resized(grown, shrinking, config)};
}

constexpr int kCoordinates = 11;  // first opset of Resize's inputs roi and sizes and of all its attributes but the mode

Values resize(NodeContext& node) {
  if (node.opset() < kCoordinates) return upsample(node);
  ResizeConfig config;
  config.mode = resize_mode(node);
  config.coordinates = coordinates(node);
  config.nearest = nearest_mode(node);
  config.cubic_a = node.real("cubic_coeff_a", -0.75);
  config.exclude_outside = node.integer("exclude_outside", 0) != 0;
  config.extrapolation = node.real("extrapolation_value", 0);
  config.antialias = node.opset() >= 18 && node.integer("antialias", 0) != 0;
  const Shape shape = node.input(0).dims();
  Ints axes = every_axis(shape);
  if (node.opset() >= 18) axes = node.integers("axes").value_or(axes);
  for (std::int64_t& axis : axes) axis = positive_axis(axis, static_cast<std::int64_t>(shape.size()));

  // Opset 11 leaves scales out by giving no numbers.
  const bool has_scales = node.has_input(2) && count(node.input(2).shape()) != 0;
  const bool has_sizes = node.has_input(3) && !(client::num_elements(node.input(3).dims()) == client::Dim(0));
  if (has_scales == has_sizes) reject("exactly one of scales and sizes must be given");
  std::vector<ResizeAxis> to =
      has_sizes ? by_sizes(node, shape, axes, config) : by_scales(shape, axes, reals(node.known(2, "scales")), config);
  if (!has_sizes) node.text("keep_aspect_ratio_policy", "stretch");  // says nothing about scales
  if (config.coordinates == ResizeCoordinates::kTfCropAndResize) {
    const std::vector<double> roi = reals(node.known(1, "roi"));
    check_entries("roi", roi.size(), 2 * axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      to[i].crop_begin = roi[i];
      to[i].crop_end = roi[i + axes.size()];
    }
  }
  return {resized(node.input(0), to, config)};
}

constexpr OperatorEntry kOperators[] = {{"Resize", resize, 10}, {"Upsample", upsample, 7, 9}};

}  // namespace

std::span<const OperatorEntry> resize_operators() { return kOperators; }

}  // namespace hearth::onnx
