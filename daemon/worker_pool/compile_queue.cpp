#include "daemon/worker_pool/compile_queue.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace hearth::daemon {

namespace {

constexpr std::chrono::seconds kHalfLife{30};
constexpr std::size_t kMaxUsages = 1'024;  // of clients; those that workers did least for are forgotten first

// What callers ask for directly: there is no end to it.
bool is_bounded(const v1::WorkerRequest& request) { return request.has_lower() || request.has_blob(); }

bool is_in(const std::deque<ClientId>& turns, const ClientId& id) {
  return std::find(turns.begin(), turns.end(), id) != turns.end();
}

std::vector<ClientId> clients_of(const CompileJob& job) {
  std::vector<ClientId> all = job.others;
  all.insert(all.begin(), job.client);
  return all;
}

}  // namespace

const CompileQueue::Place* CompileQueue::Client::first_for(WorkerRole role) const {
  for (const Lane* lane : {&kernels, &lowerings}) {
    for (const Place& place : *lane) {
      if (role == WorkerRole::kRegular || !place.job->is_long) return &place;
    }
  }
  return nullptr;
}

CompileQueue::Lane& CompileQueue::lane_of(Client& client, const v1::WorkerRequest& request) {
  if (is_bounded(request)) return client.lowerings;
  const bool is_urgent = request.has_compile() || request.has_toolchain() || request.has_assemble();
  return is_urgent ? client.kernels : client.tuning;
}

absl::Status CompileQueue::push(CompileJob& job) {
  std::lock_guard lock(mutex_);
  if (closed_) return absl::UnavailableError("the daemon is shutting down");
  const ClientId id = job.client;
  if (is_bounded(job.request)) {
    const char* what = job.request.has_blob() ? "blobs" : "graphs";
    if (num_lowerings_ >= max_lowerings_)
      return absl::ResourceExhaustedError(
          absl::StrCat("the compile queue is full (", max_lowerings_, " ", what, " wait)"));
    const auto client = clients_.find(id);
    const std::size_t own = client == clients_.end() ? 0 : client->second.lowerings.size();
    if (own >= std::max<std::size_t>(1, max_lowerings_ / 2)) {
      return absl::ResourceExhaustedError(absl::StrCat("the compile queue has ", own, " ", what, " of ", name_of(id),
                                                       " waiting, as many as one ", kind_of(id), " may have"));
    }
    ++num_lowerings_;
  }
  if (job.request.has_assemble() && clients_[id].kernels.size() >= kMaxAssembles) {
    return absl::ResourceExhaustedError(
        absl::StrCat("ptxas has ", kMaxAssembles, " kernels of ", name_of(id), " waiting"));
  }
  job.queued_at = clock_.now();
  auto kept = std::make_shared<CompileJob>(std::move(job));
  lane_of(clients_[id], kept->request).push_back({kept, kept->queued_at});
  ++size_;
  update_turns(id);
  changed_.notify_all();
  return absl::OkStatus();
}

void CompileQueue::share(std::uint64_t id, const ClientId& client) {
  std::lock_guard lock(mutex_);
  const std::shared_ptr<CompileJob> job = find(id);
  if (job == nullptr) return;
  const std::vector<ClientId> there = clients_of(*job);
  if (std::find(there.begin(), there.end(), client) != there.end()) return;
  Lane& lane = lane_of(clients_[client], job->request);
  // Beyond what a client may have waiting, it waits in the others' lines alone.
  if (!is_bounded(job->request) || lane.size() < std::max<std::size_t>(1, max_lowerings_ / 2)) {
    job->others.push_back(client);
    lane.push_back({job, clock_.now()});
  }
  update_turns(client);
  changed_.notify_all();
}

std::shared_ptr<CompileJob> CompileQueue::find(std::uint64_t id) const {
  for (const auto& [client_id, client] : clients_) {
    for (const Lane* lane : {&client.kernels, &client.lowerings, &client.tuning}) {
      for (const Place& place : *lane) {
        if (place.job->id == id) return place.job;
      }
    }
  }
  return nullptr;
}

void CompileQueue::update_turns(const ClientId& id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Client& client = found->second;
  const auto update = [&](Turns& turns, bool waits) {
    if (waits == is_in(turns, id)) return;
    if (waits) turns.push_back(id);
    if (!waits) turns.erase(std::find(turns.begin(), turns.end(), id));
  };
  update(turns_, client.waits());
  update(tuning_turns_, !client.tuning.empty());
  if (!client.waits() && client.tuning.empty() && client.running == 0) clients_.erase(found);
}

void CompileQueue::withdraw(const std::shared_ptr<CompileJob>& job) {
  --size_;
  if (is_bounded(job->request)) --num_lowerings_;
  for (const ClientId& id : clients_of(*job)) {
    const auto client = clients_.find(id);
    if (client == clients_.end()) continue;
    Lane& lane = lane_of(client->second, job->request);
    const auto place = std::find_if(lane.begin(), lane.end(), [&](const Place& own) { return own.job == job; });
    if (place != lane.end()) lane.erase(place);
    update_turns(id);
  }
}

CompileJob CompileQueue::take(ClientId turn, std::shared_ptr<CompileJob> job) {
  Client& client = clients_[turn];
  ++client.running;
  Turns& turns = &lane_of(client, job->request) == &client.tuning ? tuning_turns_ : turns_;
  turns.erase(std::find(turns.begin(), turns.end(), turn));
  withdraw(job);  // with more that waits, to the end of the line
  CompileJob taken = std::move(*job);
  taken.turn = turn;
  return taken;
}

