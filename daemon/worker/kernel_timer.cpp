#include "daemon/worker/kernel_timer.h"

#include <absl/strings/str_cat.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/kernel_abi.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "daemon/worker/idle_core.h"
#include "proto/sample_values.h"
#include "runtime/hal/cpu/artifact_loader.h"
#include "runtime/hal/cpu/cpu_target.h"
#include "runtime/memory/buffer.h"

namespace hearth::daemon {
namespace {

constexpr std::uint64_t kMaxBytes = 2ull << 30;
constexpr double kChunkNs = 20'000;       // of calls between two looks at the clock
constexpr double kBatchNs = 4'000'000;    // of one candidate a round
constexpr double kMaxNs = 8'000'000'000;  // of all rounds
constexpr std::uint32_t kMaxRounds = 64;

// Processor time of this thread.
double now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// The inputs that both candidates read.
using Shared = std::vector<std::shared_ptr<runtime::Buffer>>;

// One candidate, loaded: its result and its packed copies are its own.
class Loaded {
 public:
  static absl::StatusOr<Loaded> load(const v1::Candidate& wire, const Shared& inputs) {
    Loaded loaded;
    if (wire.launches().empty() || wire.buffers_size() < static_cast<int>(inputs.size()))
      return absl::InvalidArgumentError("a candidate without launches or buffers");
    for (int i = 0; i < wire.buffers_size(); ++i) {
      const bool shared = i > 0 && i < static_cast<int>(inputs.size());
      if (!shared) {
        HEARTH_ASSIGN_OR_RETURN(runtime::Buffer own,
                                runtime::Buffer::allocate(wire.buffers(i).bytes(), "a candidate's buffer"));
        loaded.buffers_.push_back(std::make_shared<runtime::Buffer>(std::move(own)));
      } else {
        if (inputs[i]->size_bytes() < wire.buffers(i).bytes())
          return absl::InvalidArgumentError("two candidates with different inputs");
        loaded.buffers_.push_back(inputs[i]);
      }
    }
    for (const v1::Candidate::Launch& launch : wire.launches()) {
      absl::Status added = loaded.add(launch);
      if (!added.ok()) return added;
    }
    loaded.result_bytes_ = wire.buffers(0).bytes();
    loaded.dtype_ = wire.buffers(0).dtype();
    return loaded;
  }

