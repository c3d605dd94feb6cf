#include "argument.h"

#include <cstring>
#include <limits>

#include "array_libraries.h"
#include "dtypes.h"
#include "errors.h"
#include "hearth/stored_type.h"

namespace hearth::python {
namespace {

std::string name_of_type(nb::handle object) { return nb::cast<std::string>(object.type().attr("__name__")); }

// Copies `axes` axes of strided elements one after the other.
char* copy_strided(const char* from, char* to, std::size_t item, const std::int64_t* shape, const std::int64_t* strides,
                   int axes) {
  if (axes == 0) {
    std::memcpy(to, from, item);
    return to + item;
  }
  if (axes == 1 && strides[0] == static_cast<std::int64_t>(item)) {
    std::memcpy(to, from, item * static_cast<std::size_t>(shape[0]));
    return to + item * static_cast<std::size_t>(shape[0]);
  }
  for (std::int64_t i = 0; i < shape[0]; ++i, from += strides[0])
    to = copy_strided(from, to, item, shape + 1, strides + 1, axes - 1);
  return to;
}

// The dtype of a numpy or torch array as its library writes it; "" for others.
std::string dtype_text(nb::handle object) {
  if (!nb::hasattr(object, "dtype")) return {};
  return str_of(object.attr("dtype"));
}

[[noreturn]] void refuse_dtype(nb::handle object, const char* what, const char* format) {
  const std::string text = dtype_text(object);
  const bool swapped = format != nullptr && (*format == '>' || *format == '!');
  const std::string found =
      text.empty() ? std::string("the buffer format '") + (format == nullptr ? "" : format) + "'" : "dtype " + text;
  raise_invalid(std::string(what) + " has " + found + (swapped ? ", big-endian" : "") +
                "; expected native bool, int, uint or float elements of 8 to 64 bits");
}

[[noreturn]] void refuse_device(const char* what, int type, int taken) {
  const char* const expected = taken == 0         ? "host memory"
                               : taken == kDLCUDA ? "host memory or that of the plan's CUDA device"
                                                  : "host memory or that of the plan's ROCm device";
  raise_invalid(std::string(what) + " is on device type " + std::to_string(type) + "; expected " + expected +
                " (pass x.cpu() for a torch tensor)");
}

PyObject* interned(const char* name) { return PyUnicode_InternFromString(name); }

// A torch view whose elements are the negatives of its memory (z.conj().imag), which DLPack cannot say.
bool has_negative_bit(nb::handle tensor) {
  static PyObject* const name = interned("is_neg");
  const nb::object is_negative = nb::steal(PyObject_CallMethodObjArgs(tensor.ptr(), name, nullptr));
  if (!is_negative.is_valid()) PyErr_Clear();
  return is_negative.ptr() == Py_True;
}

bool requires_gradient(nb::handle tensor) {
  static PyObject* const name = interned("requires_grad");
  const nb::object requires_grad = nb::steal(PyObject_GetAttr(tensor.ptr(), name));
  if (!requires_grad.is_valid()) PyErr_Clear();
  return requires_grad.ptr() != Py_False;
}

}  // namespace

void Argument::release() {
  if (has_buffer_) PyBuffer_Release(&buffer_);
  has_buffer_ = false;
  owner_ = nullptr;
  Py_CLEAR(kept_);
  if (!stored_.empty()) stored_.clear();
}

void Argument::read(nb::handle object, const char* what, DType wanted, int device_type) {
  release();
  device_ = {kDLCPU, 0};
  kind_ = ArrayKind::kNone;
  if (PyFloat_CheckExact(object.ptr()) || PyLong_CheckExact(object.ptr()) || PyBool_Check(object.ptr()))
    return read_number(object, what, wanted);
  kind_ = kind_of(object);
  const Array* own = nullptr;
  if (kind_ == ArrayKind::kOwn && nb::try_cast(object, own) && own != nullptr) return read_own(*own), measure(what);
  if (is_numpy_masked(object))
    raise_invalid(std::string(what) + " is a masked array, whose mask would be lost; pass x.filled(value)");
  nb::object resolved;
  if (kind_ == ArrayKind::kTorch && has_negative_bit(object)) {
    resolved = object.attr("resolve_neg")();
    object = resolved;
  }
  if (kind_ == ArrayKind::kTorch && read_torch(object)) return measure(what);
  if (kind_ == ArrayKind::kTorch && accepts_gradients_) {
    resolved = object.attr("detach")();
    object = resolved;
  }
  if (!read_buffer(object, what)) read_dlpack(object, what, device_type);
  measure(what);
}

// By torch's C functions; false for what __dlpack__ is to say: an error, or memory of a GPU.
bool Argument::read_torch(nb::handle object) {
  DLTensor tensor;
  if (!view_torch(object.ptr(), &tensor) || tensor.ndim > kMaxAxes) return false;
  const absl::StatusOr<DType> dtype = client::dtype_of_dlpack(tensor.dtype);
  if (!dtype.ok() || (!accepts_gradients_ && requires_gradient(object))) return false;
  dtype_ = *dtype;
  rank_ = tensor.ndim;
  is_read_only_ = false;
  data_ = static_cast<const char*>(tensor.data) + (tensor.data == nullptr ? 0 : tensor.byte_offset);
  const auto item = static_cast<std::int64_t>(dtype_bytes(dtype_));
  for (int i = 0; i < rank_; ++i) {
    shape_[i] = tensor.shape[i];
    if (__builtin_mul_overflow(tensor.strides[i], item, &strides_[i])) return false;
  }
  kept_ = Py_NewRef(object.ptr());
  return true;
}

void Argument::read_own(const Array& array) {
  owner_ = array.memory;
  data_ = static_cast<const char*>(array.memory.get());
  dtype_ = array.dtype;
  rank_ = static_cast<int>(array.shape.size());
  is_read_only_ = array.is_read_only;
  for (int i = 0; i < rank_; ++i) {
    shape_[i] = array.buffer_shape[static_cast<std::size_t>(i)];
    strides_[i] = array.buffer_strides[static_cast<std::size_t>(i)];
  }
}

void Argument::read_number(nb::handle object, const char* what, DType wanted) {
  if (!from_number(object, wanted, &number_)) {
    raise_invalid(std::string(what) + " is " + repr_of(object) + "; expected a value of " + numpy_name(wanted));
  }
  dtype_ = wanted;
  data_ = reinterpret_cast<const char*>(&number_);
  size_bytes_ = dtype_bytes(wanted);
  rank_ = 0;
  is_read_only_ = true;
}

// False when it has no buffer.
bool Argument::read_buffer(nb::handle object, const char* what) {
  if (!PyObject_CheckBuffer(object.ptr())) return false;
  std::optional<DType> stored;  // where its own format is none that buffers have
  nb::object bits;
  if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    if (kind_ != ArrayKind::kNumpy) raise_from_python(what);
    PyErr_Clear();
    const std::string name = dtype_text(object);
    stored = dtype_of_numpy_name(name);
    if (is_stored_type(name)) {
      stored = DType::kU8;
      stored_ = name;
    }
    if (!stored) refuse_dtype(object, what, nullptr);
    bits = object.attr("view")(dtype_bytes(*stored) == 2 ? "uint16" : "uint8");
    if (PyObject_GetBuffer(bits.ptr(), &buffer_, PyBUF_STRIDES | PyBUF_FORMAT) != 0) raise_from_python(what);
  }
  has_buffer_ = true;
  const std::optional<DType> found = stored ? stored : dtype_of_format(buffer_.format, buffer_.itemsize);
  if (!found) {
    const std::string format = buffer_.format == nullptr ? "" : buffer_.format;
    release();
    refuse_dtype(object, what, format.c_str());
  }
  dtype_ = *found;
  if (buffer_.ndim > kMaxAxes) {
    const int axes = buffer_.ndim;
    release();
    raise_invalid(std::string(what) + " has " + std::to_string(axes) + " axes; expected at most " +
                  std::to_string(kMaxAxes));
  }
  data_ = static_cast<const char*>(buffer_.buf);
  rank_ = buffer_.ndim;
  is_read_only_ = buffer_.readonly != 0;
  for (int i = 0; i < rank_; ++i) {
    shape_[i] = buffer_.shape == nullptr ? buffer_.len / buffer_.itemsize : buffer_.shape[i];
    strides_[i] = buffer_.strides == nullptr ? buffer_.itemsize : buffer_.strides[i];
  }
  return true;
}

