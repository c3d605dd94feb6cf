// What a PreparedPlan holds. Inside client/ and for tools.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fork.h"
#include "client/connection/daemon_channel.h"
#include "hearth/prepare.h"
#include "runtime/replay/loaded_plan.h"

namespace hearth::client {

// Keeps a plan's kernels in the daemon's cache.
struct PlanLease {
  const std::shared_ptr<DaemonChannel> channel;
  const std::uint64_t id;
  const std::uint32_t generation = runtime::fork_generation();

  PlanLease(std::shared_ptr<DaemonChannel> of, std::uint64_t lease_id) : channel(std::move(of)), id(lease_id) {}
  PlanLease(const PlanLease&) = delete;
  PlanLease& operator=(const PlanLease&) = delete;
  ~PlanLease() {
    // A forked child has a copy of the plan, but the lease is its parent's.
    if (id != 0 && generation == runtime::fork_generation()) channel->release_lease(id);
  }
};

struct PreparedPlan::State {
  std::shared_ptr<const runtime::LoadedPlan> plan;
  PrepareStats stats;
  std::string device;
  int threads = 1;
  bool keep_intermediates = false;
  bool share_weights = false;
  std::vector<Carried> carried;  // by every instance: carried_by() of the plan, and what an older daemon's does not say
  std::shared_ptr<const FixedInputs> fixed_inputs = std::make_shared<FixedInputs>();
  runtime::LoadRequest source;  // of `plan`: what export_to writes; its `plan` refers to plan_bytes
  std::string plan_bytes;
  CallSignature call;
  std::shared_ptr<DaemonChannel> channel;  // null for a plan from a file
  std::shared_ptr<const PlanLease> lease;  // of all plans that are made of this one

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

// What a plan itself says that its instances carry.
std::vector<Carried> carried_by(const runtime::Plan& plan);

inline const runtime::LoadedPlan& loaded_plan(const PreparedPlan& plan) { return *plan.state().plan; }

}  // namespace hearth::client
