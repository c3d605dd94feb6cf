// Numbers that are quantised in blocks: their scales, one an element, and how numbers of few bits lie in bytes.
// Errors: JitError.
//
//   Tensor numbers = unpacked_bits(bytes, 4);                                    // [rows, 8] u8 -> [rows, 16]
//   Tensor values = cast(numbers, DType::kF32) * of_elements(scales, 16, 1, numbers);   // scales [rows, 1]
#pragma once
#include <cstdint>

#include "hearth/tensor.h"

namespace hearth::onnx {

// Scales or zero points of blocks of `block` elements along `axis`, one for each element of x: they broadcast no more.
client::Tensor of_elements(const client::Tensor& blocks, std::int64_t block, std::int64_t axis,
                           const client::Tensor& x);

// [.., n] bytes -> [.., n * 8 / bits] numbers of 2, 4 or 8 bits, the lowest of a byte first.
client::Tensor unpacked_bits(const client::Tensor& bytes, std::int64_t bits);

}  // namespace hearth::onnx
