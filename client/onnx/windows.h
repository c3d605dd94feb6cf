// What convolutions and pools share: strides, dilations, pads and auto_pad of a node over its spatial axes.
// Errors: JitError through reject().
//
//   const Windows w = read_windows(node, node.input(0).dims(), conv_kernel(node, 1));
#pragma once
#include "client/onnx/node_context.h"
#include "hearth/ops/conv.h"
#include "hearth/ops/pool.h"

namespace hearth::onnx {

struct Windows {
  Ints strides;
  Ints dilations;
  Ints pads_begin;
  Ints pads_end;
};

// One positive number a spatial axis; 1 when absent.
Ints per_axis(NodeContext& node, std::string_view name, std::size_t axes);
// An [N, C, spatial...] shape.
void check_spatial(const client::Shape& input);
// The spatial lengths of the weights, which are input `weights`; kernel_shape is optional and must agree with them.
Ints conv_kernel(NodeContext& node, std::size_t weights);
// For `kernel` over the spatial axes of `input`.
Windows read_windows(NodeContext& node, const client::Shape& input, const Ints& kernel);
// Everything a convolution of input 0 with input `weights` reads.
client::ConvConfig read_conv(NodeContext& node, std::size_t weights);

// Everything a pool of an `input` of this shape reads but count_include_pad (ops_pool.cpp).
client::PoolConfig read_pool(NodeContext& node, const client::Shape& input);

}  // namespace hearth::onnx
