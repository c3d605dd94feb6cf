#include "runtime/hal/gpu/compiled_only.h"

#include "base/kernel_abi.h"
#include "base/text.h"

namespace hearth::runtime {
namespace {

struct Arch {
  const char* name;
  std::uint32_t subgroup;
};

// Of a GPU's kernels: a workgroup of four warps or two waves.
constexpr std::uint32_t kWorkgroup = 128, kMaxInvocations = 1024;

class CompiledOnlyDriver final : public Driver {
 public:
  CompiledOnlyDriver(std::string_view name, std::string_view title, KernelFormat format,
                     std::vector<NamedTarget> targets)
      : name_(name), title_(title), format_(format), targets_(std::move(targets)) {}
  std::string_view name() const override { return name_; }
  std::string_view title() const override { return title_; }
  KernelFormat format() const override { return format_; }
  std::vector<NamedTarget> targets() const override { return targets_; }
  absl::StatusOr<std::vector<DeviceInfo>> devices() const override { return refusal(); }
  absl::StatusOr<const Device*> find(std::string_view) const override { return refusal(); }

 private:
  absl::Status refusal() const {
    return absl::UnimplementedError(
        str_cat("kernels for ", title_, " are compiled (--target ", targets_.front().name,
                ") and not run by this release; on an NVIDIA or AMD GPU use device vulkan"));
  }

  const std::string_view name_, title_;
  const KernelFormat format_;
  const std::vector<NamedTarget> targets_;
};

std::vector<NamedTarget> targets_of(const char* device, const char* triple, std::initializer_list<Arch> archs,
                                    std::uint32_t shared_bytes) {
  std::vector<NamedTarget> targets;
  for (const Arch& arch : archs) {
    NamedTarget& target = targets.emplace_back();
    target.name = str_cat(device, ":", arch.name);
    target.record.set_device(device);
    target.record.set_triple(triple);
    target.record.set_arch(arch.name);
    target.record.set_threads(1);
    target.record.set_abi_version(HEARTH_KERNEL_ABI_VERSION);
    v1::GpuLimits& gpu = *target.record.mutable_gpu();
    gpu.set_subgroup_size(arch.subgroup);
    gpu.set_max_workgroup_invocations(kMaxInvocations);
    gpu.set_workgroup_size(kWorkgroup);
    gpu.set_shared_bytes(shared_bytes);
  }
  return targets;
}

}  // namespace

const Driver& cuda_driver() {
  static const CompiledOnlyDriver& driver = *new CompiledOnlyDriver(
      "cuda", "CUDA", {"ptx", ".ptx"},
      targets_of(
          "cuda", "nvptx64-nvidia-cuda",
          {{"sm_70", 32}, {"sm_75", 32}, {"sm_80", 32}, {"sm_86", 32}, {"sm_89", 32}, {"sm_90", 32}, {"sm_90a", 32}},
          48 << 10));
  return driver;
}

const Driver& hip_driver() {
  static const CompiledOnlyDriver& driver = *new CompiledOnlyDriver("hip", "HIP", {"hsaco", ".hsaco"},
                                                                    targets_of("hip", "amdgcn-amd-amdhsa",
                                                                               {{"gfx90a", 64},
                                                                                {"gfx942", 64},
                                                                                {"gfx1100", 32},
                                                                                {"gfx1101", 32},
                                                                                {"gfx1102", 32},
                                                                                {"gfx1103", 32},
                                                                                {"gfx1200", 32},
                                                                                {"gfx1201", 32},
                                                                                {"gfx11-generic", 32},
                                                                                {"gfx12-generic", 32}},
                                                                               64 << 10));
  return driver;
}

}  // namespace hearth::runtime
