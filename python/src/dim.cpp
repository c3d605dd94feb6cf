// hearth.Dim: a length that varies, and what is computed of lengths.
#include <nanobind/operators.h>

#include <cmath>

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

// What a branch on a length would freeze: it is decided where it is so for every value that the length may have.
[[noreturn]] void raise_undecided(const std::string& question) {
  raise_trace_error(
      question +
      " is not the same for every value of a length that varies, and a trace takes one branch for all: "
      "use hearth.where, narrower bounds of the hearth.Dim, or no dims for this length (each length has a "
      "plan of its own then)");
}

std::string text_of(const Dim& dim) { return printable_name(nb::str(dim.to_string().c_str())); }

std::string range_of(const Dim& dim) {
  return text_of(dim) + " (" + std::to_string(dim.min()) + " to " + std::to_string(dim.max()) + ")";
}

// True, False, or what raise_undecided raises. What is no length equals none.
nb::object equals(const Dim& a, nb::handle b, bool wanted) {
  if (PyFloat_CheckExact(b.ptr())) {
    const double value = PyFloat_AsDouble(b.ptr());
    if (value != static_cast<double>(static_cast<std::int64_t>(value))) return nb::bool_(!wanted);
    return equals(a, nb::int_(static_cast<std::int64_t>(value)), wanted);
  }
  const bool is_length = nb::isinstance<Dim>(b) || (PyIndex_Check(b.ptr()) != 0 && !PyBool_Check(b.ptr()));
  if (!is_length) return nb::borrow(Py_NotImplemented);
  const Dim other = dim_of(b, "length");
  if (a == other) return nb::bool_(wanted);
  const bool differs = recorded([&] { return is_at_least(a, other + 1) || is_at_least(other, a + 1); });
  if (!differs)
    raise_undecided("whether " + range_of(a) + " equals " + (other.is_const() ? text_of(other) : range_of(other)));
  return nb::bool_(!wanted);
}

// a < b, or a <= b.
bool is_less(const Dim& a, const Dim& b, bool or_equal) {
  return recorded([&] {
    const Dim end = or_equal ? b + 1 : b;  // a < end
    if (is_at_least(end, a + 1)) return true;
    if (is_at_least(a, end)) return false;
    raise_undecided("whether " + (a.is_const() ? text_of(a) : range_of(a)) + (or_equal ? " <= " : " < ") +
                    (b.is_const() ? text_of(b) : range_of(b)));
  });
}

bool is_ordered_with(nb::handle other) {
  return nb::isinstance<Dim>(other) || (PyIndex_Check(other.ptr()) != 0 && !PyBool_Check(other.ptr()));
}

enum class Order { kLess, kLessEqual, kGreater, kGreaterEqual };

// Compares with ints and lengths, and with floats, between which a whole number lies or not.
nb::object ordered(const Dim& a, nb::handle b, Order order) {
  const bool is_less_kind = order == Order::kLess || order == Order::kLessEqual;
  if (PyFloat_CheckExact(b.ptr())) {
    const double value = PyFloat_AsDouble(b.ptr());
    if (std::isnan(value)) return nb::bool_(false);
    if (std::abs(value) > 1e15) return nb::bool_((value > 0) == is_less_kind);
    const bool rounds_up = order == Order::kLess || order == Order::kGreaterEqual;
    return ordered(a, nb::int_(static_cast<std::int64_t>(rounds_up ? std::ceil(value) : std::floor(value))), order);
  }
  if (!is_ordered_with(b)) return nb::borrow(Py_NotImplemented);
  const Dim other = dim_of(b, "length");
  const bool or_equal = order == Order::kLessEqual || order == Order::kGreaterEqual;
  return nb::bool_(is_less_kind ? is_less(a, other, or_equal) : is_less(other, a, or_equal));
}

bool truth_of(const Dim& dim) {
  if (dim.min() > 0 || dim.max() < 0) return true;
  if (dim.min() == 0 && dim.max() == 0) return false;
  raise_undecided("whether " + range_of(dim) + " is 0");
}

