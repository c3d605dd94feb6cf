#include "tests/conformance/vulkan/vulkan_runner.h"

namespace hearth::conformance {

absl::Status VulkanRunner::start() {
  absl::StatusOr<WireReader> hello = process_.start();
  if (!hello.ok()) return hello.status();
  const bool has_device = hello->number() == 1;
  device_ = std::string(hello->text());
  if (!has_device) {
    process_.stop();
    return absl::NotFoundError(device_);
  }
  const auto size = [&] { return static_cast<std::uint32_t>(hello->number()); };
  matrices_.set_subgroup_size(size());
  for (const bool of_bytes : {false, true}) {
    v1::CooperativeMatrix matrix;
    matrix.set_m(size()), matrix.set_n(size()), matrix.set_k(size());
    if (matrix.m() == 0) continue;
    *(of_bytes ? matrices_.mutable_cooperative_byte_matrix() : matrices_.mutable_cooperative_matrix()) = matrix;
  }
  return absl::OkStatus();
}

absl::StatusOr<VulkanRunner*> VulkanRunner::get() {
  static VulkanRunner& runner = *new VulkanRunner;
  static const absl::Status started = runner.start();
  if (!started.ok()) return started;
  return &runner;
}

}  // namespace hearth::conformance
