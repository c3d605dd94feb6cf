// Where Hearth's own libraries for blobs lie, by the folder of its programs: beside the build's, or where packages put
// what is not for every linker to find. Thread-safe; no errors.
//
//   std::string archive = installed_library(bin, "libhearth_blob.a");   // bin/../lib/hearth/libhearth_blob.a
#pragma once
#include <filesystem>
#include <string>

namespace hearth::blobs {

// The first that there is; else where it should be.
inline std::string installed_library(const std::filesystem::path& bin, const std::string& name) {
  std::error_code error;
  const std::filesystem::path prefix = std::filesystem::absolute(bin, error).lexically_normal().parent_path();
  for (const char* folder : {"lib/hearth", "lib", "lib64"}) {
    const std::filesystem::path path = prefix / folder / name;
    if (std::filesystem::is_regular_file(path, error)) return path.string();
  }
  return (prefix / "lib" / name).string();
}

}  // namespace hearth::blobs
