// Landlock: the kernel's rules for which files this process, and what it starts, may open. Irrevocable; needs no
// rights.
//
// Every right that the running kernel knows is denied but for those given here, also TCP, signals to other processes
// and abstract sockets where it can deny them (landlock(7)); rights that are newer than the build's headers are known
// by number. Changing modes, owners and times is not Landlock's business; the system call filter refuses that. Call
// before the filter and before any thread. Example:
//   const LandlockResult result = restrict_files({.writes = {folder}, .reads = {"/usr/lib"}});
#pragma once
#include <string>
#include <vector>

#include "daemon/worker_pool/readable_tree.h"

namespace hearth::daemon {

struct FileRights {
  std::vector<std::string> writes;   // folders in which anything but running may be done
  std::vector<std::string> reads;    // files and trees
  std::vector<ReadableTree> trees;   // likewise; one that another has taken the place of is left out
  std::vector<std::string> runs;     // files and trees that may be read, and whose programs may be started
  std::vector<std::string> devices;  // read and written
};

struct LandlockResult {
  int abi = 0;                // of the kernel; 0: it has no Landlock, or it failed
  std::string why;            // why it is off
  std::string lacks() const;  // what this ABI cannot deny yet: "truncation, device control, …"; empty: nothing
};

// Paths that do not exist are left out.
LandlockResult restrict_files(const FileRights& rights);

}  // namespace hearth::daemon
