#include "base/fixed_memory.h"

#include <iterator>
#include <map>

namespace hearth {
namespace {

struct Entry {
  const FixedMemory* memory = nullptr;
  std::weak_ptr<const FixedMemory> weak;
  std::string_view bytes;
};

// By address; entries do not overlap. Never destroyed: weights may outlive static objects.
struct Registry {
  std::mutex mutex;
  std::map<const char*, Entry> entries;
};

Registry& registry() {
  static Registry& all = *new Registry;
  return all;
}

}  // namespace

std::shared_ptr<const FixedMemory> FixedMemory::add(std::string_view bytes, std::shared_ptr<const void> owner) {
  auto made = std::make_shared<const FixedMemory>(bytes, std::move(owner));
  if (bytes.empty()) return made;
  const std::lock_guard lock(registry().mutex);
  auto& entries = registry().entries;
  auto at = entries.lower_bound(bytes.data());
  if (at != entries.begin()) {
    const auto before = std::prev(at);
    if (before->first + before->second.bytes.size() > bytes.data()) entries.erase(before);
  }
  while (at != entries.end() && at->first < bytes.data() + bytes.size()) at = entries.erase(at);
  entries[bytes.data()] = {made.get(), made, bytes};
  return made;
}

std::shared_ptr<const FixedMemory> FixedMemory::find(std::string_view bytes) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().entries.find(bytes.data());
  if (bytes.empty() || found == registry().entries.end() || found->second.bytes.size() != bytes.size()) return nullptr;
  return found->second.weak.lock();  // null for one whose destructor waits for the lock
}

const Digest& FixedMemory::digest() const {
  std::call_once(once_, [&] { digest_ = sha256(bytes_); });
  return digest_;
}

FixedMemory::~FixedMemory() {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().entries.find(bytes_.data());
  if (found != registry().entries.end() && found->second.memory == this) registry().entries.erase(found);
}

}  // namespace hearth
