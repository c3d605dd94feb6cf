// EntryAddress: under which action a remote cache keeps an entry. Everybody who has the same key, flavour and salt
// computes the same bytes; the salt separates fleets (some servers ignore the instance's name). Pure; thread-safe.
//
//   const EntryAddress address = address_of({.domain = "hearth.plan.v3", .key = key, .kind = "plan", …});
//   get_result(BlobReference::of(address.action), …);
#pragma once
#include <string>

#include "base/sha256.h"

namespace hearth::daemon {

// What an entry is asked for by.
struct EntryKey {
  std::string domain;  // of the key's material
  Digest key{};
  std::string kind;  // "plan", "kernel" or "blob"
  std::string salt;
  Digest flavour{};  // of the worker and the files that it maps
  std::string build_id;
  bool operator==(const EntryKey&) const = default;
};

// Serialized messages, which are uploaded with the entry: servers may want them there.
struct EntryAddress {
  std::string command;
  std::string action;
};
EntryAddress address_of(const EntryKey& entry);

}  // namespace hearth::daemon
