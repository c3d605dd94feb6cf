// The keeper: the process that the daemon started. It stays outside of the sandbox while a child of it goes in, and
// sees to its end: when the worker ends, when the daemon asks (SIGTERM), closes the socket or dies, everything beneath
// the keeper is killed; then it ends the way the worker did, so that the daemon sees the worker's exit code or signal.
//
// Between the two stands an init process that does nothing but collect what ends: signals that the first process of a
// pid namespace raises itself do nothing, and the kernel kills all of the namespace with it. Without a pid namespace
// the keeper adopts orphans and looks for its descendants. Example:
//   const std::optional<Namespaces> inside = start_beneath_keeper({.parent = daemon, .socket = fd, .wanted = flags});
#pragma once
#include <map>
#include <optional>
#include <string>

namespace hearth::daemon {

struct KeeperOptions {
  int parent = 0;      // 0: not checked
  int socket = -1;     // -1: none
  int wanted = 0;      // CLONE_NEWUSER | CLONE_NEWPID | …
  std::string remove;  // a folder to remove at the end; empty: none
};

struct Namespaces {
  int flags = 0;                   // those that were made
  std::map<int, std::string> why;  // why the others were not, by flag
  std::string unmapped;            // why the user namespace knows no user; empty: it knows this one
};

// Returns in the worker; nullopt in the caller when its parent is gone already. Fork-safe code only runs meanwhile.
std::optional<Namespaces> start_beneath_keeper(const KeeperOptions& options);

}  // namespace hearth::daemon
