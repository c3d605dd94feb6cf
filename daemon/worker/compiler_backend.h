// CompilerBackend: what hearth-worker needs of a compiler; the seam that lets tests run the loop without LLVM.
// Used by one thread. Errors go to the daemon's caller as they are; INVALID_ARGUMENT names the node and the reason.
//   absl::StatusOr<v1::LoweredPlan> plan = backend.lower(request);
#pragma once
#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "hearth/v1/artifact.pb.h"
#include "hearth/v1/graph.pb.h"
#include "hearth/v1/tuning.pb.h"
#include "hearth/v1/worker.pb.h"

namespace hearth::daemon {

// The limits of the programs that a worker of the blob class starts.
struct ProgramLimits {
  std::string folder;  // private; all they write is below it
  std::chrono::milliseconds wall_limit{900'000};
  std::uint64_t memory_bytes = 8ull << 30;
  std::uint64_t output_bytes = 1ull << 30;
};

class CompilerBackend {
 public:
  virtual ~CompilerBackend() = default;
  // The graph of a `lower` request, with its target, options, tuning records and blob libraries.
  virtual absl::StatusOr<v1::LoweredPlan> lower(const v1::WorkerRequest& request) = 0;
  virtual absl::StatusOr<v1::CompiledKernel> compile_kernel(const v1::KernelSpec& spec, const v1::Target& target,
                                                            const v1::CompileOptions& options) = 0;
  // The tuner's; compiler/candidate.h and kernel_timer.h say what they mean.
  virtual absl::StatusOr<v1::Candidate> candidate(const v1::CandidateSpec& spec, const v1::Target& target,
                                                  const v1::CompileOptions& options) = 0;
  virtual absl::StatusOr<v1::Neighbours> neighbours(const v1::NeighboursSpec& spec, const v1::Target& target) = 0;
  virtual absl::StatusOr<v1::Timing> time(const v1::TimeSpec& spec, const v1::Target& target) = 0;
  // Only a backend of the blob class has these, and starts programs.
  virtual bool starts_programs() const { return false; }
  virtual absl::StatusOr<v1::CompiledBlob> compile_blob(const v1::BlobSpec& spec, const ProgramLimits& limits) {
    return absl::UnimplementedError("this worker compiles no blobs");
  }
  virtual absl::StatusOr<v1::Artifact> assemble(const v1::AssembleSpec& spec, const ProgramLimits& limits) {
    return absl::UnimplementedError("this worker assembles nothing");
  }
  virtual absl::StatusOr<v1::ToolchainInfo> find_toolchain(const v1::ToolchainQuery& query,
                                                           const ProgramLimits& limits) {
    return absl::UnimplementedError("this worker compiles no blobs");
  }
};

}  // namespace hearth::daemon
