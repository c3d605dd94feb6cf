// Convolution and pooling.
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/onnx/windows.h"
#include "client/ops/conv.h"
#include "runtime/text.h"

namespace hearth::onnx {
namespace {

using client::ConvConfig;
using client::PoolConfig;
using client::Tensor;

Values conv(NodeContext& node) {
  const ConvConfig config = read_conv(node, 1);
  return {Value(client::conv(node.tensor(0), node.tensor(1), node.tensor_or_empty(2), config))};
}

Values conv_transpose(NodeContext& node) {
  if (node.text("auto_pad", "NOTSET") != "NOTSET") reject_unsupported("auto_pad of a transposed convolution");
  if (node.has("output_shape")) reject_unsupported("attribute 'output_shape'");
  const Ints kernel = conv_kernel(node, 1);
  const Windows w = read_windows(node, node.input(0).shape(), kernel);
  const Ints extra = node.integers("output_padding").value_or(Ints(kernel.size(), 0));
  const ConvConfig config{w.strides, w.pads_begin, w.pads_end, w.dilations, node.integer("group", 1)};
  return {Value(client::conv_transpose(node.tensor(0), node.tensor(1), node.tensor_or_empty(2), config, extra))};
}

PoolConfig pool_config(NodeContext& node) {
  const Ints input = node.input(0).shape();
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
  check_spatial(node.input(0).shape());
  return {Value(client::global_avg_pool(node.tensor(0)))};
}

Values global_max_pool(NodeContext& node) {
  check_spatial(node.input(0).shape());
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
