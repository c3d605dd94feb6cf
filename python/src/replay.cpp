#include "replay.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "array_libraries.h"
#include "dtypes.h"
#include "errors.h"
#include "interpreter.h"

namespace hearth::python {
namespace {

// A replay that is shorter is done with the GIL held: releasing it and getting it back takes 25 ns alone, and a
// microsecond and more where other threads want it, too.
constexpr std::int64_t kShortReplayNs = 5000;
constexpr int kTimedReplays = 4;

client::Instance make_instance(const client::PreparedPlan& plan) {
  return value_of(without_gil([&] { return plan.instantiate(); }));
}

std::string names_of(const Signature& signature) {
  std::string text;
  for (const Parameter& parameter : signature.parameters) text += (text.empty() ? "" : ", ") + parameter.name;
  return text;
}

nb::object first_of(const nb::object& array, std::size_t axis, std::int64_t length) {
  if (nb::isinstance<Array>(array)) {
    const Array& all = nb::cast<const Array&>(array);
    std::vector<std::int64_t> shape = all.shape;
    shape[axis] = length;
    Array part = make_array(all.dtype, shape);
    std::size_t outer = 1, inner = dtype_bytes(all.dtype);
    for (std::size_t i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(shape[i]);
    for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
    const std::size_t row = inner * static_cast<std::size_t>(length);
    for (std::size_t i = 0; i < outer; ++i) {
      std::memcpy(static_cast<char*>(part.memory.get()) + i * row,
                  static_cast<const char*>(all.memory.get()) + i * inner * static_cast<std::size_t>(all.shape[axis]),
                  row);
    }
    return nb::cast(std::move(part));
  }
  nb::list index;
  for (std::size_t i = 0; i < axis; ++i) index.append(nb::slice(nb::none(), nb::none(), nb::none()));
  index.append(nb::slice(nb::none(), nb::int_(length), nb::none()));
  return array[nb::tuple(index)];
}

// DLPack's kind of memory that the device's kernels reach beside the host's.
int device_type_of(const std::string& device) {
  const std::string driver = device.substr(0, device.find(':'));
  return driver == "cuda" ? kDLCUDA : driver == "hip" ? kDLROCM : 0;
}

}  // namespace

Replay::Replay(const client::PreparedPlan& plan)
    : plan_(plan),
      instance_(make_instance(plan)),
      given_outputs_(std::make_unique<Argument[]>(plan.outputs().size())),
      inputs_(plan.inputs().size()),
      outputs_(plan.outputs().size()),
      shapes_(plan.inputs().size()),
      variables_(plan.variables().size()),
      made_(plan.outputs().size()),
      device_type_(device_type_of(plan.device())) {}

void Replay::let_go() {
  for (std::size_t i = 0; i < num_arguments_; ++i) arguments_[i].release();
  for (std::size_t i = 0; i < made_.size(); ++i) {
    given_outputs_[i].release();
    made_[i].made.reset();
  }
  like_.reset();
}

struct Replay::LetGo {
  Replay* replay;
  ~LetGo() { replay->let_go(); }
};

void Replay::begin(const Signature& signature, const nb::args& args, const nb::kwargs& kwargs, const nb::dict& out,
                   bool may_copy) {
  may_copy_ = may_copy;
  const ArrayKind kind = read(signature, args, kwargs);
  set_shapes();
  std::fill(outputs_.begin(), outputs_.end(), client::Instance::OutputArray{});
  if (out.size() > 0) bind_given(signature, out);
  if (like_.is_valid()) return begin_on_device(signature, may_copy);
  bind_on_host(signature, kind, may_copy);
  if (out.size() > 0) check_overlap(signature);
}

void Replay::bind_on_host(const Signature& signature, ArrayKind kind, bool may_copy) {
  last_bound_.clear();  // what follows binds the host's arrays in place of the GPU's
  for (std::size_t i = 0; i < signature.parameters.size(); ++i) {
    const Parameter& parameter = signature.parameters[i];
    if (parameter.kind != Parameter::Kind::kInput) continue;
    arguments_[i].make_dense(parameter.what.c_str(), may_copy);
    inputs_[parameter.place] = {arguments_[i].data(), arguments_[i].size_bytes()};
  }
  make_outputs(signature, kind);
}

absl::Status Replay::execute() {
  if (like_.is_valid()) return execute_on_device();
  if (num_timed_ == kTimedReplays && shortest_ns_ < kShortReplayNs) return instance_.execute(inputs_, outputs_);
  WithoutGil open;
  if (num_timed_ == kTimedReplays) return instance_.execute(inputs_, outputs_);
  const auto start = std::chrono::steady_clock::now();
  absl::Status ran = instance_.execute(inputs_, outputs_);
  const std::int64_t took = (std::chrono::steady_clock::now() - start).count();
  shortest_ns_ = num_timed_ == 0 ? took : std::min(shortest_ns_, took);
  ++num_timed_;
  return ran;
}

nb::object Replay::call(const Signature& signature, const nb::args& args, const nb::kwargs& kwargs, const nb::dict& out,
                        bool may_copy) {
  const LetGo let_go{this};
  begin(signature, args, kwargs, out, may_copy);
  check(execute());
  if (like_.is_valid()) read_host_results(signature);
  return results(signature);
}

nb::object Replay::profile(const Signature& signature, const nb::args& args, const nb::kwargs& kwargs) {
  const LetGo let_go{this};
  begin(signature, args, kwargs, nb::dict(), true);
  check(execute());  // binds the arrays; what is measured is warm
  check(without_gil([&] { return instance_.wait(); }));
  const absl::StatusOr<client::Profile> profile = without_gil([&] { return instance_.execute_profiled(); });
  check(profile.status());
  nb::list rows;
  for (const client::Profile::Row& row : profile->by_kernel())
    rows.append(nb::make_tuple(row.kernel, row.launches, row.time_ns, row.num_ops));
  return nb::make_tuple(profile->total_ns, nb::tuple(rows));
}

ArrayKind Replay::read(const Signature& signature, const nb::args& args, const nb::kwargs& kwargs) {
  const std::size_t count = signature.parameters.size();
  begin_read(count, false);
  const std::size_t num_args = args.size();
  if (num_args > count) {
    raise_call_error(std::to_string(num_args) + " arrays are given; the model takes " + std::to_string(count) +
                     (count == 0 ? "" : ": " + names_of(signature)));
  }
  for (std::size_t i = 0; i < num_args; ++i)
    read_one(signature, i, nb::handle(PyTuple_GetItem(args.ptr(), static_cast<Py_ssize_t>(i))));
  if (kwargs.size() > 0) {
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t at = 0;
    while (PyDict_Next(kwargs.ptr(), &at, &key, &value)) read_keyword(signature, key, value);
  }
  return end_read(signature);
}

nb::object Replay::call_list(const Signature& signature, const std::vector<PyObject*>& arrays, nb::handle lengths,
                             ArrayKind kind) {
  const LetGo let_go{this};
  begin_read(arrays.size(), true);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    read_one(signature, i, arrays[i]);
  }
  if (!lengths.is_none()) {
    for (const auto& [key, value] : nb::borrow<nb::dict>(lengths)) read_keyword(signature, key, value);
  }
  const ArrayKind given = end_read(signature);
  set_shapes();
  std::fill(outputs_.begin(), outputs_.end(), client::Instance::OutputArray{});
  if (like_.is_valid()) {
    begin_on_device(signature, true);
  } else {
    bind_on_host(signature, given == ArrayKind::kNone ? kind : given, true);
  }
  check(execute());
  if (like_.is_valid()) read_host_results(signature);
  return result_list(signature);
}

void Replay::begin_read(std::size_t count, bool accepts_gradients) {
  if (num_arguments_ != count || !arguments_) {
    arguments_ = std::make_unique<Argument[]>(count);
    num_arguments_ = count;
  }
  for (std::size_t i = 0; i < count; ++i) arguments_[i].accept_gradients(accepts_gradients);
  is_given_.assign(count, 0);
  std::fill(inputs_.begin(), inputs_.end(), client::Instance::InputArray{});
  std::fill(shapes_.begin(), shapes_.end(), client::Instance::ShapeView{});
  if (has_variables_) std::fill(variables_.begin(), variables_.end(), std::nullopt);
  has_variables_ = false;
}

ArrayKind Replay::end_read(const Signature& signature) {
  ArrayKind kind = ArrayKind::kNone;
  for (std::size_t i = 0; i < signature.parameters.size(); ++i) {
    const Parameter& parameter = signature.parameters[i];
    if (is_given_[i] == 0) {
      if (parameter.kind != Parameter::Kind::kInput) continue;
      raise_call_error(parameter.what + " is missing; the model takes " + names_of(signature));
    }
    if (kind == ArrayKind::kNone) kind = arguments_[i].kind();
    if (parameter.kind == Parameter::Kind::kInput) shapes_[parameter.place] = arguments_[i].shape();
  }
  return kind;
}

void Replay::read_one(const Signature& signature, std::size_t index, nb::handle object) {
  const Parameter& parameter = signature.parameters[index];
  Argument& argument = arguments_[index];
  const int device_type = parameter.kind == Parameter::Kind::kInput ? device_type_ : 0;
  argument.read(object, parameter.what.c_str(), parameter.dtype, device_type);
  if (argument.on_device()) read_on_device(parameter, argument, object);
  if (!argument.is_of(parameter.dtype, parameter.stored)) {
    raise_invalid(parameter.what + " is " + argument.describe() + "; expected " +
                  name_of_elements(parameter.dtype, parameter.stored));
  }
  if (parameter.kind == Parameter::Kind::kFixed) check_fixed(parameter, argument, object);
  is_given_[index] = 1;
}

void Replay::read_keyword(const Signature& signature, nb::handle key, nb::handle value) {
  const auto is_key = [&](const nb::object& name) {
    return name.ptr() == key.ptr() || PyUnicode_Compare(name.ptr(), key.ptr()) == 0;
  };
  std::optional<std::size_t> parameter, variable;
  for (std::size_t i = 0; i < signature.parameters.size() && !parameter; ++i) {
    if (is_key(signature.parameters[i].key)) parameter = i;
  }
  for (std::size_t i = 0; i < signature.variables.size() && !variable; ++i) {
    if (is_key(signature.variables[i])) variable = i;
  }
  const std::string name = str_of(key);
  if (parameter && variable && PyLong_CheckExact(value.ptr()))
    raise_call_error("'" + name + "' is an input and a dimension; give the input as an array");
  if (parameter) {
    if (is_given_[*parameter] != 0) raise_call_error("input '" + name + "' is given by place and by name");
    return read_one(signature, *parameter, value);
  }
  if (!variable) {
    nb::list known = signature.parameter_names();
    for (const nb::object& other : signature.variables) known.append(other);
    raise_unknown("there is no input or dimension '" + name + "'", key, known);
  }
  const nb::object number = nb::steal(PyNumber_Index(value.ptr()));
  if (!number.is_valid()) {
    PyErr_Clear();
    raise_call_error("dimension '" + name + "' is " + repr_of(value) + "; expected an int");
  }
  int overflow = 0;
  variables_[*variable] = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0) raise_invalid("dimension '" + name + "' is beyond 64 bits");
  has_variables_ = true;
}

