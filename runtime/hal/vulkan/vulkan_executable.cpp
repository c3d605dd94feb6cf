#include "runtime/hal/vulkan/vulkan_executable.h"

#include "base/status_macros.h"
#include "runtime/hal/gpu/distinct_artifacts.h"
#include "runtime/hal/vulkan/vulkan_program.h"

namespace hearth::runtime {

absl::StatusOr<std::unique_ptr<VulkanExecutable>> VulkanExecutable::load(
    const std::shared_ptr<const VulkanContext>& context, const std::shared_ptr<VulkanMemory>& memory,
    PipelineCache& cache, PipelineTrials& trials, const Plan& plan, const std::vector<ArtifactSource>& artifacts) {
  HEARTH_ASSIGN_OR_RETURN(DistinctArtifacts modules, DistinctArtifacts::read(plan, artifacts));
  auto executable = std::make_unique<VulkanExecutable>();
  executable->context_ = context;
  executable->memory_ = memory;
  executable->place_ = std::move(modules.place);
  trials.run({modules.codes.begin(), modules.codes.end()});
  for (std::size_t i = 0; i < modules.codes.size(); ++i) {
    const std::size_t kernel = modules.first_kernels[i];
    if (absl::Status survived = trials.check(modules.codes[i]); !survived.ok())
      return of_kernel(plan, kernel, survived);
    absl::StatusOr<VulkanPipeline> pipeline = cache.make_pipeline(modules.codes[i]);
    if (!pipeline.ok()) return of_kernel(plan, kernel, pipeline.status());
    context->set_name(VK_OBJECT_TYPE_PIPELINE, reinterpret_cast<std::uint64_t>(pipeline->get()),
                      plan.kernels[kernel].symbol);
    executable->pipelines_.push_back(*std::move(pipeline));
  }
  cache.save();
  return executable;
}

absl::StatusOr<std::unique_ptr<Program>> VulkanExecutable::program(Rows& rows, const HostWork&) const {
  HEARTH_ASSIGN_OR_RETURN(std::unique_ptr<VulkanProgram> program,
                          VulkanProgram::record(context_, memory_, *this, rows));
  return std::unique_ptr<Program>(std::move(program));
}

}  // namespace hearth::runtime