void Argument::read_dlpack(nb::handle object, const char* what, int device_type) {
  if (!nb::hasattr(object, "__dlpack__")) {
    raise_call_error(std::string(what) + " is of type " + name_of_type(object) +
                     "; expected an array: of numpy or torch, or anything with a buffer or __dlpack__");
  }
  nb::object capsule;
  try {
    nb::dict options;
    if (nb::hasattr(object, "__dlpack_device__")) {
      const nb::object device = object.attr("__dlpack_device__")();
      const int type = nb::cast<int>(device[0]);
      if (type != kDLCPU && type != device_type) refuse_device(what, type, device_type);
      // torch's work and ours are of one stream; the work of others is done before that of the default one goes on.
      if (type != kDLCPU) options["stream"] = kind_ == ArrayKind::kTorch ? -1 : type == kDLCUDA ? 1 : 0;
    }
    try {
      capsule = object.attr("__dlpack__")(**options, nb::arg("max_version") = nb::make_tuple(1, 1));
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_TypeError)) throw;
      capsule = object.attr("__dlpack__")(**options);  // a library of DLPack 0.x
    }
  } catch (nb::python_error& error) {
    if (error.matches(nb::module_::import_("hearth._errors").attr("Error"))) throw;
    error.restore();
    raise_from_python(what);
  }
  const DLTensor* tensor = nullptr;
  is_read_only_ = false;
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
    auto* managed = static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    if (managed->version.major != 1) {
      raise_invalid(std::string(what) + " is of DLPack version " + std::to_string(managed->version.major) +
                    "; expected 1.x");
    }
    PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
    owner_ = std::shared_ptr<const void>(managed, [](DLManagedTensorVersioned* used) {
      if (used->deleter != nullptr) used->deleter(used);
    });
    tensor = &managed->dl_tensor;
    is_read_only_ = (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  } else if (PyCapsule_IsValid(capsule.ptr(), "dltensor")) {
    auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    PyCapsule_SetName(capsule.ptr(), "used_dltensor");
    owner_ = std::shared_ptr<const void>(managed, [](DLManagedTensor* used) {
      if (used->deleter != nullptr) used->deleter(used);
    });
    tensor = &managed->dl_tensor;
  } else {
    raise_invalid(std::string(what) + ": __dlpack__ gave no unused DLPack capsule");
  }
  device_ = tensor->device;
  if (on_device() && device_.device_type != device_type) refuse_device(what, device_.device_type, device_type);
  const absl::StatusOr<DType> dtype = client::dtype_of_dlpack(tensor->dtype);
  if (!dtype.ok()) refuse_dtype(object, what, nullptr);
  dtype_ = *dtype;
  if (tensor->ndim < 0 || tensor->ndim > kMaxAxes || (tensor->ndim > 0 && tensor->shape == nullptr)) {
    raise_invalid(std::string(what) + " has " + std::to_string(tensor->ndim) + " axes; expected 0 to " +
                  std::to_string(kMaxAxes));
  }
  rank_ = tensor->ndim;
  data_ = static_cast<const char*>(tensor->data) + (tensor->data == nullptr ? 0 : tensor->byte_offset);
  auto stride = static_cast<std::int64_t>(dtype_bytes(dtype_));
  for (int i = rank_; i-- > 0;) {
    shape_[i] = tensor->shape[i];
    const auto item = static_cast<std::int64_t>(dtype_bytes(dtype_));
    const bool given = tensor->strides != nullptr;
    if (given && __builtin_mul_overflow(tensor->strides[i], item, &strides_[i]))
      raise_invalid(std::string(what) + " has the stride " + std::to_string(tensor->strides[i]));
    if (!given) strides_[i] = stride;
    if (__builtin_mul_overflow(stride, shape_[i], &stride)) stride = 0;  // measure() says it
  }
}