void Replay::check_fixed(const Parameter& parameter, const Argument& argument, nb::handle object) const {
  const client::FixedInput& fixed = plan_.fixed_inputs()[parameter.place];
  Argument& dense = const_cast<Argument&>(argument);
  dense.make_dense(parameter.what.c_str(), true);
  const bool same_shape =
      std::equal(fixed.shape.begin(), fixed.shape.end(), argument.shape().begin(), argument.shape().end()) ||
      (argument.kind() == ArrayKind::kNone && fixed.bytes.size() == argument.size_bytes());
  if (same_shape && std::memcmp(fixed.bytes.data(), argument.data(), fixed.bytes.size()) == 0) return;
  std::string expected = "another value";
  if (fixed.bytes.size() == dtype_bytes(fixed.dtype)) expected = str_of(to_number(fixed.dtype, fixed.bytes.data()));
  raise_invalid(parameter.what + " is " + repr_of(object) + "; the model was loaded for " + expected +
                ", which decides what it computes: load it with constants={'" + parameter.name + "': …}");
}

void Replay::set_shapes() {
  lengths_.clear();
  for (const client::Instance::ShapeView& shape : shapes_) {
    lengths_.push_back(static_cast<std::int64_t>(shape.size()));
    lengths_.insert(lengths_.end(), shape.begin(), shape.end());
  }
  if (is_measured_ && !has_variables_ && lengths_ == last_lengths_) return;
  is_measured_ = false;
  num_timed_ = 0;
  check(instance_.set_shapes(shapes_, variables_));
  for (std::size_t i = 0; i < made_.size(); ++i) {
    Output& output = made_[i];
    instance_.output_shape(i, &output.shape);
    output.size_bytes = instance_.output_bytes(i);
    nb::list lengths;
    for (const std::int64_t length : output.shape) lengths.append(length);
    output.tuple = nb::tuple(lengths);
  }
  if (has_variables_) return;  // of this call only
  last_lengths_ = lengths_;
  is_measured_ = true;
}

