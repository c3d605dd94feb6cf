#include "daemon/worker_pool/compile_queue.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace hearth::daemon {

namespace {

// What callers ask for directly: there is no end to it.
bool is_bounded(const v1::WorkerRequest& request) { return request.has_lower() || request.has_blob(); }

bool has_turn(const std::deque<ClientId>& turns, const ClientId& id) {
  return std::find(turns.begin(), turns.end(), id) != turns.end();
}

}  // namespace

std::deque<CompileJob>& CompileQueue::lane_of(Client& client, const v1::WorkerRequest& request) {
  if (is_bounded(request)) return client.lowerings;
  return request.has_compile() || request.has_toolchain() ? client.kernels : client.tuning;
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
  job.queued_at = clock_.now();
  lane_of(clients_[id], job.request).push_back(std::move(job));
  ++size_;
  update_turns(id);
  changed_.notify_all();
  return absl::OkStatus();
}

void CompileQueue::update_turns(const ClientId& id) {
  const auto found = clients_.find(id);
  Client& client = found->second;
  const auto update = [&](Turns& turns, bool waits) {
    if (waits == has_turn(turns, id)) return;
    if (waits) turns.push_back(id);
    if (!waits) turns.erase(std::find(turns.begin(), turns.end(), id));
  };
  update(turns_, client.urgent() != nullptr);
  update(tuning_turns_, !client.tuning.empty());
  if (client.urgent() == nullptr && client.tuning.empty() && client.running == 0) clients_.erase(found);
}

std::optional<CompileJob> CompileQueue::take(Turns& turns, Turns::iterator turn, std::deque<CompileJob>& lane) {
  const ClientId id = *turn;
  std::optional<CompileJob> job = std::move(lane.front());
  lane.pop_front();
  --size_;
  if (is_bounded(job->request)) --num_lowerings_;
  ++clients_[id].running;
  turns.erase(turn);
  update_turns(id);  // to the end of the line
  return job;
}

std::optional<CompileJob> CompileQueue::next(WorkerRole role) {
  const Clock::time_point now = clock_.now();
  for (auto turn = turns_.begin(); turn != turns_.end(); ++turn) {
    Client& client = clients_[*turn];
    std::deque<CompileJob>& lane = *client.urgent();
    if (role == WorkerRole::kRegular) return take(turns_, turn, lane);
    if (client.running == 0 && now - lane.front().queued_at >= kSpareAfter) return take(turns_, turn, lane);
  }
  if (role == WorkerRole::kSpare || tuning_turns_.empty()) return std::nullopt;
  return take(tuning_turns_, tuning_turns_.begin(), clients_[tuning_turns_.front()].tuning);
}

Clock::time_point CompileQueue::spare_due() {
  Clock::time_point due = Clock::time_point::max();
  for (const ClientId& id : turns_) {
    Client& client = clients_[id];
    if (client.running == 0) due = std::min(due, client.urgent()->front().queued_at + kSpareAfter);
  }
  return due;
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

void CompileQueue::ended(const ClientId& id) {
  std::lock_guard lock(mutex_);
  const auto client = clients_.find(id);
  if (client == clients_.end() || client->second.running == 0) return;
  --client->second.running;
  update_turns(id);
  changed_.notify_all();  // a spare worker may take its next
}

std::optional<CompileJob> CompileQueue::remove(std::uint64_t id) {
  std::lock_guard lock(mutex_);
  for (auto& [client_id, client] : clients_) {
    for (std::deque<CompileJob>* lane : {&client.kernels, &client.lowerings, &client.tuning}) {
      const auto found = std::find_if(lane->begin(), lane->end(), [id](const CompileJob& job) { return job.id == id; });
      if (found == lane->end()) continue;
      std::optional<CompileJob> job = std::move(*found);
      lane->erase(found);
      --size_;
      if (is_bounded(job->request)) --num_lowerings_;
      update_turns(job->client);
      return job;
    }
  }
  return std::nullopt;
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