void Argument::measure(const char* what) {
  std::size_t size = dtype_bytes(dtype_);
  bool is_empty = false;
  for (int i = 0; i < rank_; ++i) is_empty |= shape_[i] == 0;
  for (int i = 0; i < rank_; ++i) {
    if (shape_[i] < 0 || (!is_empty && __builtin_mul_overflow(size, static_cast<std::size_t>(shape_[i]), &size)))
      raise_invalid(std::string(what) + " has the length " + std::to_string(shape_[i]) + " along axis " +
                    std::to_string(i));
  }
  size_bytes_ = is_empty ? 0 : size;
  if (data_ == nullptr && size_bytes_ > 0) raise_invalid(std::string(what) + " points to no memory");
}

bool Argument::is_dense() const {
  if (size_bytes_ == 0) return true;
  auto expected = static_cast<std::int64_t>(dtype_bytes(dtype_));
  for (int i = rank_; i-- > 0;) {
    if (shape_[i] > 1 && strides_[i] != expected) return false;
    expected *= shape_[i];
  }
  return true;
}

void Argument::make_dense(const char* what, bool may_copy) {
  const std::size_t item = dtype_bytes(dtype_);
  const bool dense = is_dense(), aligned = reinterpret_cast<std::uintptr_t>(data_) % item == 0;
  if (dense && aligned) return;
  if (on_device()) {
    raise_invalid(std::string(what) + (dense ? " is not aligned to its elements" : " is not dense in C order") +
                  " in the GPU's memory; pass a contiguous copy");
  }
  if (!may_copy) {
    raise_invalid(std::string(what) + (dense ? " is not aligned to its elements" : " is not dense in C order") +
                  ", and copy=False; pass numpy.ascontiguousarray(x)");
  }
  Array copied = make_array(dtype_, {shape_, shape_ + rank_});
  copy_strided(data_, static_cast<char*>(copied.memory.get()), item, shape_, strides_, rank_);
  const ArrayKind kind = kind_;
  release();
  read_own(copied);
  kind_ = kind;
}

void Argument::read_output(nb::handle object, const char* what, int device_type) {
  release();
  if (PyFloat_Check(object.ptr()) || PyLong_Check(object.ptr()))
    raise_call_error(std::string(what) + " is a number; expected an array to write to");
  if (kind_of(object) == ArrayKind::kTorch && has_negative_bit(object))
    raise_invalid(std::string(what) + " is a torch view that negates its memory; pass x.resolve_neg()");
  read(object, what, DType::kF32, device_type);
  const std::size_t item = dtype_bytes(dtype_);
  std::string fault;
  if (is_read_only_) fault = " is read-only";
  if (!is_dense()) fault = " is not dense in C order";
  if (reinterpret_cast<std::uintptr_t>(data_) % item != 0) fault = " is not aligned to its elements";
  if (fault.empty()) return;
  release();
  raise_invalid(std::string(what) + fault + "; expected writable memory for the output");
}

std::string Argument::describe() const {
  std::string text = name_of_elements(dtype_, stored_) + " [";
  for (int i = 0; i < rank_; ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape_[i]);
  return text + "]";
}

}  // namespace hearth::python
