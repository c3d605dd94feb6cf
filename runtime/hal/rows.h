// Rows: what a replay reads of its plan, laid out once: for each launch a row of addresses, a row of variable values
// and the number of units; which launches are divided between threads together, and which are run again and again. A
// Program (hal/program.h) works on them. Whoever changes `memory` calls place(), whoever changes variables
// set_values(), and the program is told (Program::rows_changed). Used by one thread at a time.
//
//   Rows rows(plan);
//   rows.memory[i] = address;          // of every buffer but views
//   absl::Status fits = rows.set_values(values);
//   rows.place();
#pragma once
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "runtime/plan/plan.h"

namespace hearth::runtime {

struct Rows {
  struct Step {
    std::uint32_t launch = 0;
    std::uint32_t kernel = 0;
    std::uint32_t first_address = 0;
    std::uint32_t first_value = 0;
    std::int64_t grid = 0;
    std::uint64_t num_ops = 0;  // of one run
    std::int64_t min_units_per_thread = 1;
  };
  // Steps that are divided between threads together: a parallel region's, or one.
  struct Fork {
    std::uint32_t first_step = 0, end_step = 0;
    std::int64_t min_units_per_thread = 1;  // for the variables' values
    const ForkLimit* limit = nullptr;       // of the plan
    bool is_conditional = false;            // one launch that is not always run, see runs()
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

  // The rows of all launches that a replay runs. The plan outlives them.
  explicit Rows(const Plan& plan);
  // The rows of one launch alone.
  Rows(const Plan& plan, std::uint32_t launch);

  // One value a plan variable. FAILED_PRECONDITION where a step of a loop would see more than there is.
  absl::Status set_values(const std::vector<std::int64_t>& values);
  // Addresses as `memory` has them; a view's are those of a step, see_step.
  void place();
  void see_step(const Loop& loop, std::int64_t step);

  // Whether a conditional launch is to be run, as the bools in the host's memory say now.
  bool runs(const Fork& fork) const;

  // Calls run(fork) for all forks in their order, those of loops again and again.
  template <typename Run>
  void run_all(const Run& run) {
    std::uint32_t next = 0;
    for (const Loop& loop : loops) {
      for (; next < loop.first_fork; ++next) run(forks[next]);
      for (std::int64_t i = 0; i < loop.count; ++i) {
        see_step(loop, i);
        for (next = loop.first_fork; next < loop.end_fork; ++next) run(forks[next]);
      }
    }
    for (; next < forks.size(); ++next) run(forks[next]);
  }

  // Calls visit(step, runs) for all launches that any values of the variables want, in their order: of a loop's steps
  // beyond its count `runs` is false, and the row is of another step. How often, and for which step, never changes.
  template <typename Visit>
  void for_each_launch(const Visit& visit) {
    const auto visit_all = [&](std::uint32_t first_fork, std::uint32_t end_fork, bool runs) {
      if (first_fork == end_fork) return;
      for (std::uint32_t i = forks[first_fork].first_step; i < forks[end_fork - 1].end_step; ++i) visit(i, runs);
    };
    std::uint32_t next = 0;
    for (std::size_t l = 0; l < loops.size(); ++l) {
      visit_all(next, loops[l].first_fork, true);
      next = loops[l].end_fork;
      for (std::int64_t i = 0; i < plan->loops[l].count.max(); ++i) {
        if (i < loops[l].count) see_step(loops[l], i);
        visit_all(loops[l].first_fork, next, i < loops[l].count);
      }
    }
    visit_all(next, static_cast<std::uint32_t>(forks.size()), true);
  }

  const Plan* plan;
  std::vector<void*> memory;  // one a plan buffer: its address on the device; of views null
  std::vector<Step> steps;
  std::vector<Fork> forks;                  // of all steps, in their order
  std::vector<Loop> loops;                  // in the order of their forks
  std::vector<std::uint32_t> step_buffers;  // plan buffer of every address
  std::vector<std::uint32_t> step_vars;     // plan variable of every value
  std::vector<void*> addresses;
  std::vector<std::int64_t> values;

 private:
  void add_step(std::uint32_t launch);
  void add_forks();
  void add_loops();
  absl::Status check_seen(std::uint32_t view, const PlanView& of, std::size_t size, std::int64_t count,
                          const std::vector<std::int64_t>& values) const;
  void* address_at(const PlanView& view, std::size_t stride, std::int64_t step, std::int64_t count) const;
};

}  // namespace hearth::runtime
