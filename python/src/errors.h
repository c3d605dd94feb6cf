// Statuses as Python's exceptions: the classes of hearth/_errors.py, by code.
//
//   const Instance instance = value_of(plan.instantiate());   // throws what Python raises
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hearth::python {

namespace nb = nanobind;

// A text of the library, which may hold bytes of a model that are no UTF-8.
nb::object text_of(std::string_view text);
// str(object) and repr(object).
std::string str_of(nb::handle object);
std::string repr_of(nb::handle object);
// A name for people: as it is where all of it can be printed, else with escapes as repr() has them.
std::string printable_name(nb::handle name);

[[noreturn]] void raise(const absl::Status& status);
inline void check(const absl::Status& status) {
  if (!status.ok()) raise(status);
}
template <typename T>
T value_of(absl::StatusOr<T>&& value) {
  check(value.status());
  return *std::move(value);
}

// What is wrong with the arguments of a call: hearth.CallError, also a TypeError.
[[noreturn]] void raise_call_error(const std::string& text);
// The same for a value: hearth.InvalidArgument, also a ValueError.
[[noreturn]] void raise_invalid(const std::string& text);
// Refuses a name that is none of `known`, and says the closest one.
[[noreturn]] void raise_unknown(const std::string& text, nb::handle name, nb::handle known);
// The exception that is set, with "ARGUMENT: " before its text, as InvalidArgument.
[[noreturn]] void raise_from_python(const std::string& argument);

}  // namespace hearth::python
