// ReadableTree: a file or folder that a worker may read, as it was when that was decided: where it is, without links,
// and which it is. Who opens it later gets this one or nothing, whatever was moved or linked meanwhile. Reads the file
// system; no state. Example:
//   const std::optional<ReadableTree> tree = identify_tree("/opt/ck/include");
//   arguments.push_back("--tree=" + to_argument(*tree));     // in the daemon
//   const UniqueFd place = open_tree(*from_argument(value)); // in the worker
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "daemon/worker_pool/real_path.h"

namespace hearth::daemon {

struct ReadableTree {
  std::string path;  // absolute, without links
  dev_t device = 0;
  ino_t inode = 0;
  std::vector<RealPath::Link> links;  // on the way of the name that it was asked for by

  bool operator==(const ReadableTree& other) const;
};

// Nothing where there is no such file or folder.
std::optional<ReadableTree> identify_tree(const std::string& path);
// For a place in a mount or a rule (O_PATH); closed where there is another one now, a link on the way, or nothing.
UniqueFd open_tree(const ReadableTree& tree);

std::string to_argument(const ReadableTree& tree);
std::optional<ReadableTree> from_argument(std::string_view argument);

}  // namespace hearth::daemon
