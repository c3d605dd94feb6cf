// The direct mode's cache: one compile for all who ask, never a stale object, private, and nothing left of a failure.
#include "blobs/tools/direct_cache.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/file_digest/file_digest.h"
#include "blobs/tools/stem_lock.h"
#include "tests/support/skip.h"
#include "tests/unit/blob_compiler/place.h"

using namespace hearth::blobs;
using namespace hearth::blobs::testing;
namespace fs = std::filesystem;

namespace {

// Runs `work` in so many processes at once; their exit codes.
std::vector<int> in_processes(int count, const std::function<int()>& work) {
  int gate[2];
  REQUIRE(::pipe(gate) == 0);
  std::vector<pid_t> children;
  for (int i = 0; i < count; ++i) {
    children.push_back(::fork());
    if (children.back() == 0) {
      ::close(gate[1]);
      char byte;
      (void)!::read(gate[0], &byte, 1);  // until all are there
      ::_exit(work());
    }
  }
  ::close(gate[0]);
  ::close(gate[1]);
  std::vector<int> codes;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 255);
  }
  return codes;
}

int mode_of(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<int>(info.st_mode & 0777) : -1;
}

std::vector<std::string> listing(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("First a compile, then a hit; all is private") {
  Place place;
  place.set("HEARTH_BLOB_CXX", place.counting_compiler());
  const auto first = obtain(place.spec(), place.direct());
  INFO(std::string(first.status().message()));
  REQUIRE(first.ok());
  CHECK_FALSE(first->hit);
  CHECK(first->seconds > 0);
  CHECK(first->path == place.path("cache/x.so"));
  CHECK(call(first->path, 2) == 3);
  const auto second = obtain(place.spec(), place.direct());
  REQUIRE(second.ok());
  CHECK(second->hit);
  CHECK(second->sha256_hex == first->sha256_hex);
  CHECK(hearth::to_hex(hearth::files::file_digest(first->path)->digest) == first->sha256_hex);
  CHECK(place.compiles() == 1);
  CHECK(listing(place.path("cache")) == std::vector<std::string>{"x.json", "x.so"});
  CHECK(mode_of(place.path("cache")) == 0700);
  CHECK(mode_of(place.path("cache/x.so")) == 0700);
  CHECK(mode_of(place.path("cache/x.json")) == 0600);
}

TEST_CASE("Whatever a blob is made of, a change of it compiles anew") {
  Place place;
  place.set("HEARTH_BLOB_CXX", place.counting_compiler());
  BlobSpec spec = place.spec();
  int compiles = 0;
  const auto compiles_anew = [&] {
    const auto made = obtain(spec, place.direct());
    INFO(std::string(made.status().message()));
    REQUIRE(made.ok());
    const bool anew = place.compiles() == compiles + 1;
    compiles = place.compiles();
    CHECK(made->hit != anew);
    CHECK(obtain(spec, place.direct())->hit);
    return anew;
  };
  REQUIRE(compiles_anew());
  CHECK_FALSE(compiles_anew());
  place.write("root/include/k.h", "#define K 41\n");
  CHECK(compiles_anew());
  CHECK(call(place.path("cache/x.so"), 1) == 42);
  place.write("root/x.cpp", std::string(kSource) + "// changed\n");
  CHECK(compiles_anew());
  spec.flags[0] = "-O2";
  CHECK(compiles_anew());
  spec.exports.emplace_back("_Z9hearth_f_I");
  CHECK(compiles_anew());
  spec.glue = "int hearth_glue;";
  CHECK(compiles_anew());
  place.write("root/k.h", "#define K 8\n");  // found first from now on
  CHECK(compiles_anew());
  place.stub("counting-c++", "# another compiler\necho compiled >> " + place.path("compiles") + "\nexec c++ \"$@\"");
  CHECK(compiles_anew());
  fs::resize_file(place.path("cache/x.so"), 100);
  CHECK(compiles_anew());
  std::string damaged = place.read("cache/x.so");
  damaged[damaged.size() / 2] ^= 1;
  place.write("cache/x.so", damaged);
  CHECK(compiles_anew());
  fs::remove(place.path("cache/x.so"));
  CHECK(compiles_anew());
  place.write("cache/x.json", "{\"hearth_blob_entry\":1,\"identity\":7}");
  CHECK(compiles_anew());
}

TEST_CASE("An object that was damaged without a trace in its size and time is compiled again") {
  Place place;
  place.set("HEARTH_BLOB_CXX", place.counting_compiler());
  const auto first = obtain(place.spec(), place.direct());
  REQUIRE(first.ok());
  const auto time = fs::last_write_time(first->path);
  std::string bytes = place.read("cache/x.so");
  bytes[bytes.size() / 2] ^= 1;
  std::fstream(first->path, std::ios::in | std::ios::out | std::ios::binary) << bytes;
  fs::last_write_time(first->path, time);
  const auto again = obtain(place.spec(), place.direct());
  REQUIRE(again.ok());
  CHECK_FALSE(again->hit);
  CHECK(place.compiles() == 2);
  CHECK(hearth::to_hex(hearth::files::file_digest(again->path)->digest) == again->sha256_hex);
}

TEST_CASE("50 processes call the same blob first: one compile") {
  Place place;
  place.set("HEARTH_BLOB_CXX", place.counting_compiler());
  REQUIRE(find_toolchain(kCxxToolchain).ok());
  const auto codes = in_processes(50, [&] {
    const auto made = obtain(place.spec(), place.direct());
    return made.ok() && hearth::to_hex(hearth::files::file_digest(made->path)->digest) == made->sha256_hex ? 0 : 1;
  });
  for (const int code : codes) CHECK(code == 0);
  CHECK(place.compiles() == 1);
  CHECK(listing(place.path("cache")) == std::vector<std::string>{"x.json", "x.so"});
}

TEST_CASE("Those who wait for a compile share its failure; the next call tries again; nothing is left") {
  Place place;
  place.set("HEARTH_BLOB_CXX", place.stub("failing", "echo compiled >> " + place.path("compiles") +
                                                         "\nsleep 1\necho 'no such luck' >&2\nexit 1"));
  REQUIRE(find_toolchain(kCxxToolchain).ok());
  const auto codes = in_processes(12, [&] {
    const auto made = obtain(place.spec(), place.direct());
    return absl::IsFailedPrecondition(made.status()) &&
                   std::string(made.status().message()).find("no such luck") != std::string::npos
               ? 0
               : 1;
  });
  for (const int code : codes) CHECK(code == 0);
  CHECK(place.compiles() == 1);
  CHECK(listing(place.path("cache")).empty());
  CHECK_FALSE(obtain(place.spec(), place.direct()).ok());
  CHECK(place.compiles() == 2);
}

TEST_CASE("Who waits for a process that never ends gives up, naming the lock") {
  const Place place;
  place.folder("cache");
  const auto held = StemLock::take(place.path("cache"), "x", std::chrono::seconds(1));
  REQUIRE(held.ok());
  DirectOptions options = place.direct();
  options.limits.wall_limit = std::chrono::milliseconds(50);
  const auto made = obtain(place.spec(), options);
  CHECK(absl::IsDeadlineExceeded(made.status()));
  says(made.status(), place.path("cache/x.lock"));
  CHECK(fs::exists(place.path("cache/x.lock")));  // it is still theirs
}

TEST_CASE("A compile that was killed half-way leaves a lock and a folder; the next one clears them away") {
  Place place;
  place.folder("cache");
  place.write("cache/x.lock", "");
  place.write("cache/.x.work-abcdef/x.so", "half");
  const auto made = obtain(place.spec(), place.direct());
  REQUIRE(made.ok());
  CHECK(listing(place.path("cache")) == std::vector<std::string>{"x.json", "x.so"});
}

TEST_CASE("A header that changes meanwhile: the result serves this call and no other") {
  Place place;
  place.set("HEARTH_BLOB_CXX", place.stub("slow", "c++ \"$@\" || exit 1\ntouch " + place.path("root/include/k.h")));
  const auto made = obtain(place.spec(), place.direct());
  REQUIRE(made.ok());
  CHECK(call(made->path, 2) == 3);
  CHECK_FALSE(is_cached(place.spec(), place.direct()));
}

TEST_CASE("The root moved: still a hit") {
  Place place;
  BlobSpec spec = place.spec();
  REQUIRE(obtain(spec, place.direct()).ok());
  fs::rename(place.root(), place.path("moved"));
  spec.root = place.path("moved");
  CHECK(obtain(spec, place.direct())->hit);
}

TEST_CASE("No compiler on this machine: what was compiled elsewhere serves, and nothing else does") {
  Place place;
  REQUIRE(obtain(place.spec(), place.direct()).ok());
  place.set("PATH", place.folder("empty"));
  CHECK(obtain(place.spec(), place.direct())->hit);
  place.write("root/include/k.h", "#define K 9\n");
  const auto none = obtain(place.spec(), place.direct());
  CHECK(absl::IsNotFound(none.status()));
  says(none.status(), "no host compiler");
}

TEST_CASE("A cache that is another's, open to others, no folder, or relative") {
  Place place;
  const std::string cache = place.folder("cache");
  ::chmod(cache.c_str(), 0777);
  const auto open = obtain(place.spec(), place.direct());
  CHECK(absl::IsPermissionDenied(open.status()));
  says(open.status(), "chmod go-w");
  ::chmod(cache.c_str(), 0700);
  if (::geteuid() == 0) {
    REQUIRE(obtain(place.spec(), place.direct()).ok());
    REQUIRE(::chown(cache.c_str(), 65534, 65534) == 0);
    const auto foreign = obtain(place.spec(), place.direct());  // also what is in it already
    CHECK(absl::IsPermissionDenied(foreign.status()));
    says(foreign.status(), cache + ": the cache belongs to user 65534");
    says(foreign.status(), "CK_JIT_CACHE_DIR");
    CHECK(absl::IsPermissionDenied(list_direct(cache).status()));
    CHECK(absl::IsPermissionDenied(remove_direct(cache, "x").status()));
  } else {
    hearth::test::skip_part("not root: cannot give a folder away");
  }
  DirectOptions options = place.direct();
  options.cache_dir = place.write("file", "");
  CHECK(absl::IsFailedPrecondition(obtain(place.spec(), options).status()));
  options.cache_dir = "relative";
  CHECK(absl::IsInvalidArgument(obtain(place.spec(), options).status()));
}

TEST_CASE("A read-only cache serves what it has; what it has not is an error with the remedy") {
  Place place;
  // Root may write anywhere: the rest runs as nobody.
  const std::string cache = place.folder("cache");
  const auto as_nobody = [&](const std::function<int()>& work) {
    return in_processes(1, [&] {
      if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return 99;
      return work();
    })[0];
  };
  if (::geteuid() == 0) {
    ::chmod(place.path("").c_str(), 0755);
    fs::remove_all(place.path("xdg"));
    place.folder("xdg");
    for (const char* name : {"cache", "xdg"}) REQUIRE(::chown(place.path(name).c_str(), 65534, 65534) == 0);
  }
  CHECK(as_nobody([&] { return obtain(place.spec(), place.direct()).ok() ? 0 : 1; }) == 0);
  ::chmod(cache.c_str(), 0500);
  CHECK(as_nobody([&] { return obtain(place.spec(), place.direct())->hit ? 0 : 1; }) == 0);
  BlobSpec other = place.spec();
  other.flags.emplace_back("-DOTHER");
  CHECK(as_nobody([&] {
          const auto made = obtain(other, place.direct());
          const std::string text(made.status().message());
          return absl::IsPermissionDenied(made.status()) && text.find("CK_JIT_CACHE_DIR") != std::string::npos ? 0 : 1;
        }) == 0);
  ::chmod(cache.c_str(), 0700);
}

TEST_CASE("List and remove") {
  const Place place;
  CHECK(list_direct(place.path("cache"))->empty());
  CHECK_FALSE(*remove_direct(place.path("cache"), "x"));
  REQUIRE(obtain(place.spec(), place.direct()).ok());
  const auto entries = list_direct(place.path("cache"));
  REQUIRE(entries->size() == 1);
  CHECK((*entries)[0].stem == "x");
  CHECK((*entries)[0].size_bytes == fs::file_size(place.path("cache/x.so")));
  CHECK(is_cached(place.spec(), place.direct()));
  CHECK(*remove_direct(place.path("cache"), "x"));
  CHECK_FALSE(is_cached(place.spec(), place.direct()));
  CHECK_FALSE(*remove_direct(place.path("cache"), "x"));
  CHECK(listing(place.path("cache")).empty());
  for (const char* bad : {"", "../x", "a/b", ".hidden"})
    CHECK(absl::IsInvalidArgument(remove_direct(place.path("cache"), bad).status()));
}
