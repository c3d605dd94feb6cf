// DistinctArtifacts: a plan's kernels' code, each artifact read and checked once, however many kernels it has.
//
//   HEARTH_ASSIGN_OR_RETURN(const DistinctArtifacts code, DistinctArtifacts::read(plan, artifacts));
//   modules[code.place[kernel]]
#pragma once
#include <string>
#include <vector>

#include "runtime/hal/artifact_bytes.h"

namespace hearth::runtime {

struct DistinctArtifacts {
  // NOT_FOUND, DATA_LOSS naming a kernel and its artifact.
  static absl::StatusOr<DistinctArtifacts> read(const Plan& plan, const std::vector<ArtifactSource>& artifacts);

  std::vector<std::string> codes;
  std::vector<std::size_t> first_kernels;  // of each code: the first kernel that has it
  std::vector<std::size_t> place;          // in `codes`, by kernel
};

// `status`, said of a kernel.
absl::Status of_kernel(const Plan& plan, std::size_t kernel, const absl::Status& status);

}  // namespace hearth::runtime
