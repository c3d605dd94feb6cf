// BlobPlace: a folder with an installation of blobs in miniature, for the life of a test: a root with a stub
// hearth-blobc (a shell script), a cache, and a Library. The environment is cleared of what libhearth_blob reads, and
// again at the end.
//
//   BlobPlace place;
//   place.compiler_copies("test_blob");
//   place.call(place.site());                        // 7 * 6
//   place.calls();                                   // how often hearth-blobc ran
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "blobs/loader/hearth_blob.h"

namespace hearth::blob::test {

struct Args {
  int values[40];
};
using Leaf = int (*)(const int&, Args);
using GetName = std::string (*)();

std::string module(const std::string& name);  // path of a shared object that CMake built
std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, const std::string& text);
std::string sha256_of(const std::filesystem::path& path);  // of its bytes, in hexadecimal
// What a compiler answers about a file.
std::string reply_of(const std::filesystem::path& path);

class BlobPlace {
 public:
  BlobPlace();
  ~BlobPlace();
  BlobPlace(const BlobPlace&) = delete;
  BlobPlace& operator=(const BlobPlace&) = delete;

  std::filesystem::path folder, root, cache;
  const Library& library() const { return *library_; }
  Library* mutable_library() { return library_; }
  const Dispatcher& dispatcher() const { return *dispatcher_; }

  // hearth-blobc becomes a script that notes its arguments, one call a line, and then runs `body`; $stem and $cache are
  // what it was given.
  void compiler_does(const std::string& body);
  void compiler_copies(const std::string& module_name);
  std::size_t calls() const;
  std::string arguments() const;  // of all calls

  // Of export `which` of blob `blob`: 0 "leaf_one", 1 "leaf_two". Lives as long as the process.
  Site& site(std::uint32_t blob = 0, std::uint32_t which = 0) const;
  static int call(Site& site);  // leaf with 6 and 7: 42

  static void set(const char* name, const std::string& value);

 private:
  Library* library_;  // never freed: the registry knows it by its address
  const Dispatcher* dispatcher_;
};

// Runs `f`, which must throw a BlobError, and gives that.
template <typename F>
BlobError error_of(F&& f) {
  try {
    f();
  } catch (const BlobError& error) {
    return error;
  }
  return BlobError(0, "(nothing was thrown)");
}

}  // namespace hearth::blob::test
