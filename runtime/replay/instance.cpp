#include "hearth/instance.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/hal/cpu/cpu_target.h"
#include "runtime/replay/instance_state.h"
#include "runtime/replay/loaded_plan.h"

namespace hearth::runtime {

namespace {

std::string_view word(v1::PlanBuffer::Kind kind) { return kind == v1::PlanBuffer::INPUT ? "input" : "output"; }

// What an instance has for itself: where each buffer lies in the block of its kind.
struct Blocks {
  std::size_t arena_bytes = 0, input_bytes = 0, output_bytes = 0;
  std::vector<std::size_t> offsets;
};

bool is_io(const PlanBuffer& buffer) {
  return buffer.kind == v1::PlanBuffer::INPUT || buffer.kind == v1::PlanBuffer::OUTPUT;
}

// Intermediates as planned, or one after the other. Inputs have a block of their own, or are among the outputs.
Blocks lay_out(const Plan& plan, bool one_after_the_other, bool inputs_apart) {
  Blocks blocks;
  for (const PlanBuffer& buffer : plan.buffers) {
    const bool is_io = runtime::is_io(buffer), is_apart = inputs_apart && buffer.kind == v1::PlanBuffer::INPUT;
    std::size_t& end = is_apart ? blocks.input_bytes : is_io ? blocks.output_bytes : blocks.arena_bytes;
    blocks.offsets.push_back(is_io || one_after_the_other ? end : buffer.offset);
    if (buffer.in_place) continue;
    if (is_io || buffer.kind == v1::PlanBuffer::ARENA) end += aligned_size(buffer.max_bytes);
  }
  if (!one_after_the_other) blocks.arena_bytes = plan.arena_bytes;
  return blocks;
}

// For an error about their memory: which of them takes most of it.
std::string name_of_io(const Plan& plan) {
  const PlanBuffer* largest = nullptr;
  for (const PlanBuffer& buffer : plan.buffers) {
    if (is_io(buffer) && (largest == nullptr || buffer.max_bytes > largest->max_bytes)) largest = &buffer;
  }
  if (largest == nullptr) return "inputs and outputs";
  return str_cat("inputs and outputs, of which ", word(largest->kind), " '", largest->name, "' takes ",
                 largest->max_bytes);
}

void* at(void* begin, std::size_t offset) { return begin == nullptr ? nullptr : static_cast<char*>(begin) + offset; }

}  // namespace

Instance::Instance(std::unique_ptr<State> state) : state_(std::move(state)) {}
Instance::Instance(Instance&&) noexcept = default;
Instance& Instance::operator=(Instance&&) noexcept = default;
Instance::~Instance() = default;

InstanceMemory Instance::memory() const {
  InstanceMemory memory{.arena_bytes = state_->arena.size_bytes(),
                        .io_bytes = state_->inputs.size_bytes() + state_->outputs.size_bytes()};
  for (std::uint32_t i = 0; i < state_->slots.size(); ++i) {
    if (!state_->slots[i].is_bound() || state_->plan->device().reaches_host_memory()) continue;
    const bool is_input = state_->wire().buffers[i].kind == v1::PlanBuffer::INPUT;
    (is_input ? memory.copied_in_bytes : memory.copied_out_bytes) += state_->bytes_to_copy(i);
  }
  return memory;
}

absl::StatusOr<Instance> create_instance(std::shared_ptr<const LoadedPlan> plan, const InstanceConfig& config) {
  auto state = std::make_unique<Instance::State>();
  state->plan = std::move(plan);
  const Plan& wire = state->wire();
  state->keeps_intermediates = config.keep_intermediates;
  state->add_fixed(config.fixed_inputs);
  const Device& device = state->plan->device();
  const bool inputs_apart = !device.reaches_host_memory();
  const Blocks blocks = lay_out(wire, config.keep_intermediates, inputs_apart);
  const auto allocate = [&](Buffer& block, std::size_t bytes, std::string_view what, MemoryUse use) {
    absl::StatusOr<Buffer> made = device.allocate(bytes, what, use);
    if (made.ok()) block = *std::move(made);
    return made.status();
  };
  absl::Status made = allocate(state->arena, blocks.arena_bytes, "the arena", MemoryUse::kDevice);
  if (made.ok()) made = allocate(state->outputs, blocks.output_bytes, name_of_io(wire), MemoryUse::kShared);
  if (made.ok() && inputs_apart)
    made = allocate(state->inputs, blocks.input_bytes, name_of_io(wire), MemoryUse::kWritten);
  if (!made.ok()) return made;
  state->copied.reserve(wire.buffers.size());
  Rows& rows = state->rows.emplace(wire);
  for (std::uint32_t i = 0; i < wire.buffers.size(); ++i) {
    const PlanBuffer& buffer = wire.buffers[i];
    Instance::State::Slot slot;
    slot.size_bytes = buffer.max_bytes;
    rows.memory[i] = state->plan->shared_address(i);
    if (buffer.kind == v1::PlanBuffer::ARENA) rows.memory[i] = at(state->arena.address(), blocks.offsets[i]);
    if (is_io(buffer)) {
      const bool is_apart = inputs_apart && buffer.kind == v1::PlanBuffer::INPUT;
      const Buffer& block = is_apart ? state->inputs : state->outputs;
      slot.host = slot.own = at(block.data(), blocks.offsets[i]);
      rows.memory[i] = slot.own_address = at(block.address(), blocks.offsets[i]);
    }
    if (buffer.kind == v1::PlanBuffer::INPUT) state->inputs_in_order.push_back(i);
    if (buffer.kind == v1::PlanBuffer::OUTPUT) state->outputs_in_order.push_back(i);
    state->slots.push_back(slot);
  }
  for (const PlanVariable& variable : wire.vars) state->values.push_back(variable.max);
  state->executed_values = state->values;
  // Values at which a loop would see more than there is are refused by execute(), when they are still there then.
  (void)rows.set_values(state->values);
  rows.place();
  const int threads = config.threads > 0 ? config.threads : available_cpus();
  HEARTH_ASSIGN_OR_RETURN(std::unique_ptr<Program> program,
                          state->plan->executable().program(rows, {threads, state->plan->subnormals()}));
  state->program = std::move(program);
  for (std::uint32_t i = 0; i < wire.buffers.size(); ++i) {
    if (!wire.buffers[i].carried_to) continue;
    HEARTH_RETURN_IF_ERROR(state->add_carry(i, *wire.buffers[i].carried_to));
  }
  return Instance(std::move(state));
}

absl::StatusOr<std::uint32_t> Instance::State::find(std::string_view name, v1::PlanBuffer::Kind kind) const {
  for (std::uint32_t i = 0; i < wire().buffers.size(); ++i) {
    if (wire().buffers[i].kind == kind && wire().buffers[i].name == name) return i;
  }
  std::vector<std::string> known;
  for (const PlanBuffer& buffer : wire().buffers) {
    if (buffer.kind == kind) known.push_back(str_cat("'", buffer.name, "'"));
  }
  return absl::NotFoundError(
      str_cat("there is no ", word(kind), " '", name, "'; the plan has: ", absl::StrJoin(known, ", ")));
}

std::vector<std::int64_t> Instance::State::shape_at(const PlanBuffer& buffer, const std::vector<std::int64_t>& values) {
  std::vector<std::int64_t> shape;
  for (const Expr& length : buffer.shape) shape.push_back(length.evaluate(values.data()));
  return shape;
}

absl::Status Instance::State::set_var(std::size_t index, std::int64_t value) {
  const PlanVariable& variable = wire().vars[index];
  if (value < variable.min || value > variable.max) {
    return absl::OutOfRangeError(
        str_cat("variable '", variable.name, "' cannot be ", value, "; expected ", variable.min, " to ", variable.max));
  }
  if (value % variable.unit != 0)
    return absl::OutOfRangeError(str_cat("variable '", variable.name, "' cannot be ", value,
                                         "; expected a multiple of ", variable.unit, ", ", variable.min, " to ",
                                         variable.max));
  values_stale = values_stale || values[index] != value;
  values[index] = value;
  return absl::OkStatus();
}

absl::Status Instance::set_var(std::string_view name, std::int64_t value) {
  const std::vector<PlanVariable>& vars = state_->wire().vars;
  for (std::size_t i = 0; i < vars.size(); ++i) {
    if (vars[i].name == name) return state_->set_var(i, value);
  }
  std::vector<std::string> known;
  for (const PlanVariable& variable : vars) known.push_back(str_cat("'", variable.name, "'"));
  return absl::NotFoundError(str_cat("there is no variable '", name,
                                     "'; the plan has: ", known.empty() ? "none" : absl::StrJoin(known, ", ")));
}

absl::StatusOr<MutableView> Instance::input(std::string_view name) {
  const auto bound = [&] {
    return absl::FailedPreconditionError(
        str_cat("input '", name, "' is bound to the caller's memory; write there, or end that by unbind_input"));
  };
  if (State::Fixed* fixed = state_->find_fixed(name)) {
    const FixedInput& input = *fixed->input;
    if (fixed->address != fixed->own.data()) return bound();
    return MutableView{fixed->own.data(), input.bytes.size(), input.dtype, input.shape, input.name};
  }
  HEARTH_ASSIGN_OR_RETURN(std::uint32_t index, state_->find(name, v1::PlanBuffer::INPUT));
  const PlanBuffer& buffer = state_->wire().buffers[index];
  if (state_->carry_of(index)) {
    return absl::FailedPreconditionError(
        str_cat("input '", name, "' is carried from an output; set_carried gives it other values"));
  }
  HEARTH_RETURN_IF_ERROR(state_->check_seen_by_host(index));
  if (state_->slots[index].is_bound()) return bound();
  return MutableView{state_->slots[index].host, buffer.size_bytes(state_->values.data()), buffer.dtype,
                     state_->shape_of(buffer), buffer.name};
}

absl::StatusOr<ConstView> Instance::input_view(std::string_view name) const {
  if (const State::Fixed* fixed = state_->find_fixed(name)) {
    const FixedInput& input = *fixed->input;
    return ConstView{fixed->address, input.bytes.size(), input.dtype, input.shape, input.name};
  }
  HEARTH_ASSIGN_OR_RETURN(std::uint32_t index, state_->find(name, v1::PlanBuffer::INPUT));
  return buffer(index);
}

absl::Status Instance::unbind_input(std::string_view name) {
  if (State::Fixed* fixed = state_->find_fixed(name)) {
    fixed->address = fixed->own.data();
    fixed->owner = nullptr;
    return absl::OkStatus();
  }
  HEARTH_ASSIGN_OR_RETURN(std::uint32_t index, state_->find(name, v1::PlanBuffer::INPUT));
  state_->unbind(index);
  return absl::OkStatus();
}

absl::StatusOr<ConstView> Instance::output(std::string_view name) const {
  HEARTH_ASSIGN_OR_RETURN(std::uint32_t index, state_->find(name, v1::PlanBuffer::OUTPUT));
  const PlanBuffer& buffer = state_->wire().buffers[index];
  HEARTH_ASSIGN_OR_RETURN(const void* const address, state_->read_io(index));
  return ConstView{address, buffer.size_bytes(state_->values.data()), buffer.dtype, state_->shape_of(buffer),
                   buffer.name};
}

absl::Status Instance::State::bind(std::string_view name, v1::PlanBuffer::Kind kind, void* data, std::size_t size_bytes,
                                   std::shared_ptr<const void> owner) {
  const absl::StatusOr<std::uint32_t> index = find(name, kind);
  return index.ok() ? bind(*index, data, size_bytes, std::move(owner)) : index.status();
}

absl::Status Instance::State::check_size(std::uint32_t index, const void* data, std::size_t size_bytes) const {
  const PlanBuffer& buffer = wire().buffers[index];
  const v1::PlanBuffer::Kind kind = buffer.kind;
  const std::string& name = buffer.name;
  if (carry_of(index)) {
    return absl::FailedPreconditionError(str_cat(word(kind), " '", name, "' is carried and cannot be bound"));
  }
  const bool fixed = std::all_of(buffer.shape.begin(), buffer.shape.end(), [](const Expr& e) { return e.is_const(); });
  const std::size_t needed = buffer.size_bytes(values.data());
  if (fixed ? size_bytes != needed : size_bytes < needed) {
    return absl::InvalidArgumentError(str_cat(word(kind), " '", name, "' is bound to ", size_bytes, " bytes; ",
                                              dtype_name(buffer.dtype), " [", absl::StrJoin(shape_of(buffer), ", "),
                                              "] needs ", needed));
  }
  if (size_bytes > 0 && !data) {
    return absl::InvalidArgumentError(str_cat(word(kind), " '", name, "' is bound to a null pointer"));
  }
  if (reinterpret_cast<std::uintptr_t>(data) % dtype_bytes(buffer.dtype) != 0) {
    return absl::InvalidArgumentError(str_cat(word(kind), " '", name,
                                              "' is bound to an address that is not aligned to ",
                                              dtype_bytes(buffer.dtype), " bytes"));
  }
  return absl::OkStatus();
}

absl::Status Instance::State::bind(std::uint32_t index, void* data, std::size_t size_bytes,
                                   std::shared_ptr<const void> owner) {
  HEARTH_RETURN_IF_ERROR(check_size(index, data, size_bytes));
  Slot& slot = slots[index];
  if (slot.host == data && slot.size_bytes == size_bytes && slot.on_device == nullptr) {
    slot.owner = std::move(owner);
    return absl::OkStatus();
  }
  slot.host = data;
  slot.on_device = nullptr;
  slot.size_bytes = size_bytes;
  slot.owner = std::move(owner);
  rows->memory[index] = address_of(index);
  slots_stale = true;
  return absl::OkStatus();
}

// The address of an input or output for kernels: the caller's memory where the device reaches it.
void* Instance::State::address_of(std::uint32_t buffer) const {
  if (slots[buffer].on_device != nullptr) return slots[buffer].on_device;
  return plan->device().reaches_host_memory() ? slots[buffer].host : slots[buffer].own_address;
}

absl::Status Instance::bind_input(std::string_view name, const void* data, std::size_t size_bytes,
                                  std::shared_ptr<const void> owner) {
  if (State::Fixed* fixed = state_->find_fixed(name)) {
    return state_->bind_fixed(*fixed, data, size_bytes, std::move(owner));
  }
  return state_->bind(name, v1::PlanBuffer::INPUT, const_cast<void*>(data), size_bytes, std::move(owner));
}

absl::Status Instance::bind_output(std::string_view name, void* data, std::size_t size_bytes) {
  return state_->bind(name, v1::PlanBuffer::OUTPUT, data, size_bytes, nullptr);
}

absl::Status Instance::State::refresh() {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const PlanBuffer& buffer = wire().buffers[i];
    if (buffer.kind != v1::PlanBuffer::INPUT && buffer.kind != v1::PlanBuffer::OUTPUT) continue;
    const std::size_t needed = buffer.size_bytes(values.data());
    if (slots[i].size_bytes < needed) {
      return absl::FailedPreconditionError(str_cat(word(buffer.kind), " '", buffer.name, "' is bound to ",
                                                   slots[i].size_bytes, " bytes and the variables' values need ",
                                                   needed, "; bind a larger buffer"));
    }
  }
  HEARTH_RETURN_IF_ERROR(rows->set_values(values));
  rows->place();
  rows_stale = true;
  copied.clear();
  for (std::uint32_t i = 0; i < slots.size() && !plan->device().reaches_host_memory(); ++i) {
    if (slots[i].is_bound()) copied.push_back(i);
  }
  for (Carry& carry : carries) measure(carry);
  std::copy(values.begin(), values.end(), executed_values.begin());
  slots_stale = values_stale = false;
  return absl::OkStatus();
}

