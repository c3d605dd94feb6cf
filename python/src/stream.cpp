#include "stream.h"

#include <algorithm>
#include <cstring>

#include "argument.h"
#include "dtypes.h"
#include "errors.h"
#include "interpreter.h"

namespace hearth::python {
namespace {

// Null where there is none of that name.
const client::ValueInfo* named(const std::vector<client::ValueInfo>& values, const std::string& name) {
  const auto found = std::find_if(values.begin(), values.end(), [&](const auto& one) { return one.name == name; });
  return found == values.end() ? nullptr : &*found;
}

Array copy_of(const client::ConstView& view) {
  Array array = make_array(view.dtype, view.shape);
  if (view.size_bytes > 0) std::memcpy(array.memory.get(), view.data, view.size_bytes);
  return array;
}

}  // namespace

Stream::Stream(const Function& function, const std::vector<client::Carried>& carried)
    : plan_(function.plan()),
      signature_(function.signature().without(carried)),
      carried_(carried),
      may_copy_(function.info().may_copy),
      replay_(std::make_unique<Replay>(function.plan())) {
  const std::size_t planned = plan_.carried().size();  // its instances carry these
  for (std::size_t i = planned; i < carried.size(); ++i)
    check(replay_->instance().carry(carried[i].output, carried[i].input));
  count();
}

void Stream::count() {
  for (const client::VariableInfo& variable : plan_.variables()) {
    const auto has_it = [&](const auto& value) {
      return std::find(value.lengths.begin(), value.lengths.end(), variable.name) != value.lengths.end();
    };
    if (std::any_of(signature_.parameters.begin(), signature_.parameters.end(), has_it)) continue;  // calls show it
    for (const client::Carried& pair : carried_) {
      const client::ValueInfo* const input = named(plan_.inputs(), pair.input);
      const client::ValueInfo* const output = named(plan_.outputs(), pair.output);
      if (input == nullptr || output == nullptr || !has_it(*input)) continue;
      const auto axis = std::find(input->lengths.begin(), input->lengths.end(), variable.name) - input->lengths.begin();
      std::optional<std::int64_t> none;
      if (variable.min == 0) none = 0;
      counted_.push_back({variable.name, text_of(variable.name), pair.input, static_cast<std::size_t>(axis),
                          static_cast<std::size_t>(output - plan_.outputs().data()), none});
      break;
    }
  }
}

nb::kwargs Stream::with_counted(const nb::kwargs& kwargs) const {
  nb::dict all;
  bool is_own = false;
  for (const Counted& one : counted_) {
    if (!one.value || kwargs.contains(one.variable)) continue;
    if (!is_own) all = nb::steal<nb::dict>(PyDict_Copy(kwargs.ptr()));
    is_own = true;
    all[one.variable] = *one.value;
  }
  return is_own ? nb::borrow<nb::kwargs>(all) : kwargs;
}

class Stream::Use {
 public:
  explicit Use(Stream* stream) : is_busy_(stream->is_busy_) {
    if (is_busy_)
      raise(absl::FailedPreconditionError("the stream is being called by another thread; use one a thread"));
    is_busy_ = true;
  }
  ~Use() { is_busy_ = false; }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  bool& is_busy_;
};

nb::object Stream::call(const nb::args& args, const nb::kwargs& kwargs) {
  const Use use(this);
  nb::object results = replay_->call(signature_, args, with_counted(kwargs), nb::dict(), may_copy_);
  has_run_ = true;
  for (Counted& one : counted_) {
    std::vector<std::int64_t> shape;
    replay_->instance().output_shape(one.output, &shape);
    one.value = shape[one.axis];
  }
  return results;
}

void Stream::reset(const nb::kwargs& state) {
  const Use use(this);
  for (const auto& [key, value] : state) {
    const std::string name = str_of(key);
    bool is_carried = false;
    for (const client::Carried& pair : carried_) is_carried |= pair.input == name;
    if (!is_carried) {
      nb::list known;
      for (const client::Carried& pair : carried_) known.append(text_of(pair.input));
      raise_unknown("reset: there is no carried input '" + name + "'", key, known);
    }
  }
  const std::unique_ptr<Argument[]> given = std::make_unique<Argument[]>(carried_.size());
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    const nb::object name = text_of(carried_[i].input);
    const client::ValueInfo* const input = named(plan_.inputs(), carried_[i].input);
    if (!state.contains(name) || input == nullptr) continue;
    const std::string what = "reset: '" + carried_[i].input + "'";
    given[i].read(state[name], what.c_str(), input->dtype);
    check_state(given[i], *input, what);
    given[i].make_dense(what.c_str(), true);
  }
  // How long the state is, before it is taken: an input has the memory of its lengths.
  for (Counted& one : counted_) {
    std::optional<std::int64_t> length;
    for (std::size_t i = 0; i < carried_.size(); ++i) {
      if (carried_[i].input == one.input && !given[i].shape().empty()) length = given[i].shape()[one.axis];
    }
    if (!length && one.value) length = 0;
    one.value = length;
    if (length) check(replay_->instance().set_var(one.name, *length));
  }
  replay_->forget_lengths();
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    const bool is_given = state.contains(text_of(carried_[i].input));
    check(without_gil([&] {
      return replay_->instance().set_carried(carried_[i].input, is_given ? given[i].data() : nullptr,
                                             is_given ? given[i].size_bytes() : 0);
    }));
  }
}

// InvalidArgument where it is none that the input may be.
void Stream::check_state(const Argument& argument, const client::ValueInfo& input, const std::string& what) const {
  const std::span<const std::int64_t> shape = argument.shape();
  bool fits = argument.dtype() == input.dtype && shape.size() == input.max_shape.size();
  for (std::size_t axis = 0; fits && axis < shape.size(); ++axis) {
    const bool varies = input.lengths[axis] != std::to_string(input.max_shape[axis]);
    fits = shape[axis] == input.max_shape[axis] || (varies && shape[axis] < input.max_shape[axis]);
  }
  if (fits) return;
  std::string lengths;
  for (const std::string& length : input.lengths) lengths += (lengths.empty() ? "" : ", ") + length;
  raise_invalid(what + " is " + argument.describe() + "; expected " + numpy_name(input.dtype) + " [" + lengths + "]");
}

nb::dict Stream::state() {
  const Use use(this);
  nb::dict all;
  if (!has_run_) return all;
  check(without_gil([&] { return replay_->instance().wait(); }));
  for (const client::Carried& pair : carried_) {
    const client::ConstView view = value_of(without_gil([&] { return replay_->instance().output(pair.output); }));
    all[text_of(pair.input)] = nb::cast(copy_of(view));
  }
  return all;
}

void add_stream(nb::module_& module) {
  nb::class_<Stream>(module, "Stream",
                     "One instance of a model whose carried outputs are the next call's inputs, without a copy.\n\n"
                     "State is zero at first. One thread calls it at a time.")
      .def("__call__", &Stream::call)
      .def("reset", &Stream::reset, "Back to zeros, or to the arrays that are given by the input's name.")
      .def_prop_ro("state", &Stream::state,
                   "Copies of the state that the next call takes, by input; {} before the first.")
      .def_prop_ro("inputs", [](const Stream& stream) { return inputs_of(stream.signature()); })
      .def_prop_ro("outputs", [](const Stream& stream) { return outputs_of(stream.signature()); });
}

}  // namespace hearth::python
