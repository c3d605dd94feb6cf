// Digests of whole files of any size, stamps, and the file system's clock.
#include "base/file_digest/file_digest.h"

#include <catch2/catch.hpp>

#include "tests/unit/file_digest/files.h"

namespace hearth::files {
namespace {

TEST_CASE("file digest: that of the bytes, whatever their number") {
  TestFolder folder;
  const std::string path = folder / "x";
  for (const std::size_t size : {0u, 1u, (256u << 10) - 1, 256u << 10, (256u << 10) + 1, 700'000u}) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 >> 3);
    write(path, bytes);
    const auto file = file_digest(path);
    INFO(size << " bytes: " << file.status());
    REQUIRE(file.ok());
    CHECK(file->digest == sha256(bytes));
    CHECK(file->stamp.size_bytes == size);
    CHECK(file->stamp == stamp_of_file(path));
  }
  // FIPS 180-2, appendix B.1
  write(path, "abc");
  CHECK(to_hex(file_digest(path)->digest) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("file digest: what is no file of bytes, or too long, is told by its path") {
  TestFolder folder;
  const auto refused = [](const absl::StatusOr<FileDigest>& file, absl::StatusCode code, const std::string& words) {
    CHECK(file.status().code() == code);
    CHECK(std::string(file.status().message()) == words);
  };
  const std::string none = folder / "none", path = folder / "x";
  refused(file_digest(none), absl::StatusCode::kNotFound, none + ": No such file or directory");
  refused(file_digest(folder.path()), absl::StatusCode::kInvalidArgument, folder.path() + ": is not a regular file");
  refused(file_digest("/dev/null"), absl::StatusCode::kInvalidArgument, "/dev/null: is not a regular file");
  write(path, "four");
  CHECK(file_digest(path, 4).ok());
  refused(file_digest(path, 3), absl::StatusCode::kInvalidArgument, path + ": has 4 bytes, more than 3");
  refused(file_digest(path + "/below"), absl::StatusCode::kNotFound, path + "/below: Not a directory");
}

TEST_CASE("file digest: a file that says it is empty and is not is told, not digested wrongly") {
  const auto file = file_digest("/proc/self/status");  // regular, of size 0
  CHECK(absl::IsUnavailable(file.status()));
  CHECK(std::string(file.status().message()) == "/proc/self/status: it changed while it was read");
}

TEST_CASE("file stamp: another after a write and after another file took the place") {
  TestFolder folder;
  const std::string path = folder / "x";
  write(path, "one");
  const auto first = stamp_of_file(path);
  REQUIRE(first);
  CHECK(stamp_of(path) == first);
  write(path, "three");
  CHECK_FALSE(stamp_of(path) == first);
  const auto second = stamp_of(path);
  write(folder / "y", "three");
  std::filesystem::last_write_time(folder / "y", std::filesystem::last_write_time(path));
  std::filesystem::rename(folder / "y", path);
  CHECK_FALSE(stamp_of(path) == second);
  CHECK(stamp_of(folder.path()).has_value());
  CHECK_FALSE(stamp_of_file(folder.path()).has_value());
  CHECK_FALSE(stamp_of(folder / "none").has_value());
}

TEST_CASE("file clock: what is written after a tick is later, what was written before is not") {
  TestFolder folder;
  for (int round = 0; round < 20; ++round) {
    const std::string before = folder / ("before" + std::to_string(round)), after = folder / "after";
    write(before, "");
    const std::int64_t tick = file_clock_tick();
    write(after, std::to_string(round));
    CHECK(stamp_of(before)->changed_ns <= tick);
    CHECK(stamp_of(after)->changed_ns >= tick);
  }
}

}  // namespace
}  // namespace hearth::files
