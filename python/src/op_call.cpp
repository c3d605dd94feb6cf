#include "op_call.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "errors.h"
#include "hearth/graph.h"

namespace hearth::python {
namespace {

[[noreturn]] void expected(const std::string& what, nb::handle given, const char* wanted) {
  raise_call_error(what + " is " + repr_of(given) + "; expected " + wanted);
}

std::int64_t integer_of(nb::handle object, const std::string& what) {
  if (PyBool_Check(object.ptr())) expected(what, object, "an int");
  const nb::object number = nb::steal(PyNumber_Index(object.ptr()));
  if (!number.is_valid()) {
    PyErr_Clear();
    expected(what, object, "an int");
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0) raise_invalid(what + " is beyond 64 bits");
  return value;
}

double real_of(nb::handle object, const std::string& what) {
  const double value = PyFloat_AsDouble(object.ptr());
  if (value == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    expected(what, object, "a number");
  }
  return value;
}

nb::object call_op(const OpSpec& spec, const nb::args& args, const nb::kwargs& kwargs) {
  const OpCall call(spec, args, kwargs);
  const client::ScopedLocation here(python_location(), true);
  try {
    nb::object result = spec.call(call);
    LazyTensor* made = nullptr;
    if (call.is_of_numbers() && nb::try_cast(result, made) && made->node.dtype() != DType::kBool) made->is_weak = true;
    return result;
  } catch (const client::JitError& error) {
    raise(error.status());
  }
}

// The operators of hearth/tensor.h, which are no functions there.
const std::vector<OpSpec>& operators() {
  static const std::vector<OpSpec> table = {{"add",
                                             {"a", "b"},
                                             2,
                                             3,
                                             [](const OpCall& c) { return c.result(c.operand(0) + c.operand(1)); },
                                             "def add(a: TensorLike, b: TensorLike) -> Tensor",
                                             "a + b"},
                                            {"subtract",
                                             {"a", "b"},
                                             2,
                                             3,
                                             [](const OpCall& c) { return c.result(c.operand(0) - c.operand(1)); },
                                             "def subtract(a: TensorLike, b: TensorLike) -> Tensor",
                                             "a - b"},
                                            {"multiply",
                                             {"a", "b"},
                                             2,
                                             3,
                                             [](const OpCall& c) { return c.result(c.operand(0) * c.operand(1)); },
                                             "def multiply(a: TensorLike, b: TensorLike) -> Tensor",
                                             "a * b"},
                                            {"divide",
                                             {"a", "b"},
                                             2,
                                             3,
                                             [](const OpCall& c) { return c.result(c.operand(0) / c.operand(1)); },
                                             "def divide(a: TensorLike, b: TensorLike) -> Tensor",
                                             "a / b, of integers in float32"}};
  return table;
}

// loop(count, carried, sliced, body, reverse=False): the body takes two tuples and gives (carried, stacked).
nb::object loop(nb::handle count, nb::handle carried, nb::handle sliced, const nb::object& body, bool reverse) {
  const auto tensors = [](nb::handle all, const char* what) {
    std::vector<client::Tensor> nodes;
    for (nb::handle one : all) nodes.push_back(node_of(one, what));
    return nodes;
  };
  const auto tuple_of = [](std::span<const client::Tensor> nodes) {
    nb::list all;
    for (const client::Tensor& node : nodes) all.append(to_python(node));
    return nb::tuple(all);
  };
  const client::ScopedLocation here(python_location(), true);
  try {
    const client::LoopResult made = client::loop(
        dim_of(count, "loop: count"), tensors(carried, "loop: carried"), tensors(sliced, "loop: sliced"),
        [&](client::LoopStep step) -> client::LoopValues {
          const nb::object values = body(tuple_of(step.carried), tuple_of(step.sliced));
          if (!PyTuple_Check(values.ptr()) || PyTuple_Size(values.ptr()) != 2)
            raise_call_error("loop: the body gave " + repr_of(values) + "; expected (carried, stacked)");
          return {tensors(values[0], "loop: the body's carried"), tensors(values[1], "loop: the body's stacked")};
        },
        {.reverse = reverse});
    return nb::module_::import_("hearth._types")
        .attr("op_result")("LoopResult", nb::make_tuple("last", "stacked"),
                           nb::make_tuple(tuple_of(made.last), tuple_of(made.stacked)));
  } catch (const client::JitError& error) {
    raise(error.status());
  }
}

}  // namespace

std::vector<std::int64_t> integers_of(nb::handle object, const std::string& what) {
  if (PyIndex_Check(object.ptr())) return {integer_of(object, what)};
  std::vector<std::int64_t> all;
  const nb::object items = nb::steal(PySequence_Check(object.ptr()) ? PySequence_Tuple(object.ptr()) : nullptr);
  if (!items.is_valid()) {
    PyErr_Clear();
    expected(what, object, "ints");
  }
  for (nb::handle item : nb::borrow<nb::tuple>(items)) all.push_back(integer_of(item, what));
  return all;
}

std::int64_t Record::integer(std::size_t field) const { return integer_of(values_[field], what_); }
double Record::real(std::size_t field) const { return real_of(values_[field], what_); }

OpCall::OpCall(const OpSpec& spec, const nb::args& args, const nb::kwargs& kwargs) : spec_(spec) {
  const std::size_t count = args.size();
  if (count > spec.num_positional) {
    raise_call_error(std::string(spec.name) + ": " + std::to_string(count) +
                     " arguments are given by place; it takes " + std::to_string(spec.num_positional) + ": " +
                     spec.signature);
  }
  for (std::size_t i = 0; i < count; ++i) values_[i] = PyTuple_GetItem(args.ptr(), static_cast<Py_ssize_t>(i));
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t at = 0;
  while (kwargs.size() > 0 && PyDict_Next(kwargs.ptr(), &at, &key, &value)) {
    std::size_t i = 0;
    while (i < spec.parameters.size() && PyUnicode_CompareWithASCIIString(key, spec.parameters[i]) != 0) ++i;
    if (i == spec.parameters.size() && take_both_pads(key, value)) continue;
    if (i == spec.parameters.size()) {
      nb::list known;
      for (const char* name : spec.parameters) known.append(name);
      raise_unknown(std::string(spec.name) + ": there is no argument '" + str_of(key) + "'", key, known);
    }
    if (values_[i] != nullptr) raise_call_error(what(i) + " is given by place and by name");
    values_[i] = value;
  }
  for (std::size_t i = 0; i < spec.parameters.size(); ++i) {
    if ((spec.required >> i & 1) != 0 && !given(i)) raise_call_error(what(i) + " is missing: " + spec.signature);
  }
}

bool OpCall::is_of_numbers() const {
  bool found = false;
  for (std::size_t i = 0; i < spec_.parameters.size(); ++i) {
    const LazyTensor* tensor = nullptr;
    if (!given(i) || PyFloat_Check(values_[i]) || PyLong_Check(values_[i])) continue;
    if (!nb::try_cast(nb::handle(values_[i]), tensor) || !tensor->is_weak) return false;
    found = true;
  }
  return found;
}

// The type of the first operand that is no number.
std::optional<DType> OpCall::dtype_of_others() const {
  for (std::size_t i = 0; i < spec_.parameters.size(); ++i) {
    const LazyTensor* tensor = nullptr;
    if (!given(i)) continue;
    if (nb::try_cast(nb::handle(values_[i]), tensor)) {
      if (!tensor->is_weak) return tensor->node.dtype();
    } else if (nb::hasattr(values_[i], "dtype")) {
      return dtype_of(nb::handle(values_[i]).attr("dtype"), "dtype");
    }
  }
  return std::nullopt;
}

client::Operand OpCall::operand(std::size_t i) const {
  const LazyTensor* tensor = nullptr;
  if (!nb::try_cast(nb::handle(values_[i]), tensor) || !tensor->is_weak) return operand_of(values_[i], what(i).c_str());
  const std::optional<DType> other = dtype_of_others();
  if (!other) return {tensor->node};
  if (is_float(*other) || (!is_float(tensor->node.dtype()) && *other != DType::kBool))
    return {client::cast(tensor->node, *other)};
  return {is_float(tensor->node.dtype()) ? client::cast(tensor->node, DType::kF32) : tensor->node};
}

std::int64_t OpCall::integer(std::size_t i) const { return integer_of(values_[i], what(i)); }
double OpCall::real(std::size_t i) const { return real_of(values_[i], what(i)); }

std::uint64_t OpCall::natural(std::size_t i) const {
  const nb::object number = nb::steal(PyNumber_Index(values_[i]));
  const unsigned long long value = number.is_valid() ? PyLong_AsUnsignedLongLong(number.ptr()) : 0;
  if (PyErr_Occurred()) {
    PyErr_Clear();
    expected(what(i), values_[i], "an int from 0 to 2**64 - 1");
  }
  return value;
}

bool OpCall::flag(std::size_t i) const {
  const int truth = PyObject_IsTrue(values_[i]);
  if (truth < 0) throw nb::python_error();
  return truth == 1;
}

// pads= and padding= are both ends' padding.
bool OpCall::take_both_pads(PyObject* key, PyObject* value) {
  if (PyUnicode_CompareWithASCIIString(key, "pads") != 0 && PyUnicode_CompareWithASCIIString(key, "padding") != 0)
    return false;
  std::size_t found = 0;
  for (std::size_t i = 0; i < spec_.parameters.size(); ++i) {
    if (!is_of_ends(i)) continue;
    if (values_[i] != nullptr) raise_call_error(what(i) + " is given by pads, too");
    values_[i] = value;
    ++found;
  }
  return found == 2;
}

bool OpCall::is_of_ends(std::size_t i) const {
  const std::string_view name = spec_.parameters[i];
  return name == "pads_begin" || name == "pads_end";
}

std::vector<std::int64_t> OpCall::integers(std::size_t i) const {
  std::vector<std::int64_t> all = integers_of(values_[i], what(i));
  const std::string_view name = spec_.parameters[i];
  const bool is_spatial = is_of_ends(i) || name == "strides" || name == "dilations" || name == "kernel";
  if (!is_spatial || PyIndex_Check(values_[i]) == 0 || !nb::hasattr(values_[0], "ndim")) return all;
  // A number alone is that of every spatial axis.
  const auto rank = nb::cast<std::int64_t>(nb::handle(values_[0]).attr("ndim"));
  return std::vector<std::int64_t>(static_cast<std::size_t>(std::max<std::int64_t>(rank - 2, 1)), all[0]);
}

std::vector<std::vector<std::int64_t>> OpCall::integer_lists(std::size_t i) const {
  std::vector<std::vector<std::int64_t>> all;
  if (!PySequence_Check(values_[i])) expected(what(i), values_[i], "sequences of ints");
  for (nb::handle list : nb::borrow(values_[i])) all.push_back(integers_of(list, what(i)));
  return all;
}

std::vector<client::Tensor> OpCall::tensors(std::size_t i, std::size_t count) const {
  std::vector<client::Tensor> all;
  const nb::object items = nb::steal(PySequence_Tuple(values_[i]));
  if (!items.is_valid()) {
    PyErr_Clear();
    expected(what(i), values_[i], "a sequence of tensors");
  }
  for (nb::handle item : nb::borrow<nb::tuple>(items)) all.push_back(node_of(item, what(i).c_str()));
  if (count != 0 && all.size() != count) {
    raise_call_error(what(i) + " has " + std::to_string(all.size()) + " tensors; expected " + std::to_string(count));
  }
  return all;
}

std::string OpCall::text(std::size_t i) const {
  if (!PyUnicode_Check(values_[i])) expected(what(i), values_[i], "a str");
  return str_of(values_[i]);
}

client::Activation OpCall::activation(std::size_t i) const {
  if (!PyCallable_Check(values_[i])) expected(what(i), values_[i], "a function of a tensor");
  const nb::object function = nb::borrow(values_[i]);
  const std::string name = what(i);
  return [function, name](const client::Tensor& x) { return node_of(function(to_python(x)), name.c_str()); };
}

std::vector<Record> OpCall::records(std::size_t i, const std::vector<const char*>& fields) const {
  std::vector<Record> all;
  if (!PySequence_Check(values_[i])) expected(what(i), values_[i], "a sequence of mappings or tuples");
  for (nb::handle item : nb::borrow(values_[i])) {
    std::vector<nb::object> values(fields.size());
    if (PyDict_Check(item.ptr())) {
      for (const auto& [key, value] : nb::borrow<nb::dict>(item)) {
        const std::string name = str_of(key);
        std::size_t field = 0;
        while (field < fields.size() && fields[field] != name) ++field;
        nb::list known;
        for (const char* word : fields) known.append(word);
        if (field == fields.size()) raise_unknown(what(i) + ": there is no '" + name + "'", key, known);
        values[field] = nb::borrow(value);
      }
    } else {
      const nb::object items = nb::steal(PySequence_Tuple(item.ptr()));
      if (!items.is_valid()) {
        PyErr_Clear();
        expected(what(i), item, "a mapping or a tuple");
      }
      if (nb::len(items) > fields.size()) expected(what(i), item, "no more values than there are fields");
      for (std::size_t field = 0; field < nb::len(items); ++field) values[field] = items[field];
    }
    all.emplace_back(std::move(values), what(i));
  }
  return all;
}

int OpCall::choose(std::size_t i, const Choice* words, std::size_t count) const {
  std::string all;
  for (std::size_t word = 0; word < count; ++word) {
    if (PyUnicode_Check(values_[i]) && PyUnicode_CompareWithASCIIString(values_[i], words[word].word) == 0)
      return words[word].value;
    all += (all.empty() ? "'" : ", '") + std::string(words[word].word) + "'";
  }
  raise_invalid(what(i) + " is " + repr_of(values_[i]) + "; expected one of " + all);
}

nb::object OpCall::result(const std::vector<client::Tensor>& tensors) const {
  nb::list all;
  for (const client::Tensor& tensor : tensors) all.append(to_python(tensor));
  return nb::tuple(all);
}

nb::object OpCall::named(const char* type, const std::vector<const char*>& fields,
                         std::vector<nb::object> values) const {
  nb::list names, all;
  for (const char* field : fields) names.append(field);
  for (nb::object& value : values) all.append(std::move(value));
  return nb::module_::import_("hearth._types").attr("op_result")(type, nb::tuple(names), nb::tuple(all));
}

void add_ops(nb::module_& module) {
  nb::module_ ops = module.def_submodule("ops");
  for (const std::vector<OpSpec>* table : {&op_table(), &operators()}) {
    for (const OpSpec& spec : *table) {
      const OpSpec* const at = &spec;
      ops.def(
          spec.name, [at](const nb::args& args, const nb::kwargs& kwargs) { return call_op(*at, args, kwargs); },
          nb::sig(spec.signature), spec.doc);
    }
  }
  ops.def("loop", &loop, nb::arg("count"), nb::arg("carried"), nb::arg("sliced"), nb::arg("body"),
          nb::arg("reverse") = false,
          "body((carried, ...), (slices, ...)) -> ((carried, ...), (stacked, ...)), recorded once and computed `count` "
          "times: last carried values, and stacked ones along a new first axis.");
  ops.def("cubic_weight", &client::cubic_weight, nb::arg("distance"), nb::arg("a"), "Keys' cubic convolution kernel.");
}

}  // namespace hearth::python