void Replay::make_outputs(const Signature& signature, ArrayKind kind) {
  for (const Result& result : signature.results) {
    Output& output = made_[result.place];
    if (output.made.is_valid()) continue;
    NewArray made = new_array(kind, result.dtype, output.shape, output.tuple);
    outputs_[result.place] = {made.data, output.size_bytes};
    output.made = kind == ArrayKind::kNumpy ? as_stored(std::move(made.object), result.stored) : std::move(made.object);
  }
}

void Replay::bind_given(const Signature& signature, const nb::dict& out) {
  for (const auto& [key, value] : out) {
    const std::string name = str_of(key);
    const auto result = std::find_if(signature.results.begin(), signature.results.end(),
                                     [&](const Result& candidate) { return candidate.name == name; });
    if (result == signature.results.end())
      raise_unknown("out: there is no output '" + name + "'", key, signature.result_names());
    const std::string what = "out: '" + name + "'";
    Argument& argument = given_outputs_[result->place];
    Output& output = made_[result->place];
    argument.read_output(value, what.c_str(), device_type_);
    if (argument.on_device() && !like_.is_valid()) {
      like_ = nb::borrow(value);
      like_kind_ = argument.kind();
    }
    if (!argument.is_of(result->dtype, result->stored) ||
        !std::equal(argument.shape().begin(), argument.shape().end(), output.shape.begin(), output.shape.end())) {
      std::string shape;
      for (const std::int64_t length : output.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(length);
      raise_invalid(what + " is " + argument.describe() + "; expected " +
                    name_of_elements(result->dtype, result->stored) + " [" + shape + "]");
    }
    outputs_[result->place] = {const_cast<void*>(argument.data()), output.size_bytes};
    output.made = nb::borrow(value);
  }
}

void Replay::check_overlap(const Signature& signature) const {
  const auto overlap = [](const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
    const auto* first = static_cast<const char*>(a);
    const auto* second = static_cast<const char*>(b);
    return a != nullptr && b != nullptr && first < second + b_bytes && second < first + a_bytes;
  };
  for (const Result& result : signature.results) {
    const auto& [data, size] = outputs_[result.place];
    for (const Parameter& parameter : signature.parameters) {
      if (parameter.kind != Parameter::Kind::kInput) continue;
      const auto& input = inputs_[parameter.place];
      if (overlap(data, size, input.data, input.size_bytes))
        raise_invalid("out: '" + result.name + "' overlaps " + parameter.what + "; give it memory of its own");
    }
    for (const Result& other : signature.results) {
      if (&other == &result) break;
      const auto& earlier = outputs_[other.place];
      if (overlap(data, size, earlier.data, earlier.size_bytes))
        raise_invalid("out: '" + result.name + "' overlaps '" + other.name + "'; give each memory of its own");
    }
  }
}

void Replay::cut_results(const Signature& signature) {
  for (const Result& result : signature.results) {
    if (!result.length_place) continue;
    const client::ConstView length = value_of(without_gil([&] { return instance_.output(*result.length_place); }));
    std::int64_t count = 0;
    std::memcpy(&count, length.data, sizeof count);
    Output& output = made_[result.place];
    count = std::clamp<std::int64_t>(count, 0, output.shape[result.length_axis]);
    output.made = first_of(output.made, result.length_axis, count);
  }
}

nb::list Replay::result_list(const Signature& signature) {
  cut_results(signature);
  nb::list all;
  for (const Result& result : signature.results) all.append(std::move(made_[result.place].made));
  return all;
}

nb::object Replay::results(const Signature& signature) {
  if (signature.results.size() != 1) return signature.outputs_type(nb::tuple(result_list(signature)));
  cut_results(signature);
  return std::move(made_[signature.results[0].place].made);
}

}  // namespace hearth::python
