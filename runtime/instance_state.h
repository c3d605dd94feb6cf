// What an Instance (runtime/replay.h) is made of. Inside runtime/ only.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/buffer.h"
#include "runtime/loaded_plan.h"
#include "runtime/replay.h"

namespace hearth::runtime {

// Everything execute() touches is laid out once (hal/rows.h). Binding and set_var only mark it stale.
struct Instance::State {
  struct Slot {
    std::size_t size_bytes = 0;
    void* own = nullptr;                // the instance's memory for an input or output
    std::shared_ptr<const void> owner;  // of what is bound
  };
  struct Carry {
    std::uint32_t output = 0;  // plan buffers
    std::uint32_t input = 0;
    bool is_due = false;                   // they trade places before the next execute
    std::vector<std::uint32_t> addresses;  // of either, in the rows
  };
  // An input that no kernel reads, as it is given: in memory of its own, unless another is bound.
  struct Fixed {
    const FixedInput* input = nullptr;
    std::string own;
    const void* address = nullptr;
    std::shared_ptr<const void> owner;  // of what is bound
  };

  std::shared_ptr<const LoadedPlan> plan;
  std::shared_ptr<const FixedInputs> fixed_inputs;  // what `fixed` refers to
  std::vector<Fixed> fixed;
  Buffer arena;
  std::vector<Buffer> owned;                  // inputs and outputs
  std::vector<Slot> slots;                    // one a plan buffer
  std::vector<std::int64_t> values;           // one a plan variable
  std::vector<std::int64_t> executed_values;  // of the last execute
  std::optional<Rows> rows;                   // always there; their memory is where the slots' buffers are
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
  absl::Status bind(std::string_view name, v1::PlanBuffer::Kind kind, void* data, std::size_t size_bytes,
                    std::shared_ptr<const void> owner);
  void add_fixed(std::shared_ptr<const FixedInputs> inputs);
  Fixed* find_fixed(std::string_view name);
  absl::Status bind_fixed(Fixed& fixed, const void* data, std::size_t size_bytes, std::shared_ptr<const void> owner);
  absl::Status check_fixed() const;
  const Carry* carry_of(std::uint32_t buffer) const;
  absl::Status check_carried(const Carry& carry) const;
  void trade_places(Carry& carry);
  absl::Status begin();
  absl::Status refresh();
};

}  // namespace hearth::runtime
