// WeightSharing: how a plan's weight block comes from another process of this node, or goes to one. The client
// implements it over the daemon (client/connection/daemon_weights.h); without one a plan keeps its weights to itself.
// Used by one thread, for one plan: digests(), then take(), then give() if take() said so, then hold().
//
//   WeightOffer offer = sharing.take(key, bytes);
//   if (offer.kind == WeightOffer::kMake) { fill(block); WeightReceipt receipt = sharing.give(block.fd()); }
#pragma once
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/sha256.h"
#include "base/unique_fd.h"

namespace hearth::runtime {

// Where a block's bytes are.
enum class WeightMemory { kHost, kDevice };

struct WeightOffer {
  enum Kind {
    kFound,  // `file` is the block
    kMake,   // others may wait for this process to make and give it
    kAlone,  // nobody to share with
  };
  Kind kind = kAlone;
  UniqueFd file = {};
};

// What became of a block that was given.
struct WeightReceipt {
  bool is_shared = false;  // others can have it now
  // Another user's block of the same bytes, to be mapped in place of the one that was given; empty where there is none.
  UniqueFd same = {};
};

class WeightSharing {
 public:
  virtual ~WeightSharing() = default;
  // The digests of parameters' bytes, in order. A failure means that there is nothing to share.
  virtual absl::StatusOr<std::vector<Digest>> digests(const std::vector<std::string_view>& bytes) = 0;
  virtual WeightOffer take(const Digest& key, std::size_t size_bytes, WeightMemory memory) = 0;
  // A sealed memory file, or the descriptor of a device's memory; it stays the caller's.
  virtual WeightReceipt give(int file) = 0;
  // While it lives the block is there for others; may be null.
  virtual std::shared_ptr<const void> hold() = 0;
};

}  // namespace hearth::runtime
