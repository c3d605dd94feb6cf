#include "client/cli/candidate_timer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/status_macros.h"
#include "base/text.h"
#include "proto/sample_values.h"
#include "proto/versions.h"
#include "runtime/replay/loaded_plan.h"

namespace hearth::cli {
namespace {

constexpr std::uint64_t kMaxBytes = 2ull << 30;
constexpr double kRoundNs = 20'000'000;  // of one candidate
constexpr int kMostReplays = 50;         // of a round
constexpr std::uint32_t kMostRounds = 64;
constexpr const char* kResult = "result";

std::string input_name(int buffer) { return str_cat("in", buffer); }

void set_constant(v1::Expr& expr, std::int64_t value) {
  v1::ExprToken& token = *expr.add_tokens();
  token.set_kind(v1::ExprToken::CONST);
  token.set_value(value);
}

std::uint64_t element_bytes(v1::DType dtype) {
  return std::max<std::uint64_t>(1, dtype_bytes(static_cast<DType>(dtype)));
}

// A plan of the candidate's launches alone: its params are inputs, its result an output.
absl::StatusOr<v1::Plan> plan_of(const v1::Candidate& candidate, const v1::Target& target) {
  if (candidate.buffers_size() != static_cast<int>(candidate.num_params()) || candidate.num_params() < 1)
    return absl::UnimplementedError("a candidate with packed copies, which GPUs have none of");
  v1::Plan plan;
  plan.set_version(kPlanVersion);
  *plan.mutable_target() = target;
  std::uint64_t total = 0;
  for (int i = 0; i < candidate.buffers_size(); ++i) {
    const v1::Candidate::Buffer& from = candidate.buffers(i);
    v1::PlanBuffer& buffer = *plan.add_buffers();
    buffer.set_kind(i == 0 ? v1::PlanBuffer::OUTPUT : v1::PlanBuffer::INPUT);
    buffer.set_name(i == 0 ? kResult : input_name(i));
    buffer.set_dtype(from.dtype());
    set_constant(*buffer.add_shape(), static_cast<std::int64_t>(from.bytes() / element_bytes(from.dtype())));
    buffer.set_max_bytes(from.bytes());
    total += std::min(from.bytes(), kMaxBytes);
  }
  if (total > kMaxBytes)
    return absl::ResourceExhaustedError(
        str_cat("timing would take ", total >> 20, " MiB of buffers; at most ", kMaxBytes >> 20, " MiB are used"));
  for (const v1::Candidate::Launch& from : candidate.launches()) {
    v1::Launch& launch = *plan.add_launches();
    launch.set_kernel(static_cast<std::uint32_t>(plan.kernels_size()));
    v1::PlanKernel& kernel = *plan.add_kernels();
    kernel.set_symbol(from.symbol());
    kernel.set_artifact(to_bytes(sha256(from.artifact())));
    kernel.set_num_ops(1);
    kernel.set_workgroup_size(from.workgroup_size());
    kernel.set_unit_is_workgroup(from.unit_is_workgroup());
    *launch.mutable_buffers() = from.buffers();
    launch.set_min_units_per_thread(1);
    set_constant(*launch.mutable_grid(), static_cast<std::int64_t>(from.grid()));
    for (const std::int64_t value : from.vars()) {
      launch.add_vars(static_cast<std::uint32_t>(plan.vars_size()));
      v1::Variable& variable = *plan.add_vars();
      variable.set_name(str_cat("v", plan.vars_size()));
      variable.set_min(value), variable.set_max(value);
    }
  }
  return plan;
}

// The time of one run on the device's own clock.
absl::StatusOr<double> run_ns(runtime::Instance& instance) {
  HEARTH_ASSIGN_OR_RETURN(const runtime::Profile profile, instance.execute_profiled());
  double sum = 0;
  for (const runtime::LaunchTime& launch : profile.launches) sum += static_cast<double>(launch.time_ns);
  return std::max(1.0, sum);
}

// The least of as many runs as a round has time for.
absl::StatusOr<double> round_ns(runtime::Instance& instance, double estimate_ns) {
  const int replays = static_cast<int>(std::clamp(kRoundNs / estimate_ns, 1.0, double{kMostReplays}));
  double least = INFINITY;
  for (int i = 0; i < replays; ++i) {
    HEARTH_ASSIGN_OR_RETURN(const double time, run_ns(instance));
    least = std::min(least, time);
  }
  return least;
}

absl::StatusOr<ConstBytes> result_of(runtime::Instance& instance) {
  HEARTH_ASSIGN_OR_RETURN(const runtime::ConstView view, instance.output(kResult));
  return ConstBytes(static_cast<const unsigned char*>(view.data), view.size_bytes);
}

}  // namespace

absl::StatusOr<CandidateTimer::Loaded> CandidateTimer::loaded(const v1::Candidate& candidate) {
  const Digest digest = sha256(candidate.SerializeAsString());
  for (const auto& [known, instance] : kept_) {
    if (known == digest) return instance;
  }
  HEARTH_ASSIGN_OR_RETURN(const v1::Plan plan, plan_of(candidate, target_));
  const std::string bytes = plan.SerializeAsString();
  runtime::LoadRequest request;
  request.plan = bytes;
  request.device = device_;
  for (const v1::Candidate::Launch& launch : candidate.launches())
    request.artifacts.push_back({to_bytes(sha256(launch.artifact())), "", launch.artifact()});
  HEARTH_ASSIGN_OR_RETURN(const std::shared_ptr<const runtime::LoadedPlan> made, runtime::LoadedPlan::create(request));
  HEARTH_ASSIGN_OR_RETURN(runtime::Instance instance, runtime::create_instance(made, {}));
  for (int i = 1; i < candidate.buffers_size(); ++i) {
    HEARTH_ASSIGN_OR_RETURN(const runtime::MutableView input, instance.input(input_name(i)));
    fill_sample(candidate.buffers(i).dtype(), {static_cast<unsigned char*>(input.data), input.size_bytes},
                static_cast<std::uint64_t>(i));
  }
  if (kept_.size() >= kKept) kept_.erase(kept_.begin() + 1);  // the first is the heuristic's
  kept_.emplace_back(digest, std::make_shared<runtime::Instance>(std::move(instance)));
  return kept_.back().second;
}

absl::StatusOr<v1::Timing> CandidateTimer::time(const v1::TimeSpec& spec) {
  if (!kept_.empty() && kept_.front().first != sha256(spec.baseline().SerializeAsString())) kept_.clear();
  HEARTH_ASSIGN_OR_RETURN(const Loaded baseline, loaded(spec.baseline()));
  HEARTH_ASSIGN_OR_RETURN(const Loaded candidate, loaded(spec.candidate()));
  v1::Timing timing;
  HEARTH_ASSIGN_OR_RETURN(const double baseline_ns, run_ns(*baseline));
  HEARTH_ASSIGN_OR_RETURN(const double candidate_ns, run_ns(*candidate));
  HEARTH_ASSIGN_OR_RETURN(const ConstBytes wanted, result_of(*baseline));
  HEARTH_ASSIGN_OR_RETURN(const ConstBytes got, result_of(*candidate));
  timing.set_difference(difference(spec.baseline().buffers(0).dtype(), wanted, got));
  if (!timing.difference().empty()) return timing;
  for (std::uint32_t round = 0; round < std::clamp(spec.rounds(), 1u, kMostRounds); ++round) {
    HEARTH_ASSIGN_OR_RETURN(const double before, round_ns(*baseline, baseline_ns));
    HEARTH_ASSIGN_OR_RETURN(const double after, round_ns(*candidate, candidate_ns));
    timing.add_baseline_ns(before);
    timing.add_candidate_ns(after);
    if (round == 0 && spec.give_up_ratio() > 0 && after > spec.give_up_ratio() * before) {
      timing.set_gave_up(true);
      break;
    }
  }
  return timing;
}

v1::TimingAnswer CandidateTimer::answer(const v1::TimingTask& task) {
  v1::TimingAnswer answer;
  answer.set_id(task.id());
  absl::StatusOr<v1::Timing> timing = time(task.spec());
  if (timing.ok()) {
    *answer.mutable_timing() = *std::move(timing);
  } else {
    answer.set_error(std::string(timing.status().message()));
  }
  return answer;
}

}  // namespace hearth::cli
