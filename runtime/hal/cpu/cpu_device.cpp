#include "runtime/hal/cpu/cpu_device.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_join.h"
#include "base/kernel_abi.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/hal/artifact_bytes.h"
#include "runtime/hal/cpu/artifact_loader.h"
#include "runtime/hal/cpu/cpu_target.h"
#include "runtime/hal/host_program.h"

namespace hearth::runtime {
namespace {

class CpuExecutable : public HostExecutable {
 public:
  void run(std::uint32_t kernel, void* const* buffers, const std::int64_t* vars, std::int64_t begin,
           std::int64_t end) const override {
    functions[kernel](buffers, vars, begin, end);
  }

  std::vector<hearth_kernel_fn> functions;
  std::vector<std::shared_ptr<const CpuArtifact>> artifacts;  // keep the functions loaded
};

}  // namespace

v1::Target CpuDevice::target(int threads) const { return cpu_target(threads); }

absl::StatusOr<Buffer> CpuDevice::allocate(std::size_t size_bytes, std::string_view what, MemoryUse) const {
  return Buffer::allocate(size_bytes, what);
}

absl::Status check_cpu_target(const v1::Target& target) {
  const v1::Target host = cpu_target(1);
  if (target.triple() != host.triple()) {
    return absl::FailedPreconditionError(
        str_cat("the plan was compiled for '", target.triple(), "' and this host is '", host.triple(), "'"));
  }
  if (target.abi_version() != HEARTH_KERNEL_ABI_VERSION) {
    return absl::FailedPreconditionError(str_cat("the plan's kernels use ABI version ", target.abi_version(),
                                                 "; this runtime calls version ", HEARTH_KERNEL_ABI_VERSION,
                                                 "; use a client and a daemon of one release"));
  }
  const std::vector<std::string>& present = host_cpu_features();
  std::vector<std::string> missing;
  for (const std::string& feature : target.features()) {
    if (!std::binary_search(present.begin(), present.end(), feature)) missing.push_back(feature);
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(str_cat(
      "the plan needs CPU features this host lacks: ", absl::StrJoin(missing, ", "), "; prepare it on this host"));
}

absl::StatusOr<std::unique_ptr<Executable>> CpuDevice::load(const Plan& plan,
                                                            const std::vector<ArtifactSource>& artifacts) const {
  HEARTH_RETURN_IF_ERROR(check_cpu_target(plan.target));
  HEARTH_ASSIGN_OR_RETURN(const std::vector<const ArtifactSource*> sources, sources_of(plan, artifacts));
  std::map<std::string, std::shared_ptr<const CpuArtifact>> loaded;
  auto executable = std::make_unique<CpuExecutable>();
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    const PlanKernel& kernel = plan.kernels[i];
    std::shared_ptr<const CpuArtifact>& artifact = loaded[kernel.artifact];
    if (!artifact) {
      absl::StatusOr<std::shared_ptr<const CpuArtifact>> opened = load_cpu_artifact(*sources[i]);
      if (!opened.ok()) {
        return absl::Status(opened.status().code(),
                            str_cat("kernel '", kernel.symbol, "': ", std::string(opened.status().message())));
      }
      artifact = *opened;
      executable->artifacts.push_back(artifact);
    }
    void* function = artifact->symbol(kernel.symbol.c_str());
    if (!function) {
      return absl::NotFoundError(
          str_cat("kernel '", kernel.symbol, "': artifact ", to_hex(kernel.artifact), " exports no such symbol"));
    }
    executable->functions.push_back(reinterpret_cast<hearth_kernel_fn>(function));
  }
  return std::unique_ptr<Executable>(std::move(executable));
}

}  // namespace hearth::runtime