  void prepare() {
    std::memset(buffers_[0]->data(), 0x55, result_bytes_);  // what neither writes is the same
    for (const Step& step : steps_) {
      if (step.once) step.run();
    }
    run();
  }
  void run() const {
    for (const Step& step : steps_) {
      if (!step.once) step.run();
    }
  }
  // One run's time: the least mean of a chunk of calls.
  double time_ns(double estimate_ns) const {
    const int calls = static_cast<int>(std::clamp(kChunkNs / estimate_ns, 1.0, 10'000.0));
    double least = INFINITY;
    const double begin = now_ns();
    double chunk = begin, end = begin;
    do {
      for (int i = 0; i < calls; ++i) run();
      end = now_ns();
      least = std::min(least, (end - chunk) / calls);
      chunk = end;
    } while (end - begin < kBatchNs);
    return least;
  }
  ConstBytes result() const { return {static_cast<const unsigned char*>(buffers_[0]->data()), result_bytes_}; }
  v1::DType dtype() const { return dtype_; }

 private:
  struct Step {
    hearth_kernel_fn entry = nullptr;
    std::vector<void*> addresses;
    std::vector<std::int64_t> vars;
    std::int64_t grid = 0;
    bool once = false;
    void run() const { entry(addresses.data(), vars.data(), 0, grid); }
  };

  absl::Status add(const v1::Candidate::Launch& launch) {
    HEARTH_ASSIGN_OR_RETURN(std::shared_ptr<const runtime::CpuArtifact> artifact,
                            runtime::load_cpu_artifact({to_bytes(sha256(launch.artifact())), "", launch.artifact()}));
    Step step;
    step.entry = reinterpret_cast<hearth_kernel_fn>(artifact->symbol(launch.symbol().c_str()));
    if (step.entry == nullptr) return absl::InternalError(absl::StrCat("no symbol '", launch.symbol(), "'"));
    for (std::uint32_t buffer : launch.buffers()) {
      if (buffer >= buffers_.size()) return absl::InvalidArgumentError("a launch of a buffer that is not there");
      step.addresses.push_back(buffers_[buffer]->data());
    }
    step.vars.assign(launch.vars().begin(), launch.vars().end());
    step.grid = static_cast<std::int64_t>(launch.grid());
    step.once = launch.once();
    steps_.push_back(std::move(step));
    artifacts_.push_back(std::move(artifact));
    return absl::OkStatus();
  }

  std::vector<std::shared_ptr<const runtime::CpuArtifact>> artifacts_;
  std::vector<std::shared_ptr<runtime::Buffer>> buffers_;
  std::vector<Step> steps_;
  std::size_t result_bytes_ = 0;
  v1::DType dtype_ = v1::DTYPE_UNSPECIFIED;
};

absl::StatusOr<Shared> sample_inputs(const v1::TimeSpec& spec) {
  std::uint64_t total = 0;
  for (const v1::Candidate* candidate : {&spec.baseline(), &spec.candidate()}) {
    for (const v1::Candidate::Buffer& buffer : candidate->buffers()) {
      total += std::min(buffer.bytes(), kMaxBytes);
    }
  }
  if (total > kMaxBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("timing would take ", total >> 20, " MiB of buffers; at most ", kMaxBytes >> 20, " MiB are used"));
  }
  const std::uint32_t num_params = spec.baseline().num_params();
  if (num_params < 1 || num_params != spec.candidate().num_params() ||
      num_params > static_cast<std::uint32_t>(spec.baseline().buffers_size()))
    return absl::InvalidArgumentError("candidates of two kernels");
  Shared inputs(num_params);
  for (std::uint32_t i = 1; i < num_params; ++i) {
    const v1::Candidate::Buffer& wire = spec.baseline().buffers(static_cast<int>(i));
    HEARTH_ASSIGN_OR_RETURN(runtime::Buffer buffer, runtime::Buffer::allocate(wire.bytes(), "a candidate's input"));
    inputs[i] = std::make_shared<runtime::Buffer>(std::move(buffer));
    fill_sample(wire.dtype(), {static_cast<unsigned char*>(inputs[i]->data()), wire.bytes()}, i);
  }
  return inputs;
}

absl::Status check_runs_here(const v1::Target& target) {
  const v1::Target host = runtime::cpu_target(1);
  if (target.triple() != host.triple() || target.abi_version() != host.abi_version()) {
    return absl::FailedPreconditionError(
        absl::StrCat("kernels for ", target.triple(), " cannot be timed on ", host.triple()));
  }
  const std::vector<std::string>& has = runtime::host_cpu_features();
  for (const std::string& feature : target.features()) {
    if (std::find(has.begin(), has.end(), feature) == has.end())
      return absl::FailedPreconditionError(absl::StrCat("kernels that use ", feature, " cannot be timed on this CPU"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::Timing> time_candidates(const v1::TimeSpec& spec, const v1::Target& target) {
  HEARTH_RETURN_IF_ERROR(check_runs_here(target));
  HEARTH_ASSIGN_OR_RETURN(Shared inputs, sample_inputs(spec));
  HEARTH_ASSIGN_OR_RETURN(Loaded baseline, Loaded::load(spec.baseline(), inputs));
  HEARTH_ASSIGN_OR_RETURN(Loaded candidate, Loaded::load(spec.candidate(), inputs));
  const PinnedToIdleCore pinned;
  v1::Timing timing;
  baseline.prepare();
  candidate.prepare();
  timing.set_difference(difference(baseline.dtype(), baseline.result(), candidate.result()));
  if (!timing.difference().empty()) return timing;
  auto once = [](const Loaded& loaded) {
    const double begin = now_ns();
    loaded.run();
    return std::max(1.0, now_ns() - begin);
  };
  const double baseline_ns = once(baseline), candidate_ns = once(candidate);
  const double round_ns = std::max(kBatchNs, baseline_ns) + std::max(kBatchNs, candidate_ns);
  const auto most = static_cast<std::uint32_t>(std::clamp(kMaxNs / round_ns, 1.0, double{kMaxRounds}));
  for (std::uint32_t round = 0; round < std::clamp(spec.rounds(), 1u, most); ++round) {
    timing.add_baseline_ns(baseline.time_ns(baseline_ns));
    timing.add_candidate_ns(candidate.time_ns(candidate_ns));
    if (round == 0 && spec.give_up_ratio() > 0 &&
        timing.candidate_ns(0) > spec.give_up_ratio() * timing.baseline_ns(0)) {
      timing.set_gave_up(true);
      break;
    }
  }
  return timing;
}

}  // namespace hearth::daemon
