#include "client/onnx/windows.h"

#include <algorithm>

#include "base/text.h"
#include "client/onnx/reject.h"

namespace hearth::onnx {

Ints per_axis(NodeContext& node, std::string_view name, std::size_t axes) {
  const Ints values = node.integers(name).value_or(Ints(axes, 1));
  const bool positive = std::all_of(values.begin(), values.end(), [](auto v) { return v > 0 && v < (1 << 30); });
  if (values.size() != axes || !positive) {
    reject(str_cat(name, " ", to_string(values), " must be ", axes, " positive numbers"));
  }
  return values;
}

Windows read_windows(NodeContext& node, const client::Shape& input, const Ints& kernel) {
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
      const client::Dim &length = input[i + 2], outputs = (length + (w.strides[i] - 1)) / w.strides[i];
      const std::int64_t reach = (kernel[i] - 1) * w.dilations[i] + 1;
      const client::Dim missing = (outputs - 1) * w.strides[i] + reach - length;
      if (!missing.is_const())
        reject_unsupported(str_cat("auto_pad of the symbolic length ", length.to_string(), " by steps of ",
                                   w.strides[i], ", of which it may be no multiple,"));
      const std::int64_t total = std::max<std::int64_t>(0, missing.value());
      w.pads_begin[i] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.pads_end[i] = total - w.pads_begin[i];
    }
  } else if (auto_pad != "VALID") {
    reject(str_cat("auto_pad '", auto_pad, "' is unknown"));
  }
  return w;
}

void check_spatial(const client::Shape& input) {
  if (input.size() < 3) reject(str_cat("the input ", client::to_string(input), " needs shape [N, C, spatial...]"));
}

Ints conv_kernel(NodeContext& node, std::size_t weights_input) {
  const client::Shape input = node.input(0).dims();
  const Ints weights = node.input(weights_input).shape();
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

client::ConvConfig read_conv(NodeContext& node, std::size_t weights) {
  const Windows w = read_windows(node, node.input(0).dims(), conv_kernel(node, weights));
  return {w.strides, w.pads_begin, w.pads_end, w.dilations, node.integer("group", 1)};
}

}  // namespace hearth::onnx
