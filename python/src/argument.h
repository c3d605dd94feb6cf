// Argument: an array that a caller gives, seen where it lies: by the buffer protocol, else by DLPack; a Python number
// where one element is taken. Holds the caller's memory until release(). With the GIL. Memory of a GPU is taken where
// `device_type` says which (DLPack's number, 0: none); its elements are not looked at.
//
//   argument.read(x, "input 'x'", DType::kF32);        // throws what Python raises
//   argument.make_dense("input 'x'", may_copy);
//   … argument.data(), argument.shape() …
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "array.h"
#include "hearth/dlpack.h"

namespace hearth::python {

// What a result is made as: what the first array of the call is.
enum class ArrayKind { kNone, kNumpy, kTorch, kOwn };

class Argument {
 public:
  Argument() = default;
  Argument(const Argument&) = delete;
  Argument& operator=(const Argument&) = delete;
  ~Argument() { release(); }

  // `what` names it in errors. A number is taken for elements of `wanted`.
  void read(nb::handle object, const char* what, DType wanted, int device_type = 0);
  // With true, tensors of torch that require gradients are read from now on; results do not require them. With false such
  // a tensor is an error, as it is at first.
  void accept_gradients(bool accepts) { accepts_gradients_ = accepts; }
  // Its memory is to be written to: it must allow that, and be dense.
  void read_output(nb::handle object, const char* what, int device_type = 0);
  // Copies what is not dense, row-major and aligned; InvalidArgument where that is not allowed, or not of the host.
  void make_dense(const char* what, bool may_copy);
  void release();

  ArrayKind kind() const { return kind_; }
  // In a GPU's memory.
  bool on_device() const { return device_.device_type != kDLCPU; }
  int device_id() const { return device_.device_id; }
  bool is_dense() const;
  DType dtype() const { return dtype_; }
  // "int4" where it is of one of ml_dtypes' types that are u8 here; else empty.
  const std::string& stored() const { return stored_; }
  const void* data() const { return data_; }
  std::size_t size_bytes() const { return size_bytes_; }
  std::span<const std::int64_t> shape() const { return {shape_, static_cast<std::size_t>(rank_)}; }
  std::string describe() const;  // "float32 [2, 3]"
  // True where its elements are of `dtype`. Codes of the type `stored` may come as plain u8.
  bool is_of(DType dtype, const std::string& stored) const {
    return dtype_ == dtype && (stored_.empty() || stored_ == stored);
  }

 private:
  static constexpr int kMaxAxes = 32;
  bool read_buffer(nb::handle object, const char* what);
  bool read_torch(nb::handle object);
  void read_dlpack(nb::handle object, const char* what, int device_type);
  void read_own(const Array& array);
  void read_number(nb::handle object, const char* what, DType wanted);
  void measure(const char* what);

  ArrayKind kind_ = ArrayKind::kNone;
  std::string stored_;
  DLDevice device_ = {kDLCPU, 0};
  DType dtype_ = DType::kF32;
  const char* data_ = nullptr;
  std::size_t size_bytes_ = 0;
  int rank_ = 0;
  bool is_read_only_ = false;
  bool has_buffer_ = false;
  bool accepts_gradients_ = false;
  std::int64_t shape_[kMaxAxes];
  std::int64_t strides_[kMaxAxes];  // in bytes
  std::int64_t number_ = 0;         // a Python number's element
  Py_buffer buffer_ = {};
  std::shared_ptr<const void> owner_;  // of what is no buffer
  PyObject* kept_ = nullptr;           // torch's tensor, a reference
};

}  // namespace hearth::python
