// A worker whose replies are mutants: those of a compiler that a graph took over. The seed stands in a node's name,
// "kernel:m123", and comes back as the kernel's symbol.
#include <google/protobuf/stubs/logging.h>

#include <cstdlib>

#include "daemon/worker/worker_loop.h"
#include "proto/versions.h"
#include "tests/fuzz/bytes/mutate.h"

namespace {

using namespace hearth;

std::uint64_t seed_of(const std::string& symbol) { return std::strtoull(symbol.c_str() + 1, nullptr, 10); }

class HostileBackend : public daemon::CompilerBackend {
 public:
  absl::StatusOr<v1::LoweredPlan> lower(const v1::WorkerRequest& request) override {
    const std::string symbol = request.lower().nodes(0).name().substr(7);
    fuzz::Random random(seed_of(symbol));
    v1::LoweredPlan lowered;
    lowered.mutable_plan()->set_version(kPlanVersion);
    *lowered.mutable_plan()->mutable_target() = request.target();
    lowered.mutable_plan()->add_kernels()->set_symbol(symbol);
    lowered.mutable_plan()->add_launches()->set_kernel(0);
    lowered.add_kernels()->set_symbol(symbol);
    lowered.mutable_kernels(0)->set_ast("(kernel " + symbol + ")");
    if (!random.one_in(4)) fuzz::mutate_message(lowered, random);
    return lowered;
  }
  absl::StatusOr<v1::CompiledKernel> compile_kernel(const v1::KernelSpec& spec, const v1::Target&,
                                                    const v1::CompileOptions&) override {
    fuzz::Random random(seed_of(spec.symbol()) + 1);
    v1::CompiledKernel kernel;
    kernel.mutable_artifact()->set_format(v1::Artifact::ELF_SO);
    kernel.mutable_artifact()->set_data("artifact");
    if (!random.one_in(4)) fuzz::mutate_message(kernel, random);
    return kernel;
  }
  absl::StatusOr<v1::Candidate> candidate(const v1::CandidateSpec&, const v1::Target&,
                                          const v1::CompileOptions&) override {
    return v1::Candidate();
  }
  absl::StatusOr<v1::Neighbours> neighbours(const v1::NeighboursSpec&, const v1::Target&) override {
    return v1::Neighbours();
  }
  absl::StatusOr<v1::Timing> time(const v1::TimeSpec&, const v1::Target&) override { return v1::Timing(); }
};

}  // namespace

int main(int argc, char** argv) {
  google::protobuf::SetLogHandler(nullptr);  // says once a mutant that a string is no UTF-8
  HostileBackend backend;
  return daemon::worker_main(argc, argv, backend);
}
