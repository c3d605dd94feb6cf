// hearth.Array: dense, row-major elements in host memory; what calls give whose arguments are neither numpy's nor
// torch's. It has the buffer protocol and DLPack 1.1 (both without a copy), __array__ and tolist.
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "hearth/dtype.h"

namespace hearth::python {

namespace nb = nanobind;

struct Array {
  std::shared_ptr<void> memory;  // aligned to 64 bytes; never null
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::vector<Py_ssize_t> buffer_shape, buffer_strides;  // what a buffer shows; as long as the array
  bool is_read_only = false;

  std::size_t size() const;
  std::size_t size_bytes() const { return size() * dtype_bytes(dtype); }
};

// Memory for it, not zeroed.
Array make_array(DType dtype, std::vector<std::int64_t> shape);

// Memory that `owner` keeps, to be read only; a copy where it is not aligned to its elements.
Array borrow_array(const void* data, DType dtype, std::vector<std::int64_t> shape, std::shared_ptr<const void> owner);

void add_array(nb::module_& module);

}  // namespace hearth::python
