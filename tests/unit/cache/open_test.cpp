// Opening: one owner a directory, refusals that name the thing and the remedy, damaged indexes, very large ones.
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "tests/support/skip.h"
#include "tests/unit/cache/cache_fixture.h"
#include "tests/unit/cache/fault_file_system.h"

using namespace hearth;
using namespace hearth::cache;
using namespace hearth::cache::testing;

namespace {

bool says(const absl::Status& status, const std::string& text) {
  return std::string(status.message()).find(text) != std::string::npos;
}

// A process that has the cache open and waits to be killed.
pid_t start_owner(const std::string& dir) {
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  pid_t pid = ::fork();
  if (pid == 0) {
    auto cache = KernelsCache::open({.dir = dir});
    char ok = cache.ok() ? 'y' : 'n';
    if (::write(ready[1], &ok, 1) == 1) ::pause();
    ::_exit(1);
  }
  char ok = 0;
  REQUIRE(::read(ready[0], &ok, 1) == 1);
  REQUIRE(ok == 'y');
  ::close(ready[0]);
  ::close(ready[1]);
  return pid;
}

}  // namespace

TEST_CASE("a second daemon on a directory is refused with the owner's pid; the lock dies with the owner") {
  CacheFixture fixture;
  pid_t owner = start_owner(fixture.options.dir);
  absl::Status refused = fixture.try_open();
  CHECK(absl::IsFailedPrecondition(refused));
  CHECK(says(refused, "process " + std::to_string(owner)));
  CHECK(says(refused, fixture.options.dir));
  CHECK(says(refused, "stop that daemon"));
  REQUIRE(::kill(owner, SIGKILL) == 0);
  REQUIRE(::waitpid(owner, nullptr, 0) == owner);
  fixture.open();
  fixture.put_kernel(1);
  CHECK(slurp(fixture.options.dir + "/lock") == std::to_string(::getpid()) + "\n");
}

TEST_CASE("directories that cannot be used are refused in one clear line") {
  CacheFixture fixture;
  SECTION("the path is a file") {
    std::ofstream(fixture.options.dir) << "a file";
    absl::Status refused = fixture.try_open();
    CHECK(absl::IsFailedPrecondition(refused));
    CHECK(says(refused, "Not a directory"));
  }
  SECTION("a parent is a file") {
    std::ofstream(fixture.options.dir) << "a file";
    fixture.options.dir += "/below/it";
    CHECK(says(fixture.try_open(), "Not a directory"));
  }
  SECTION("no path") {
    fixture.options.dir = "";
    CHECK(absl::IsInvalidArgument(fixture.try_open()));
    return;
  }
  SECTION("not writable") {
    FaultFileSystem file_system;
    fixture.options.file_system = &file_system;
    file_system.fail(Call::kMakeDir, EACCES, 2, true);
    absl::Status refused = fixture.try_open();
    CHECK(absl::IsPermissionDenied(refused));
    CHECK(says(refused, "Permission denied"));
    fixture.options.file_system = nullptr;
  }
  SECTION("not writable, for real") {
    std::filesystem::create_directory(fixture.options.dir);
    ::chmod(fixture.options.dir.c_str(), 0500);
    if (::geteuid() == 0) {
      test::skip_part("root may write into a folder that is not writable");
    } else {
      CHECK(absl::IsPermissionDenied(fixture.try_open()));
    }
    ::chmod(fixture.options.dir.c_str(), 0700);
    return;
  }
  SECTION("a full disk") {
    FaultFileSystem file_system;
    fixture.options.file_system = &file_system;
    file_system.fail(Call::kMakeDir, ENOSPC, 3, true);
    absl::Status refused = fixture.try_open();
    CHECK(absl::IsResourceExhausted(refused));
    CHECK(says(refused, "No space left on device"));
    fixture.options.file_system = nullptr;
  }
  SECTION("others can write it") {
    std::filesystem::create_directory(fixture.options.dir);
    std::ofstream(fixture.options.dir + "/planted") << "x";
    ::chmod(fixture.options.dir.c_str(), 0777);
    CHECK(says(fixture.try_open(), "others can write it"));
  }
  absl::Status refused = fixture.try_open();
  if (!refused.ok()) {
    CHECK(says(refused, fixture.options.dir));
    CHECK(says(refused, "choose another cache directory"));
    CHECK(!says(refused, "\n"));
  }
}

