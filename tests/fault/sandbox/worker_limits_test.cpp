// A worker that uses up what there is: stopped by the kernel where a layer limits it, by the daemon that looks where
// not.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "daemon/worker_pool/sandbox_layers.h"
#include "tests/fault/sandbox/hijack.h"
#include "tests/support/sanitizer.h"
#include "tests/support/skip.h"

namespace hearth::sandbox_test {
namespace {

using daemon::WorkerEnd;

constexpr std::uint64_t kMebibyte = 1 << 20;

// As far as they can be listed.
std::uint64_t bytes_in(const std::string& folder) {
  std::uint64_t bytes = 0;
  std::error_code error;
  std::filesystem::recursive_directory_iterator it(folder, error), end;
  for (; !error && it != end; it.increment(error)) {
    struct stat info{};
    if (::lstat(it->path().c_str(), &info) == 0) bytes += static_cast<std::uint64_t>(info.st_blocks) * 512;
  }
  return bytes;
}

struct Greed {
  const char* attempt;
  int files = 0;  // of a MiB
  int tasks = 0;
};

struct Stop {
  WorkerEnd end = WorkerEnd::kReply;
  std::string went;
  std::uint64_t disk_bytes = 0;  // of its folder, seen from outside, at the end
};

// With limits of 64 MiB for files, 256 MiB of memory, 100 tasks. Processes that were forked share memory, and each of
// them counts it: where there are many, memory is not what is to stop them.
Stop stop(const Greed& greed, const Conditions& conditions) {
  const daemon::TestFolder folder;
  daemon::WorkerCommand command = hijacked_command(folder.path(), conditions);
  command.limits.folder_bytes = 64 * kMebibyte;
  command.limits.output_bytes = 48 * kMebibyte;
  command.limits.memory_bytes = (greed.tasks > 0 ? 4096 : 256) * kMebibyte;
  command.limits.tasks = 100;
  auto worker = daemon::WorkerProcess::spawn(command, -1);
  REQUIRE(worker.ok());
  Targets targets;
  targets.set("files", std::to_string(greed.files));
  targets.set("tasks", std::to_string(greed.tasks));
  const daemon::Exchange exchange = (*worker)->exchange(hijacked_request(greed.attempt, targets.text()), -1);
  Stop result{exchange.end, exchange.detail, 0};
  if (exchange.end == WorkerEnd::kReply) result.went = exchange.reply.compiled().artifact().data();
  result.disk_bytes = bytes_in(folder.path());
  return result;
}

const Conditions kAll{};
const Conditions kNone{.on = std::set<std::string>()};
const Conditions kNoMount{.on = {{"seccomp", "landlock", "user_ns", "pid_ns", "network_ns", "ipc_ns", "limits"}}};
const Conditions kOnlyLimits{.on = {{"limits"}}};

TEST_CASE("worker limits: many files fill the private folder, not the disk") {
  const Greed greed{.attempt = "fill the folder", .files = 200};
  const Stop in_memory = stop(greed, kAll);
  CHECK(in_memory.went == "denied: No space left on device");
  CHECK(in_memory.disk_bytes < kMebibyte);
  const Stop on_disk = stop(greed, kNoMount);
  CHECK(on_disk.end == WorkerEnd::kOverLimit);
  CHECK(on_disk.went == "used more than 64 MiB for its files and was killed");
}

TEST_CASE("worker limits: files that no folder shows count") {
  for (const char* attempt : {"fill a folder that cannot be listed", "fill files without names"}) {
    INFO(attempt);
    const Greed greed{.attempt = attempt, .files = 320};
    CHECK(stop(greed, kAll).went == "denied: No space left on device");
    // Root lists every folder, so there it is the sum that tells.
    CHECK(stop(greed, kNone).end == WorkerEnd::kOverLimit);
  }
}

TEST_CASE("worker limits: memory in files counts, mapped nowhere, or mapped and open nowhere") {
  for (const char* attempt : {"fill memory files", "fill mapped memory files"}) {
    INFO(attempt);
    for (const Conditions& conditions : {kAll, kNone}) {
      const Stop stopped = stop({.attempt = attempt, .files = 320}, conditions);
      CHECK(stopped.end == WorkerEnd::kOverLimit);
      CHECK(stopped.went == "used more than 256 MiB of memory and was killed");
    }
  }
}

TEST_CASE("worker limits: memory") {
  const Greed greed{.attempt = "take memory", .files = 400};
  for (const Conditions& conditions : {kAll, kNone}) CHECK(stop(greed, conditions).end == WorkerEnd::kOverLimit);
  if (test::kSanitizer) SKIP_CASE("a sanitizer reserves more address space than the limit itself");
  CHECK(stop({.attempt = "reserve memory"}, kAll).went == "denied: Cannot allocate memory");
  CHECK(stop({.attempt = "reserve memory"}, kOnlyLimits).went == "denied: Cannot allocate memory");
  CHECK(stop({.attempt = "reserve memory"}, kNone).went == "done");
}

TEST_CASE("worker limits: the size of a file") {
  const Greed greed{.attempt = "one large file", .files = 56};
  for (const Conditions& conditions : {kAll, kOnlyLimits})
    CHECK(stop(greed, conditions).went == "was killed by signal 25 (File size limit exceeded)");
  CHECK(stop(greed, kNone).went == "done");
}

TEST_CASE("worker limits: descriptors") {
  if (test::kSanitizer)
    SKIP_CASE("UndefinedBehaviorSanitizer looks at memory through a pipe, for which none are left then");
  for (const Conditions& conditions : {kAll, kOnlyLimits})
    CHECK(stop({.attempt = "open descriptors"}, conditions).went == "denied: Too many open files");
  CHECK(stop({.attempt = "open descriptors"}, kNone).went == "done");
}

// The kernel does not count root's, the daemon does.
TEST_CASE("worker limits: threads and processes") {
  const auto is_stopped = [](const Stop& stopped) {
    return stopped.went == "used more than 100 processes and threads and was killed" ||
           stopped.went == "denied: Resource temporarily unavailable";
  };
  for (Conditions conditions : {kAll, kNone}) {
    const Stop threads = stop({.attempt = "start threads", .tasks = 300}, conditions);
    INFO(threads.went);
    CHECK(is_stopped(threads));
    conditions.programs = true;
    const Stop processes = stop({.attempt = "start processes", .tasks = 300}, conditions);
    INFO(processes.went);
    CHECK(is_stopped(processes));
  }
}

}  // namespace
}  // namespace hearth::sandbox_test
