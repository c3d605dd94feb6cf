// StorageType: an element type that models store numbers in and no operation here computes with: integers of four and
// two bits, floats of four and six, and the eight-bit ones without infinities or without digits. A tensor of one is
// tensors of u8, one code an element in the lowest bits, as numpy has them by ml_dtypes; in files codes are packed, the
// lowest bits of a byte first. Values only; thread-safe. Errors: JitError.
//
//   if (const StorageType* type = storage_type(tensor.data_type()))
//     Tensor numbers = decoded(codes, *type);   // f32, or i8 and u8
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "client/onnx/host_tensor.h"
#include "hearth/tensor.h"

namespace hearth::onnx {

struct StorageType {
  enum class Kind { kUnsigned, kSigned, kFloat, kPowerOfTwo };
  int elem_type;          // TensorProto.DataType
  std::string_view name;  // ONNX's, in lower case
  std::string_view ml_dtypes_name;
  int bits;
  Kind kind;
  int mantissa_bits = 0;        // of floats, which have a sign and the rest for the exponent
  int bias = 0;                 // of floats
  bool has_minus_zero = false;  // of floats; without one, its code is NaN
  double greatest = 0;          // number that it has
};

// Null for types that operators compute with, and for unknown ones.
const StorageType* storage_type(std::int64_t elem_type);
// By the name of either.
const StorageType* storage_type_named(std::string_view name);

std::size_t packed_size(std::int64_t elements, const StorageType& type);  // bytes
std::string unpacked(std::string_view packed, std::int64_t elements, const StorageType& type);
client::Tensor unpacked(const client::Tensor& packed, const client::Shape& shape, const StorageType& type);

// The numbers that codes stand for: i8 or u8 for integers, else f32.
client::Tensor decoded(const client::Tensor& codes, const StorageType& type);

enum class PowerRounding { kUp, kDown, kNearest };
struct EncodeConfig {
  bool saturate = true;                         // of floats of eight bits; the others always do
  PowerRounding rounding = PowerRounding::kUp;  // to powers of two
};
// Numbers as codes. Integers keep their lowest bits, floats become integers towards zero; a float is rounded to the
// nearest, ties to even.
client::Tensor encoded(const client::Tensor& x, const StorageType& type, const EncodeConfig& config = {});

}  // namespace hearth::onnx
