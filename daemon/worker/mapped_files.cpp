#include "daemon/worker/mapped_files.h"

#include <fstream>
#include <set>

namespace hearth::daemon {

std::vector<std::string> mapped_files() {
  // "7f00-7f01 r-xp 00000000 fe:01 123   /usr/lib/x.so": address, rights, offset, device, inode, path.
  std::set<std::string> files;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t rights = line.find(' ');
    const std::size_t path = line.find('/');
    if (rights == std::string::npos || path == std::string::npos || rights + 4 > line.size()) continue;
    if (line[rights + 3] == 'x') files.insert(line.substr(path));
  }
  return {files.begin(), files.end()};
}

}  // namespace hearth::daemon
