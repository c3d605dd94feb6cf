#include "array.h"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "dtypes.h"
#include "errors.h"
#include "hearth/dlpack.h"

namespace hearth::python {
namespace {

constexpr std::size_t kAlignment = 64;  // of a cache line

int get_buffer(PyObject* self, Py_buffer* buffer, int flags) {
  const Array& array = *nb::inst_ptr<Array>(self);
  buffer->obj = nullptr;
  const char* format = buffer_format(array.dtype);
  if (format == nullptr) {
    PyErr_Format(PyExc_BufferError, "the buffer protocol has no format for %s; use __dlpack__ or numpy.asarray",
                 numpy_name(array.dtype));
    return -1;
  }
  if (array.is_read_only && (flags & PyBUF_WRITABLE) != 0) {
    PyErr_SetString(PyExc_BufferError, "the array is read-only");
    return -1;
  }
  const auto is_long = [](std::int64_t length) { return length > 1; };
  if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && array.size() > 0 &&
      std::ranges::count_if(array.shape, is_long) > 1) {
    PyErr_SetString(PyExc_BufferError, "the array is in C order, and Fortran's was asked for; copy it");
    return -1;
  }
  buffer->buf = array.memory.get();
  buffer->len = static_cast<Py_ssize_t>(array.size_bytes());
  buffer->itemsize = static_cast<Py_ssize_t>(dtype_bytes(array.dtype));
  buffer->readonly = array.is_read_only ? 1 : 0;
  buffer->ndim = static_cast<int>(array.shape.size());
  buffer->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format) : nullptr;
  buffer->shape = (flags & PyBUF_ND) != 0 ? const_cast<Py_ssize_t*>(array.buffer_shape.data()) : nullptr;
  const bool with_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
  buffer->strides = with_strides ? const_cast<Py_ssize_t*>(array.buffer_strides.data()) : nullptr;
  buffer->suboffsets = nullptr;
  buffer->internal = nullptr;
  buffer->obj = Py_NewRef(self);
  return 0;
}

PyType_Slot array_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)}, {0, nullptr}};

nb::tuple shape_tuple(const Array& array) {
  nb::list lengths;
  for (const std::int64_t length : array.shape) lengths.append(length);
  return nb::tuple(lengths);
}

nb::object to_list(const Array& array, std::size_t axis, const char*& at) {
  if (axis == array.shape.size()) {
    nb::object number = to_number(array.dtype, at);
    at += dtype_bytes(array.dtype);
    return number;
  }
  nb::list list;
  for (std::int64_t i = 0; i < array.shape[axis]; ++i) list.append(to_list(array, axis + 1, at));
  return list;
}

nb::object tolist(const Array& array) {
  const char* at = static_cast<const char*>(array.memory.get());
  return to_list(array, 0, at);
}

nb::object item(const Array& array) {
  if (array.size() != 1)
    raise_invalid("item() of an array of " + std::to_string(array.size()) + " elements; expected 1");
  return to_number(array.dtype, array.memory.get());
}

// A copy of some of the elements: from `offset` on, by strides in elements. For indexing by numbers and slices.
Array part_of(const Array& array, std::int64_t offset, const std::vector<std::int64_t>& shape,
              const std::vector<std::int64_t>& strides) {
  Array part = make_array(array.dtype, shape);
  const std::size_t item = dtype_bytes(array.dtype), count = part.size();
  std::vector<std::int64_t> at(shape.size(), 0);
  const auto* from = static_cast<const char*>(array.memory.get());
  auto* to = static_cast<char*>(part.memory.get());
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t place = offset;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) place += at[axis] * strides[axis];
    if (place < 0 || static_cast<std::size_t>(place) >= array.size())
      raise_invalid("the part lies outside of the array");
    std::memcpy(to + i * item, from + static_cast<std::size_t>(place) * item, item);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++at[axis] < shape[axis]) break;
      at[axis] = 0;
    }
  }
  return part;
}

