// Files of a test: a private folder that is removed with its content, and writing below it.
#pragma once
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/unit/daemon/test_folder.h"

namespace hearth::files {

using TestFolder = daemon::TestFolder;

// Makes the folders in between.
inline void write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

}  // namespace hearth::files
