#include "guards.h"

#include <bit>
#include <cstring>

#include "errors.h"
#include "tensor.h"

namespace hearth::python {
namespace {

// Takes a new reference; null without an error where Python found nothing.
nb::object found(PyObject* object) {
  if (object == nullptr) PyErr_Clear();
  return nb::steal(object);
}

nb::object borrowed(PyObject* object) {
  if (object == nullptr) PyErr_Clear();
  return nb::borrow(object);
}

PyObject* referent(nb::handle weak) { return PyWeakref_GetObject(weak.ptr()); }

bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

// Compares numbers, texts and None, whose types are written in C: -0.0 is not 0.0, and NaN is itself.
bool same_plain(PyObject* now, PyObject* then) {
  if (now == then) return true;
  if (Py_TYPE(now) != Py_TYPE(then)) return false;
  if (PyFloat_CheckExact(now)) return same_bits(PyFloat_AsDouble(now), PyFloat_AsDouble(then));
  if (PyComplex_CheckExact(now)) {
    return same_bits(PyComplex_RealAsDouble(now), PyComplex_RealAsDouble(then)) &&
           same_bits(PyComplex_ImagAsDouble(now), PyComplex_ImagAsDouble(then));
  }
  const int equal = PyObject_RichCompareBool(now, then, Py_EQ);
  if (equal < 0) PyErr_Clear();
  return equal == 1;
}

PyObject* part(const nb::object& tuple, Py_ssize_t i) { return PyTuple_GetItem(tuple.ptr(), i); }
PyObject* type_of(PyObject* object) { return reinterpret_cast<PyObject*>(Py_TYPE(object)); }

bool same_sequence(PyObject* now, PyObject* then) {
  const Py_ssize_t size = PyTuple_Size(then);
  const bool is_list = PyList_Check(now) != 0;
  if (!is_list && !PyTuple_Check(now)) return false;
  if ((is_list ? PyList_Size(now) : PyTuple_Size(now)) != size) return false;
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (!same_plain(is_list ? PyList_GetItem(now, i) : PyTuple_GetItem(now, i), PyTuple_GetItem(then, i))) return false;
  }
  return true;
}

// By identity, or by value where it is plain.
bool same_plain_or_self(PyObject* now, PyObject* then) {
  const bool is_plain = PyUnicode_CheckExact(then) || PyLong_CheckExact(then) || PyBytes_CheckExact(then) ||
                        PyFloat_CheckExact(then) || PyBool_Check(then);
  return now == then || (is_plain && same_plain(now, then));
}

// With `values`, those too.
bool same_dict(PyObject* now, PyObject* keys, PyObject* values) {
  if (!PyDict_Check(now) || PyDict_Size(now) != PyTuple_Size(keys)) return false;
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t at = 0, i = 0;
  while (PyDict_Next(now, &at, &key, &value)) {
    PyObject* const then = PyTuple_GetItem(keys, i);
    if (!same_plain_or_self(key, then)) return false;
    if (values != nullptr && !same_plain(value, PyTuple_GetItem(values, i))) return false;
    ++i;
  }
  return true;
}

// A collections.OrderedDict, whose order is not that of the dict that it is.
bool same_ordered(PyObject* now, PyObject* keys, PyObject* values) {
  if (!PyDict_Check(now) || PyDict_Size(now) != PyTuple_Size(keys)) return false;
  const nb::object all = found(PySequence_Tuple(now));
  for (Py_ssize_t i = 0; i < PyTuple_Size(keys); ++i) {
    PyObject* const key = all.is_valid() && i < PyTuple_Size(all.ptr()) ? PyTuple_GetItem(all.ptr(), i) : nullptr;
    if (key == nullptr || !same_plain_or_self(key, PyTuple_GetItem(keys, i))) return false;
    if (values == nullptr) continue;
    const nb::object value = borrowed(PyDict_GetItemWithError(now, key));
    if (!value.is_valid() || !same_plain(value.ptr(), PyTuple_GetItem(values, i))) return false;
  }
  return true;
}

// Its elements in order: what the function saw.
bool same_set(PyObject* now, PyObject* then) {
  if (!PyAnySet_Check(now) || PySet_Size(now) != PyTuple_Size(then)) return false;
  static const auto iterate = reinterpret_cast<getiterfunc>(PyType_GetSlot(&PySet_Type, Py_tp_iter));
  const nb::object all = found(iterate(now));
  for (Py_ssize_t i = 0; all.is_valid() && i < PyTuple_Size(then); ++i) {
    const nb::object one = found(PyIter_Next(all.ptr()));
    if (!one.is_valid() || !same_plain_or_self(one.ptr(), PyTuple_GetItem(then, i))) return false;
  }
  return all.is_valid();
}

Py_ssize_t size_of(PyObject* sequence) {
  if (PyList_Check(sequence)) return PyList_Size(sequence);
  if (PyTuple_Check(sequence)) return PyTuple_Size(sequence);
  const Py_ssize_t size = PySequence_Size(sequence);
  if (size < 0) PyErr_Clear();
  return size;
}

// The value at a place of a dict, borrowed; null: there is none.
PyObject* value_at(PyObject* dict, Py_ssize_t place) {
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t at = 0;
  while (PyDict_Next(dict, &at, &key, &value)) {
    if (place-- == 0) return value;
  }
  return nullptr;
}

bool same_scalar(PyObject* now, const nb::object& then) {
  if (type_of(now) != part(then, 0)) return false;
  const nb::object bytes = found(PyObject_CallMethod(now, "tobytes", nullptr));
  return bytes.is_valid() && same_plain(bytes.ptr(), part(then, 1));
}

bool same_function(PyObject* now, const nb::object& then) {
  static PyObject* const code = PyUnicode_InternFromString("__code__");
  static PyObject* const globals = PyUnicode_InternFromString("__globals__");
  return found(PyObject_GenericGetAttr(now, code)).ptr() == part(then, 0) &&
         found(PyObject_GenericGetAttr(now, globals)).ptr() == part(then, 1);
}

bool same_torch(PyObject* now, const nb::object& then) {
  if (referent(part(then, 0)) != now) return false;
  if (part(then, 1) != Py_None) {
    const nb::object version = found(PyObject_GetAttrString(now, "_version"));
    if (!version.is_valid() || !same_plain(version.ptr(), part(then, 1))) return false;
  }
  const nb::object address = found(PyObject_CallMethod(now, "data_ptr", nullptr));
  if (!address.is_valid() || !same_plain(address.ptr(), part(then, 2))) return false;
  if (part(then, 3) == Py_None) return true;
  char* elements = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(part(then, 3), &elements, &size) != 0) return PyErr_Clear(), false;
  return size == 0 || std::memcmp(PyLong_AsVoidPtr(address.ptr()), elements, static_cast<std::size_t>(size)) == 0;
}

}  // namespace