// A capsule that nobody took frees its tensor.
template <typename Tensor>
nb::object capsule_of(Tensor* tensor, const char* name) {
  const auto free_unused = [](PyObject* capsule) {
    constexpr bool is_versioned = std::is_same_v<Tensor, DLManagedTensorVersioned>;
    const char* unused = is_versioned ? "dltensor_versioned" : "dltensor";
    if (!PyCapsule_IsValid(capsule, unused)) return;
    auto* left = static_cast<Tensor*>(PyCapsule_GetPointer(capsule, unused));
    left->deleter(left);
  };
  PyObject* capsule = PyCapsule_New(tensor, name, free_unused);
  if (capsule == nullptr) {
    tensor->deleter(tensor);
    throw nb::python_error();
  }
  return nb::steal(capsule);
}

nb::object to_capsule(const Array& array, nb::object stream, nb::object max_version, nb::object device,
                      nb::object copy) {
  if (!stream.is_none()) raise_invalid("stream: an array in host memory has none; expected None");
  if (!device.is_none() && !device.equal(nb::make_tuple(static_cast<int>(kDLCPU), 0)))
    raise_invalid("dl_device: the array is in host memory, (1, 0), and is not copied to another device");
  client::ArrayView view(array.memory.get(), array.size_bytes(), array.dtype, array.shape);
  std::shared_ptr<const void> owner = array.memory;
  std::uint64_t flags = 0;
  const bool versioned = !max_version.is_none() && nb::cast<int>(max_version[0]) >= 1;
  if (array.is_read_only) flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  const bool must_copy = array.is_read_only && !versioned;  // an old capsule cannot say that it is read-only
  if (must_copy && !copy.is_none() && !nb::cast<bool>(copy)) {
    PyErr_SetString(PyExc_BufferError,
                    "__dlpack__: the memory is read-only, which DLPack before 1.0 cannot say; "
                    "expected max_version=(1, 0) or later, or a copy");
    throw nb::python_error();
  }
  if ((!copy.is_none() && nb::cast<bool>(copy)) || must_copy) {
    const Array copied = make_array(array.dtype, array.shape);
    std::memcpy(copied.memory.get(), array.memory.get(), array.size_bytes());
    view.data = copied.memory.get();
    owner = copied.memory;
    flags = DLPACK_FLAG_BITMASK_IS_COPIED;
  }
  if (versioned) return capsule_of(value_of(client::to_dlpack_versioned(view, owner, flags)), "dltensor_versioned");
  return capsule_of(value_of(client::to_dlpack(view, owner)), "dltensor");
}

nb::object to_numpy(nb::handle self, nb::object dtype, nb::object copy) {
  const Array& array = nb::cast<const Array&>(self);
  const nb::module_ numpy = nb::module_::import_("numpy");
  nb::object made;
  if (buffer_format(array.dtype) != nullptr) {
    made = numpy.attr("frombuffer")(self, nb::str(numpy_name(array.dtype)));
  } else {  // as bytes, then as what they are
    const nb::object type = nb::module_::import_("ml_dtypes").attr(numpy_name(array.dtype));
    Array bytes = array;
    bytes.dtype = DType::kU8;
    bytes.shape = {static_cast<std::int64_t>(array.size_bytes())};
    bytes.buffer_shape = {static_cast<Py_ssize_t>(array.size_bytes())};
    bytes.buffer_strides = {1};
    made = numpy.attr("frombuffer")(nb::cast(std::move(bytes)), nb::str("uint8")).attr("view")(type);
  }
  made = made.attr("reshape")(shape_tuple(array));
  const bool converts = !dtype.is_none() && !made.attr("dtype").equal(numpy.attr("dtype")(dtype));
  if (converts) {
    if (!copy.is_none() && !nb::cast<bool>(copy))
      raise_invalid(std::string("__array__: ") + numpy_name(array.dtype) + " cannot be another type without a copy");
    return made.attr("astype")(dtype);
  }
  return !copy.is_none() && nb::cast<bool>(copy) ? made.attr("copy")() : made;
}

