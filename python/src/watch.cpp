#include "watch.h"

#include <algorithm>

#include "array_libraries.h"
#include "dlpack_exchange.h"
#include "errors.h"
#include "numpy_array.h"

namespace hearth::python {
namespace {

PyObject* version_name() {
  static PyObject* const name = PyUnicode_InternFromString("_version");
  return name;
}

// torch counts what writes to a tensor; one that was made in inference mode has no count, and numpy's arrays have none.
nb::object version_of(PyObject* array) {
  PyObject* const version = PyObject_GetAttr(array, version_name());
  if (version == nullptr) PyErr_Clear();
  return nb::steal(version);
}

// Where its elements are, and its lengths; null where that cannot be told fast.
const void* memory_of(PyObject* array, ArrayKind kind, std::span<const std::int64_t>* shape) {
  if (kind == ArrayKind::kTorch) {
    DLTensor tensor;
    if (!view_torch(array, &tensor)) return nullptr;
    *shape = {tensor.shape, static_cast<std::size_t>(tensor.ndim)};
    return static_cast<const char*>(tensor.data) + (tensor.data == nullptr ? 0 : tensor.byte_offset);
  }
  if (const NumpyArray* head = numpy_array(array)) {
    *shape = {reinterpret_cast<const std::int64_t*>(head->shape), static_cast<std::size_t>(head->rank)};
    return head->data;
  }
  return nullptr;
}

}  // namespace

Watch::Watch(const nb::dict& arrays) {
  std::vector<std::pair<Py_ssize_t, nb::object>> ordered;
  for (const auto& [place, array] : arrays) {
    if (PyLong_Check(place.ptr()) == 0 || PyLong_AsSsize_t(place.ptr()) < 0) {
      PyErr_Clear();
      raise_call_error("watch: " + repr_of(place) + " is no place in a list; expected {place: array}");
    }
    ordered.emplace_back(PyLong_AsSsize_t(place.ptr()), nb::borrow(array));
  }
  std::sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [place, array] : ordered) {
    const ArrayKind kind = kind_of(array);
    if (kind_ == ArrayKind::kNone) kind_ = kind;
    std::span<const std::int64_t> shape;
    const void* const data = memory_of(array.ptr(), kind, &shape);
    Watched watched{array, kind, data, {shape.begin(), shape.end()}, {}, {}};
    if (kind == ArrayKind::kTorch) {
      // A subclass such as Parameter gives its version thrice as slowly as what it detaches to, which shares its counter.
      watched.counted = array.attr("detach")();
      watched.version = version_of(watched.counted.ptr());
    }
    places_.push_back(place);
    watched_.push_back(std::move(watched));
  }
}

bool Watch::holds(PyObject* list) const {
  const Py_ssize_t count = PyList_Size(list);
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    const Watched& then = watched_[i];
    PyObject* const now = places_[i] < count ? PyList_GetItem(list, places_[i]) : nullptr;
    if (now != then.array.ptr()) return false;
    if (then.version.is_valid()) {
      const nb::object version = nb::steal(PyObject_GetAttr(then.counted.ptr(), version_name()));
      if (!version.is_valid()) {
        PyErr_Clear();
        return false;
      }
      if (version.ptr() != then.version.ptr() && PyLong_AsLong(version.ptr()) != PyLong_AsLong(then.version.ptr()))
        return false;
    }
    if (then.data == nullptr) continue;
    std::span<const std::int64_t> shape;
    if (memory_of(now, then.kind, &shape) != then.data) return false;
    if (!std::equal(shape.begin(), shape.end(), then.shape.begin(), then.shape.end())) return false;
  }
  return true;
}

void add_watch(nb::module_& module) {
  nb::class_<Watch>(
      module, "Watch",
      "Arrays that a function has as its parameters, by their places in the list that call_list() is given:\n"
      "hearth.Watch({2: weight, 3: bias}). It keeps them alive.")
      .def(nb::init<const nb::dict&>(), nb::arg("arrays"))
      .def(
          "holds", [](const Watch& watch, const nb::list& arrays) { return watch.holds(arrays.ptr()); },
          nb::arg("arrays"),
          "Whether the list has the same arrays at these places, with the same memory and shape and, of torch's, the "
          "same\n"
          "version. What is written through torch's .data, or to a numpy array, is not seen.")
      .def("__len__", [](const Watch& watch) { return watch.places().size(); });
}

}  // namespace hearth::python