[[noreturn]] void refuse_number(const Dim& dim, const char* what) {
  raise_trace_error(
      std::string(what) + " of " + range_of(dim) +
      ": a length that varies is no number while a function is traced; lengths take +, -, *, // and % and "
      "are arguments of hearth's functions; leave it out of dims where the number is needed");
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
      .def("__neg__",
           [](const Dim& a) { return binary(nb::int_(0), nb::cast(a), [](auto x, auto y) { return x - y; }); })
      .def("__eq__", [](const Dim& a, nb::handle b) { return equals(a, b, true); })
      .def("__ne__", [](const Dim& a, nb::handle b) { return equals(a, b, false); })
      .def("__lt__", [](const Dim& a, nb::handle b) { return ordered(a, b, Order::kLess); })
      .def("__le__", [](const Dim& a, nb::handle b) { return ordered(a, b, Order::kLessEqual); })
      .def("__gt__", [](const Dim& a, nb::handle b) { return ordered(a, b, Order::kGreater); })
      .def("__ge__", [](const Dim& a, nb::handle b) { return ordered(a, b, Order::kGreaterEqual); })
      .def("__bool__", &truth_of)
      .def("__hash__",
           [](const Dim& dim) -> std::int64_t { refuse_number(dim, "a hash (a dict's key, an element of a set)"); })
      .def("__index__",
           [](const Dim& dim) -> nb::object { refuse_number(dim, "an int (range(), an index, a repetition)"); })
      .def("__int__", [](const Dim& dim) -> nb::object { refuse_number(dim, "int()"); })
      .def("__float__", [](const Dim& dim) -> nb::object { refuse_number(dim, "float()"); })
      .def("__truediv__",
           [](const Dim& dim, nb::handle) -> nb::object { refuse_number(dim, "a quotient by / (use //)"); })
      .def("__rtruediv__",
           [](const Dim& dim, nb::handle) -> nb::object { refuse_number(dim, "a quotient by / (use //)"); })
      .def("__pow__", [](const Dim& dim, nb::handle) -> nb::object { refuse_number(dim, "a power"); })
      .def("__abs__", [](const Dim& dim, const nb::args&) -> nb::object { refuse_number(dim, "__abs__"); })
      .def("__invert__", [](const Dim& dim, const nb::args&) -> nb::object { refuse_number(dim, "__invert__"); })
      .def("__round__", [](const Dim& dim, const nb::args&) -> nb::object { refuse_number(dim, "__round__"); })
      .def("__floor__", [](const Dim& dim, const nb::args&) -> nb::object { refuse_number(dim, "__floor__"); })
      .def("__ceil__", [](const Dim& dim, const nb::args&) -> nb::object { refuse_number(dim, "__ceil__"); })
      .def("__trunc__", [](const Dim& dim, const nb::args&) -> nb::object { refuse_number(dim, "__trunc__"); })
      .def("__complex__", [](const Dim& dim, const nb::args&) -> nb::object { refuse_number(dim, "__complex__"); })
      .def("__rpow__", [](const Dim& dim, nb::handle) -> nb::object { refuse_number(dim, "__rpow__"); })
      .def("__divmod__", [](const Dim& dim, nb::handle) -> nb::object { refuse_number(dim, "__divmod__"); })
      .def("__rdivmod__", [](const Dim& dim, nb::handle) -> nb::object { refuse_number(dim, "__rdivmod__"); })
      .def("__and__", [](const Dim& dim, nb::handle) -> nb::object { refuse_number(dim, "__and__"); })
      .def("__rand__", [](const Dim& dim, nb::handle) -> nb::object { refuse_number(dim, "__rand__"); })
      .def("__or__", [](const Dim& dim, nb::handle) -> nb::object { refuse_number(dim, "__or__"); })
      .def("__ror__", [](const Dim& dim, nb::handle) -> nb::object { refuse_number(dim, "__ror__"); })
      .def("__xor__", [](const Dim& dim, nb::handle) -> nb::object { refuse_number(dim, "__xor__"); })
      .def("__rxor__", [](const Dim& dim, nb::handle) -> nb::object { refuse_number(dim, "__rxor__"); })
      .def("__lshift__", [](const Dim& dim, nb::handle) -> nb::object { refuse_number(dim, "__lshift__"); })
      .def("__rlshift__", [](const Dim& dim, nb::handle) -> nb::object { refuse_number(dim, "__rlshift__"); })
      .def("__rshift__", [](const Dim& dim, nb::handle) -> nb::object { refuse_number(dim, "__rshift__"); })
      .def("__rrshift__", [](const Dim& dim, nb::handle) -> nb::object { refuse_number(dim, "__rrshift__"); })
      .def("__rfloordiv__",
           [](nb::handle a, nb::handle b) { return binary(b, a, [](auto x, auto y) { return x / y; }); })
      .def("__rmod__", [](nb::handle a, nb::handle b) { return binary(b, a, [](auto x, auto y) { return x % y; }); })
      .def_prop_ro("_key",
                   [](const Dim& dim) {
                     std::vector<client::Variable> variables;
                     dim.collect_variables(variables);
                     std::string key = dim.to_string();
                     for (const client::Variable& one : variables)
                       key += "; " + one.name + " " + std::to_string(one.min) + " " + std::to_string(one.max) + " " +
                              std::to_string(one.unit);
                     return key;
                   })
      .def("_is_same", [](const Dim& a, nb::handle b) { return is_ordered_with(b) && a == dim_of(b, "length"); })
      .def("__repr__",
           [](const Dim& dim) {
             return "hearth.Dim(" + printable_name(nb::str(dim.to_string().c_str())) + ": " +
                    std::to_string(dim.min()) + " to " + std::to_string(dim.max()) + ")";
           })
      .def("__str__", &Dim::to_string);
}

}  // namespace hearth::python