std::optional<CompileJob> CompileQueue::next(WorkerRole role) {
  if (role == WorkerRole::kSpare) return next_for_spare();
  for (const ClientId& id : turns_) {
    if (const Place* place = clients_[id].first_for(role)) return take(id, place->job);
  }
  if (tuning_turns_.empty()) return std::nullopt;
  const ClientId id = tuning_turns_.front();
  return take(id, clients_[id].tuning.front().job);
}

std::optional<CompileJob> CompileQueue::next_for_spare() {
  const Clock::time_point now = clock_.now();
  const ClientId* least = nullptr;
  double least_used = 0;
  for (const ClientId& id : turns_) {
    if (due_for_spare(id, now) == nullptr) continue;
    const double used = used_by(id, now);
    if (least != nullptr && used >= least_used) continue;
    least = &id;
    least_used = used;
  }
  if (least == nullptr) return std::nullopt;
  const bool may_go_on = now < going_on_since_ + kMoment && !clients_.contains(going_on_);
  if (may_go_on && least_used >= used_by(going_on_, now)) return std::nullopt;
  return take(*least, due_for_spare(*least, now)->job);
}

const CompileQueue::Place* CompileQueue::due_for_spare(const ClientId& id, Clock::time_point now) const {
  const Client& client = clients_.at(id);
  const Place* place = client.running == 0 ? client.first_for(WorkerRole::kSpare) : nullptr;
  if (place == nullptr) return nullptr;
  const bool goes_on = id == going_on_ && now < going_on_since_ + kGoesOn;
  return goes_on || now - place->since >= kSpareAfter ? place : nullptr;
}

Clock::time_point CompileQueue::spare_due() const {
  Clock::time_point due = Clock::time_point::max();
  for (const ClientId& id : turns_) {
    const Client& client = clients_.at(id);
    if (client.running > 0) continue;
    if (const Place* place = client.first_for(WorkerRole::kSpare)) due = std::min(due, place->since + kSpareAfter);
  }
  return clock_.now() < going_on_since_ + kMoment ? std::max(due, going_on_since_ + kMoment) : due;
}

bool CompileQueue::others_wait(const ClientId& than) const {
  std::lock_guard lock(mutex_);
  const Clock::time_point now = clock_.now();
  return std::ranges::any_of(turns_,
                             [&](const ClientId& id) { return id != than && due_for_spare(id, now) != nullptr; });
}

std::optional<CompileJob> CompileQueue::pop(std::chrono::milliseconds timeout, WorkerRole role) {
  std::unique_lock lock(mutex_);
  const std::uint64_t wakes = wakes_;
  const Clock::time_point give_up = clock_.now() + timeout;
  for (;;) {
    if (std::optional<CompileJob> job = next(role)) return job;
    if (closed_ || wakes != wakes_ || clock_.now() >= give_up) return std::nullopt;
    clock_.wait_until(changed_, lock, role == WorkerRole::kSpare ? std::min(give_up, spare_due()) : give_up);
  }
}

void CompileQueue::ended(const ClientId& id, Clock::duration took, WorkerRole role) {
  std::lock_guard lock(mutex_);
  const Clock::time_point now = clock_.now();
  if (role == WorkerRole::kSpare) {
    going_on_ = id;
    going_on_since_ = now;
  }
  usage_[id] = {used_by(id, now) + std::chrono::duration<double>(took).count(), now};
  if (usage_.size() > kMaxUsages) {
    usage_.erase(std::ranges::min_element(usage_, {}, [&](const auto& usage) { return used_by(usage.first, now); }));
  }
  const auto client = clients_.find(id);
  if (client == clients_.end() || client->second.running == 0) return;
  --client->second.running;
  update_turns(id);
  changed_.notify_all();  // a spare worker may take its next
}

double CompileQueue::used_by(const ClientId& id, Clock::time_point now) const {
  const auto usage = usage_.find(id);
  if (usage == usage_.end()) return 0;
  const std::chrono::duration<double> age = now - usage->second.at;
  return usage->second.seconds * std::exp2(-age / std::chrono::duration<double>(kHalfLife));
}

void CompileQueue::put_back(CompileJob job) {
  std::lock_guard lock(mutex_);
  auto kept = std::make_shared<CompileJob>(std::move(job));
  ++size_;
  if (is_bounded(kept->request)) ++num_lowerings_;
  for (const ClientId& id : clients_of(*kept)) {
    lane_of(clients_[id], kept->request).push_front({kept, clock_.now()});
    update_turns(id);
  }
  changed_.notify_all();
}

std::optional<CompileJob> CompileQueue::remove(std::uint64_t id) {
  std::lock_guard lock(mutex_);
  const std::shared_ptr<CompileJob> job = find(id);
  if (job == nullptr) return std::nullopt;
  withdraw(job);
  return std::move(*job);
}

void CompileQueue::wake() {
  std::lock_guard lock(mutex_);
  ++wakes_;
  changed_.notify_all();
}

void CompileQueue::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

std::size_t CompileQueue::size() const {
  std::lock_guard lock(mutex_);
  return size_;
}

}  // namespace hearth::daemon
