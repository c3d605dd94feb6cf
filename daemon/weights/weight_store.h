// WeightStore: sealed memory files with the weights of plans, which processes made and others map, and digests of parts
// of files, so that not every process hashes its model. Each user has its own.
//
// A block is kept while somebody holds it and for a while afterwards; beyond the limits the least recently used go
// first, those that nobody holds before the others. Mappings outlive their block. Belongs to one thread, except
// stats(). Errors: those of check_sealed; RESOURCE_EXHAUSTED for a block beyond the limit. Example:
//   if (int file = store.find(uid, key, size, now); file < 0) status = store.put(uid, key, size, received, now);
#pragma once
#include <absl/status/status.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/unique_fd.h"

namespace hearth::daemon {

struct WeightLimits {
  std::uint64_t bytes = 0;     // of one user's blocks
  std::uint64_t blocks = 256;  // of one user
  std::chrono::milliseconds keep{60'000};
};

struct WeightStats {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t users = 0;  // connections that hold a block
  std::uint64_t found = 0;
};

class WeightStore {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit WeightStore(WeightLimits limits) : limits_(limits) {}

  // The block's descriptor, which stays the store's; -1 when there is none of this size.
  int find(uid_t uid, const std::string& key, std::uint64_t size_bytes, Time now);
  // Keeps the first of two.
  absl::Status put(uid_t uid, const std::string& key, std::uint64_t size_bytes, UniqueFd file, Time now);
  // Every hold() of a block that is there is followed by one release().
  void hold(uid_t uid, const std::string& key);
  void release(uid_t uid, const std::string& key, Time now);
  void drop_unused(Time now);
  void drop_all();
  // Whether there is a block that nobody holds.
  bool has_unused() const;
  // Whether a block of this size may be put at all.
  bool takes(std::uint64_t size_bytes) const { return size_bytes <= limits_.bytes && limits_.blocks > 0; }

  // Empty when not known.
  std::string find_digest(uid_t uid, const std::string& range) const;
  void store_digest(uid_t uid, const std::string& range, const std::string& digest);

  WeightStats stats() const;

 private:
  struct Block {
    UniqueFd file;
    std::uint64_t size_bytes = 0;
    std::uint64_t holders = 0;
    Time last_used;
  };
  struct Account {
    std::map<std::string, Block> blocks;
    std::uint64_t bytes = 0;
  };
  using Blocks = std::map<std::string, Block>;
  Block* block(uid_t uid, const std::string& key);
  Blocks::iterator drop(Account& account, Blocks::iterator block);
  void make_room(Account& account, std::uint64_t size_bytes);
  void count();

  const WeightLimits limits_;
  std::map<uid_t, Account> accounts_;
  std::map<uid_t, std::unordered_map<std::string, std::string>> digests_;
  mutable std::mutex mutex_;  // of stats_
  WeightStats stats_;
};

}  // namespace hearth::daemon
