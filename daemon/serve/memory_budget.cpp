#include "daemon/serve/memory_budget.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace hearth::daemon {

bool MemoryBudget::fits_client(const Client& client, std::uint64_t bytes) const {
  return client.bytes == 0 || client.bytes + bytes <= limits_.of_client_bytes;
}

void MemoryBudget::hold(Client& client, const std::shared_ptr<Entry>& entry) {
  entry->holds = true;
  entry->moved = clock_.now();
  used_ += entry->bytes;
  client.bytes += entry->bytes;
  ++client.holders;
  holders_.insert(entry);
}

// Whether somebody waits for more than room of its own. Who comes does not overtake these.
bool MemoryBudget::room_is_wanted() const {
  return std::any_of(turns_.begin(), turns_.end(), [this](const ClientId& id) {
    const Client& client = clients_.at(id);
    return fits_client(client, client.waiting.front()->bytes);
  });
}

MemoryBudget::Charge MemoryBudget::take(const ClientId& client_id, std::uint64_t bytes, std::function<void()> go,
                                        std::function<void()> cancel) {
  auto entry = std::make_shared<Entry>();
  entry->client = client_id;
  entry->bytes = std::min(bytes, limits_.total_bytes);
  entry->go = std::move(go);
  entry->cancel = std::move(cancel);
  std::lock_guard lock(mutex_);
  Client& client = clients_[client_id];
  if (!room_is_wanted() && client.waiting.empty() && fits_client(client, entry->bytes) && fits_total(entry->bytes)) {
    hold(client, entry);
  } else {
    if (client.waiting.empty()) turns_.push_back(client_id);
    client.waiting.push_back(entry);
    ++num_waiting_;
  }
  return Charge(this, std::move(entry));
}

MemoryBudget::Charge MemoryBudget::try_take(const ClientId& client_id, std::uint64_t bytes,
                                            std::function<void()> cancel) {
  auto entry = std::make_shared<Entry>();
  entry->client = client_id;
  entry->bytes = bytes;
  entry->cancel = std::move(cancel);
  std::lock_guard lock(mutex_);
  Client& client = clients_[client_id];
  if (!fits_client(client, bytes) || !fits_total(bytes)) {
    forget_if_unused(client_id);
    return {};
  }
  hold(client, entry);
  return Charge(this, std::move(entry));
}

void MemoryBudget::forget_if_unused(const ClientId& id) {
  const auto client = clients_.find(id);
  if (client != clients_.end() && client->second.holders == 0 && client->second.waiting.empty()) clients_.erase(client);
}

void MemoryBudget::give_back(const std::shared_ptr<Entry>& entry) {
  std::function<void()> go, cancel;  // destroyed unlocked
  std::lock_guard lock(mutex_);
  go = std::move(entry->go);
  cancel = std::move(entry->cancel);
  Client& client = clients_[entry->client];
  if (entry->holds) {
    used_ -= entry->bytes;
    client.bytes -= entry->bytes;
    --client.holders;
    holders_.erase(entry);
  } else if (const auto at = std::find(client.waiting.begin(), client.waiting.end(), entry);
             at != client.waiting.end()) {
    client.waiting.erase(at);
    --num_waiting_;
    if (client.waiting.empty()) turns_.erase(std::find(turns_.begin(), turns_.end(), entry->client));
  }
  forget_if_unused(entry->client);
  admit_waiting();
}

void MemoryBudget::admit_waiting() {
  std::size_t passed_over = 0;
  while (passed_over < turns_.size()) {
    const ClientId id = turns_.front();
    Client& client = clients_[id];
    const std::shared_ptr<Entry> entry = client.waiting.front();
    turns_.pop_front();
    if (!fits_client(client, entry->bytes)) {
      turns_.push_back(id);
      ++passed_over;
      continue;
    }
    if (!fits_total(entry->bytes)) {
      turns_.push_front(id);  // its turn, when there is room
      return;
    }
    client.waiting.pop_front();
    --num_waiting_;
    if (!client.waiting.empty()) turns_.push_back(id);
    hold(client, entry);
    executor_->post([entry, go = entry->go] { go(); });
    passed_over = 0;
  }
}

void MemoryBudget::cancel_stalled(Clock::time_point now) {
  std::vector<std::function<void()>> cancels;
  {
    std::lock_guard lock(mutex_);
    const bool for_others = room_is_wanted();
    for (const std::shared_ptr<Entry>& entry : holders_) {
      const bool hasty = for_others || !clients_[entry->client].waiting.empty();
      const Clock::duration patience = hasty ? Clock::duration(kHastyPatience) : Clock::duration(kPatience);
      if (entry->cancelled || !entry->cancel || now - entry->moved < patience) continue;
      entry->cancelled = true;
      cancels.push_back(entry->cancel);
    }
  }
  for (const auto& cancel : cancels) cancel();
}

MemoryBudget::Usage MemoryBudget::usage() const {
  std::lock_guard lock(mutex_);
  return {used_, holders_.size(), num_waiting_};
}

bool MemoryBudget::Charge::has_room() const {
  if (!entry_) return false;
  std::lock_guard lock(budget_->mutex_);
  return entry_->holds;
}

void MemoryBudget::Charge::touch() {
  if (!entry_) return;
  std::lock_guard lock(budget_->mutex_);
  entry_->moved = budget_->clock_.now();
}

void MemoryBudget::Charge::release() {
  if (const std::shared_ptr<Entry> entry = std::move(entry_)) budget_->give_back(entry);
}

}  // namespace hearth::daemon
