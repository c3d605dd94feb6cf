// replay_overhead_bench: what execute() costs beyond the kernels' own time, on a plan of ten kernels with one thread.
// The kernels' own time is that of a bare loop over the same functions with addresses looked up before. Run it on a
// quiet machine: HEARTH_SOURCE_DIR=. HEARTH_BIN_DIR=build/release/bin build/release/bin/replay_overhead_bench
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "client/jit/prepared_state.h"
#include "hearth/jit_wrapper.h"
#include "hearth/ops.h"
#include "runtime/hal/host_program.h"
#include "runtime/replay/loaded_plan.h"
#include "tests/integration/live_daemon.h"

namespace {

using namespace hearth;
using namespace hearth::client;

constexpr int kKernels = 10;
constexpr int kRounds = 400;
constexpr int kCalls = 2000;

struct Chain {};

Tensor chain(Tensor x) {
  for (int i = 0; i < kKernels; ++i) x = contiguous(x * 2.0 + static_cast<double>(i));
  return x;
}

HEARTH_JIT_WRAPPER(ChainJit, Chain, (x)) { return chain(x); }
HEARTH_JIT_WRAPPER(RowsJit, Chain, (x), (n, 1, 16)) { return chain(shrink(x, {0, 0}, {n, 16})); }

// The plan's launches on memory of their own, as a program that knows everything would call them.
class BareLoop {
 public:
  explicit BareLoop(const runtime::LoadedPlan& plan)
      : executable_(dynamic_cast<const runtime::HostExecutable&>(plan.executable())) {
    std::vector<void*> addresses;
    for (std::uint32_t i = 0; i < plan.plan().buffers.size(); ++i) {
      void* address = plan.shared_address(i);
      if (address == nullptr) {
        absl::StatusOr<runtime::Buffer> buffer =
            runtime::Buffer::allocate(plan.plan().buffers[i].max_bytes, "a buffer");
        if (!buffer.ok()) throw std::runtime_error(std::string(buffer.status().message()));
        address = buffer->data();
        memory_.push_back(*std::move(buffer));
      }
      addresses.push_back(address);
    }
    for (const runtime::PlanLaunch& launch : plan.plan().launches) {
      if (launch.once) continue;
      Step step{launch.kernel, {}, {}, launch.grid.max()};
      for (std::uint32_t buffer : launch.buffers) step.buffers.push_back(addresses[buffer]);
      for (std::uint32_t var : launch.vars) step.vars.push_back(plan.plan().vars[var].max);
      steps_.push_back(std::move(step));
    }
  }
  std::size_t size() const { return steps_.size(); }
  void run() const {
    for (const Step& step : steps_) {
      executable_.run(step.kernel, step.buffers.data(), step.vars.data(), 0, step.grid);
    }
  }

 private:
  struct Step {
    std::uint32_t kernel;
    std::vector<void*> buffers;
    std::vector<std::int64_t> vars;
    std::int64_t grid;
  };
  const runtime::HostExecutable& executable_;
  std::vector<runtime::Buffer> memory_;
  std::vector<Step> steps_;
};

template <typename F>
double ns_per_call(F&& call) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) call(i);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / kCalls;
}

void check(const absl::Status& status) {
  if (!status.ok()) throw std::runtime_error(std::string(status.message()));
}

template <typename T>
T value(absl::StatusOr<T> result) {
  check(result.status());
  return *std::move(result);
}

// Both in turn, round by round; the median of the differences.
template <typename Jit, typename Execute>
void row(const char* what, Jit& jit, Execute&& execute) {
  const PreparedPlan plan = value(jit.plan());
  const BareLoop bare(loaded_plan(plan));
  std::vector<double> bare_ns, differences;
  for (int round = 0; round < kRounds; ++round) {
    const double own = ns_per_call([&](int) { bare.run(); });
    const double all = ns_per_call([&](int i) { execute(jit, i); });
    bare_ns.push_back(own);
    differences.push_back(all - own);
  }
  std::sort(bare_ns.begin(), bare_ns.end());
  std::sort(differences.begin(), differences.end());
  std::printf("%-44s %8zu %12.1f %12.1f %12.1f  <= 300\n", what, bare.size(), bare_ns[kRounds / 2],
              differences[kRounds / 2], differences[kRounds * 99 / 100]);
}

}  // namespace

int main() {
  try {
    const integration::LiveDaemon daemon;
    const PrepareConfig config = daemon.config();
    const InputSpec spec = InputSpec::f32({16, 16});
    auto chain_jit = value(ChainJit(Chain()).prepare_with_config(spec, config));
    auto rows_jit = value(RowsJit(Chain()).prepare_with_config(spec, config));
    std::printf("%-44s %8s %12s %12s %12s\n", "ns", "kernels", "kernels' own", "over it, p50", "p99");
    row("execute()", chain_jit, [](auto& jit, int) { check(jit.execute()); });
    row("execute_with_vars(), the same value", rows_jit,
        [](auto& jit, int) { check(jit.execute_with_vars({{"n", 16}})); });
    row("execute_with_vars(), another value each time", rows_jit,
        [](auto& jit, int i) { check(jit.execute_with_vars({{"n", 15 + i % 2}})); });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "replay_overhead_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
