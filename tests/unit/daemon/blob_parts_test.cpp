// The parts of CompileBlob: memo of files, bystanders, memory of failures, the budget of workers.
#include <catch2/catch.hpp>
#include <fstream>
#include <thread>

#include "daemon/blob_bystanders.h"
#include "daemon/blob_failures.h"
#include "daemon/config.h"
#include "daemon/file_memo.h"
#include "tests/unit/daemon/test_folder.h"

namespace hearth::daemon {
namespace {

using namespace std::chrono_literals;

void write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

TEST_CASE("file memo: a file that changes under the same size and time is read again") {
  TestFolder folder;
  FileMemo files;
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
  CHECK(files.names_in(folder.path())->empty());
  write(folder / "b", "");
  write(folder / "a", "");
  CHECK(*files.names_in(folder.path()) == std::vector<std::string>{"a", "b"});
}

TEST_CASE("bystanders: files an include could have found, wherever it looks") {
  TestFolder folder;
  const std::string root = folder / "root";
  write(root + "/src/x.cpp", "");
  write(root + "/include/ck/core/a.h", "");
  v1::BlobSpec spec;
  spec.set_root(root);
  spec.set_source("src/x.cpp");
  for (const char* flag : {"-O2", "-I{root}/first", "-isystem", "{root}/include", "-Irelative"}) spec.add_flags(flag);
  BlobFiles used;
  used.Add()->set_path("{root}/src/x.cpp");
  used.Add()->set_path("{root}/include/ck/core/a.h");
  used.Add()->set_path("/usr/include/c++/12/vector");
  const auto now = [&] {
    FileMemo files;
    return bystanders_of(spec, used, files);
  };
  CHECK(now().empty());
  write(root + "/first/other.h", "");
  write(root + "/unseen/a.h", "");
  CHECK(now().empty());
  // <ck/core/a.h>, "core/a.h" beside the source, "a.h" beside a header, <vector>
  std::vector<std::string> expected;
  for (const char* path : {"first/ck/core/a.h", "include/vector", "src/core/a.h"}) {
    write(root + "/" + path, "");
    expected.push_back(std::string("{root}/") + path);
    CHECK(now() == expected);
  }
  CHECK(with_root("{root}/x", "/r") == "/r/x");
  CHECK(with_root("/x", "/r") == "/x");
  CHECK(without_root("/r/x", "/r") == "{root}/x");
  CHECK(without_root("/rest/x", "/r") == "/rest/x");
}

TEST_CASE("blob failures: remembered for a while, and only what is worth it") {
  BlobFailures failures(10s);
  const auto start = BlobFailures::Clock::now();
  const Digest key = sha256("a"), other = sha256("b");
  CHECK(failures.recent(key, start).ok());
  failures.add(key, absl::FailedPreconditionError("no"), start);
  CHECK(failures.recent(other, start).ok());
  const absl::Status again = failures.recent(key, start + 3s);
  CHECK(absl::IsFailedPrecondition(again));
  CHECK(again.message() == "no (failed 3 s ago; it is not tried again for another 7 s)");
  CHECK(failures.recent(key, start + 10s).ok());
  failures.add(other, absl::CancelledError("left"), start);
  failures.add(other, absl::UnavailableError("stopping"), start);
  CHECK(failures.recent(other, start).ok());
}

TEST_CASE("config: blobs compile as many at once as their memory allows") {
  TestFolder folder;
  const auto workers = [&](std::vector<const char*> flags) {
    const std::string cache = folder / "cache";
    flags.insert(flags.begin(), {"hearthd", "--cache-dir", cache.c_str()});
    const absl::StatusOr<Config> config = load_config(static_cast<int>(flags.size()), flags.data());
    INFO(config.status());
    REQUIRE(config.ok());
    return config->blob_workers;
  };
  CHECK(workers({"--blob-memory", "8GiB", "--blob-worker-memory", "2GiB", "--blob-workers", "100"}) == 4);
  CHECK(workers({"--blob-memory", "1GiB", "--blob-worker-memory", "2GiB"}) == 1);
  CHECK(workers({"--blob-memory", "1024GiB", "--blob-worker-memory", "1GiB"}) == std::thread::hardware_concurrency());
  const char* bad[] = {"hearthd", "--blob-worker-memory", "0"};
  CHECK_FALSE(load_config(3, bad).ok());
}

}  // namespace
}  // namespace hearth::daemon
