// A fresh private directory under the system's temporary one, removed at the end of a test.
#pragma once
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

namespace hearth::cache::testing {

class TempDir {
 public:
  TempDir() {
    path_ = (std::filesystem::temp_directory_path() / "hearth_cache_XXXXXX").string();
    REQUIRE(::mkdtemp(path_.data()) != nullptr);
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace hearth::cache::testing
