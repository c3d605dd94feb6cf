// hearth.Dim: a length that varies, and what is computed of lengths.
#include <nanobind/operators.h>

#include "errors.h"
#include "hearth/graph.h"
#include "op_call.h"
#include "tensor.h"

namespace hearth::python {
namespace {

using client::Dim;

template <typename F>
auto recorded(F&& call) {
  const client::ScopedLocation here(python_location(), true);
  try {
    return call();
  } catch (const client::JitError& error) {
    raise(error.status());
  }
}

void make_dim(Dim* at, const std::string& name, std::int64_t min, std::int64_t max, std::int64_t multiple_of) {
  new (at) Dim(recorded(
      [&] { return multiple_of == 1 ? Dim::variable(name, min, max) : Dim::multiple(name, multiple_of, min, max); }));
}

// A result that is a number is one for Python, too.
nb::object plain(const Dim& dim) { return to_python(dim); }

template <typename F>
nb::object binary(nb::handle a, nb::handle b, F&& call) {
  return recorded([&] { return plain(call(dim_of(a, "length"), dim_of(b, "length"))); });
}

}  // namespace

Dim dim_of(nb::handle object, const char* what) {
  if (nb::isinstance<Dim>(object)) return nb::cast<const Dim&>(object);
  const std::vector<std::int64_t> one = integers_of(object, what);
  if (one.size() != 1) raise_call_error(std::string(what) + " is " + repr_of(object) + "; expected an int or a Dim");
  return Dim(one[0]);
}

client::Shape shape_of(nb::handle object, const char* what) {
  if (nb::isinstance<Dim>(object) || PyIndex_Check(object.ptr())) return {dim_of(object, what)};
  const nb::object items = nb::steal(PySequence_Tuple(object.ptr()));
  if (!items.is_valid()) {
    PyErr_Clear();
    raise_call_error(std::string(what) + " is " + repr_of(object) + "; expected lengths");
  }
  client::Shape shape;
  for (nb::handle item : nb::borrow<nb::tuple>(items)) shape.push_back(dim_of(item, what));
  return shape;
}

nb::object to_python(const Dim& dim) {
  if (dim.is_const()) return nb::int_(dim.value());
  return nb::cast(Dim(dim));
}

nb::tuple to_python(const client::Shape& shape) {
  nb::list lengths;
  for (const Dim& dim : shape) lengths.append(to_python(dim));
  return nb::tuple(lengths);
}

void add_dim(nb::module_& module) {
  nb::class_<Dim>(module, "Dim",
                  "A length that varies from call to call: Dim(\"batch\", 1, 8). Arithmetic on it gives lengths.")
      .def("__init__", &make_dim, nb::arg("name"), nb::arg("min"), nb::arg("max"), nb::kw_only(),
           nb::arg("multiple_of") = 1)
      .def_prop_ro("min", &Dim::min)
      .def_prop_ro("max", &Dim::max)
      .def("__add__", [](nb::handle a, nb::handle b) { return binary(a, b, [](auto x, auto y) { return x + y; }); })
      .def("__radd__", [](nb::handle a, nb::handle b) { return binary(b, a, [](auto x, auto y) { return x + y; }); })
      .def("__sub__", [](nb::handle a, nb::handle b) { return binary(a, b, [](auto x, auto y) { return x - y; }); })
      .def("__rsub__", [](nb::handle a, nb::handle b) { return binary(b, a, [](auto x, auto y) { return x - y; }); })
      .def("__mul__", [](nb::handle a, nb::handle b) { return binary(a, b, [](auto x, auto y) { return x * y; }); })
      .def("__rmul__", [](nb::handle a, nb::handle b) { return binary(b, a, [](auto x, auto y) { return x * y; }); })
      .def("__floordiv__",
           [](nb::handle a, nb::handle b) { return binary(a, b, [](auto x, auto y) { return x / y; }); })
      .def("__mod__", [](nb::handle a, nb::handle b) { return binary(a, b, [](auto x, auto y) { return x % y; }); })
      .def("__eq__",
           [](const Dim& a, nb::handle b) {
             const bool is_length = nb::isinstance<Dim>(b) || (PyLong_Check(b.ptr()) && !PyBool_Check(b.ptr()));
             return is_length && a == dim_of(b, "length");
           })
      .def("__hash__", [](const Dim& dim) { return std::hash<std::string>()(dim.to_string()); })
      .def("__repr__",
           [](const Dim& dim) {
             return "hearth.Dim(" + printable_name(nb::str(dim.to_string().c_str())) + ": " +
                    std::to_string(dim.min()) + " to " + std::to_string(dim.max()) + ")";
           })
      .def("__str__", &Dim::to_string);
}

}  // namespace hearth::python