nb::str repr(const Array& array) {
  std::string text = std::string("hearth.Array(") + numpy_name(array.dtype) + ", [";
  for (std::size_t i = 0; i < array.shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(array.shape[i]);
  return nb::str((text + "])").c_str());
}

}  // namespace

std::size_t Array::size() const {
  std::size_t size = 1;
  for (const std::int64_t length : shape) size *= static_cast<std::size_t>(length);
  return size;
}

namespace {

// Without memory.
Array shaped_array(DType dtype, std::vector<std::int64_t> shape) {
  Array array{nullptr, dtype, std::move(shape), {}, {}, false};
  Py_ssize_t stride = static_cast<Py_ssize_t>(dtype_bytes(dtype));
  array.buffer_shape.assign(array.shape.begin(), array.shape.end());
  array.buffer_strides.resize(array.shape.size());
  for (std::size_t axis = array.shape.size(); axis-- > 0;) {
    array.buffer_strides[axis] = stride;
    stride *= array.buffer_shape[axis];
  }
  return array;
}

}  // namespace

Array make_array(DType dtype, std::vector<std::int64_t> shape) {
  Array array = shaped_array(dtype, std::move(shape));
  array.memory =
      std::shared_ptr<void>(::operator new(std::max<std::size_t>(array.size_bytes(), 1), std::align_val_t(kAlignment)),
                            [](void* memory) { ::operator delete(memory, std::align_val_t(kAlignment)); });
  return array;
}

Array borrow_array(const void* data, DType dtype, std::vector<std::int64_t> shape, std::shared_ptr<const void> owner) {
  if (reinterpret_cast<std::uintptr_t>(data) % dtype_bytes(dtype) != 0) {
    Array copy = make_array(dtype, std::move(shape));
    std::memcpy(copy.memory.get(), data, copy.size_bytes());
    return copy;
  }
  Array array = shaped_array(dtype, std::move(shape));
  array.memory = std::shared_ptr<void>(std::const_pointer_cast<void>(owner), const_cast<void*>(data));
  array.is_read_only = true;
  return array;
}

void add_array(nb::module_& module) {
  nb::class_<Array>(module, "Array", nb::type_slots(array_slots),
                    "Dense, row-major elements in host memory, which this object owns.\n\n"
                    "numpy.asarray(a), memoryview(a) and torch.from_dlpack(a) share its memory; a.tolist() copies.")
      .def_prop_ro("shape", &shape_tuple, "The lengths, a tuple of int.")
      .def_prop_ro(
          "dtype", [](const Array& array) { return dtype_object(array.dtype); }, "\"float32\", \"bfloat16\", …")
      .def_prop_ro("ndim", [](const Array& array) { return array.shape.size(); })
      .def_prop_ro("size", &Array::size, "The number of elements.")
      .def_prop_ro("nbytes", &Array::size_bytes)
      .def("_part", &part_of, nb::arg("offset"), nb::arg("shape"), nb::arg("strides"))
      .def("tolist", &tolist, "The elements as nested lists of Python numbers, or one number.")
      .def("item", &item, "The only element as a Python number.")
      .def(
          "tobytes", [](const Array& array) { return nb::bytes(array.memory.get(), array.size_bytes()); },
          "A copy of the elements' bytes, row-major.")
      .def("__dlpack__", &to_capsule, nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none())
      .def("__dlpack_device__", [](const Array&) { return nb::make_tuple(static_cast<int>(kDLCPU), 0); })
      .def("__array__", &to_numpy, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none())
      .def("__len__",
           [](const Array& array) {
             if (array.shape.empty()) throw nb::type_error("len() of an array without axes");
             return array.shape[0];
           })
      .def("__float__", [](const Array& array) { return nb::float_(item(array)); })
      .def("__int__", [](const Array& array) { return nb::int_(item(array)); })
      .def("__bool__", [](const Array& array) { return PyObject_IsTrue(item(array).ptr()) == 1; })
      .def("__repr__", &repr);
}

}  // namespace hearth::python
