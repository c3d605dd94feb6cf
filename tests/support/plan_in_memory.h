// A plan and its kernels, compiled in this process, as LoadedPlan takes them; the request borrows from it.
#pragma once
#include <string>
#include <vector>

#include "base/sha256.h"
#include "compiler/compile.h"
#include "runtime/replay/loaded_plan.h"

namespace hearth::test {

struct PlanInMemory {
  std::string plan;
  std::vector<runtime::ArtifactSource> artifacts;

  // Without parameters, and without a device or a way to find one.
  runtime::LoadRequest request() const {
    runtime::LoadRequest request;
    request.plan = plan;
    request.artifacts = artifacts;
    return request;
  }
};

// `compiled`: the artifact of every kernel of the plan.
inline PlanInMemory plan_in_memory(v1::Plan plan, const std::vector<std::string>& compiled) {
  PlanInMemory made;
  for (int k = 0; k < plan.kernels_size(); ++k) {
    const std::string& bytes = compiled.at(static_cast<std::size_t>(k));
    plan.mutable_kernels(k)->set_artifact(to_bytes(sha256(bytes)));
    made.artifacts.push_back({plan.kernels(k).artifact(), "", bytes});
  }
  made.plan = plan.SerializeAsString();
  return made;
}

inline absl::StatusOr<PlanInMemory> plan_in_memory(const v1::LoweredPlan& lowered, const v1::Target& target,
                                                   const v1::CompileOptions& options) {
  std::vector<std::string> compiled;
  for (const v1::KernelSpec& spec : lowered.kernels()) {
    const absl::StatusOr<v1::CompiledKernel> kernel = compiler::compile_kernel(spec, target, options);
    if (!kernel.ok()) return kernel.status();
    compiled.push_back(kernel->artifact().data());
  }
  return plan_in_memory(lowered.plan(), compiled);
}

}  // namespace hearth::test
