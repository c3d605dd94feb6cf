// LoadedPlan: a plan with its kernels loaded, its parameters bound and its `once` launches done; what all instances of
// it share, in a weight block that processes may share. Immutable; thread-safe. Errors: absl::Status naming the buffer,
// kernel or feature.
//
//   absl::StatusOr<std::shared_ptr<const LoadedPlan>> plan =
//       LoadedPlan::create({.plan = bytes, .artifacts = artifacts, .parameters = {{"w", {w.data(), w_bytes, nullptr}}},
//                           .find = &find_device});   // runtime/devices/devices.h
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/instance.h"
#include "runtime/hal/device.h"
#include "runtime/plan/plan.h"
#include "runtime/weights/bind.h"

namespace hearth::runtime {

struct LoadRequest {
  std::string_view plan;  // serialized v1::Plan
  std::vector<ArtifactSource> artifacts;
  std::map<std::string, ParameterBytes> parameters;
  HostWork host;  // `threads`: for the `once` launches; `subnormals`: for all
  PackingProgress progress = {};
  const Device* device = nullptr;  // null: the one that `find` has for the plan's target, by its name
  absl::StatusOr<const Device*> (*find)(std::string_view name) = nullptr;
};

class LoadedPlan {
 public:
  // `sharing`, when given, is asked for the plan's weights and given what this process makes of them.
  static absl::StatusOr<std::shared_ptr<const LoadedPlan>> create(const LoadRequest& request,
                                                                  WeightSharing* sharing = nullptr);

  const Plan& plan() const { return plan_; }
  const Device& device() const { return *device_; }
  const Executable& executable() const { return *executable_; }
  const std::vector<ValueInfo>& inputs() const { return inputs_; }
  const std::vector<ValueInfo>& outputs() const { return outputs_; }
  const std::vector<VariableInfo>& variables() const { return variables_; }
  const std::vector<BufferInfo>& buffers() const { return buffers_; }  // all, by id

  // Parameters (borrowed or not), constants and what `once` launches made: held once, whatever the instances.
  std::size_t shared_bytes() const;

  Subnormals subnormals() const { return subnormals_; }  // as asked for

  const WeightFacts& weights() const { return weights_->facts(); }

  // A shared buffer (parameter, constant, persistent) as kernels see it; null for what belongs to an instance, and
  // where the device does not reach it, for what only `once` launches read.
  void* shared_address(std::uint32_t buffer) const { return weights_->address(buffer); }
  // As the host reads it, aligned to its element: a copy where need be, which stays.
  absl::StatusOr<const void*> host_address(std::uint32_t buffer) const { return weights_->host_address(buffer); }

 private:
  LoadedPlan() = default;
  void describe_buffers();

  Plan plan_;
  const Device* device_ = nullptr;
  std::unique_ptr<Executable> executable_;
  std::vector<ValueInfo> inputs_, outputs_;
  std::vector<VariableInfo> variables_;
  std::vector<BufferInfo> buffers_;
  Subnormals subnormals_ = Subnormals::kKeep;
  std::unique_ptr<BoundWeights> weights_;
};

// An instance of its own memory; it keeps the plan.
absl::StatusOr<Instance> create_instance(std::shared_ptr<const LoadedPlan> plan, const InstanceConfig& config);

}  // namespace hearth::runtime
