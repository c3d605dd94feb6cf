// RemoteEntries: entries of a cache beyond this node, by their keys' material: under which address each lies for this
// compiler, build and fleet. Thread-safe; borrows what it uses. No errors: what cannot be had is a miss.
//
//   auto fetch = entries.find(material, "kernel", most_bytes, [](RemoteAnswer answer) { … });
//   if (entries.is_writer(user)) entries.send(material, "kernel", {{"kernel", bytes}});
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/operator.h"
#include "daemon/remote/compiler_flavour.h"
#include "daemon/remote/remote_cache.h"
#include "kernels_cache/action_key.h"

namespace hearth::daemon {

class RemoteEntries {
 public:
  RemoteEntries(RemoteCache* remote, CompilerFlavour* flavour, std::string build_id)
      : remote_(remote), flavour_(flavour), build_id_(std::move(build_id)) {}

  RemoteCache& cache() const { return *remote_; }

  // `done` is called once, on a thread of gRPC's or before this returns. A look-up waits until the flavour is known.
  std::shared_ptr<ResultFetch> find(const cache::KeyMaterial& material, const char* kind, std::uint64_t most_bytes,
                                    std::function<void(RemoteAnswer)> done);

  // True where what was built for this user is sent: this node is a writer, and the user is root or the daemon's own.
  // Signing a stranger's results would let the stranger into every node.
  bool is_writer(uid_t user) const { return remote_->is_writer() && is_operator(user); }
  // Tells the waiter that this node compiles it, or lets it wait for another one that does.
  void lease(const cache::KeyMaterial& material, const char* kind, CompileLeases::Waiter waiter);
  // Signs and sends, some time.
  void send(const cache::KeyMaterial& material, const char* kind, std::vector<RemoteFile> files);

 private:
  EntryKey key_of(const cache::KeyMaterial& material, const char* kind, const Digest& flavour) const;

  RemoteCache* const remote_;
  CompilerFlavour* const flavour_;
  const std::string build_id_;
};

}  // namespace hearth::daemon