// Carried outputs of the execute before become inputs.
absl::Status Instance::State::begin() {
  for (const Carry& carry : carries) {
    HEARTH_RETURN_IF_ERROR(check_carried(carry));
  }
  for (Carry& carry : carries) {
    if (carry.is_due && !wire().buffers[carry.output].in_place) {
      trade_places(carry);
      rows_stale = true;
    }
    carry.made_shape = carry.output_shape;
    carry.is_due = true;
  }
  has_executed = true;
  if (!rows_stale) return absl::OkStatus();
  absl::Status told = program->rows_changed();
  rows_stale = !told.ok();
  return told;
}

std::size_t Instance::State::bytes_to_copy(std::uint32_t buffer) const {
  return wire().buffers[buffer].size_bytes(values.data());
}

void Instance::State::copy_in() const {
  for (const std::uint32_t i : copied) {
    if (wire().buffers[i].kind == v1::PlanBuffer::INPUT) std::memcpy(slots[i].own, slots[i].host, bytes_to_copy(i));
  }
}

void Instance::State::copy_out() const {
  for (const std::uint32_t i : copied) {
    if (wire().buffers[i].kind == v1::PlanBuffer::OUTPUT) std::memcpy(slots[i].host, slots[i].own, bytes_to_copy(i));
  }
}

