// HostTensor: a tensor whose elements are known while importing: initializers, constants, folded shapes.
// Row-major little-endian bytes; cheap to copy, since copies share the bytes, which never change. Those of a mapped
// file are copied when they are first computed with, so that a file that shrinks is an error. Thread-safe.
// Errors: JitError (the importer turns them into a status); results over kMaxHostBytes are refused by `fits`.
//
//   HostTensor axes = HostTensor::of_i64({2}, {0, 1});
//   HostTensor part = host_view(axes, {.shape = {1}, .strides = {1}, .offset = 1});   // [1]
//   std::int64_t first = part.integer(0);
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hearth/dtype.h"

namespace hearth::onnx {

using Ints = std::vector<std::int64_t>;

// Folding makes nothing larger than this; larger values are left to the compiler.
inline constexpr std::int64_t kMaxHostBytes = std::int64_t{1} << 26;

// Number of elements; JitError on a negative length or overflow.
std::int64_t count(const Ints& shape);
Ints row_major_strides(const Ints& shape);
std::string to_string(const Ints& shape);
bool fits(const Ints& shape, DType dtype);
// An axis in [-rank, rank) made positive; JitError otherwise.
std::int64_t positive_axis(std::int64_t axis, std::int64_t rank);
// numpy's broadcasting; JitError naming both shapes.
Ints broadcast(const Ints& a, const Ints& b);

class HostTensor {
 public:
  HostTensor() = default;
  // Borrows `data`, which `owner` keeps alive; it holds exactly count(shape) elements.
  HostTensor(DType dtype, Ints shape, std::shared_ptr<const void> owner, const void* data);
  HostTensor(DType dtype, Ints shape, std::string bytes);
  // The same for elements of a mapped file.
  static HostTensor mapped(DType dtype, Ints shape, std::shared_ptr<const void> file, const void* data);
  static HostTensor of_i64(Ints shape, const Ints& values);
  static HostTensor of_bool(bool value);

  DType dtype() const { return dtype_; }
  const Ints& shape() const { return shape_; }
  std::int64_t rank() const { return static_cast<std::int64_t>(shape_.size()); }
  std::int64_t size() const { return count_; }
  std::size_t bytes() const { return static_cast<std::size_t>(count_) * dtype_bytes(dtype_); }
  // To compute with.
  const char* data() const { return copy_ ? copied() : data_; }
  // To refer to: nothing is read. `owner` keeps it alive.
  const void* address() const { return data_; }
  const std::shared_ptr<const void>& owner() const { return owner_; }

  // bool, integers and floats of 16 bits and more are computed with here; fp8 only moves and is read.
  bool computable() const;
  std::int64_t integer(std::int64_t index) const;  // floats truncate towards zero and saturate, NaN is 0
  double real(std::int64_t index) const;
  Ints integers() const;

  // The same bytes under another shape of equal count.
  HostTensor reshaped(Ints shape) const;

 private:
  struct Copy;
  const char* copied() const;

  DType dtype_ = DType::kF32;
  Ints shape_;
  std::int64_t count_ = 0;
  std::shared_ptr<const void> owner_;
  const char* data_ = nullptr;
  std::shared_ptr<Copy> copy_;  // of a mapped file's bytes
};

// Writes one element in `dtype`; bool stores value != 0. Integers wrap; reals are rounded once, and become integers as
// a Cast of an input does: towards zero, the nearest value of the type, NaN 0.
void put_integer(std::string& bytes, DType dtype, std::int64_t index, std::int64_t value);
void put_real(std::string& bytes, DType dtype, std::int64_t index, double value);

// A strided view in elements, e.g. of a slice, a permutation or an expansion (stride 0).
struct View {
  Ints shape;
  Ints strides;
  std::int64_t offset = 0;
};
HostTensor host_view(const HostTensor& x, const View& view);
HostTensor host_cat(const std::vector<HostTensor>& xs, std::int64_t axis);
// numpy.take; indices already checked and non-negative.
HostTensor host_take(const HostTensor& x, const Ints& indices, const Ints& index_shape, std::int64_t axis);

}  // namespace hearth::onnx
