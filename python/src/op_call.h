// A call of one of hearth/ops.h's functions from Python: arguments by place and by name, read as the types that the
// function takes. The functions themselves are in a table that python/ops/make_ops.py makes.
#pragma once
#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <vector>

#include "hearth/ops.h"
#include "tensor.h"

namespace hearth::python {

struct Choice {
  const char* word;
  int value;
};

class OpCall;

struct OpSpec {
  const char* name;
  std::vector<const char*> parameters;
  std::size_t num_positional;  // the others are given by name only
  std::uint32_t required;      // a bit a parameter
  nb::object (*call)(const OpCall&);
  const char* signature;
  const char* doc;
};
const std::vector<OpSpec>& op_table();

// One of several structs of numbers: a mapping by field, or a sequence in their order.
class Record {
 public:
  Record(std::vector<nb::object> values, std::string what) : values_(std::move(values)), what_(std::move(what)) {}
  bool given(std::size_t field) const { return values_[field].is_valid() && !values_[field].is_none(); }
  std::int64_t integer(std::size_t field) const;
  double real(std::size_t field) const;

 private:
  std::vector<nb::object> values_;
  std::string what_;
};

class OpCall {
 public:
  static constexpr std::size_t kMaxParameters = 24;
  OpCall(const OpSpec& spec, const nb::args& args, const nb::kwargs& kwargs);

  // None counts as not given.
  bool given(std::size_t i) const { return values_[i] != nullptr && values_[i] != Py_None; }
  client::Tensor tensor(std::size_t i) const { return node_of(values_[i], what(i).c_str()); }
  client::Operand operand(std::size_t i) const;
  std::int64_t integer(std::size_t i) const;
  std::uint64_t natural(std::size_t i) const;
  double real(std::size_t i) const;
  bool flag(std::size_t i) const;
  DType dtype(std::size_t i) const { return dtype_of(values_[i], what(i).c_str()); }
  client::Dim dim(std::size_t i) const { return dim_of(values_[i], what(i).c_str()); }
  client::Shape shape(std::size_t i) const { return shape_of(values_[i], what(i).c_str()); }
  client::Axes axes(std::size_t i) const { return integers(i); }
  std::vector<std::int64_t> integers(std::size_t i) const;
  std::vector<std::vector<std::int64_t>> integer_lists(std::size_t i) const;
  // `count` of them, 0: any number.
  std::vector<client::Tensor> tensors(std::size_t i, std::size_t count = 0) const;
  std::string text(std::size_t i) const;
  client::Activation activation(std::size_t i) const;
  std::vector<Record> records(std::size_t i, const std::vector<const char*>& fields) const;
  template <typename Enum, std::size_t N>
  Enum choice(std::size_t i, const Choice (&words)[N]) const {
    return static_cast<Enum>(choose(i, words, N));
  }

  nb::object result(const client::Tensor& tensor) const { return to_python(tensor); }
  nb::object result(const std::vector<client::Tensor>& tensors) const;
  nb::object named(const char* type, const std::vector<const char*>& fields, std::vector<nb::object> values) const;
  // True when all tensor arguments stand for Python numbers; then a scalar result does, too.
  bool is_of_numbers() const;

 private:
  std::optional<DType> dtype_of_others() const;
  bool take_both_pads(PyObject* key, PyObject* value);
  bool is_of_ends(std::size_t i) const;
  std::string what(std::size_t i) const { return std::string(spec_.name) + ": " + spec_.parameters[i]; }
  int choose(std::size_t i, const Choice* words, std::size_t count) const;

  const OpSpec& spec_;
  PyObject* values_[kMaxParameters] = {};
};

std::vector<std::int64_t> integers_of(nb::handle object, const std::string& what);

void add_ops(nb::module_& module);

}  // namespace hearth::python
