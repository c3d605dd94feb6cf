// What an Instance (runtime/replay.h) is made of. Inside runtime/ only.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/buffer.h"
#include "runtime/loaded_plan.h"
#include "runtime/replay.h"
#include "runtime/thread_pool.h"

namespace hearth::runtime {

// Everything execute() touches is laid out here once: per launch a row of addresses, a row of variable values and the
// evaluated grid. Binding and set_var only mark the rows stale.
struct Instance::State {
  struct Slot {
    void* address = nullptr;
    std::size_t size_bytes = 0;
    void* own = nullptr;                // the instance's memory for an input or output
    std::shared_ptr<const void> owner;  // of what is bound
  };
  struct Carry {
    std::uint32_t output = 0;  // plan buffers
    std::uint32_t input = 0;
    bool is_due = false;                   // they trade places before the next execute
    std::vector<std::uint32_t> addresses;  // of either, in `addresses`
  };
  struct Step {
    std::uint32_t launch = 0;
    std::uint32_t kernel = 0;
    std::uint32_t first_address = 0;
    std::uint32_t first_value = 0;
    std::int64_t grid = 0;
  };
  // Steps that are divided between threads together: a parallel region's, or one.
  struct Fork {
    std::uint32_t first_step = 0, end_step = 0;
    std::int64_t min_units_per_thread = 1;
  };
  struct View {
    std::uint32_t buffer = 0;
    std::size_t stride = 0;                // its size in bytes
    std::vector<std::uint32_t> addresses;  // in `addresses`
  };
  struct Loop {
    std::uint32_t first_fork = 0, end_fork = 0;
    std::int64_t count = 1;
    std::vector<View> views;
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
  std::vector<Step> steps;
  std::vector<Fork> forks;                  // of all steps, in their order
  std::vector<Loop> loops;                  // in the order of their forks
  std::vector<std::uint32_t> step_buffers;  // plan buffer of every address
  std::vector<std::uint32_t> step_vars;     // plan variable of every value
  std::vector<void*> addresses;
  std::vector<std::int64_t> step_values;
  std::vector<Carry> carries;
  std::unique_ptr<ThreadPool> pool;  // null: one thread
  bool slots_stale = true;
  bool values_stale = true;
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
  void begin();
  absl::Status refresh();
  void run(const Fork& fork);
  void run_units(const Step& step, std::int64_t begin, std::int64_t end) const;

  // All forks, those of loops again and again.
  template <typename Run>
  void run_all(const Run& run_fork) {
    std::uint32_t next = 0;
    for (const Loop& loop : loops) {
      for (; next < loop.first_fork; ++next) run_fork(forks[next]);
      for (std::int64_t i = 0; i < loop.count; ++i) {
        see_step(loop, i);
        for (next = loop.first_fork; next < loop.end_fork; ++next) run_fork(forks[next]);
      }
    }
    for (; next < forks.size(); ++next) run_fork(forks[next]);
  }
  void add_forks();
  void add_loops();
  absl::Status refresh_loops();
  absl::Status check_seen(std::uint32_t view, const PlanView& of, std::size_t size, std::int64_t count) const;
  void* address_at(const PlanView& view, std::size_t stride, std::int64_t step, std::int64_t count) const;
  void see_step(const Loop& loop, std::int64_t step);
};

}  // namespace hearth::runtime
