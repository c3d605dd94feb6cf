// Convolution and pooling.
#include <algorithm>

#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/ops/conv.h"
#include "runtime/text.h"

namespace hearth::onnx {
namespace {

using client::ConvConfig;
using client::PoolConfig;
using client::Shape;
using client::Tensor;

Ints per_axis(NodeContext& node, std::string_view name, std::size_t axes) {
  const Ints values = node.integers(name).value_or(Ints(axes, 1));
  const bool positive = std::all_of(values.begin(), values.end(), [](auto v) { return v > 0 && v < (1 << 30); });
  if (values.size() != axes || !positive) {
    reject(str_cat(name, " ", to_string(values), " must be ", axes, " positive numbers"));
  }
  return values;
}

struct Windows {
  Ints strides;
  Ints dilations;
  Ints pads_begin;
  Ints pads_end;
};

// Reads strides, dilations, pads and auto_pad for `kernel` over the spatial axes of `input`.
Windows read_windows(NodeContext& node, const Shape& input, const Ints& kernel) {
  const std::size_t axes = kernel.size();
  Windows w{per_axis(node, "strides", axes), per_axis(node, "dilations", axes), Ints(axes, 0), Ints(axes, 0)};
  const std::string auto_pad = node.text("auto_pad", "NOTSET");
  const auto pads = node.integers("pads");
  if (auto_pad == "NOTSET") {
    if (pads && pads->size() != 2 * axes) reject(str_cat("pads must be ", 2 * axes, " numbers"));
    for (std::size_t i = 0; pads && i < axes; ++i) {
      w.pads_begin[i] = (*pads)[i];
      w.pads_end[i] = (*pads)[i + axes];
      if (w.pads_begin[i] < 0 || w.pads_end[i] < 0) reject("pads must not be negative");
    }
  } else if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    for (std::size_t i = 0; i < axes; ++i) {
      if (!input[i + 2].is_const()) {
        reject_unsupported(str_cat("auto_pad of the symbolic length ", input[i + 2].to_string()));
      }
      const std::int64_t length = input[i + 2].value();
      const std::int64_t outputs = (length + w.strides[i] - 1) / w.strides[i];
      const std::int64_t reach = (kernel[i] - 1) * w.dilations[i] + 1;
      const std::int64_t total = std::max<std::int64_t>(0, (outputs - 1) * w.strides[i] + reach - length);
      w.pads_begin[i] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.pads_end[i] = total - w.pads_begin[i];
    }
  } else if (auto_pad != "VALID") {
    reject(str_cat("auto_pad '", auto_pad, "' is unknown"));
  }
  return w;
}

void check_spatial(const Shape& input) {
  if (input.size() < 3) reject(str_cat("the input ", client::to_string(input), " needs shape [N, C, spatial...]"));
}

// kernel_shape is optional and must agree with the weights.
Ints conv_kernel(NodeContext& node) {
  const Shape input = node.input(0).dims();
  const Ints weights = node.input(1).shape();
  check_spatial(input);
  if (weights.size() != input.size()) {
    reject(str_cat("weights ", to_string(weights), " do not fit input ", client::to_string(input)));
  }
  const Ints kernel(weights.begin() + 2, weights.end());
  if (node.integers("kernel_shape").value_or(kernel) != kernel) {
    reject(str_cat("kernel_shape differs from the weights' ", to_string(kernel)));
  }
  return kernel;
}

Values conv(NodeContext& node) {
  const Windows w = read_windows(node, node.input(0).dims(), conv_kernel(node));
  const ConvConfig config{w.strides, w.pads_begin, w.pads_end, w.dilations, node.integer("group", 1)};
  return {Value(client::conv(node.tensor(0), node.tensor(1), node.tensor_or_empty(2), config))};
}

Values conv_transpose(NodeContext& node) {
  if (node.text("auto_pad", "NOTSET") != "NOTSET") reject_unsupported("auto_pad of a transposed convolution");
  if (node.has("output_shape")) reject_unsupported("attribute 'output_shape'");
  const Ints kernel = conv_kernel(node);
  const Windows w = read_windows(node, node.input(0).dims(), kernel);
  const Ints extra = node.integers("output_padding").value_or(Ints(kernel.size(), 0));
  const ConvConfig config{w.strides, w.pads_begin, w.pads_end, w.dilations, node.integer("group", 1)};
  return {Value(client::conv_transpose(node.tensor(0), node.tensor(1), node.tensor_or_empty(2), config, extra))};
}

PoolConfig pool_config(NodeContext& node) {
  const Shape input = node.input(0).dims();
  check_spatial(input);
  if (!node.has("kernel_shape")) reject("attribute 'kernel_shape' is missing");
  const Ints kernel = per_axis(node, "kernel_shape", input.size() - 2);
  const Windows w = read_windows(node, input, kernel);
  PoolConfig config;
  config.kernel = kernel;
  config.strides = w.strides;
  config.pads_begin = w.pads_begin;
  config.pads_end = w.pads_end;
  config.dilations = w.dilations;
  config.ceil_mode = node.integer("ceil_mode", 0) != 0;
  return config;
}

Values max_pool(NodeContext& node) {
  node.expect_integer("storage_order", 0);
  return {Value(client::max_pool(node.tensor(0), pool_config(node)))};
}

Values average_pool(NodeContext& node) {
  PoolConfig config = pool_config(node);
  config.count_include_pad = node.integer("count_include_pad", 0) != 0;
  return {Value(client::avg_pool(node.tensor(0), config))};
}

Values global_average_pool(NodeContext& node) {
  check_spatial(node.input(0).dims());
  return {Value(client::global_avg_pool(node.tensor(0)))};
}

Values global_max_pool(NodeContext& node) {
  check_spatial(node.input(0).dims());
  return {Value(client::global_max_pool(node.tensor(0)))};
}

constexpr OperatorEntry kOperators[] = {
    {"Conv", conv},
    {"ConvTranspose", conv_transpose},
    {"MaxPool", max_pool},
    {"AveragePool", average_pool},
    {"GlobalAveragePool", global_average_pool},
    {"GlobalMaxPool", global_max_pool},
};

}  // namespace

std::span<const OperatorEntry> convolution_operators() { return kOperators; }

}  // namespace hearth::onnx