absl::Status Instance::State::prepare_run() {
  if (!fixed.empty()) {
    HEARTH_RETURN_IF_ERROR(check_fixed());
  }
  if (slots_stale || values_stale) {
    HEARTH_RETURN_IF_ERROR(refresh());
  }
  return begin();
}

absl::Status Instance::execute() {
  HEARTH_RETURN_IF_ERROR(state_->prepare_run());
  if (state_->copied.empty()) return state_->program->run();
  HEARTH_RETURN_IF_ERROR(state_->program->wait());  // a queued run may still read what is copied to
  state_->copy_in();
  absl::Status ran = state_->program->run();
  if (ran.ok()) state_->copy_out();
  return ran;
}

absl::StatusOr<Profile> Instance::execute_profiled() {
  HEARTH_RETURN_IF_ERROR(state_->check_fixed());
  HEARTH_RETURN_IF_ERROR(state_->refresh());
  HEARTH_RETURN_IF_ERROR(state_->begin());
  Profile profile;
  for (const Rows::Step& step : state_->rows->steps)
    profile.launches.push_back({state_->wire().kernels[step.kernel].symbol, 0, 0, step.grid, 0});
  HEARTH_RETURN_IF_ERROR(state_->program->wait());
  const auto start = std::chrono::steady_clock::now();
  state_->copy_in();
  HEARTH_RETURN_IF_ERROR(state_->program->run_profiled(profile));
  state_->copy_out();
  const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start);
  profile.total_ns = static_cast<std::uint64_t>(time.count());
  return profile;
}

}  // namespace hearth::runtime
