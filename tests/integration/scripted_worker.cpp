// A hearth-worker with the real compiler, whose clock is scripted: candidates are really run and compared, but the time
// they are said to take is decided by their opts. One that unrolls by 2 an axis which the heuristic leaves alone is
// twice as fast as the heuristic's; one that unrolls such an axis by 4 crashes while it is timed.
#include <signal.h>

#include "daemon/worker/llvm_backend.h"
#include "daemon/worker/worker_loop.h"

namespace {

namespace v1 = hearth::v1;

bool unrolls(const v1::Candidate& candidate, std::uint32_t axis) {
  for (const v1::Opt& opt : candidate.opts()) {
    if (opt.kind() == v1::Opt::UNROLL && opt.axis() == axis) return true;
  }
  return false;
}

bool unrolls_another_by(const v1::TimeSpec& spec, std::int64_t amount) {
  for (const v1::Opt& opt : spec.candidate().opts()) {
    if (opt.kind() == v1::Opt::UNROLL && opt.amount() == amount && !unrolls(spec.baseline(), opt.axis())) return true;
  }
  return false;
}

class ScriptedBackend : public hearth::daemon::LlvmBackend {
 public:
  absl::StatusOr<v1::Timing> time(const v1::TimeSpec& spec, const v1::Target& target) override {
    if (unrolls_another_by(spec, 4)) ::raise(SIGSEGV);
    v1::TimeSpec once = spec;
    once.set_rounds(1);
    absl::StatusOr<v1::Timing> timing = LlvmBackend::time(once, target);
    if (!timing.ok()) return timing;
    timing->clear_baseline_ns();
    timing->clear_candidate_ns();
    timing->clear_gave_up();
    for (std::uint32_t round = 0; round < spec.rounds(); ++round) {
      timing->add_baseline_ns(100);
      timing->add_candidate_ns(unrolls_another_by(spec, 2) ? 50 : 120);
    }
    return timing;
  }
};

}  // namespace

int main(int argc, char** argv) {
  ScriptedBackend backend;
  return hearth::daemon::worker_main(argc, argv, backend);
}
