// A fresh folder of one test, removed at its end.
//
//   Scratch scratch;
//   write_file(scratch / "a.txt", {"text"});
#pragma once
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace hearth::blobs {

class Scratch {
 public:
  Scratch() : path_((std::filesystem::temp_directory_path() / "hearth_blob_build_XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace hearth::blobs
