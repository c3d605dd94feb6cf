// RecentPlans: the plans found or stored last, in bounded memory, so that a hit on a warm daemon reads neither index
// nor plan file.
//
// It answers only what the index answered or took before: the owner still pins the files and checks that each is
// unchanged before it believes an entry. Least recently used goes first. Thread-safe; entries are immutable and shared.
// Example:
//   const std::uint64_t seen = recent.generation();
//   ... look the row up ...
//   recent.add({row, plan}, seen);
#pragma once
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "kernels_cache/action_cache.h"

namespace hearth::cache {

class RecentPlans {
 public:
  struct Entry {
    ActionRow row;
    std::shared_ptr<const std::string> plan;
  };

  explicit RecentPlans(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // The entry for exactly these key bytes, or null.
  std::shared_ptr<const Entry> find(const Digest& key, const std::string& material);
  // Changes with every forget(): what was looked up before one is not added after it.
  std::uint64_t generation() const;
  void add(Entry entry, std::uint64_t seen_generation);
  // The new generation.
  std::uint64_t forget(const Digest& key);

 private:
  struct Slot {
    std::shared_ptr<const Entry> entry;
    std::list<Digest>::iterator position;
  };

  static std::size_t size_of(const Entry& entry) { return entry.row.material.size() + entry.plan->size(); }
  void drop_locked(std::map<Digest, Slot>::iterator slot);

  const std::size_t limit_bytes_;
  mutable std::mutex mutex_;
  std::list<Digest> order_;  // newest first
  std::map<Digest, Slot> slots_;
  std::size_t bytes_ = 0;
  std::uint64_t generation_ = 0;
};

}  // namespace hearth::cache