TEST_CASE("a directory that holds something else is left as it is") {
  CacheFixture fixture;
  const std::string dir = fixture.options.dir;
  std::filesystem::create_directories(dir + "/tmp");
  std::ofstream(dir + "/tmp/mine.txt") << "x";
  std::ofstream(dir + "/letter.txt") << "x";
  const absl::Status refused = fixture.try_open();
  CHECK(absl::IsFailedPrecondition(refused));
  CHECK(says(refused, "holds no cache of Hearth, but 'letter.txt'"));
  CHECK(says(refused, "choose another cache directory"));
  CHECK(std::filesystem::exists(dir + "/tmp/mine.txt"));
  CHECK(std::distance(std::filesystem::directory_iterator(dir), {}) == 2);  // nothing was made either
}

TEST_CASE("a directory that clients used before there was a daemon becomes its cache") {
  CacheFixture fixture;
  // Of hearth run --device vulkan, of hearth-hipcc, of hearth run --profile of a plan file.
  for (const char* name : {"vulkan", "toolchains", "speed"}) {
    std::filesystem::create_directories(fixture.options.dir + "/" + name);
    std::ofstream(fixture.options.dir + "/" + name + "/theirs") << "x";
  }
  CHECK(fixture.try_open().ok());
  CHECK(std::filesystem::exists(fixture.options.dir + "/vulkan/theirs"));
  CHECK(std::filesystem::exists(fixture.options.dir + "/toolchains/theirs"));
  CHECK(std::filesystem::exists(fixture.options.dir + "/speed/theirs"));
}

TEST_CASE("a cache whose index is gone, or that something was put into, is still one") {
  CacheFixture fixture;
  fixture.open();
  fixture.put_kernel(1);
  fixture.cache.reset();
  std::ofstream(fixture.options.dir + "/CACHEDIR.TAG") << "x";
  fixture.open();
  fixture.cache.reset();
  std::filesystem::remove(fixture.options.dir + "/CACHEDIR.TAG");
  for (const char* suffix : {"", "-wal", "-shm"})
    std::filesystem::remove(fixture.options.dir + "/index.sqlite" + suffix);
  fixture.open();
}

TEST_CASE("a directory behind another user's link is refused") {
  if (::geteuid() != 0) SKIP_CASE("only root can make another user's link");
  CacheFixture fixture;
  const std::string real = fixture.options.dir + ".real";
  std::filesystem::create_directory(real);
  std::filesystem::create_directory_symlink(real, fixture.options.dir);
  fixture.open();  // a link of one's own is as good as a folder
  fixture.cache.reset();
  REQUIRE(::lchown(fixture.options.dir.c_str(), 65534, 65534) == 0);
  CHECK(says(fixture.try_open(), "a link that belongs to uid 65534"));
  fixture.options.dir += "/below";
  CHECK(says(fixture.try_open(), "a link that belongs to uid 65534"));
  CHECK_FALSE(std::filesystem::exists(real + "/below"));
}

