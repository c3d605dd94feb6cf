#include "runtime/hal/gpu/check_target.h"

#include <algorithm>
#include <tuple>

#include "base/kernel_abi.h"
#include "base/text.h"

namespace hearth::runtime {

absl::Status check_gpu_target(const v1::Target& target, const DeviceInfo& info) {
  const auto refuse = [&](const auto&... reason) {
    return absl::FailedPreconditionError(
        str_cat("the plan was compiled for ", reason..., "; prepare it for device '", info.device, "'"));
  };
  const v1::Target& own = info.target;
  if (target.device() != own.device()) return refuse("device '", target.device(), "' and this is ", info.name);
  if (target.abi_version() != HEARTH_KERNEL_ABI_VERSION) {
    return absl::FailedPreconditionError(str_cat("the plan's kernels use ABI version ", target.abi_version(),
                                                 "; this runtime calls version ", HEARTH_KERNEL_ABI_VERSION,
                                                 "; use a client and a daemon of one release"));
  }
  std::string missing;
  for (const std::string& feature : target.features()) {
    if (std::ranges::find(own.features(), feature) == own.features().end())
      str_append(&missing, missing.empty() ? "" : ", ", feature);
  }
  if (!missing.empty()) return refuse("a device with ", missing, ", which ", info.name, " lacks");
  if (target.gpu().workgroup_size() > own.gpu().max_workgroup_invocations()) {
    return refuse("workgroups of ", target.gpu().workgroup_size(), " invocations, and ", info.name, " has at most ",
                  own.gpu().max_workgroup_invocations());
  }
  if (const auto& wanted = target.gpu(); wanted.has_cooperative_matrix()) {
    const auto sizes = [](const v1::CooperativeMatrix& of) { return std::tuple(of.m(), of.n(), of.k()); };
    const v1::CooperativeMatrix &matrix = wanted.cooperative_matrix(), &ours = own.gpu().cooperative_matrix();
    const bool is_same = sizes(matrix) == sizes(ours) &&
                         (!wanted.has_cooperative_byte_matrix() ||
                          sizes(wanted.cooperative_byte_matrix()) == sizes(own.gpu().cooperative_byte_matrix()));
    if (!is_same || wanted.subgroup_size() != own.gpu().subgroup_size()) {
      return refuse("subgroups of ", wanted.subgroup_size(), " invocations that multiply matrices of ", matrix.m(),
                    " x ", matrix.n(), " x ", matrix.k(), ", and ", info.name, " has subgroups of ",
                    own.gpu().subgroup_size(), " for ", ours.m(), " x ", ours.n(), " x ", ours.k());
    }
  }
  const std::uint64_t rounds = own.gpu().max_loop_rounds();
  if (rounds > 0 && (target.gpu().max_loop_rounds() == 0 || target.gpu().max_loop_rounds() > rounds)) {
    return refuse("loops of any number of rounds, and ", info.name, " ends those of an invocation after ", rounds);
  }
  return absl::OkStatus();
}

}  // namespace hearth::runtime
