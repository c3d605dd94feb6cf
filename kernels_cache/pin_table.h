// PinTable: reference counts of CAS entries that must not be evicted (leases, plans being handed out).
//
// A Pin owns one reference to each of its digests and gives them back when destroyed or released. It keeps the table
// alive, so it may outlive the cache. Eviction condemns entries first: pinning a condemned entry fails, so a path
// that was handed out is never unlinked. Thread-safe. Example:
//   std::optional<Pin> pin = PinTable::pin(table, digests);
//   if (pin) leases.hold(std::move(*pin));
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/sha256.h"

namespace hearth::cache {

class PinTable;

class Pin {
 public:
  Pin() = default;
  ~Pin() { release(); }
  Pin(Pin&& other) noexcept;
  Pin& operator=(Pin&& other) noexcept;
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

  void release();
  const std::vector<Digest>& digests() const { return digests_; }

 private:
  friend class PinTable;
  Pin(std::shared_ptr<PinTable> table, std::vector<Digest> digests)
      : table_(std::move(table)), digests_(std::move(digests)) {}

  std::shared_ptr<PinTable> table_;
  std::vector<Digest> digests_;
};

class PinTable {
 public:
  // Pins all or none; nothing when one of them is condemned.
  static std::optional<Pin> pin(const std::shared_ptr<PinTable>& table, std::span<const Digest> digests);

  bool pinned(const Digest& digest) const;
  std::size_t num_pinned() const;

  // Marks the entry as about to be deleted; false when it is pinned.
  bool begin_eviction(const Digest& digest);
  void cancel_eviction(const Digest& digest);

 private:
  friend class Pin;
  void unpin(const std::vector<Digest>& digests);

  mutable std::mutex mutex_;
  std::map<Digest, std::uint64_t> counts_;
  std::set<Digest> evicting_;
};

}  // namespace hearth::cache