std::size_t Guards::add(std::size_t parent, Fetch fetch, nb::object key, Check check, nb::object expected) {
  if (parent > nodes_.size()) raise_invalid("a guard's parent comes after it");
  Node node{static_cast<std::uint32_t>(parent), fetch, check, 0, 0, 0, nullptr, std::move(key), std::move(expected)};
  if (fetch == Fetch::kArgument || fetch == Fetch::kElement) node.place = nb::cast<Py_ssize_t>(node.key);
  if (check == Check::kSize) {
    node.number = nb::cast<Py_ssize_t>(node.expected[1]);
    node.expected = nb::object(node.expected[0]);
  }
  if (check == Check::kSameAs) node.number = nb::cast<Py_ssize_t>(node.expected);
  if (check == Check::kTensor) {
    node.tensor = &nb::cast<const LazyTensor&>(node.expected);
    node.number = static_cast<Py_ssize_t>(node.tensor->version);
  }
  nodes_.push_back(std::move(node));
  return nodes_.size() - 1;
}

bool Guards::add_array(std::size_t parent, Fetch fetch, nb::object key, nb::object array, std::size_t max_bytes) {
  CapturedArray captured(array, max_bytes);
  const bool is_seen = captured.is_seen();
  const std::size_t node = add(parent, fetch, std::move(key), Check::kArray, nb::none());
  nodes_[node].array = static_cast<std::uint32_t>(arrays_.size());
  arrays_.push_back(std::move(captured));
  return is_seen;
}

