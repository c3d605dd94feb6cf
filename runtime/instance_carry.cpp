// Outputs that are the next execute's inputs: two buffers of an instance that trade places.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_join.h"
#include "base/text.h"
#include "runtime/instance_state.h"
#include "runtime/loaded_plan.h"

namespace hearth::runtime {

const Instance::State::Carry* Instance::State::carry_of(std::uint32_t buffer) const {
  for (const Carry& carry : carries) {
    if (carry.output == buffer || carry.input == buffer) return &carry;
  }
  return nullptr;
}

// Whether what the last execute made is what the next one takes: lengths may be other ones for the variables' values,
// as those of a cache that grows.
absl::Status Instance::State::check_carried(const Carry& carry) const {
  if (!carry.is_due || carry.made_shape == carry.input_shape) return absl::OkStatus();
  const PlanBuffer &output = wire().buffers[carry.output], &input = wire().buffers[carry.input];
  return absl::FailedPreconditionError(
      str_cat("carried input '", input.name, "' is [", absl::StrJoin(carry.input_shape, ", "),
              "] for the variables' values, but output '", output.name, "' of the execute before was [",
              absl::StrJoin(carry.made_shape, ", "), "]; set variables for which they agree, or begin anew with ",
              "set_carried"));
}

// Whether an output can ever be an input: of one type, and of one length where both are constant.
static absl::Status check_alike(const PlanBuffer& output, const PlanBuffer& input) {
  bool alike = output.dtype == input.dtype && output.shape.size() == input.shape.size();
  for (std::size_t i = 0; alike && i < output.shape.size(); ++i) {
    const Expr &a = output.shape[i], &b = input.shape[i];
    alike = a.max() >= b.min() && b.max() >= a.min();
  }
  if (alike) return absl::OkStatus();
  const auto shape = [](const PlanBuffer& buffer) {
    return absl::StrJoin(buffer.shape, ", ", [](std::string* out, const Expr& length) {
      str_append(out, length.min());
      if (!length.is_const()) str_append(out, " to ", length.max());
    });
  };
  return absl::FailedPreconditionError(str_cat("output '", output.name, "' is ", dtype_name(output.dtype), " [",
                                               shape(output), "] and cannot be carried to input '", input.name,
                                               "', which is ", dtype_name(input.dtype), " [", shape(input), "]"));
}

void Instance::State::measure(Carry& carry) const {
  const auto into = [&](std::vector<std::int64_t>& shape, const PlanBuffer& buffer) {
    for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = buffer.shape[i].evaluate(values.data());
  };
  into(carry.output_shape, wire().buffers[carry.output]);
  into(carry.input_shape, wire().buffers[carry.input]);
}

// The buffer's own memory holds at least `room` bytes from now on.
absl::Status Instance::State::give_room(std::uint32_t buffer, std::size_t room) {
  Slot& slot = slots[buffer];
  if (wire().buffers[buffer].max_bytes < room) {
    absl::StatusOr<Buffer> larger = plan->device().allocate(room, "what is carried", MemoryUse::kShared);
    if (!larger.ok()) return larger.status();
    slot.own = larger->data();
    slot.own_address = larger->address();
    carried.push_back(*std::move(larger));
  }
  slot.host = slot.own;
  slot.size_bytes = room;
  slot.owner = nullptr;
  rows->memory[buffer] = slot.own_address;
  return absl::OkStatus();
}

absl::Status Instance::carry(std::string_view output, std::string_view input) {
  const auto from = state_->find(output, v1::PlanBuffer::OUTPUT), to = state_->find(input, v1::PlanBuffer::INPUT);
  if (!from.ok()) return from.status();
  if (!to.ok()) return to.status();
  if (state_->carry_of(*from))
    return absl::FailedPreconditionError(str_cat("output '", output, "' is carried already"));
  if (state_->carry_of(*to)) return absl::FailedPreconditionError(str_cat("input '", input, "' is carried already"));
  const auto& buffers = state_->wire().buffers;
  if (absl::Status status = check_alike(buffers[*from], buffers[*to]); !status.ok()) return status;
  State::Carry carry;
  carry.output = *from, carry.input = *to;
  for (auto* shape : {&carry.output_shape, &carry.input_shape, &carry.made_shape})
    shape->resize(buffers[*from].shape.size());
  Rows& rows = *state_->rows;
  for (std::uint32_t i = 0; i < rows.step_buffers.size(); ++i) {
    const std::uint32_t buffer = rows.step_buffers[i];
    if (buffer == *from || buffer == *to) carry.addresses.push_back(i);
  }
  const std::size_t room = std::max(buffers[*from].max_bytes, buffers[*to].max_bytes);
  for (const std::uint32_t buffer : {*from, *to}) {
    if (absl::Status status = state_->give_room(buffer, room); !status.ok()) return status;
  }
  std::memset(state_->slots[*to].host, 0, room);
  state_->slots_stale = true;
  state_->carries.push_back(std::move(carry));
  return absl::OkStatus();
}

absl::Status Instance::set_carried(std::string_view input, const void* data, std::size_t size_bytes) {
  const auto index = state_->find(input, v1::PlanBuffer::INPUT);
  if (!index.ok()) return index.status();
  for (State::Carry& carry : state_->carries) {
    if (carry.input != *index) continue;
    const std::size_t needed = state_->wire().buffers[*index].size_bytes(state_->values.data());
    if (data && size_bytes != needed) {
      return absl::InvalidArgumentError(
          str_cat("carried input '", input, "' is given ", size_bytes, " bytes; it needs ", needed));
    }
    carry.is_due = false;
    void* to = state_->slots[*index].host;
    if (data) {
      std::memcpy(to, data, needed);
    } else {
      std::memset(to, 0, needed);
    }
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(str_cat("input '", input, "' is not carried; carry() makes it so"));
}

void Instance::State::trade_places(Carry& carry) {
  Slot &output = slots[carry.output], &input = slots[carry.input];
  std::swap(output.host, input.host);
  std::swap(output.own, input.own);
  std::swap(output.own_address, input.own_address);
  std::swap(rows->memory[carry.output], rows->memory[carry.input]);
  for (const std::uint32_t i : carry.addresses) rows->addresses[i] = rows->memory[rows->step_buffers[i]];
}

}  // namespace hearth::runtime
