// FixedMemory: bytes of this process that stay as they are while they are registered, so that their digest is computed
// once, however many plans have them as weights. Thread-safe.
//
//   std::shared_ptr<const FixedMemory> weights = FixedMemory::add(bytes, owner);   // bytes is there as long as owner is
//   if (auto known = FixedMemory::find(bytes)) digest = known->digest();
#pragma once
#include <memory>
#include <mutex>
#include <string_view>

#include "base/sha256.h"

namespace hearth {

class FixedMemory {
 public:
  // Registered as long as the result is held; `owner` is held as long. What was registered of memory that these bytes
  // overlap is found no more: who writes to memory registers it anew.
  static std::shared_ptr<const FixedMemory> add(std::string_view bytes, std::shared_ptr<const void> owner);
  // What was registered of exactly these bytes; null where nothing was.
  static std::shared_ptr<const FixedMemory> find(std::string_view bytes);

  // Reads the bytes at its first call.
  const Digest& digest() const;

  FixedMemory(std::string_view bytes, std::shared_ptr<const void> owner) : bytes_(bytes), owner_(std::move(owner)) {}
  FixedMemory(const FixedMemory&) = delete;
  FixedMemory& operator=(const FixedMemory&) = delete;
  ~FixedMemory();

 private:
  const std::string_view bytes_;
  const std::shared_ptr<const void> owner_;
  mutable std::once_flag once_;
  mutable Digest digest_ = {};
};

}  // namespace hearth