// Borrowed, of the parent or of `held`.
PyObject* Guards::fetch(const Node& node, PyObject* parent, nb::handle owner, nb::handle arguments,
                        nb::object* held) const {
  const auto lent = [](PyObject* object) {
    if (object == nullptr) PyErr_Clear();
    return object;
  };
  const auto hold = [&](PyObject* object) {
    if (object == nullptr) PyErr_Clear();
    *held = nb::steal(object);
    return object;
  };
  switch (node.fetch) {
    case Fetch::kConstant:
      return node.key.ptr();
    case Fetch::kOwner:
      return owner.ptr();
    case Fetch::kReferent:
      return lent(referent(node.key));
    case Fetch::kArgument:
      return lent(PyTuple_GetItem(arguments.ptr(), node.place));
    default:
      break;
  }
  if (parent == nullptr) return nullptr;
  switch (node.fetch) {
    case Fetch::kItem:
      return lent(PyDict_GetItemWithError(parent, node.key.ptr()));
    case Fetch::kElement:
      if (PyList_Check(parent)) return lent(PyList_GetItem(parent, node.place));
      if (PyTuple_Check(parent)) return lent(PyTuple_GetItem(parent, node.place));
      if (PyDict_Check(parent)) return value_at(parent, node.place);
      return hold(PySequence_GetItem(parent, node.place));
    case Fetch::kAttribute:
      return hold(PyObject_GenericGetAttr(parent, node.key.ptr()));
    case Fetch::kInstanceDict:
      return hold(PyObject_GenericGetDict(parent, nullptr));
    case Fetch::kTypeAttribute:
      return hold(PyObject_GetAttr(PyType_Check(parent) != 0 ? parent : type_of(parent), node.key.ptr()));
    case Fetch::kMapping:
      return hold(PyObject_GetItem(parent, node.key.ptr()));
    default:
      return nullptr;
  }
}

bool Guards::holds(const Node& node, PyObject* now, PyObject* const* values) const {
  if (node.check == Check::kNothing) return true;
  if (now == nullptr || node.check == Check::kMissing) return (now == nullptr) == (node.check == Check::kMissing);
  const nb::object& then = node.expected;
  switch (node.check) {
    case Check::kSame:
      return now == then.ptr();
    case Check::kSameWeak:
      return now == referent(then);
    case Check::kPlain:
      return same_plain(now, then.ptr());
    case Check::kScalar:
      return same_scalar(now, then);
    case Check::kSize:
      return type_of(now) == then.ptr() && size_of(now) == node.number;
    case Check::kSequence:
      return type_of(now) == part(then, 0) && same_sequence(now, part(then, 1));
    case Check::kKeys:
      if (type_of(now) != part(then, 0)) return false;
      return part(then, 2) == Py_True ? same_ordered(now, part(then, 1), nullptr)
                                      : same_dict(now, part(then, 1), nullptr);
    case Check::kItems:
      if (type_of(now) != part(then, 0)) return false;
      if (PyTuple_Size(then.ptr()) == 2) return same_set(now, part(then, 1));
      return part(then, 3) == Py_True ? same_ordered(now, part(then, 1), part(then, 2))
                                      : same_dict(now, part(then, 1), part(then, 2));
    case Check::kFunction:
      return same_function(now, then);
    case Check::kArray:
      return arrays_[node.array].holds(now);
    case Check::kTensor:
      return now == then.ptr() && static_cast<Py_ssize_t>(node.tensor->version) == node.number;
    case Check::kTorch:
      return same_torch(now, then);
    case Check::kSameAs:
      return now == values[node.number];
    case Check::kType:
      return type_of(now) == then.ptr();
    default:
      return false;
  }
}

