// The compiler, whole: what a worker calls. Pure functions of their arguments: same input, same bytes out, on any host.
// Safe from several threads. Errors: INVALID_ARGUMENT for what is wrong with the graph (node, op, reason),
// UNIMPLEMENTED for what this version does not do, INTERNAL for a bug (pass and node).
#pragma once
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "blobs/library/library.h"
#include "hearth/v1/worker.pb.h"

namespace hearth::compiler {

using TuningRecords = google::protobuf::RepeatedPtrField<v1::TuningRecord>;

using BlobLibraries = std::vector<std::shared_ptr<const blobs::BlobLibrary>>;

// Traced graph -> plan and canonical kernels; compiles nothing. What `libraries` have a blob for becomes that blob: a
// kernel that is not for compile_kernel. `records` (of this target, options and build) decide
// the opts of the kernels they name; one that does not fit costs a warning in the plan.
absl::StatusOr<v1::LoweredPlan> lower(const v1::Graph& graph, const v1::Target& target,
                                      const v1::CompileOptions& options, const TuningRecords& records = {},
                                      const BlobLibraries& libraries = {});

// One canonical kernel -> artifact.
absl::StatusOr<v1::CompiledKernel> compile_kernel(const v1::KernelSpec& kernel, const v1::Target& target,
                                                  const v1::CompileOptions& options);

}  // namespace hearth::compiler
