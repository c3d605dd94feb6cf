// BlobBackend: blobs/tools behind the worker loop, for hearth-blob-worker, which starts programs. Compiles no graphs and no
// kernels.
//   BlobBackend backend;
//   return worker_main(argc, argv, backend);
#pragma once
#include "daemon/worker/compiler_backend.h"

namespace hearth::daemon {

class BlobBackend : public CompilerBackend {
 public:
  absl::StatusOr<v1::LoweredPlan> lower(const v1::WorkerRequest&) override { return not_here(); }
  absl::StatusOr<v1::CompiledKernel> compile_kernel(const v1::KernelSpec&, const v1::Target&,
                                                    const v1::CompileOptions&) override {
    return not_here();
  }
  absl::StatusOr<v1::Candidate> candidate(const v1::CandidateSpec&, const v1::Target&,
                                          const v1::CompileOptions&) override {
    return not_here();
  }
  absl::StatusOr<v1::Neighbours> neighbours(const v1::NeighboursSpec&, const v1::Target&) override {
    return not_here();
  }
  absl::StatusOr<v1::Timing> time(const v1::TimeSpec&, const v1::Target&) override { return not_here(); }

  bool starts_programs() const override { return true; }
  absl::StatusOr<v1::CompiledBlob> compile_blob(const v1::BlobSpec& spec, const ProgramLimits& limits) override;
  absl::StatusOr<v1::Artifact> assemble(const v1::AssembleSpec& spec, const ProgramLimits& limits) override;
  absl::StatusOr<v1::ToolchainInfo> find_toolchain(const v1::ToolchainQuery& query,
                                                   const ProgramLimits& limits) override;

 private:
  static absl::Status not_here() { return absl::UnimplementedError("this worker compiles blobs only"); }
};

}  // namespace hearth::daemon
