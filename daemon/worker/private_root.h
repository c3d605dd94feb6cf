// The private root: a file system of the worker's own in its mount namespace, made of nothing but what it may see. The
// trees it may read are there under their usual names, read-only; its folder is memory of a limited size; /proc shows
// the worker's own processes; of /dev there are null, full, random and urandom.
//
// Needs the rights of a new user namespace (or root's); call it in the process that is to be confined, before its
// rights are dropped. Nothing of it is seen from outside and it is gone with the last process. Errors: INTERNAL naming
// the step that failed and why; the old root is then still there. Example:
//   absl::Status made = enter_private_root({.folder = "/tmp/x", .folder_bytes = 1 << 30, .names = {"/usr/lib"}});
#pragma once
#include <absl/status/status.h>

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/worker_pool/readable_tree.h"

namespace hearth::daemon {

struct PrivateRoot {
  std::string folder;               // writable; it exists; nothing in it can be run
  std::uint64_t folder_bytes = 0;   // of all files in it; 0: the kernel's default, half of the memory
  std::vector<std::string> names;   // files and folders; what does not exist is left out
  std::vector<ReadableTree> trees;  // likewise; one that another has taken the place of is left out
  // Folders that are empty inside, whatever the trees above them hold; trees in them are there.
  std::vector<std::string> covers;
};

absl::Status enter_private_root(const PrivateRoot& root);

}  // namespace hearth::daemon
