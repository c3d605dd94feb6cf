// The head of a numpy.ndarray, as numpy's C API lays it out for every extension module: read in place, which takes a
// twentieth of what the buffer protocol takes. Whether this numpy lays it out so is found out once, by an array's buffer.
#pragma once
#include <nanobind/nanobind.h>

namespace hearth::python {

struct NumpyArray {
  PyObject head;
  char* data;
  int rank;
  Py_ssize_t* shape;
  Py_ssize_t* strides;  // in bytes
  PyObject* base;
  PyObject* dtype;
};

// Null where the object is no numpy.ndarray itself, or numpy lays it out in another way. With the GIL.
const NumpyArray* numpy_array(PyObject* object);

}  // namespace hearth::python
