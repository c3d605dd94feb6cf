// LoadedPlan: a plan with its kernels loaded, its parameters bound and its `once` launches done; what all instances of
// it share, in a weight block that processes may share. Immutable; thread-safe. Errors: absl::Status naming the buffer,
// kernel or feature.
//
//   absl::StatusOr<std::shared_ptr<const LoadedPlan>> plan =
//       LoadedPlan::create({.plan = bytes, .artifacts = artifacts, .parameters = {{"w", {w.data(), w_bytes, nullptr}}}});
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/instance.h"
#include "runtime/hal/device.h"
#include "runtime/memory/buffer.h"
#include "runtime/plan/plan.h"
#include "runtime/weights/weight_block.h"
#include "runtime/weights/weight_layout.h"
#include "runtime/weights/weight_sharing.h"

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
  int threads = 1;                 // for the `once` launches
  const Device* device = nullptr;  // null: the one that the plan's target names
};

// How a plan came by what its instances share.
struct WeightFacts {
  std::size_t block_bytes = 0;      // what `once` launches make, large constants, copies of parameters
  bool shared = false;              // the block is in memory that other processes may map, too
  bool found = false;               // another process made it; on a device of its own memory, another plan of this one
  std::uint32_t once_launches = 0;  // run by this plan
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

  const WeightFacts& weights() const { return weights_; }

  // A shared buffer (parameter, constant, persistent) as kernels see it; null for what belongs to an instance, and
  // where the device does not reach it, for what only `once` launches read.
  void* shared_address(std::uint32_t buffer) const { return addresses_[buffer]; }
  // As the host reads it, aligned to its element: a copy where need be, which stays.
  absl::StatusOr<const void*> host_address(std::uint32_t buffer) const;

 private:
  LoadedPlan() = default;
  absl::Status bind_parameters(const std::map<std::string, ParameterBytes>& parameters);
  absl::Status bind_block(int threads, WeightSharing* sharing);
  WeightOffer ask(WeightSharing& sharing) const;
  std::vector<Digest> identities() const;
  absl::StatusOr<WeightBlock> private_block() const;
  absl::Status copy_to_memory(bool block_too);
  absl::Status copy_into(const Buffer* to, std::size_t offset, void* host, std::string_view bytes) const;
  absl::Status run_once_launches(int threads);
  absl::Status run_once(Rows& rows, int threads) const;
  ParameterFit fit_of(std::uint32_t buffer) const;
  absl::StatusOr<Buffer> copy_for_kernels(std::uint32_t buffer) const;
  absl::StatusOr<Buffer> copy_for_host(std::uint32_t buffer) const;
  void release_pages(std::uint32_t buffer) const;
  void describe_buffers();

  Plan plan_;
  const Device* device_ = nullptr;
  std::unique_ptr<Executable> executable_;
  std::vector<ValueInfo> inputs_, outputs_;
  std::vector<VariableInfo> variables_;
  std::vector<BufferInfo> buffers_;
  std::vector<void*> addresses_;
  std::vector<std::string_view> given_;  // parameters' bytes as the caller has them, by buffer
  std::vector<std::shared_ptr<const void>> owners_;
  WeightLayout layout_;
  // This plan's own; on a device with memory of its own, that of all plans which have the same.
  std::shared_ptr<WeightBlock> block_;
  std::shared_ptr<const void> hold_;  // keeps the block for other processes
  WeightFacts weights_;
  mutable std::mutex copies_mutex_;
  // Small constants and copies of parameters; also copies that tools asked for.
  mutable std::map<std::uint32_t, Buffer> copies_;
};

// An instance of its own memory; it keeps the plan.
absl::StatusOr<Instance> create_instance(std::shared_ptr<const LoadedPlan> plan, const InstanceConfig& config);

}  // namespace hearth::runtime
