// Element types under numpy's names ("float32", "bfloat16", "float8_e4m3fn"), with their buffer formats.
#pragma once
#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <string_view>

#include "hearth/dtype.h"

namespace hearth::python {

namespace nb = nanobind;

// Zero-terminated.
const char* numpy_name(DType dtype);
inline std::string name_of_elements(DType dtype, const std::string& stored) {
  return stored.empty() ? numpy_name(dtype) : stored;
}
// hearth.float32 and its like.
nb::object dtype_object(DType dtype);
std::optional<DType> dtype_of_numpy_name(std::string_view name);
// The struct module's format; null for types that have none (bfloat16, float8).
const char* buffer_format(DType dtype);
// The type of a format whose elements have `itemsize` bytes; nothing for one that is no native element type. Sizes are
// the exporter's: what "l" is depends on the format's first letter.
std::optional<DType> dtype_of_format(const char* format, Py_ssize_t itemsize);

// One element as a Python number, and a Python number as one. False when it is no number that the type holds exactly
// (floats are rounded).
nb::object to_number(DType dtype, const void* element);
bool from_number(nb::handle number, DType dtype, void* element);

}  // namespace hearth::python