TEST_CASE("an empty directory of ours with a lax mode is tightened; missing parents are made") {
  CacheFixture fixture;
  std::filesystem::create_directory(fixture.options.dir);
  ::chmod(fixture.options.dir.c_str(), 0777);
  fixture.open();
  struct stat info{};
  REQUIRE(::stat(fixture.options.dir.c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0700);
  fixture.options.dir += "/../a/b/c/";
  fixture.open();
  fixture.put_kernel(1);
  CHECK(fixture.cache->artifact_path(sha256("x")).find("..") == std::string::npos);
}

TEST_CASE("a network file system is refused unless allowed by name") {
  FaultFileSystem file_system;
  CacheFixture fixture;
  fixture.options.file_system = &file_system;
  for (auto [magic, name] :
       std::map<std::uint64_t, std::string>{{0x6969, "nfs"}, {0xff534d42, "cifs"}, {0x01021997, "9p"}}) {
    file_system.set_magic(magic);
    absl::Status refused = fixture.try_open();
    CHECK(absl::IsFailedPrecondition(refused));
    CHECK(says(refused, "network file system (" + name + ")"));
  }
  fixture.options.allow_network_fs = true;
  fixture.open();
  fixture.put_kernel(1);
  fixture.cache.reset();
  fixture.options.allow_network_fs = false;
  file_system.set_magic(0xef53);
  CHECK(fixture.open().find_kernel(material_of(1)));
}

TEST_CASE("a damaged index is moved to quarantine and rebuilt empty with a warning") {
  CacheFixture fixture;
  fixture.open();
  for (int i = 0; i < 60; ++i) fixture.put_kernel(i, 50);
  fixture.cache.reset();
  std::string index = fixture.options.dir + "/index.sqlite";
  std::string bytes = slurp(index);
  REQUIRE(bytes.size() > 20'000);
  bool warned = true;
  SECTION("garbage") { spill(index, artifact_of(7, 100'000)); }
  SECTION("a short text") { spill(index, "not a database"); }
  SECTION("garbage in the middle of the header") {
    spill(index, bytes.substr(0, 16) + artifact_of(8, 4080) + bytes.substr(4096));
  }
  SECTION("all pages but the first are garbage") {
    spill(index, bytes.substr(0, 4096) + artifact_of(9, bytes.size() - 4096));
  }
  SECTION("truncated") { spill(index, bytes.substr(0, 4096)); }
  SECTION("another database") {
    std::filesystem::remove(index);
    sqlite3* other = nullptr;
    REQUIRE(sqlite3_open(index.c_str(), &other) == SQLITE_OK);
    REQUIRE(sqlite3_exec(other, "CREATE TABLE mine (x); PRAGMA user_version = 1", nullptr, nullptr, nullptr) == 0);
    sqlite3_close(other);
  }
  SECTION("a column has another name") {
    const std::string column = "check_digest";
    for (std::size_t at = 0; (at = bytes.find(column, at)) != std::string::npos; at += column.size()) bytes[at] ^= 1;
    spill(index, bytes);
  }
  SECTION("a newer format") {
    sqlite3* newer = nullptr;
    REQUIRE(sqlite3_open(index.c_str(), &newer) == SQLITE_OK);
    REQUIRE(sqlite3_exec(newer, "PRAGMA user_version = 2", nullptr, nullptr, nullptr) == 0);
    sqlite3_close(newer);
  }
  SECTION("a directory") {
    std::filesystem::remove(index);
    std::filesystem::create_directory(index);
  }
  SECTION("empty") {
    spill(index, "");
    warned = false;
  }
  SECTION("missing") {
    std::filesystem::remove(index);
    warned = false;
  }
  KernelsCache& cache = fixture.open();
  CHECK(fixture.warnings.size() == (warned ? 1 : 0));
  if (warned) CHECK(fixture.warnings[0].find("quarantine") != std::string::npos);
  CHECK(cache.stats().entries == 0);
  CHECK(!cache.find_kernel(material_of(1)));
  CHECK(files_under(fixture.options.dir + "/cas").empty());  // nothing names them any more
  fixture.put_kernel(1);
  CHECK(fixture.open().find_kernel(material_of(1)));
  CHECK(fixture.warnings.size() == (warned ? 1 : 0));
}

TEST_CASE("leftovers of a dead process go at open: temps, and files whose row was never committed") {
  CacheFixture fixture;
  fixture.open();
  Digest committed = fixture.put_kernel(1);
  fixture.cache.reset();
  std::string orphan = to_hex(sha256("orphan")), tmp = fixture.options.dir + "/tmp/";
  std::string orphan_path = fixture.options.dir + "/cas/" + orphan.substr(0, 2) + "/" + orphan;
  std::ofstream(orphan_path) << "orphan";
  std::ofstream(tmp + orphan + ".1.intent");
  std::ofstream(tmp + to_hex(committed) + ".2.intent");
  std::ofstream(tmp + to_hex(committed) + ".3.tmp") << "half a fi";
  std::ofstream(tmp + "stray") << "x";
  KernelsCache& cache = fixture.open();
  CHECK(files_under(tmp).empty());
  CHECK(!std::filesystem::exists(orphan_path));
  CHECK(cache.find_kernel(material_of(1)));
}

TEST_CASE("a cache of 100,000 entries opens and hits") {
  CacheFixture fixture;
  fixture.open();
  fixture.put_kernel(1);
  fixture.cache.reset();
  // Straight into the index, as FORMAT.md has it.
  sqlite3* index = nullptr;
  REQUIRE(sqlite3_open((fixture.options.dir + "/index.sqlite").c_str(), &index) == SQLITE_OK);
  const char* fill = R"sql(
    BEGIN;
    WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 100008)
    INSERT INTO actions SELECT i, randomblob(32), 2, zeroblob(700), zeroblob(40), zeroblob(32), 700, i, i FROM n;
    INSERT INTO blobs SELECT key, 12000, last_used_ns FROM actions WHERE id >= 10;
    INSERT INTO refs SELECT key, id FROM actions WHERE id >= 10;
    COMMIT;)sql";
  REQUIRE(sqlite3_exec(index, fill, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(index);
  KernelsCache& cache = fixture.open();
  CHECK(cache.find_kernel(material_of(1)));
  CHECK(cache.stats().entries == 100'000);
  CHECK(cache.stats().bytes > 99'999ull * (3 * 4096 + 700));
}
