#include "runtime/hal/host_program.h"

#include <algorithm>
#include <chrono>

#include "base/span.h"
#include "runtime/float_mode.h"

namespace hearth::runtime {
namespace {

class HostProgram final : public Program {
 public:
  HostProgram(const HostExecutable& executable, Rows& rows, const HostWork& host)
      : executable_(executable), rows_(rows), subnormals_(host.subnormals) {
    std::int64_t most_parts = 1;
    for (const Rows::Fork& fork : rows.forks) {
      const Expr& grid = rows.plan->launches[rows.steps[fork.first_step].launch].grid;
      most_parts = std::max(most_parts, ThreadPool::num_parts(grid.max(), fork.limit->least(), host.threads));
    }
    if (most_parts > 1) pool_ = std::make_unique<ThreadPool>(static_cast<int>(most_parts), subnormals_);
  }

  absl::Status run() override {
    const FloatModeScope mode(subnormals_);
    rows_.run_all([&](const Rows::Fork& fork) { run(fork); });
    return absl::OkStatus();
  }

  absl::Status run_profiled(Profile& profile) override {
    using Clock = std::chrono::steady_clock;
    const FloatModeScope mode(subnormals_);
    rows_.run_all([&](const Rows::Fork& fork) {
      if (fork.is_conditional && !rows_.runs(fork)) return;
      for (std::uint32_t i = fork.first_step; i < fork.end_step; ++i) {
        const Rows::Step& step = rows_.steps[i];
        const Clock::time_point before = Clock::now();
        run({i, i + 1, step.min_units_per_thread}, records_spans());
        const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - before);
        profile.launches[i].time_ns += static_cast<std::uint64_t>(time.count());
        profile.launches[i].num_ops += step.num_ops;
        ++profile.launches[i].runs;
      }
    });
    return absl::OkStatus();
  }

  absl::Status rows_changed() override { return absl::OkStatus(); }  // they are read anew in every run

 private:
  void run_units(const Rows::Step& step, std::int64_t begin, std::int64_t end) const {
    executable_.run(step.kernel, rows_.addresses.data() + step.first_address, rows_.values.data() + step.first_value,
                    begin, end);
  }

  struct Job {
    const HostProgram& program;
    const Rows::Fork& fork;
  };
  static void run_job(void* context, std::int64_t begin, std::int64_t end) {
    const auto& [program, fork] = *static_cast<const Job*>(context);
    for (std::uint32_t i = fork.first_step; i < fork.end_step; ++i)
      program.run_units(program.rows_.steps[i], begin, end);
  }
  // A thread takes several pieces of a launch; each is a span.
  static void run_job_recorded(void* context, std::int64_t begin, std::int64_t end) {
    const auto& [program, fork] = *static_cast<const Job*>(context);
    const Span span(program.rows_.plan->kernels[program.rows_.steps[fork.first_step].kernel].symbol, "kernel");
    run_job(context, begin, end);
  }

  void run(const Rows::Fork& fork, bool recorded = false) {
    if (fork.is_conditional && !rows_.runs(fork)) return;
    Job job = {*this, fork};
    const auto task = recorded ? run_job_recorded : run_job;
    const std::int64_t units = rows_.steps[fork.first_step].grid;  // of each
    if (units == 0) return;
    if (pool_) {
      pool_->run(units, fork.min_units_per_thread, task, &job);
    } else {
      task(&job, 0, units);
    }
  }

  const HostExecutable& executable_;
  Rows& rows_;
  const Subnormals subnormals_;
  std::unique_ptr<ThreadPool> pool_;  // null: one thread
};

}  // namespace

absl::StatusOr<std::unique_ptr<Program>> HostExecutable::program(Rows& rows, const HostWork& host) const {
  return std::unique_ptr<Program>(std::make_unique<HostProgram>(*this, rows, host));
}

}  // namespace hearth::runtime
