// numpy and torch as far as this process has imported them: which arrays are theirs, and new ones for results. Neither
// is imported by this module.
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>

#include "argument.h"

namespace hearth::python {

ArrayKind kind_of(nb::handle object);
// What torch's tensor shows, as long as nobody changes it, by torch's C functions: of host memory, with strides. False
// where they are not there, or will not.
bool view_torch(PyObject* tensor, DLTensor* view);
bool is_numpy_masked(nb::handle object);
// True for numpy.ndarray itself, false for its subclasses.
bool is_numpy_array(nb::handle object);

// A new array of a kind: the object, and where its elements are. kOwn where the library has no such element type.
struct NewArray {
  nb::object object;
  void* data = nullptr;
};
NewArray new_array(ArrayKind kind, DType dtype, std::span<const std::int64_t> shape, nb::handle shape_tuple);

// numpy's array of codes as what they are, by ml_dtypes where it is installed; as it is where `stored` is empty.
nb::object as_stored(nb::object codes, const std::string& stored);

// A new array in the memory of the GPU that has `like`: torch's, or of the library that `like` names by
// __array_namespace__; invalid where there is none, or it has no such element type.
nb::object new_device_array(nb::handle like, ArrayKind kind, DType dtype, nb::handle shape_tuple);
// Where a library's work on that GPU goes: torch's current stream; the driver's default one of others, null, whose
// arrays are made ready for it.
void* device_stream(ArrayKind kind, int device_id);

}  // namespace hearth::python
