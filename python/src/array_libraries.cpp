#include "array_libraries.h"

#include "dlpack_exchange.h"
#include "dtypes.h"
#include "errors.h"

namespace hearth::python {
namespace {

// What is found once stays: borrowed for the process's life.
struct Library {
  const char* module;
  const char* type;
  PyObject* array = nullptr;  // the type; null until the module is imported
  PyObject* empty = nullptr;
  PyObject* dtypes[16] = {};

  bool find() {
    if (array != nullptr) return true;
    const nb::object loaded = nb::steal(PyImport_GetModule(nb::str(module).ptr()));
    if (!loaded.is_valid()) {
      PyErr_Clear();
      return false;
    }
    if (!nb::hasattr(loaded, type) || !nb::hasattr(loaded, "empty")) return false;  // it is being imported
    empty = nb::object(loaded.attr("empty")).release().ptr();
    array = nb::object(loaded.attr(type)).release().ptr();
    return true;
  }
  bool owns(PyObject* object) {
    if (!find()) return false;
    return is_exactly(object) || PyType_IsSubtype(Py_TYPE(object), reinterpret_cast<PyTypeObject*>(array)) != 0;
  }
  bool is_exactly(PyObject* object) const { return reinterpret_cast<PyObject*>(Py_TYPE(object)) == array; }
};

Library numpy{"numpy", "ndarray"};
Library torch{"torch", "Tensor"};

nb::object loaded(const char* module, const char* name) {
  const nb::object found = nb::steal(PyImport_GetModule(nb::str(module).ptr()));
  if (!found.is_valid()) {
    PyErr_Clear();
    return {};
  }
  return nb::hasattr(found, name) ? nb::object(found.attr(name)) : nb::object();
}

// numpy's type for a dtype; null when there is none.
PyObject* numpy_dtype(DType dtype) {
  PyObject*& cached = numpy.dtypes[static_cast<std::size_t>(dtype)];
  if (cached != nullptr) return cached;
  nb::object type;
  if (buffer_format(dtype) != nullptr) {
    type = nb::str(numpy_name(dtype));
  } else {
    try {
      type = nb::module_::import_("ml_dtypes").attr(numpy_name(dtype));
    } catch (nb::python_error&) {
      return nullptr;
    }
  }
  cached = nb::object(nb::module_::import_("numpy").attr("dtype")(type)).release().ptr();
  return cached;
}

NewArray new_numpy(DType dtype, nb::handle shape) {
  PyObject* type = numpy_dtype(dtype);
  if (type == nullptr) return {};
  NewArray made;
  const bool has_format = buffer_format(dtype) != nullptr;
  const DType stored = has_format ? dtype : dtype == DType::kBF16 ? DType::kU16 : DType::kU8;
  made.object = nb::borrow(numpy.empty)(shape, nb::handle(has_format ? type : numpy_dtype(stored)));
  Py_buffer buffer;
  if (PyObject_GetBuffer(made.object.ptr(), &buffer, PyBUF_WRITABLE) != 0) throw nb::python_error();
  made.data = buffer.buf;
  PyBuffer_Release(&buffer);
  if (!has_format) made.object = made.object.attr("view")(nb::handle(type));
  return made;
}

// torch's type for a dtype; null when there is none.
PyObject* torch_dtype(DType dtype) {
  PyObject*& type = torch.dtypes[static_cast<std::size_t>(dtype)];
  if (type == nullptr) {
    const nb::object found = loaded("torch", numpy_name(dtype));
    if (found.is_valid()) type = nb::object(found).release().ptr();
  }
  return type;
}

nb::object empty_torch(DType dtype, nb::handle shape, nb::handle device) {
  PyObject* const type = torch_dtype(dtype);
  if (type == nullptr) return {};
  return nb::borrow(torch.empty)(shape, nb::arg("dtype") = nb::handle(type), nb::arg("device") = device);
}

NewArray new_torch(DType dtype, nb::handle shape) {
  NewArray made;
  static PyObject* const cpu = nb::object(nb::module_::import_("torch").attr("device")("cpu")).release().ptr();
  made.object = empty_torch(dtype, shape, cpu);
  if (!made.object.is_valid()) return {};
  DLTensor tensor;
  made.data = view_torch(made.object.ptr(), &tensor)
                  ? tensor.data
                  : reinterpret_cast<void*>(nb::cast<std::uintptr_t>(made.object.attr("data_ptr")()));
  return made;
}

}  // namespace

bool view_torch(PyObject* tensor, DLTensor* view) {
  static const DLPackExchangeFunctions* functions = nullptr;
  static bool is_known = false;  // the GIL guards both
  if (!is_known) {
    if (!torch.find()) return false;
    functions = exchange_functions(torch.array);
    is_known = true;
  }
  if (functions == nullptr) return false;
  if (functions->view_object(tensor, view) != 0) {
    PyErr_Clear();
    return false;
  }
  return view->device.device_type == kDLCPU && view->ndim >= 0 && (view->ndim == 0 || view->strides != nullptr);
}

ArrayKind kind_of(nb::handle object) {
  if (torch.is_exactly(object.ptr())) return ArrayKind::kTorch;
  if (numpy.owns(object.ptr())) return ArrayKind::kNumpy;
  if (torch.owns(object.ptr())) return ArrayKind::kTorch;
  if (numpy.array != nullptr) {
    const nb::object scalar = loaded("numpy", "generic");
    if (scalar.is_valid() && PyObject_IsInstance(object.ptr(), scalar.ptr()) == 1) return ArrayKind::kNumpy;
  }
  return ArrayKind::kOwn;
}

bool is_numpy_array(nb::handle object) {
  return numpy.find() && reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) == numpy.array;
}

