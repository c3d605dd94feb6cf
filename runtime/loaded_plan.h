// LoadedPlan: a plan with its kernels loaded, its parameters bound and its `once` launches done; what all instances of
// it share. Immutable; thread-safe. Errors: absl::Status naming the buffer, kernel or feature.
//
//   absl::StatusOr<std::shared_ptr<const LoadedPlan>> plan =
//       LoadedPlan::create({.plan = bytes, .artifacts = artifacts, .parameters = {{"w", {w.data(), w_bytes,
//       nullptr}}}});
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/buffer.h"
#include "runtime/device.h"
#include "runtime/plan.h"
#include "runtime/replay.h"

namespace hearth::runtime {

// `owner` (may be empty) keeps `data` alive; without one the caller does, as long as the plan lives.
struct ParameterBytes {
  const void* data = nullptr;
  std::size_t size = 0;
  std::shared_ptr<const void> owner;
};

struct LoadRequest {
  std::string_view plan;  // serialized v1::Plan
  std::vector<ArtifactSource> artifacts;
  std::map<std::string, ParameterBytes> parameters;
  int threads = 1;  // for the `once` launches
};

class LoadedPlan {
 public:
  static absl::StatusOr<std::shared_ptr<const LoadedPlan>> create(const LoadRequest& request);

  const Plan& plan() const { return plan_; }
  const Executable& executable() const { return *executable_; }
  const std::vector<ValueInfo>& inputs() const { return inputs_; }
  const std::vector<ValueInfo>& outputs() const { return outputs_; }
  const std::vector<VariableInfo>& variables() const { return variables_; }
  const std::vector<BufferInfo>& buffers() const { return buffers_; }  // all, by id

  // Parameters (borrowed or not), constants and what `once` launches made: held once, whatever the instances.
  std::size_t shared_bytes() const;

  // Address of a shared buffer (parameter, constant, persistent); null for what belongs to an instance.
  void* shared_address(std::uint32_t buffer) const { return addresses_[buffer]; }

 private:
  LoadedPlan() = default;
  absl::Status bind_parameters(const std::map<std::string, ParameterBytes>& parameters);
  absl::Status bind_shared();
  void describe_buffers();
  void run_once_launches(int threads) const;

  Plan plan_;
  std::unique_ptr<Executable> executable_;
  std::vector<ValueInfo> inputs_, outputs_;
  std::vector<VariableInfo> variables_;
  std::vector<BufferInfo> buffers_;
  std::vector<void*> addresses_;
  std::vector<Buffer> copies_;  // constants, and parameters that were not aligned to their element
  std::vector<std::shared_ptr<const void>> owners_;
  Buffer persistent_;
};

}  // namespace hearth::runtime
