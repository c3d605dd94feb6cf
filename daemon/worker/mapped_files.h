// mapped_files: the files that this process runs code of: its program and its libraries. Thread-safe.
//
//   std::vector<std::string> files = mapped_files();   // absolute paths, ascending, each once
#pragma once
#include <string>
#include <vector>

namespace hearth::daemon {

// Empty where /proc is not mounted. A file that was replaced since is missing.
std::vector<std::string> mapped_files();

}  // namespace hearth::daemon
