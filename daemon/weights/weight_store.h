// WeightStore: sealed memory files, and descriptors of GPUs' memory, with the weights of plans, which processes made
// and others map, and digests of parts of files, so that not every process hashes its model. Each user has its own; that two users' blocks are one file is
// for the caller to bring about (other_owners), who then knows that both have its bytes.
//
// A block is kept while somebody holds it and for a while afterwards; beyond the limits the least recently used go
// first, those that nobody holds before the others. Mappings outlive their block. Belongs to one thread, except
// stats(). Errors: those of check_sealed, FAILED_PRECONDITION too for one
// with less memory than it has bytes; RESOURCE_EXHAUSTED for a block beyond the limit. Example:
//   if (int file = store.find(uid, key, size, now); file < 0) status = store.put(client, key, size, received, now);
#pragma once
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "base/unique_fd.h"
#include "daemon/client_id.h"

namespace hearth::daemon {

// The key of a part of a file: device, inode, size, times of change, offset and length.
using FileRangeKey = std::array<std::uint64_t, 7>;

struct WeightLimits {
  std::uint64_t bytes = 0;     // of one user's blocks
  std::uint64_t blocks = 256;  // of one user
  std::chrono::milliseconds keep{60'000};
};

struct WeightSize {
  std::uint64_t bytes = 0;
  bool on_device = false;  // in a GPU's memory
};

struct WeightStats {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;  // of the host's memory
  std::uint64_t users = 0;  // connections that hold a block
  std::uint64_t found = 0;
};

class WeightStore {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit WeightStore(WeightLimits limits) : limits_(limits) {}

  // The block's descriptor, which stays the store's; -1 when there is none of this size.
  int find(uid_t uid, const std::string& key, std::uint64_t size_bytes, Time now);
  // The same, but it counts as no use of it.
  int peek(uid_t uid, const std::string& key, std::uint64_t size_bytes) const;
  // Keeps the first of two. `size_bytes` of a GPU's memory count for nothing, but for its file's, if it has any, and it
  // goes with the last that holds it. `maker` is the process that gives it: with more than half of the limit it puts
  // nobody else's blocks out that are held.
  absl::Status put(const ClientId& maker, const std::string& key, const WeightSize& size, UniqueFd file, Time now);
  // What put() would take of room; those errors of it that are not about room.
  absl::StatusOr<std::uint64_t> check(const WeightSize& size, int file) const;
  // Other users with a block of this key and size.
  std::vector<uid_t> other_owners(uid_t uid, const std::string& key, std::uint64_t size_bytes) const;
  // Every hold() of a block that is there is followed by one release().
  void hold(uid_t uid, const std::string& key);
  void release(uid_t uid, const std::string& key, Time now);
  void drop_unused(Time now);
  void drop_all();
  // Whether there is a block that nobody holds.
  bool has_unused() const;
  // Whether a block of this size may be put at all.
  bool takes(const WeightSize& size) const {
    return limits_.blocks > 0 && (size.on_device || size.bytes <= limits_.bytes);
  }

  // Null when not known.
  const Digest* find_digest(uid_t uid, const FileRangeKey& range) const;
  void store_digest(uid_t uid, const FileRangeKey& range, const Digest& digest);

  WeightStats stats() const;

 private:
  struct Block {
    UniqueFd file;
    WeightSize size;
    std::uint64_t host_bytes = 0;  // that it keeps
    std::uint64_t holders = 0;
    Time last_used;
    pid_t maker = 0;
  };
  struct Account {
    std::map<std::string, Block> blocks;
    std::uint64_t bytes = 0;
  };
  using Blocks = std::map<std::string, Block>;
  Block* block(uid_t uid, const std::string& key);
  Blocks::iterator drop(Account& account, Blocks::iterator block);
  // False when there is none but where others hold blocks that `maker` may not put out.
  bool make_room(Account& account, std::uint64_t host_bytes, pid_t maker);
  void count();

  const WeightLimits limits_;
  std::map<uid_t, Account> accounts_;
  std::map<uid_t, std::map<FileRangeKey, Digest>> digests_;
  mutable std::mutex mutex_;  // of stats_
  WeightStats stats_;
};

}  // namespace hearth::daemon
