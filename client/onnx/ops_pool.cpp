// Pooling.
#include "base/text.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/onnx/windows.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/pool.h"

namespace hearth::onnx {

client::PoolConfig read_pool(NodeContext& node, const client::Shape& input) {
  check_spatial(input);
  if (!node.has("kernel_shape")) reject("attribute 'kernel_shape' is missing");
  const Ints kernel = per_axis(node, "kernel_shape", input.size() - 2);
  const Windows w = read_windows(node, input, kernel);
  client::PoolConfig config;
  config.kernel = kernel;
  config.strides = w.strides;
  config.pads_begin = w.pads_begin;
  config.pads_end = w.pads_end;
  config.dilations = w.dilations;
  config.ceil_mode = node.integer("ceil_mode", 0) != 0;
  return config;
}

namespace {

using client::PoolConfig;
using client::Tensor;

PoolConfig pool_config(NodeContext& node) { return read_pool(node, node.input(0).dims()); }

Values max_pool(NodeContext& node) {
  const bool column_major = node.integer("storage_order", 0) != 0;
  const PoolConfig config = pool_config(node);
  if (!node.wants_output(1)) return {Value(client::max_pool(node.tensor(0), config))};
  const client::MaxPoolResult result = client::max_pool_with_indices(node.tensor(0), config, column_major);
  return {Value(result.values), Value(result.indices)};
}

// The lengths that the pool came from, or what output_shape says, which may be longer.
Values max_unpool(NodeContext& node) {
  const Ints from = node.input(0).shape();
  const PoolConfig config = pool_config(node);
  Ints lengths;
  for (std::size_t i = 0; i < config.kernel.size(); ++i) {
    lengths.push_back((from[i + 2] - 1) * config.strides[i] + config.kernel[i] - config.pads_begin[i] -
                      config.pads_end[i]);
  }
  const Tensor y = client::max_unpool(node.tensor(0), node.tensor(1), lengths);
  if (!node.has_input(2)) return {Value(y)};
  const Ints shape = node.known_integers(2, "output_shape");
  client::Shape before(from.size(), client::Dim(0)), after = before;
  if (shape.size() != from.size()) reject(str_cat("output_shape must be ", from.size(), " numbers"));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t made = i < 2 ? from[i] : lengths[i - 2];
    if (shape[i] < made || (i < 2 && shape[i] != made)) {
      reject(str_cat("output_shape ", to_string(shape), " has less than the ", made, " places of axis ", i));
    }
    after[i] = shape[i] - made;
  }
  return {Value(client::pad(y, before, after))};
}

Values lp_pool(NodeContext& node) {
  const PoolConfig config = pool_config(node);
  return {Value(client::lp_pool(node.tensor(0), static_cast<double>(node.integer("p", 2)), config))};
}

Values global_lp_pool(NodeContext& node) {
  check_spatial(node.input(0).dims());
  return {Value(client::global_lp_pool(node.tensor(0), static_cast<double>(node.integer("p", 2))))};
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
    {"MaxPool", max_pool},
    {"MaxUnpool", max_unpool, 9},
    {"AveragePool", average_pool},
    {"LpPool", lp_pool, 2},
    {"GlobalAveragePool", global_average_pool},
    {"GlobalMaxPool", global_max_pool},
    {"GlobalLpPool", global_lp_pool, 2},
};

}  // namespace

std::span<const OperatorEntry> pool_operators() { return kOperators; }

}  // namespace hearth::onnx
