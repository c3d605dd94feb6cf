// Plans of saxpy on a device of any kind, and whether an instance of one is right.
#pragma once
#include <memory>
#include <string>

#include "runtime/replay/loaded_plan.h"
#include "tests/unit/runtime/kernel_factory.h"

namespace hearth::runtime {

using testing::SaxpyPlan;

inline constexpr float kSaxpyScale = 3;

inline absl::StatusOr<std::shared_ptr<const LoadedPlan>> load_saxpy(const Device& device, const SaxpyPlan& made) {
  const std::string bytes = made.plan.SerializeAsString();
  LoadRequest request;
  request.device = &device;
  request.plan = bytes;
  request.artifacts = made.artifacts;
  request.parameters["a"] = {&kSaxpyScale, sizeof kSaxpyScale, nullptr};
  return LoadedPlan::create(request);
}

inline SaxpyPlan plan_of(int launches) { return testing::saxpy_plan(256, true, launches); }

// `bound_x`: the memory of the caller that the input x is bound to.
inline bool is_right(Instance& instance, std::int64_t n, float* bound_x = nullptr) {
  auto* x = bound_x ? bound_x : static_cast<float*>(instance.input("x")->data);
  auto* y = static_cast<float*>(instance.input("y")->data);
  for (std::int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(i), y[i] = 1;
  if (!instance.execute().ok()) return false;
  const auto out = instance.output("out");
  for (std::int64_t i = 0; i < n; ++i) {
    if (static_cast<const float*>(out->data)[i] != kSaxpyScale * static_cast<float>(i) + 1) return false;
  }
  return true;
}

}  // namespace hearth::runtime
