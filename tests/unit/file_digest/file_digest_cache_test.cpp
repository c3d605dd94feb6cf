// The cache never answers with what a file or folder was before.
#include "base/file_digest/file_digest_cache.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <thread>

#include "tests/support/eventually.h"
#include "tests/support/skip.h"
#include "tests/unit/file_digest/files.h"

namespace hearth::files {
namespace {

using namespace std::chrono_literals;

TEST_CASE("file digest cache: a file that changes under the same size and time is read again") {
  TestFolder folder;
  FileDigestCache files;
  const std::string path = folder / "x";
  write(path, "one");
  const auto old = std::filesystem::file_time_type::clock::now() - 1h;
  std::filesystem::last_write_time(path, old);
  CHECK(*files.digest(path) == sha256("one"));
  write(path, "two");
  std::filesystem::last_write_time(path, old);
  CHECK(*files.digest(path) == sha256("two"));
  std::filesystem::remove(path);
  CHECK(absl::IsNotFound(files.digest(path).status()));
  CHECK(absl::IsInvalidArgument(files.digest(folder.path()).status()));
  CHECK(absl::IsInvalidArgument(files.digest("/dev/null").status()));
  CHECK(files.names_in(folder / "none") == nullptr);
  CHECK(files.names_in(folder.path())->names.empty());
  write(folder / "b", "");
  write(folder / "a", "");
  CHECK(files.names_in(folder.path())->names == std::vector<std::string>{"a", "b"});
  CHECK(files.names_in(folder / "a") == nullptr);
}

// Bytes that this process has read.
std::uint64_t bytes_read() {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::uint64_t count = 0;
  io >> name >> count;
  return count;
}

TEST_CASE("file digest cache: a file is read once, in however many ways its path is spelled") {
  TestFolder folder;
  const std::string path = folder / "x";
  write(path, std::string(1 << 20, 'x'));
  REQUIRE(
      test::eventually([&] { return is_settled(*stamp_of(path)); }));  // what changed a moment ago is not remembered
  FileDigestCache files;
  const std::uint64_t before = bytes_read();
  std::string spelled = folder.path();
  for (int i = 0; i < 64; ++i, spelled += "/.")
    CHECK(*files.digest(spelled + "/x") == sha256(std::string(1 << 20, 'x')));
  CHECK(bytes_read() - before < (2u << 20));
}

TEST_CASE("file digest cache: a folder of more names than are kept is said to have too many") {
  TestFolder folder;
  FileDigestCache files;
  for (std::size_t i = 0; i < FileDigestCache::kMaxNames; ++i) write(folder / ("n" + std::to_string(i)), "");
  CHECK_FALSE(files.names_in(folder.path())->too_many);
  write(folder / "one more", "");
  CHECK(files.names_in(folder.path())->too_many);
  CHECK(files.names_in(folder.path())->names.empty());
}

TEST_CASE("file digest cache: the limit is its own") {
  TestFolder folder;
  write(folder / "x", "four");
  FileDigestCache small(3);
  const absl::Status refused = small.digest(folder / "x").status();
  CHECK(absl::IsInvalidArgument(refused));
  CHECK(std::string(refused.message()) == (folder / "x") + ": has 4 bytes, more than 3");
}

TEST_CASE("watched: answers hold until one of the files or folders changes; a new one does not settle at once") {
  TestFolder folder;
  FileDigestCache files;
  write(folder / "x", "one");
  FileSnapshot watched;
  REQUIRE(files.digest(folder / "x", &watched).ok());
  REQUIRE(files.names_in(folder / "sub", &watched) == nullptr);
  CHECK(watched.unchanged());
  CHECK_FALSE(watched.settled());
  std::filesystem::create_directory(folder / "sub");
  CHECK_FALSE(watched.unchanged());
  FileSnapshot again;
  REQUIRE(files.digest(folder / "x", &again).ok());
  write(folder / "x", "three");
  CHECK_FALSE(again.unchanged());
  FileSnapshot old;
  REQUIRE(files.names_in("/", &old) != nullptr);
  const auto root = stamp_of("/");
  if (root && is_settled(*root)) {
    CHECK(old.settled());
  } else {
    test::skip_part("the root folder changed a moment ago");
  }
}

}  // namespace
}  // namespace hearth::files