std::int64_t Guards::find_change(nb::handle owner, nb::handle arguments) const {
  PyObject* few[128];
  std::vector<PyObject*> many;
  PyObject** values = few;
  if (nodes_.size() > 128) {
    many.resize(nodes_.size());
    values = many.data();
  }
  nb::object held;  // what is fetched belongs to its parent, so that it lives on without this reference
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    PyObject* const now = fetch(node, node.parent < i ? values[node.parent] : nullptr, owner, arguments, &held);
    values[i] = now;
    if (now == node.expected.ptr() && now != nullptr && node.check <= Check::kPlain) continue;
    if (!holds(node, now, values)) return static_cast<std::int64_t>(i);
  }
  return -1;
}

nb::object Guards::value_now(std::size_t node, nb::handle owner, nb::handle arguments) const {
  std::vector<std::size_t> path = {node};
  while (nodes_[path.back()].parent < path.back() && nodes_[path.back()].fetch > Fetch::kReferent)
    path.push_back(nodes_[path.back()].parent);
  nb::object value, held;
  for (; !path.empty(); path.pop_back())
    value = nb::borrow(fetch(nodes_[path.back()], value.ptr(), owner, arguments, &held));
  return value.is_valid() ? value : nb::none();
}

nb::tuple Guards::row(std::size_t node) const {
  const Node& one = nodes_.at(node);
  return nb::make_tuple(one.parent, static_cast<int>(one.fetch), one.key, static_cast<int>(one.check), one.expected);
}

int Guards::visit(visitproc visit, void* arg) const {
  for (const Node& node : nodes_) {
    Py_VISIT(node.key.ptr());
    Py_VISIT(node.expected.ptr());
  }
  for (const CapturedArray& array : arrays_) {
    if (const int stop = array.visit(visit, arg); stop != 0) return stop;
  }
  return 0;
}

namespace {

int traverse_guards(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<Guards>(self)->visit(visit, arg) : 0;
}

int clear_guards(PyObject* self) {
  nb::inst_ptr<Guards>(self)->clear();
  return 0;
}

PyType_Slot guards_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&traverse_guards)},
                              {Py_tp_clear, reinterpret_cast<void*>(&clear_guards)},
                              {0, nullptr}};

}  // namespace

void add_guards(nb::module_& module) {
  nb::class_<Guards>(module, "Guards", nb::type_slots(guards_slots))
      .def(nb::init<>())
      .def(
          "add",
          [](Guards& guards, std::size_t parent, int fetch, const nb::object& key, int check,
             const nb::object& expected) {
            return guards.add(parent, static_cast<Guards::Fetch>(fetch), key, static_cast<Guards::Check>(check),
                              expected);
          },
          nb::arg("parent"), nb::arg("fetch"), nb::arg("key").none(), nb::arg("check"), nb::arg("expected").none())
      .def(
          "add_array",
          [](Guards& guards, std::size_t parent, int fetch, const nb::object& key, const nb::object& array,
             std::size_t max_bytes) {
            return guards.add_array(parent, static_cast<Guards::Fetch>(fetch), key, array, max_bytes);
          },
          nb::arg("parent"), nb::arg("fetch"), nb::arg("key").none(), nb::arg("array"), nb::arg("max_bytes"))
      .def("find_change", &Guards::find_change, nb::arg("owner").none(), nb::arg("arguments"))
      .def("value_now", &Guards::value_now, nb::arg("node"), nb::arg("owner").none(), nb::arg("arguments"))
      .def("row", &Guards::row)
      .def("__len__", &Guards::size);
}

}  // namespace hearth::python
