#include "errors.h"

#include "absl/strings/escaping.h"
#include "hearth/error_kind.h"

namespace hearth::python {
namespace {

nb::object errors() { return nb::module_::import_("hearth._errors"); }

[[noreturn]] void set(const nb::object& exception) {
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
  throw nb::python_error();
}

}  // namespace

nb::object text_of(std::string_view text) {
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

std::string str_of(nb::handle object) {
  const nb::object text = nb::steal(PyObject_Str(object.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  const nb::object encoded = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
  if (!encoded.is_valid()) throw nb::python_error();
  const auto bytes = nb::borrow<nb::bytes>(encoded);
  return {bytes.c_str(), bytes.size()};
}

std::string repr_of(nb::handle object) {
  const nb::object text = nb::steal(PyObject_Repr(object.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  return str_of(text);
}

std::string printable_name(nb::handle name) {
  if (nb::cast<bool>(name.attr("isprintable")())) return str_of(name);
  const std::string quoted = repr_of(name);
  return quoted.substr(1, quoted.size() - 2);
}

void raise(const absl::Status& status) {
  const auto kind = client::jit_error_kind(status);
  const nb::object name = kind ? text_of(client::to_string(*kind)) : nb::none();
  const std::string code = absl::StatusCodeToString(status.code());
  std::string line;  // one, whatever paths and models hold
  for (const char byte : status.message()) {
    const bool is_control = static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f;
    line += is_control ? absl::CHexEscape(std::string(1, byte)) : std::string(1, byte);
  }
  set(errors().attr("of_status")(text_of(code), text_of(line), name));
}

void raise_call_error(const std::string& text) { set(errors().attr("CallError")(text_of(text))); }
void raise_invalid(const std::string& text) { set(errors().attr("InvalidArgument")(text_of(text))); }

void raise_unknown(const std::string& text, nb::handle name, nb::handle known) {
  set(errors().attr("unknown_name")(text_of(text), name, known));
}

void raise_from_python(const std::string& argument) {
  nb::python_error error;
  set(errors().attr("about")(text_of(argument), error.value()));
}

}  // namespace hearth::python