bool is_numpy_masked(nb::handle object) {
  if (numpy.array == nullptr || reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) == numpy.array) return false;
  const nb::object masked = loaded("numpy.ma", "MaskedArray");
  return masked.is_valid() && PyObject_IsInstance(object.ptr(), masked.ptr()) == 1;
}

nb::object new_device_array(nb::handle like, ArrayKind kind, DType dtype, nb::handle shape_tuple) {
  if (kind == ArrayKind::kTorch) return empty_torch(dtype, shape_tuple, like.attr("device"));
  if (!nb::hasattr(like, "__array_namespace__")) return {};
  const nb::object library = like.attr("__array_namespace__")();
  if (!nb::hasattr(library, numpy_name(dtype))) return {};
  return library.attr("empty")(shape_tuple, nb::arg("dtype") = library.attr(numpy_name(dtype)),
                               nb::arg("device") = like.attr("device"));
}

void* device_stream(ArrayKind kind, int device_id) {
  if (kind != ArrayKind::kTorch) return nullptr;
  const nb::object stream = nb::module_::import_("torch").attr("cuda").attr("current_stream")(device_id);
  return reinterpret_cast<void*>(nb::cast<std::uintptr_t>(stream.attr("cuda_stream")));
}

nb::object as_stored(nb::object codes, const std::string& stored) {
  if (stored.empty()) return codes;
  nb::object type;
  try {
    type = nb::module_::import_("ml_dtypes").attr(stored.c_str());
  } catch (nb::python_error&) {
    return codes;
  }
  return codes.attr("view")(type);
}

NewArray new_array(ArrayKind kind, DType dtype, std::span<const std::int64_t> shape, nb::handle shape_tuple) {
  NewArray made;
  if (kind == ArrayKind::kNumpy) made = new_numpy(dtype, shape_tuple);
  if (kind == ArrayKind::kTorch) made = new_torch(dtype, shape_tuple);
  if (made.object.is_valid()) return made;
  Array own = make_array(dtype, {shape.begin(), shape.end()});
  made.data = own.memory.get();
  made.object = nb::cast(std::move(own));
  return made;
}

}  // namespace hearth::python
