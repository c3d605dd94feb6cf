#include "runtime/hal/vulkan/vulkan_executable.h"

#include <cstring>
#include <map>

#include "base/text.h"
#include "runtime/hal/artifact_bytes.h"
#include "runtime/hal/vulkan/vulkan_program.h"

namespace hearth::runtime {

absl::StatusOr<std::unique_ptr<VulkanExecutable>> VulkanExecutable::load(
    const std::shared_ptr<const VulkanContext>& context, const std::shared_ptr<VulkanMemory>& memory,
    PipelineCache& cache, const Plan& plan, const std::vector<ArtifactSource>& artifacts) {
  const absl::StatusOr<std::vector<const ArtifactSource*>> sources = sources_of(plan, artifacts);
  if (!sources.ok()) return sources.status();
  auto executable = std::make_unique<VulkanExecutable>();
  executable->context_ = context;
  executable->memory_ = memory;
  std::map<std::string_view, std::size_t> known;
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    const PlanKernel& kernel = plan.kernels[i];
    const auto [place, is_new] = known.try_emplace(kernel.artifact, executable->pipelines_.size());
    executable->place_.push_back(place->second);
    if (!is_new) continue;
    const auto failed = [&](const absl::Status& status) {
      return absl::Status(status.code(), str_cat("kernel '", kernel.symbol, "': ", status.message()));
    };
    const absl::StatusOr<ArtifactBytes> code = read_artifact(*(*sources)[i]);
    if (!code.ok()) return failed(code.status());
    absl::StatusOr<VulkanPipeline> pipeline = cache.make_pipeline(code->bytes);
    if (!pipeline.ok()) return failed(pipeline.status());
    context->set_name(VK_OBJECT_TYPE_PIPELINE, reinterpret_cast<std::uint64_t>(pipeline->get()), kernel.symbol);
    executable->pipelines_.push_back(*std::move(pipeline));
  }
  cache.save();
  return executable;
}

absl::StatusOr<std::unique_ptr<Program>> VulkanExecutable::program(Rows& rows, int) const {
  absl::StatusOr<std::unique_ptr<VulkanProgram>> program = VulkanProgram::record(context_, memory_, *this, rows);
  if (!program.ok()) return program.status();
  return std::unique_ptr<Program>(*std::move(program));
}

}  // namespace hearth::runtime
