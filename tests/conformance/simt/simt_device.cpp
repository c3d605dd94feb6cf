#include "tests/conformance/simt/simt_device.h"

#include "base/kernel_abi.h"
#include "runtime/devices/named_target.h"
#include "runtime/hal/artifact_bytes.h"
#include "runtime/hal/cpu/artifact_loader.h"
#include "runtime/hal/cpu/cpu_target.h"
#include "runtime/hal/host_program.h"

namespace hearth::conformance {
namespace {

constexpr std::int64_t kInvocations = 67;  // of which no grid is a multiple

class SimtExecutable final : public runtime::HostExecutable {
 public:
  struct Kernel {
    std::shared_ptr<const runtime::CpuArtifact> artifact;
    hearth_simt_fn function = nullptr;
    std::size_t num_buffers = 0, num_vars = 0;
  };
  std::vector<Kernel> kernels;

  void run(std::uint32_t kernel, void* const* buffers, const std::int64_t* vars, std::int64_t begin,
           std::int64_t end) const override {
    const Kernel& k = kernels[kernel];
    std::vector<std::uint64_t> row = {static_cast<std::uint64_t>(end - begin)};
    for (std::size_t i = 0; i < k.num_buffers; ++i) row.push_back(reinterpret_cast<std::uint64_t>(buffers[i]));
    row.insert(row.end(), vars, vars + k.num_vars);
    for (const std::int64_t first : {1, 0}) {
      for (std::int64_t i = first; i < kInvocations; i += 2) k.function(row.data(), i, kInvocations);
    }
  }
};

class SimtDevice final : public runtime::Device {
 public:
  std::string_view name() const override { return "simt"; }
  v1::Target target(int) const override {
    v1::Target target = *runtime::named_target("cuda:sm_90a");
    const v1::Target host = runtime::cpu_target(1);
    target.set_triple(host.triple());
    *target.mutable_features() = host.features();
    return target;
  }
  bool reaches_host_memory() const override { return true; }
  absl::StatusOr<runtime::Buffer> allocate(std::size_t size_bytes, std::string_view what,
                                           runtime::MemoryUse) const override {
    return runtime::Buffer::allocate(size_bytes, what);
  }
  absl::StatusOr<std::unique_ptr<runtime::Executable>> load(
      const runtime::Plan& plan, const std::vector<runtime::ArtifactSource>& artifacts) const override {
    const auto sources = runtime::sources_of(plan, artifacts);
    if (!sources.ok()) return sources.status();
    auto executable = std::make_unique<SimtExecutable>();
    for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
      SimtExecutable::Kernel& kernel = executable->kernels.emplace_back();
      auto artifact = runtime::load_cpu_artifact(*(*sources)[i]);
      if (!artifact.ok()) return artifact.status();
      kernel.artifact = *std::move(artifact);
      kernel.function = reinterpret_cast<hearth_simt_fn>(kernel.artifact->symbol(plan.kernels[i].symbol.c_str()));
      if (kernel.function == nullptr) return absl::NotFoundError(plan.kernels[i].symbol);
    }
    for (const runtime::PlanLaunch& launch : plan.launches) {
      executable->kernels[launch.kernel].num_buffers = launch.buffers.size();
      executable->kernels[launch.kernel].num_vars = launch.vars.size();
    }
    return std::unique_ptr<runtime::Executable>(std::move(executable));
  }
};

}  // namespace

const runtime::Device& simt_device() {
  static const SimtDevice device;
  return device;
}

}  // namespace hearth::conformance
