// Where things are: roots that are relative, moved installations, caches, settings that are wrong.
#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "blob_place.h"
#include "blobs/loader/blob_environment.h"

using Catch::Contains;
using namespace hearth::blob;
using namespace hearth::blob::test;
namespace fs = std::filesystem;

namespace {

// The library in miniature at `file`, with its root beside it.
void install(BlobPlace& place, const fs::path& file) {
  fs::create_directories(file.parent_path() / "ck_jit");
  fs::copy_file(module("test_blob_library"), file);
  place.compiler_copies("test_blob");
  fs::copy_file(place.root / "hearth-blobc", file.parent_path() / "ck_jit" / "hearth-blobc");
}

int call_library(const fs::path& file, std::string* why) {
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(handle != nullptr);
  auto call = reinterpret_cast<int (*)(int, int, char*, int)>(dlsym(handle, "test_library_call"));
  REQUIRE(call != nullptr);
  std::string text(4096, '\0');
  const int result = call(6, 7, text.data(), static_cast<int>(text.size()));
  *why = text.c_str();
  return result;
}

}  // namespace

TEST_CASE("a relative root is relative to the library, also after the installation was moved") {
  BlobPlace place;
  unsetenv("CK_JIT_ROOT");
  std::string why;
  install(place, place.folder / "here" / "libtest.so");
  // In a process of its own: this one would take the moved file for the library that it has loaded already.
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(call_library(place.folder / "here" / "libtest.so", &why));
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 42);
  fs::rename(place.folder / "here", place.folder / "there");
  CHECK(call_library(place.folder / "there" / "libtest.so", &why) == 42);
  CHECK_THAT(place.arguments(), Contains("--root|" + fs::canonical(place.folder).string() + "/there/ck_jit|"));
}

TEST_CASE("a relative root from the environment is relative to the library too") {
  BlobPlace place;
  std::string why;
  install(place, place.folder / "a" / "libtest.so");
  fs::rename(place.folder / "a" / "ck_jit", place.folder / "elsewhere");
  BlobPlace::set("CK_JIT_ROOT", "../elsewhere");
  CHECK(call_library(place.folder / "a" / "libtest.so", &why) == 42);
}

TEST_CASE("a library that is reached through a link finds its root where it really is") {
  BlobPlace place;
  unsetenv("CK_JIT_ROOT");
  std::string why;
  install(place, place.folder / "real" / "libtest.so");
  fs::create_directory(place.folder / "links");
  fs::create_symlink(place.folder / "real" / "libtest.so", place.folder / "links" / "libtest.so");
  CHECK(call_library(place.folder / "links" / "libtest.so", &why) == 42);
}

TEST_CASE("an installation without its root says which folder is missing") {
  BlobPlace place;
  unsetenv("CK_JIT_ROOT");
  std::string why;
  install(place, place.folder / "b" / "libtest.so");
  fs::remove_all(place.folder / "b" / "ck_jit");
  CHECK(call_library(place.folder / "b" / "libtest.so", &why) == -5);
  CHECK_THAT(why, Contains("/b/ck_jit") && Contains("CK_JIT_ROOT"));
}

TEST_CASE("the cache folder is the one named, else XDG's, else the home's") {
  BlobPlace place;
  const auto cache = [&] { return read_environment(place.library()).cache_folder; };
  CHECK(cache() == place.cache.string());
  BlobPlace::set("CK_JIT_CACHE_DIR", "relative");
  CHECK(cache() == (fs::current_path() / "relative").string());
  unsetenv("CK_JIT_CACHE_DIR");
  BlobPlace::set("XDG_CACHE_HOME", "/xdg");
  CHECK(cache() == "/xdg/test_blobs");
  BlobPlace::set("CK_JIT_NAME", "te_ck_jit");
  CHECK(cache() == "/xdg/te_ck_jit");
  BlobPlace::set("XDG_CACHE_HOME", "relative");
  const char* home = std::getenv("HOME");
  const std::string before = home == nullptr ? "" : home;
  BlobPlace::set("HOME", "/home/someone");
  CHECK(cache() == "/home/someone/.cache/te_ck_jit");
  unsetenv("HOME");
  CHECK(cache().empty());
  if (home != nullptr) BlobPlace::set("HOME", before);
}

TEST_CASE("settings that are wrong are named") {
  BlobPlace place;
  BlobPlace::set("HEARTH_BLOB_RETRY_S", "0");
  const auto check = [&](const char* name, const char* value) {
    BlobPlace::set(name, value);
    const BlobError error = error_of([&] { place.site().get(); });
    CHECK(error.code() == 3);
    CHECK_THAT(error.what(), Contains(name) && Contains(value));
    unsetenv(name);
  };
  check("HEARTH_BLOB_MODE", "sometimes");
  check("HEARTH_BLOB_TIMEOUT_S", "soon");
  check("HEARTH_BLOB_TIMEOUT_S", "0");
  check("HEARTH_BLOB_TIMEOUT_S", "99999999999999999999");
  check("CK_JIT_NAME", "../elsewhere");
  check("HEARTH_BLOB_RETRY_S", "-1");
}

TEST_CASE("a root that does not exist is named") {
  BlobPlace place;
  BlobPlace::set("CK_JIT_ROOT", "/does/not/exist");
  const BlobError error = error_of([&] { place.site().get(); });
  CHECK(error.code() == 5);
  CHECK_THAT(error.what(), Contains("/does/not/exist") && Contains("CK_JIT_ROOT"));
}
