// Outputs that are the next execute's inputs: two buffers of an instance that trade places.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/replay/instance_state.h"
#include "runtime/replay/loaded_plan.h"
#include "runtime/replay/stored_rows.h"

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
    HEARTH_ASSIGN_OR_RETURN(Buffer larger, plan->device().allocate(room, "what is carried", MemoryUse::kShared));
    slot.own = larger.data();
    slot.own_address = larger.address();
    carried.push_back(std::move(larger));
  }
  slot.host = slot.own;
  slot.on_device = nullptr;
  slot.size_bytes = room;
  slot.owner = nullptr;
  rows->memory[buffer] = slot.own_address;
  return absl::OkStatus();
}

absl::Status Instance::State::add_carry(std::uint32_t output, std::uint32_t input) {
  const PlanBuffer &from = wire().buffers[output], &to = wire().buffers[input];
  HEARTH_RETURN_IF_ERROR(check_alike(from, to));
  Carry carry;
  carry.output = output, carry.input = input;
  carry.is_planned = from.carried_to == input;
  for (auto* shape : {&carry.output_shape, &carry.input_shape, &carry.made_shape}) shape->resize(from.shape.size());
  if (from.in_place) {
    slots[output] = slots[input];
    rows->memory[output] = rows->memory[input];
  } else {
    for (std::uint32_t i = 0; i < rows->step_buffers.size(); ++i) {
      const std::uint32_t buffer = rows->step_buffers[i];
      if (buffer == output || buffer == input) carry.addresses.push_back(i);
    }
    const std::size_t room = std::max(from.max_bytes, to.max_bytes);
    for (const std::uint32_t buffer : {output, input}) {
      HEARTH_RETURN_IF_ERROR(give_room(buffer, room));
    }
    std::memset(slots[input].host, 0, room);
  }
  slots_stale = true;
  carries.push_back(std::move(carry));
  return absl::OkStatus();
}

absl::Status Instance::carry(std::string_view output, std::string_view input) {
  const auto from = state_->find(output, v1::PlanBuffer::OUTPUT), to = state_->find(input, v1::PlanBuffer::INPUT);
  HEARTH_RETURN_IF_ERROR(from.status());
  HEARTH_RETURN_IF_ERROR(to.status());
  const State::Carry *of_output = state_->carry_of(*from), *of_input = state_->carry_of(*to);
  if (of_output != nullptr && of_output == of_input && of_output->is_planned) return absl::OkStatus();
  if (of_output) return absl::FailedPreconditionError(str_cat("output '", output, "' is carried already"));
  if (of_input) return absl::FailedPreconditionError(str_cat("input '", input, "' is carried already"));
  return state_->add_carry(*from, *to);
}

absl::Status Instance::set_carried(std::string_view input, const void* data, std::size_t size_bytes) {
  HEARTH_ASSIGN_OR_RETURN(const auto index, state_->find(input, v1::PlanBuffer::INPUT));
  const PlanBuffer& buffer = state_->wire().buffers[index];
  for (State::Carry& carry : state_->carries) {
    if (carry.input != index) continue;
    const std::size_t needed = buffer.size_bytes(state_->values.data());
    if (data && size_bytes != needed) {
      return absl::InvalidArgumentError(
          str_cat("carried input '", input, "' is given ", size_bytes, " bytes; it needs ", needed));
    }
    HEARTH_RETURN_IF_ERROR(state_->program->wait());  // a queued run may still read it
    carry.is_due = false;
    auto* to = static_cast<char*>(state_->slots[index].host);
    if (data) {
      StoredRows(buffer, state_->values).each([&](std::size_t given, std::size_t stored, std::size_t bytes) {
        std::memcpy(to + stored, static_cast<const char*>(data) + given, bytes);
      });
    } else {
      std::memset(to, 0, buffer.storage.empty() ? needed : buffer.max_bytes);
    }
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(str_cat("input '", input, "' is not carried; carry() makes it so"));
}

// An input or output row by row, as a caller sees it.
absl::StatusOr<const void*> Instance::State::read_io(std::uint32_t id) {
  const PlanBuffer& buffer = wire().buffers[id];
  HEARTH_RETURN_IF_ERROR(check_seen_by_host(id));
  const StoredRows rows_of(buffer, values);
  const auto* host = static_cast<const char*>(slots[id].host);
  if (buffer.storage.empty() || rows_of.are_side_by_side()) return host;
  Buffer& copy = read_back[id];
  if (copy.data() == nullptr) {
    HEARTH_ASSIGN_OR_RETURN(Buffer made,
                            Buffer::allocate(buffer.max_bytes, str_cat("'", buffer.name, "' as it is read")));
    copy = std::move(made);
  }
  rows_of.each([&](std::size_t given, std::size_t stored, std::size_t bytes) {
    std::memcpy(static_cast<char*>(copy.data()) + given, host + stored, bytes);
  });
  return copy.data();
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
