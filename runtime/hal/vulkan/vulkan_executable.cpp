#include "runtime/hal/vulkan/vulkan_executable.h"

#include <cstring>
#include <map>

#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/hal/artifact_bytes.h"
#include "runtime/hal/vulkan/vulkan_program.h"

namespace hearth::runtime {

absl::StatusOr<std::unique_ptr<VulkanExecutable>> VulkanExecutable::load(
    const std::shared_ptr<const VulkanContext>& context, const std::shared_ptr<VulkanMemory>& memory,
    PipelineCache& cache, PipelineTrials& trials, const Plan& plan, const std::vector<ArtifactSource>& artifacts) {
  HEARTH_ASSIGN_OR_RETURN(const std::vector<const ArtifactSource*> sources, sources_of(plan, artifacts));
  auto executable = std::make_unique<VulkanExecutable>();
  executable->context_ = context;
  executable->memory_ = memory;
  std::map<std::string_view, std::size_t> known;
  std::vector<std::size_t> first_kernels;  // of each artifact
  std::vector<std::string> modules;
  const auto failed = [&](std::size_t kernel, const absl::Status& status) {
    return absl::Status(status.code(), str_cat("kernel '", plan.kernels[kernel].symbol, "': ", status.message()));
  };
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    const auto [place, is_new] = known.try_emplace(plan.kernels[i].artifact, modules.size());
    executable->place_.push_back(place->second);
    if (!is_new) continue;
    absl::StatusOr<ArtifactBytes> code = read_artifact(*sources[i]);
    if (!code.ok()) return failed(i, code.status());
    first_kernels.push_back(i);
    modules.push_back(std::move(code->bytes));
  }
  trials.run({modules.begin(), modules.end()});
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const std::size_t kernel = first_kernels[i];
    if (absl::Status survived = trials.check(modules[i]); !survived.ok()) return failed(kernel, survived);
    absl::StatusOr<VulkanPipeline> pipeline = cache.make_pipeline(modules[i]);
    if (!pipeline.ok()) return failed(kernel, pipeline.status());
    context->set_name(VK_OBJECT_TYPE_PIPELINE, reinterpret_cast<std::uint64_t>(pipeline->get()),
                      plan.kernels[kernel].symbol);
    executable->pipelines_.push_back(*std::move(pipeline));
  }
  cache.save();
  return executable;
}

absl::StatusOr<std::unique_ptr<Program>> VulkanExecutable::program(Rows& rows, int) const {
  HEARTH_ASSIGN_OR_RETURN(std::unique_ptr<VulkanProgram> program,
                          VulkanProgram::record(context_, memory_, *this, rows));
  return std::unique_ptr<Program>(std::move(program));
}

}  // namespace hearth::runtime
