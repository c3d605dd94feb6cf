// hearth-worker: the compiler library behind the worker loop. The only program of the daemon that links LLVM.
#include "compiler/compile.h"
#include "daemon/worker/worker_loop.h"

namespace {

class LlvmBackend : public hearth::daemon::CompilerBackend {
 public:
  absl::StatusOr<hearth::v1::LoweredPlan> lower(const hearth::v1::Graph& graph, const hearth::v1::Target& target,
                                                const hearth::v1::CompileOptions& options) override {
    return hearth::compiler::lower(graph, target, options);
  }
  absl::StatusOr<hearth::v1::CompiledKernel> compile_kernel(const hearth::v1::KernelSpec& spec,
                                                            const hearth::v1::Target& target,
                                                            const hearth::v1::CompileOptions& options) override {
    return hearth::compiler::compile_kernel(spec, target, options);
  }
};

}  // namespace

int main(int argc, char** argv) {
  LlvmBackend backend;
  return hearth::daemon::worker_main(argc, argv, backend);
}
