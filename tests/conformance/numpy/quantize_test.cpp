#include <catch2/catch.hpp>

#include "tests/conformance/numpy/op_cases.h"

using namespace hearth;
using namespace hearth::client;
using hearth::conformance::numpy::check_family;
using hearth::conformance::numpy::OpCase;
using hearth::conformance::numpy::Tensors;

namespace {

Tensors quantized(const Tensors& in) { return {quantize_linear(in[0], in[1], in[2])}; }
Tensors product(const Tensors& in) { return {matmul_integer(in[0], in[1])}; }
Tensors shifted_product(const Tensors& in) { return {matmul_integer(in[0], in[1], in[2], in[3])}; }
Tensors dynamic(const Tensors& in) {
  const Quantized q = dynamic_quantize_linear(in[0]);
  return {q.values, q.scale, q.zero_point};
}

const ConvConfig kPaddedConv = {.strides = {2, 2}, .pads_begin = {1, 1}, .pads_end = {1, 1}};

}  // namespace

TEST_CASE("quantisation gives numpy's results") {
  check_family(
      "quantize",
      {
          {"quantize_uint8", quantized},
          {"quantize_int8", quantized},
          {"quantize_uint16", quantized},
          {"quantize_int16", quantized},
          {"quantize_no_zero",
           [](const Tensors& in) { return Tensors{quantize_linear(in[0], in[1], {}, {.dtype = DType::kI8})}; }},
          {"quantize_axis", quantized},
          {"dequantize_axis", [](const Tensors& in) { return Tensors{dequantize_linear(in[0], in[1], in[2])}; }},
          {"dequantize_i32", [](const Tensors& in) { return Tensors{dequantize_linear(in[0], in[1])}; }},
          {"dynamic_mixed", dynamic},
          {"dynamic_positive", dynamic},
          {"dynamic_zeros", dynamic},
          {"matmul_uint8_uint8", product},
          {"matmul_uint8_int8", product},
          {"matmul_int8_uint8", product},
          {"matmul_int8_int8", product},
          {"matmul_zero_points", shifted_product},
          {"matmul_vector", shifted_product},
          {"conv", [](const Tensors& in) { return Tensors{conv_integer(in[0], in[1])}; }},
          {"conv_known_zero",
           [](const Tensors& in) {
             return Tensors{conv_integer(in[0], in[1], full_i64({}, 131, DType::kU8), in[2], kPaddedConv)};
           }},
          {"conv_computed_zero",
           [](const Tensors& in) { return Tensors{conv_integer(in[0], in[1], in[2], in[3], kPaddedConv)}; }},
      });
}
