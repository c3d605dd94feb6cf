// Convolutions.
#include <algorithm>

#include "base/text.h"
#include "client/onnx/narrow_weights.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/onnx/windows.h"
#include "hearth/ops/conv.h"
#include "hearth/ops/deform_conv.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/movement.h"

namespace hearth::onnx {
namespace {

using client::ConvConfig;
using client::Tensor;

// A result without a bias, times the scale of each of its channels, plus the node's bias if it has one.
Tensor scaled_and_biased(const Tensor& y, const Tensor& scale, const NodeContext& node) {
  client::Axes spatial;
  for (std::int64_t i = 2; i < y.rank(); ++i) spatial.push_back(i - 1);
  const Tensor scaled = y * client::unsqueeze(scale, spatial);
  const Tensor bias = node.tensor_or_empty(2);
  if (bias.empty()) return scaled;
  if (bias.shape() != scale.shape()) {
    reject(str_cat("the bias has shape ", client::to_string(bias.shape()), "; expected ",
                   client::to_string(scale.shape())));
  }
  return scaled + client::unsqueeze(bias, spatial);
}

Values conv(NodeContext& node) {
  const ConvConfig config = read_conv(node, 1);
  const StoredWeight w = node.weight(1, 0);
  if (w.scale.empty()) return {Value(client::conv(node.tensor(0), w.tensor, node.tensor_or_empty(2), config))};
  return {Value(scaled_and_biased(client::conv(node.tensor(0), w.tensor, {}, config), w.scale, node))};
}

// The pads that give `wanted` lengths; the odd one stands at the begin unless auto_pad is SAME_UPPER. Longer results
// than the input makes are filled up at the end, as by output_padding.
void pad_to(const Ints& wanted, const Ints& natural, bool upper, Windows* w, Ints* extra) {
  if (wanted.size() != natural.size()) {
    reject(str_cat("output_shape ", to_string(wanted), " must be ", natural.size(), " numbers"));
  }
  for (std::size_t i = 0; i < natural.size(); ++i) {
    if (wanted[i] < 1) reject(str_cat("output_shape ", to_string(wanted), " must be positive"));
    const std::int64_t total = std::max<std::int64_t>(0, natural[i] - wanted[i]);
    (*extra)[i] += std::max<std::int64_t>(0, wanted[i] - natural[i]);
    w->pads_begin[i] = upper ? total / 2 : total - total / 2;
    w->pads_end[i] = total - w->pads_begin[i];
  }
}

Values conv_transpose(NodeContext& node) {
  const client::Shape input = node.input(0).dims();
  const Ints kernel = conv_kernel(node, 1);
  const std::string auto_pad = node.text("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  auto wanted = node.integers("output_shape");
  Windows w = read_windows(node, input, kernel);
  Ints extra = node.integers("output_padding").value_or(Ints(kernel.size(), 0));
  if (extra.size() != kernel.size()) reject(str_cat("output_padding must be ", kernel.size(), " numbers"));
  if (wanted || same) {
    const Ints lengths = node.input(0).shape();
    Ints natural, multiples;
    for (std::size_t i = 0; i < kernel.size(); ++i) {
      natural.push_back((lengths[i + 2] - 1) * w.strides[i] + (kernel[i] - 1) * w.dilations[i] + 1 + extra[i]);
      multiples.push_back(lengths[i + 2] * w.strides[i]);
    }
    pad_to(wanted.value_or(multiples), natural, auto_pad == "SAME_UPPER", &w, &extra);
  }
  const ConvConfig config{w.strides, w.pads_begin, w.pads_end, w.dilations, node.integer("group", 1)};
  if (config.groups > 1) {  // channels of different groups share a place in the weights
    const Tensor weights = node.unscaled_weight(node.input(1)).stored;
    return {Value(client::conv_transpose(node.tensor(0), weights, node.tensor_or_empty(2), config, extra))};
  }
  const StoredWeight weights = node.weight(1, 1);
  const bool is_scaled = !weights.scale.empty();
  const Tensor bias = is_scaled ? Tensor() : node.tensor_or_empty(2);
  const Tensor y = client::conv_transpose(node.tensor(0), weights.stored, bias, config, extra);
  return {Value(is_scaled ? scaled_and_biased(y, weights.scale, node) : y)};
}

Values deform_conv(NodeContext& node) {
  if (node.input(0).rank() != 4) reject_unsupported(str_cat("an input of ", node.input(0).rank(), " axes"));
  const std::int64_t offset_groups = node.integer("offset_group", 1);
  return {Value(client::deform_conv(node.tensor(0), node.tensor(1), node.tensor(2), node.tensor_or_empty(3),
                                    node.tensor_or_empty(4), read_conv(node, 1), offset_groups))};
}

constexpr OperatorEntry kOperators[] = {
    {"Conv", conv},
    {"ConvTranspose", conv_transpose},
    {"DeformConv", deform_conv, 19},
};

}  // namespace

std::span<const OperatorEntry> convolution_operators() { return kOperators; }

}  // namespace hearth::onnx
