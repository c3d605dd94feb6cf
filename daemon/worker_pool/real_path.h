// A path as the kernel resolves it, with the links that were followed on the way: whoever rebuilds a file system has to
// make those links again. Reads the file system; no state. Example:
//   const auto path = follow("/lib/x86_64-linux-gnu");   // path->real is "/usr/lib/x86_64-linux-gnu",
//   make_link(path->links[0].place, path->links[0].target);   // "/lib" → "usr/lib"
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace hearth::daemon {

struct RealPath {
  struct Link {
    std::string place;   // absolute, without links before its last name
    std::string target;  // as written
  };
  std::string real;
  std::vector<Link> links;
};

// Nothing when the path is not absolute, does not exist, or its links lead in a circle.
std::optional<RealPath> follow(const std::string& path);

// "/a/b" is below "/a", "/a" is below "/a", "/ab" is not.
bool is_within(const std::string& path, const std::string& folder);

}  // namespace hearth::daemon
