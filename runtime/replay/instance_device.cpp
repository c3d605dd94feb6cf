// Instance's calls for memory and streams of the plan's device.
#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/replay/instance_state.h"

namespace hearth::runtime {
namespace {

std::string label(const PlanBuffer& buffer) {
  return str_cat(buffer.kind == v1::PlanBuffer::INPUT ? "input" : "output", " '", buffer.name, "'");
}

}  // namespace

absl::Status Instance::State::bind_device(std::string_view name, v1::PlanBuffer::Kind kind, void* address,
                                          std::size_t size_bytes, std::shared_ptr<const void> owner) {
  const Device& device = plan->device();
  if (device.reaches_host_memory()) return bind(name, kind, address, size_bytes, std::move(owner));
  HEARTH_ASSIGN_OR_RETURN(const std::uint32_t index, find(name, kind));
  HEARTH_RETURN_IF_ERROR(check_size(index, address, size_bytes));
  Slot& slot = slots[index];
  if (slot.on_device != address || slot.size_bytes != size_bytes) {
    const absl::Status known = device.check_memory(address, size_bytes);
    if (!known.ok()) return absl::Status(known.code(), str_cat(label(wire().buffers[index]), ": ", known.message()));
    slot.host = slot.own;
    slot.on_device = address;
    slot.size_bytes = size_bytes;
    rows->memory[index] = address_of(index);
    slots_stale = true;
  }
  slot.owner = std::move(owner);
  return absl::OkStatus();
}

absl::Status Instance::State::check_seen_by_host(std::uint32_t buffer) const {
  if (slots[buffer].on_device == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      str_cat(label(wire().buffers[buffer]), " is bound to memory of the device: read and write it there"));
}

absl::Status Instance::bind_device_input(std::string_view name, const void* address, std::size_t size_bytes,
                                         std::shared_ptr<const void> owner) {
  if (state_->find_fixed(name) != nullptr) {
    return absl::FailedPreconditionError(
        str_cat("input '", name, "' decided what was prepared, and is compared on the host; bind memory of the host"));
  }
  return state_->bind_device(name, v1::PlanBuffer::INPUT, const_cast<void*>(address), size_bytes, std::move(owner));
}

absl::Status Instance::bind_device_output(std::string_view name, void* address, std::size_t size_bytes) {
  return state_->bind_device(name, v1::PlanBuffer::OUTPUT, address, size_bytes, nullptr);
}

absl::Status Instance::execute_on(void* stream) {
  for (std::uint32_t i = 0; i < state_->slots.size() && !state_->plan->device().reaches_host_memory(); ++i) {
    if (!state_->slots[i].is_bound()) continue;
    return absl::FailedPreconditionError(
        str_cat(label(state_->wire().buffers[i]), " is bound to memory of the host, which nobody would copy when the ",
                "stream gets so far; bind memory of the device, or write to input() and read output()"));
  }
  HEARTH_RETURN_IF_ERROR(state_->prepare_run());
  return state_->program->queue_on(stream);
}

absl::Status Instance::wait() { return state_->program->wait(); }

}  // namespace hearth::runtime
