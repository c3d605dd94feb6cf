// Calls with arrays on the plan's GPU: nothing of them is copied. torch's are used as its own operations use them, on
// its current stream, so that the call returns before the GPU is done; other libraries' work is waited for.
#include <algorithm>
#include <cstring>

#include "array_libraries.h"
#include "dtypes.h"
#include "errors.h"
#include "interpreter.h"
#include "replay.h"

namespace hearth::python {

void Replay::read_on_device(const Parameter& parameter, Argument& argument, nb::handle object) {
  if (!like_.is_valid()) {
    like_ = nb::borrow(object);
    like_kind_ = argument.kind();
  }
  if (argument.is_dense() || !may_copy_ || argument.kind() != ArrayKind::kTorch) return;
  const nb::object dense = object.attr("contiguous")();  // behind what the stream has
  argument.read(dense, parameter.what.c_str(), parameter.dtype, device_type_);
}

void Replay::begin_on_device(const Signature& signature, bool may_copy) {
  waits_ = like_kind_ != ArrayKind::kTorch;
  make_outputs_on_device(signature);
  bind_on_device(signature, may_copy);
  check_overlap(signature);
}

void Replay::make_outputs_on_device(const Signature& signature) {
  for (const Result& result : signature.results) {
    Output& output = made_[result.place];
    Argument& argument = given_outputs_[result.place];
    waits_ = waits_ || result.length_place.has_value();
    if (!output.made.is_valid()) {
      output.made = new_device_array(like_, like_kind_, result.dtype, output.tuple);
      waits_ = waits_ || !output.made.is_valid();  // in the host's memory
      if (!output.made.is_valid()) continue;
      argument.read_output(output.made, "a new array of the caller's library", device_type_);
    }
    if (!argument.on_device()) {
      raise_invalid("out: '" + result.name +
                    "' is in host memory, and other arrays of the call on a GPU; expected memory of the GPU");
    }
    outputs_[result.place] = {const_cast<void*>(argument.data()), output.size_bytes};
  }
}

void Replay::bind_on_device(const Signature& signature, bool may_copy) {
  bound_.clear();
  int device_id = 0;
  for (std::size_t i = 0; i < signature.parameters.size(); ++i)
    bound_.push_back(arguments_[i].on_device() && is_given_[i] != 0 ? 1 : 0);
  for (const Result& result : signature.results) bound_.push_back(outputs_[result.place].data != nullptr ? 1 : 0);
  if (bound_ != last_bound_) instance_.unbind();
  last_bound_ = bound_;
  bool has_waited = false;
  for (std::size_t i = 0; i < signature.parameters.size(); ++i) {
    const Parameter& parameter = signature.parameters[i];
    Argument& argument = arguments_[i];
    if (parameter.kind != Parameter::Kind::kInput) continue;
    argument.make_dense(parameter.what.c_str(), may_copy);
    if (argument.on_device()) {
      device_id = argument.device_id();
      check(instance_.bind_device_input(parameter.name, argument.data(), argument.size_bytes()));
      inputs_[parameter.place] = {argument.data(), argument.size_bytes()};
      continue;
    }
    // What is queued may still read the one before.
    if (!std::exchange(has_waited, true)) check(without_gil([&] { return instance_.wait(); }));
    const client::MutableView view = value_of(instance_.input(parameter.name));
    if (argument.size_bytes() > 0) std::memcpy(view.data, argument.data(), argument.size_bytes());
  }
  for (const Result& result : signature.results) {
    const client::Instance::OutputArray& output = outputs_[result.place];
    if (output.data == nullptr) continue;
    device_id = given_outputs_[result.place].device_id();
    check(instance_.bind_device_output(result.name, output.data, output.size_bytes));
  }
  stream_ = device_stream(like_kind_, device_id);
}

absl::Status Replay::execute_on_device() {
  const WithoutGil open;
  absl::Status ran = instance_.execute_on(stream_);
  if (ran.ok() && waits_) ran = instance_.wait();
  return ran;
}

// What the library of the arrays has no arrays for.
void Replay::read_host_results(const Signature& signature) {
  for (const Result& result : signature.results) {
    Output& output = made_[result.place];
    if (output.made.is_valid()) continue;
    const client::ConstView view = value_of(without_gil([&] { return instance_.output(result.place); }));
    Array copy = make_array(result.dtype, output.shape);
    std::memcpy(copy.memory.get(), view.data, output.size_bytes);
    output.made = nb::cast(std::move(copy));
  }
}

}  // namespace hearth::python
