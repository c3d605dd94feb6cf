// The parts of CompileBlob: memory of failures, the budget of workers, the jobs of a plan.
#include <catch2/catch.hpp>
#include <thread>

#include "daemon/async/job_list.h"
#include "daemon/blobs/blob_failures.h"
#include "daemon/config.h"
#include "tests/unit/daemon/test_folder.h"

namespace hearth::daemon {
namespace {

using namespace std::chrono_literals;

TEST_CASE("blob failures: remembered for a while, and only what is worth it") {
  BlobFailures failures(10s);
  const auto start = Clock::machine().now();
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

TEST_CASE("a blob job that starts while its plan's build ends is cancelled, not left running") {
  struct Job {
    int cancelled = 0;
    void cancel() { ++cancelled; }
  };
  JobList<Job> jobs;
  const auto early = std::make_shared<Job>(), answered = std::make_shared<Job>(), late = std::make_shared<Job>();
  jobs.add(answered);
  jobs.clear();
  jobs.add(early);
  CHECK(early->cancelled == 0);
  jobs.cancel_all();
  CHECK(early->cancelled == 1);
  jobs.add(late);  // its start was under way when the build ended
  CHECK(late->cancelled == 1);
  CHECK(answered->cancelled == 0);
  jobs.cancel_all();
  CHECK(early->cancelled == 1);
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
