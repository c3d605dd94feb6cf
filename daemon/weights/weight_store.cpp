#include "daemon/weights/weight_store.h"

#include <absl/strings/str_cat.h>
#include <sys/stat.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/memory_file.h"
#include "base/status_macros.h"
#include "daemon/weights/device_file.h"

namespace hearth::daemon {
namespace {

constexpr std::size_t kMaxDigests = 100'000;  // of one user, 14 MB; then it starts over

// A file that is mostly holes would take its place from others for nothing. An eighth may be: what is between weights.
absl::Status check_filled(int file, std::uint64_t size_bytes) {
  constexpr std::uint64_t kBlockBytes = 512;  // of stat(2)
  struct stat info{};
  if (::fstat(file, &info) != 0) return absl::FailedPreconditionError("the memory file cannot be looked at");
  const std::uint64_t filled = static_cast<std::uint64_t>(info.st_blocks) * kBlockBytes;
  if (filled >= size_bytes - size_bytes / 8) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the memory file has ", filled, " of its ", size_bytes, " bytes filled"));
}

}  // namespace

WeightStore::Block* WeightStore::block(uid_t uid, const std::string& key) {
  const auto account = accounts_.find(uid);
  if (account == accounts_.end()) return nullptr;
  const auto found = account->second.blocks.find(key);
  return found == account->second.blocks.end() ? nullptr : &found->second;
}

int WeightStore::peek(uid_t uid, const std::string& key, std::uint64_t size_bytes) const {
  const auto account = accounts_.find(uid);
  if (account == accounts_.end()) return -1;
  const auto found = account->second.blocks.find(key);
  const bool is_there = found != account->second.blocks.end() && found->second.size.bytes == size_bytes;
  return is_there ? found->second.file.get() : -1;
}

int WeightStore::find(uid_t uid, const std::string& key, std::uint64_t size_bytes, Time now) {
  Block* found = block(uid, key);
  if (found == nullptr || found->size.bytes != size_bytes) return -1;
  found->last_used = now;
  const std::lock_guard lock(mutex_);
  ++stats_.found;
  return found->file.get();
}

absl::StatusOr<std::uint64_t> WeightStore::check(const WeightSize& size, int file) const {
  std::uint64_t host_bytes = size.bytes;
  if (size.on_device) {
    HEARTH_ASSIGN_OR_RETURN(host_bytes, host_bytes_of_device_file(file));
  } else {
    HEARTH_RETURN_IF_ERROR(runtime::check_sealed(file, size.bytes));
    HEARTH_RETURN_IF_ERROR(check_filled(file, size.bytes));
  }
  if (takes(size) && host_bytes <= limits_.bytes) return host_bytes;
  return absl::ResourceExhaustedError(absl::StrCat("weights of ", size.bytes, " bytes are more than weights_memory, ",
                                                   limits_.bytes, " bytes, allows"));
}

std::vector<uid_t> WeightStore::other_owners(uid_t uid, const std::string& key, std::uint64_t size_bytes) const {
  std::vector<uid_t> owners;
  for (const auto& [owner, account] : accounts_)
    if (owner != uid && peek(owner, key, size_bytes) >= 0) owners.push_back(owner);
  return owners;
}

absl::Status WeightStore::put(const ClientId& maker, const std::string& key, const WeightSize& size, UniqueFd file,
                              Time now) {
  HEARTH_ASSIGN_OR_RETURN(const std::uint64_t host_bytes, check(size, file.get()));
  Account& account = accounts_[maker.uid];
  if (account.blocks.count(key) != 0) return absl::OkStatus();
  if (!make_room(account, host_bytes, maker.pid)) {
    return absl::ResourceExhaustedError(absl::StrCat("the weights of ", name_of(maker),
                                                     " would be more than half of weights_memory, ", limits_.bytes,
                                                     " bytes, in place of others' that are in use"));
  }
  account.blocks[key] = Block{std::move(file), size, host_bytes, 0, now, maker.pid};
  account.bytes += host_bytes;
  count();
  return absl::OkStatus();
}

bool WeightStore::make_room(Account& account, std::uint64_t host_bytes, pid_t maker) {
  std::uint64_t own_bytes = host_bytes, own_blocks = 1;
  for (const auto& [key, block] : account.blocks) {
    if (block.maker != maker) continue;
    own_bytes += block.host_bytes;
    ++own_blocks;
  }
  const bool has_most = own_bytes > limits_.bytes / 2 || own_blocks > std::max<std::uint64_t>(1, limits_.blocks / 2);
  const auto is_before = [](const auto& a, const auto& b) {
    return std::tuple(a.second.holders > 0, a.second.last_used) < std::tuple(b.second.holders > 0, b.second.last_used);
  };
  while (!account.blocks.empty() &&
         (account.bytes + host_bytes > limits_.bytes || account.blocks.size() >= limits_.blocks)) {
    const auto last = std::min_element(account.blocks.begin(), account.blocks.end(), is_before);
    if (has_most && last->second.holders > 0 && last->second.maker != maker) return false;
    drop(account, last);
  }
  return true;
}

WeightStore::Blocks::iterator WeightStore::drop(Account& account, Blocks::iterator block) {
  account.bytes -= block->second.host_bytes;
  return account.blocks.erase(block);
}

void WeightStore::hold(uid_t uid, const std::string& key) {
  if (Block* found = block(uid, key)) ++found->holders;
  count();
}

void WeightStore::release(uid_t uid, const std::string& key, Time now) {
  Block* found = block(uid, key);
  if (found == nullptr || found->holders == 0) return;
  --found->holders;
  found->last_used = now;
  count();
}

void WeightStore::drop_unused(Time now) {
  for (auto account = accounts_.begin(); account != accounts_.end();) {
    Blocks& blocks = account->second.blocks;
    for (auto at = blocks.begin(); at != blocks.end();) {
      const bool is_unused =
          at->second.holders == 0 && (at->second.size.on_device || now - at->second.last_used >= limits_.keep);
      at = is_unused ? drop(account->second, at) : std::next(at);
    }
    account = blocks.empty() ? accounts_.erase(account) : std::next(account);
  }
  count();
}

bool WeightStore::has_unused() const {
  for (const auto& [uid, account] : accounts_) {
    for (const auto& [key, block] : account.blocks) {
      if (block.holders == 0) return true;
    }
  }
  return false;
}

void WeightStore::drop_all() {
  accounts_.clear();
  count();
}

const Digest* WeightStore::find_digest(uid_t uid, const FileRangeKey& range) const {
  const auto user = digests_.find(uid);
  if (user == digests_.end()) return nullptr;
  const auto found = user->second.find(range);
  return found == user->second.end() ? nullptr : &found->second;
}

void WeightStore::store_digest(uid_t uid, const FileRangeKey& range, const Digest& digest) {
  auto& known = digests_[uid];
  if (known.size() >= kMaxDigests) known.clear();
  known[range] = digest;
}

void WeightStore::count() {
  WeightStats now;
  for (const auto& [uid, account] : accounts_) {
    now.blocks += account.blocks.size();
    now.bytes += account.bytes;
    for (const auto& [key, block] : account.blocks) now.users += block.holders;
  }
  const std::lock_guard lock(mutex_);
  now.found = stats_.found;
  stats_ = now;
}

WeightStats WeightStore::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace hearth::daemon
