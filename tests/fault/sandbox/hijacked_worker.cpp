// A worker whose compiler is in somebody else's hands: it enters the sandbox as every worker does, then does what the
// request says (attempts.h). A kernel's symbol is the attempt's name, its AST the targets; a blob's stem and glue.
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "daemon/worker/worker_loop.h"
#include "tests/fault/sandbox/attempts.h"

extern char** environ;

namespace {

namespace v1 = hearth::v1;
using hearth::sandbox_test::Attempt;
using hearth::sandbox_test::find_attempt;
using hearth::sandbox_test::Targets;

// What it was given: variables and descriptors.
std::string belongings() {
  std::string text;
  for (char** entry = environ; *entry != nullptr; ++entry) text += std::string("variable ") + *entry + "\n";
  std::error_code error;
  for (int fd = 0; fd < 1024; ++fd) {
    const auto what = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
    if (!error) text += "descriptor " + std::to_string(fd) + " " + what.string() + "\n";
  }
  return text;
}

std::string act(const std::string& name, const std::string& targets) {
  if (name == "belongings") return belongings();
  if (name == "say") {
    std::fputs(targets.c_str(), stderr);
    return "done";
  }
  const Attempt attempt = find_attempt(name);
  return attempt == nullptr ? "there is no such attempt" : attempt(Targets(targets));
}

class HijackedBackend : public hearth::daemon::CompilerBackend {
 public:
  absl::StatusOr<v1::LoweredPlan> lower(const v1::WorkerRequest&) override { return nothing(); }
  absl::StatusOr<v1::CompiledKernel> compile_kernel(const v1::KernelSpec& spec, const v1::Target&,
                                                    const v1::CompileOptions&) override {
    v1::CompiledKernel kernel;
    kernel.mutable_artifact()->set_format(v1::Artifact::NONE);
    kernel.mutable_artifact()->set_data(act(spec.symbol(), spec.ast()));
    return kernel;
  }
  absl::StatusOr<v1::Candidate> candidate(const v1::CandidateSpec&, const v1::Target&,
                                          const v1::CompileOptions&) override {
    return nothing();
  }
  absl::StatusOr<v1::Neighbours> neighbours(const v1::NeighboursSpec&, const v1::Target&) override { return nothing(); }
  absl::StatusOr<v1::Timing> time(const v1::TimeSpec&, const v1::Target&) override { return nothing(); }

 private:
  static absl::Status nothing() { return absl::UnimplementedError("it is hijacked"); }
};

}  // namespace

int main(int argc, char** argv) {
  HijackedBackend backend;
  return hearth::daemon::worker_main(argc, argv, backend);
}
