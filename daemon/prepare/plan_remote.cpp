// A PlanBuild beside a cache beyond this node: the plan is asked for first, its kernels where there is none, and what
// was built here is sent.
#include <algorithm>
#include <random>
#include <utility>

#include "daemon/prepare/plan_build.h"
#include "daemon/prepare/remote_tier.h"
#include "daemon/remote/remote_race.h"

namespace hearth::daemon {

void PlanBuild::race_remote() {
  const std::shared_ptr<PlanBuild> self = shared_from_this();
  PlanQuery query{inputs_, target_, options_, client_.uid, model_};
  auto race = std::make_shared<RemoteRace>(RemoteRace::Runner{
      .ask =
          [self, query = std::move(query)](const std::function<void(RemoteOutcome)>& ended) {
            return self->services_.remote->find_plan(query, [self, ended](RemoteFound<FoundPlan> found) {
              if (found.result) self->remote_found(*std::move(found.result));
              ended(found.outcome);
            });
          },
      .work =
          [self](RemoteRace::Reason reason) {
            {
              std::lock_guard lock(self->mutex_);
              if (self->ended_) return;
              self->asks_remote_ = reason != RemoteRace::Reason::kNotAnswered;
            }
            self->lower();
          },
      .post = [executor = services_.executor](std::function<void()> task) { executor->post(std::move(task)); }});
  {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    race_ = race;
  }
  race->begin(services_.remote->head_start());
}

void PlanBuild::remote_found(FoundPlan plan) {
  if (!leave_all()) return;  // what was built here was first
  BuiltPlan built;
  built.plan = std::move(plan.plan);
  built.key = plan.key;
  built.found = true;
  flight_->complete(std::make_shared<const BuiltPlan>(std::move(built)));
}

void PlanBuild::begin_kernels() {
  std::unique_lock lock(mutex_);
  // A kernel that is found at once comes back here: the loop goes on instead.
  if (std::exchange(is_beginning_, true)) return;
  const std::size_t at_once = asks_remote_ ? services_.remote->kernels_at_once() : kernels_.size();
  const auto under_way = [this] { return kernels_.size() - not_begun_.size() - num_ready_ - waiting_.size(); };
  while (!ended_ && !not_begun_.empty() && under_way() < at_once) {
    const std::size_t index = not_begun_.back();
    not_begun_.pop_back();
    lock.unlock();
    find_or_compile(index);
    lock.lock();
  }
  is_beginning_ = false;
}

void PlanBuild::kernel_waits(std::size_t index) {
  {
    std::lock_guard lock(mutex_);
    if (ended_ || kernels_[index] != nullptr) return;
    waiting_.insert(index);
  }
  begin_kernels();  // others meanwhile
}

bool PlanBuild::is_operators() const {
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const BuiltKernel& kernel = *kernels_[i];
    if (kernel.empty) continue;
    const v1::KernelSpec& spec = lowered_.kernels(static_cast<int>(i));
    const bool is_ours = kernel.found ? services_.store->is_operators_kernel(
                                            kernel_key(services_, spec, target_, options_, client_.uid), kernel.kernel)
                                      : is_operator(kernel.user);
    if (!is_ours) return false;
  }
  return true;
}

void PlanBuild::send(const PlanResult& plan) {
  if (!services_.remote->is_writer(client_.uid) || !is_operators()) return;
  services_.remote->send_plan(inputs_, plan, lowered_.tuning_reads());
}

}  // namespace hearth::daemon
