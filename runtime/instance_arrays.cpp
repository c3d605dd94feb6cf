// Instance's calls that take all arrays at once, by place.
#include "base/text.h"
#include "runtime/instance_state.h"

namespace hearth::runtime {
namespace {

absl::Status check_count(std::size_t given, std::size_t wanted, std::string_view what) {
  if (given == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(str_cat(given, " ", what, " are given; the plan has ", wanted));
}

}  // namespace

absl::Status Instance::set_vars(std::span<const std::int64_t> values) {
  if (absl::Status all = check_count(values.size(), state_->values.size(), "values"); !all.ok()) return all;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (absl::Status set = state_->set_var(i, values[i]); !set.ok()) return set;
  }
  return absl::OkStatus();
}

void Instance::output_shape(std::size_t index, std::vector<std::int64_t>* shape) const {
  shape->clear();
  for (const Expr& length : state_->wire().buffers[state_->outputs_in_order.at(index)].shape)
    shape->push_back(length.evaluate(state_->values.data()));
}

std::size_t Instance::output_bytes(std::size_t index) const {
  return state_->wire().buffers[state_->outputs_in_order.at(index)].size_bytes(state_->values.data());
}

absl::Status Instance::execute(std::span<const InputArray> inputs, std::span<const OutputArray> outputs) {
  if (absl::Status all = check_count(inputs.size(), state_->inputs_in_order.size(), "inputs"); !all.ok()) return all;
  if (absl::Status all = check_count(outputs.size(), state_->outputs_in_order.size(), "outputs"); !all.ok()) return all;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].data == nullptr) continue;
    absl::Status bound =
        state_->bind(state_->inputs_in_order[i], const_cast<void*>(inputs[i].data), inputs[i].size_bytes, nullptr);
    if (!bound.ok()) return bound;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].data == nullptr) continue;
    absl::Status bound = state_->bind(state_->outputs_in_order[i], outputs[i].data, outputs[i].size_bytes, nullptr);
    if (!bound.ok()) return bound;
  }
  return execute();
}

absl::StatusOr<ConstView> Instance::output(std::size_t index) const {
  if (index >= state_->outputs_in_order.size())
    return absl::OutOfRangeError(str_cat("output ", index, " of ", state_->outputs_in_order.size()));
  return buffer(state_->outputs_in_order[index]);
}

void Instance::unbind() {
  for (std::uint32_t i = 0; i < state_->slots.size(); ++i) {
    State::Slot& slot = state_->slots[i];
    if (!slot.is_bound() || state_->carry_of(i) != nullptr) continue;
    slot.host = slot.own;
    slot.size_bytes = state_->wire().buffers[i].max_bytes;
    slot.owner = nullptr;
    state_->rows->memory[i] = state_->address_of(i);
    state_->slots_stale = true;
  }
}

}  // namespace hearth::runtime
