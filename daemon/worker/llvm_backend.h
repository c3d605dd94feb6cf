// LlvmBackend: the compiler library behind the worker loop. Tests derive from it to script what timing finds.
#pragma once
#include "base/status_macros.h"
#include "compiler/candidate.h"
#include "compiler/compile.h"
#include "daemon/worker/compiler_backend.h"
#include "daemon/worker/kernel_timer.h"

namespace hearth::daemon {

class LlvmBackend : public CompilerBackend {
 public:
  absl::StatusOr<v1::LoweredPlan> lower(const v1::WorkerRequest& request) override {
    compiler::BlobLibraries libraries;
    for (const v1::BlobLibraryRef& ref : request.blob_libraries()) {
      HEARTH_ASSIGN_OR_RETURN(auto library, blobs::load_library(ref.folder(), ref.digest()));
      libraries.push_back(std::move(library));
    }
    return compiler::lower(request.lower(), request.target(), request.options(), request.records(), libraries);
  }
  absl::StatusOr<v1::CompiledKernel> compile_kernel(const v1::KernelSpec& spec, const v1::Target& target,
                                                    const v1::CompileOptions& options) override {
    return compiler::compile_kernel(spec, target, options);
  }
  absl::StatusOr<v1::Candidate> candidate(const v1::CandidateSpec& spec, const v1::Target& target,
                                          const v1::CompileOptions& options) override {
    return compiler::candidate(spec, target, options);
  }
  absl::StatusOr<v1::Neighbours> neighbours(const v1::NeighboursSpec& spec, const v1::Target& target) override {
    return compiler::neighbours(spec, target);
  }
  absl::StatusOr<v1::Timing> time(const v1::TimeSpec& spec, const v1::Target& target) override {
    return time_candidates(spec, target);
  }
};

}  // namespace hearth::daemon
