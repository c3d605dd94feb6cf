// What the cache is made of: kinds of entries and references to files in the CAS. Plain values.
#pragma once
#include <cstdint>

#include "base/sha256.h"

namespace hearth::cache {

// kBlob: a compiled kernel blob; kRecords: what entries of one request were made of: which files blobs were, which
// tuning records plans (their keys' domains tell them apart).
enum class EntryKind { kPlan = 1, kKernel = 2, kTuning = 3, kBlob = 4, kRecords = 5 };
inline constexpr EntryKind kLastEntryKind = EntryKind::kRecords;

struct ArtifactRef {
  Digest digest{};
  std::uint64_t size_bytes = 0;
  bool operator==(const ArtifactRef&) const = default;
};

// The user for whom an entry was made; kNoOwner: the daemon's own user, root, or a daemon that kept no account.
using EntryOwner = std::int64_t;
inline constexpr EntryOwner kNoOwner = -1;

// What entries of one owner take: key material, and the files that came with them.
struct OwnerTotals {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
};

// What a file of this size takes on disk: whole 4 KiB blocks.
inline std::uint64_t disk_bytes(std::uint64_t size_bytes) { return (size_bytes + 4095) / 4096 * 4096; }

}  // namespace hearth::cache
