// What an Instance (hearth/instance.h) is made of. Inside runtime/ only.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "hearth/instance.h"
#include "runtime/memory/buffer.h"
#include "runtime/replay/loaded_plan.h"

namespace hearth::runtime {

// Everything execute() touches is laid out once (hal/rows.h). Binding and set_var only mark it stale.
struct Instance::State {
  struct Slot {
    std::size_t size_bytes = 0;
    void* host = nullptr;               // an input or output as the caller sees it
    void* own = nullptr;                // likewise, the instance's own memory
    void* own_address = nullptr;        // of that, for kernels
    void* on_device = nullptr;          // memory of the device that is bound in its place; then `host` is `own`
    std::shared_ptr<const void> owner;  // of what is bound
    bool is_bound() const { return host != own; }
  };
  struct Carry {
    std::uint32_t output = 0;  // plan buffers
    std::uint32_t input = 0;
    bool is_planned = false;               // by the plan itself
    bool is_due = false;                   // they trade places before the next execute, unless it is one place
    std::vector<std::uint32_t> addresses;  // of either, in the rows
    // For the variables' values; what the last execute made.
    std::vector<std::int64_t> output_shape, input_shape, made_shape;
  };
  // The length that a variable's value is read from: of the input at a place, along an axis.
  struct LengthSource {
    std::size_t variable = 0, input = 0, axis = 0;
    std::vector<std::size_t> needs;  // the other variables of that length
  };
  // An input that no kernel reads, as it is given: in memory of its own, unless another is bound.
  struct Fixed {
    const FixedInput* input = nullptr;
    std::string own;
    const void* address = nullptr;
    std::shared_ptr<const void> owner;  // of what is bound
  };

  std::shared_ptr<const LoadedPlan> plan;
  std::vector<std::uint32_t> inputs_in_order, outputs_in_order;  // plan buffers
  std::shared_ptr<const FixedInputs> fixed_inputs;               // what `fixed` refers to
  std::vector<Fixed> fixed;
  Buffer arena;
  Buffer inputs, outputs;                            // one after the other; both in `outputs` where that is as fast
  std::vector<Buffer> carried;                       // in place of those that have no room for what is carried
  std::vector<Slot> slots;                           // one a plan buffer
  std::vector<std::uint32_t> copied;                 // what is bound to memory that the device does not reach
  std::map<std::uint32_t, Buffer> read_back;         // what the host does not see, as it was last read
  std::vector<std::int64_t> values;                  // one a plan variable
  std::optional<std::vector<LengthSource>> sources;  // in an order in which each can be read; found when first wanted
  std::vector<std::int64_t> wanted;                  // scratch, one a plan variable
  std::vector<std::int64_t> executed_values;         // of the last execute
  std::optional<Rows> rows;                          // always there; their memory is where the slots' buffers are
  std::vector<Carry> carries;
  std::unique_ptr<Program> program;
  bool slots_stale = true;
  bool values_stale = true;
  bool rows_stale = false;  // the program does not know yet
  bool has_executed = false;
  bool keeps_intermediates = false;

  const Plan& wire() const { return plan->plan(); }
  absl::StatusOr<std::uint32_t> find(std::string_view name, v1::PlanBuffer::Kind kind) const;
  std::vector<std::int64_t> shape_of(const PlanBuffer& buffer) const { return shape_at(buffer, values); }
  static std::vector<std::int64_t> shape_at(const PlanBuffer& buffer, const std::vector<std::int64_t>& values);
  absl::Status check_intact(std::uint32_t id) const;
  void* address_of(std::uint32_t buffer) const;
  absl::Status bind(std::string_view name, v1::PlanBuffer::Kind kind, void* data, std::size_t size_bytes,
                    std::shared_ptr<const void> owner);
  absl::Status bind(std::uint32_t buffer, void* data, std::size_t size_bytes, std::shared_ptr<const void> owner);
  void unbind(std::uint32_t buffer);
  absl::Status set_var(std::size_t index, std::int64_t value);
  void find_sources();
  absl::Status read_value(const LengthSource& source, std::int64_t length);
  absl::Status check_shape(std::size_t input, std::span<const std::int64_t> shape) const;
  void add_fixed(std::shared_ptr<const FixedInputs> inputs);
  Fixed* find_fixed(std::string_view name);
  absl::Status bind_fixed(Fixed& fixed, const void* data, std::size_t size_bytes, std::shared_ptr<const void> owner);
  absl::Status check_fixed() const;
  const Carry* carry_of(std::uint32_t buffer) const;
  absl::Status add_carry(std::uint32_t output, std::uint32_t input);
  absl::Status check_carried(const Carry& carry) const;
  absl::Status check_size(std::uint32_t buffer, const void* data, std::size_t size_bytes) const;
  absl::Status bind_device(std::string_view name, v1::PlanBuffer::Kind kind, void* address, std::size_t size_bytes,
                           std::shared_ptr<const void> owner);
  absl::Status check_seen_by_host(std::uint32_t buffer) const;
  absl::Status prepare_run();
  absl::StatusOr<const void*> read_io(std::uint32_t buffer);
  absl::Status give_room(std::uint32_t buffer, std::size_t room);
  void measure(Carry& carry) const;
  void trade_places(Carry& carry);
  absl::Status begin();
  absl::Status refresh();
  absl::StatusOr<const void*> read_intermediate(std::uint32_t buffer);
  std::size_t bytes_to_copy(std::uint32_t buffer) const;
  void copy_in() const;
  void copy_out() const;
};

}  // namespace hearth::runtime
