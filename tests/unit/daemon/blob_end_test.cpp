// CompileBlob when compiles go wrong: errors, crashes, hangs, memory, callers and daemons that leave.
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <set>
#include <thread>

#include "daemon/worker_pool/framing.h"
#include "daemon/worker_pool/worker_usage.h"
#include "tests/support/eventually.h"
#include "tests/support/manual_clock.h"
#include "tests/support/sanitizer.h"
#include "tests/unit/daemon/blob_fixture.h"

namespace hearth::daemon {
namespace {

using namespace std::chrono_literals;
using test::eventually;

// A blob whose fake compiler starts programs that never end; other runs of this test on this machine have other
// numbers.
const std::string kProgram = "program_" + std::to_string(::getpid());

// The command line of a process; empty when it ends meanwhile.
std::string words_of(const std::filesystem::path& process) {
  std::ifstream file(process / "cmdline", std::ios::binary);
  try {
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  } catch (const std::ios_base::failure&) {
    return {};
  }
}

// Programs of this run's fake compilers that run now: only they sleep that long.
int sleepers() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string words = words_of(entry.path());
    const std::string end = "." + std::to_string(::getpid()) + '\0';
    if (words.starts_with(std::string("sleep\0", 6) + "360") && words.ends_with(end)) ++count;
  }
  return count;
}

// The clock is turned on, a second a millisecond, once its worker compiles.
BlobReply compile_turning(BlobFixture& fixture, const std::string& stem, test::ManualClock& clock) {
  v1::CompileBlobRequest request = fixture.request(stem);
  request.set_want_progress(true);
  std::atomic<bool> is_compiling{false};
  grpc::ClientContext context;
  auto call = std::async(std::launch::async, [&] {
    return BlobFixture::compile(request, fixture.daemon().compiler(), context, [&](const v1::BlobProgress& progress) {
      is_compiling = is_compiling || progress.state() == v1::BlobProgress::COMPILING;
    });
  });
  const auto is_done = [&] { return call.wait_for(0s) == std::future_status::ready; };
  CHECK(eventually([&] { return is_compiling || is_done(); }));
  CHECK(clock.advance_until(1s, is_done));
  return call.get();
}

TEST_CASE("blob: a compile that failed is not tried again at once") {
  test::ManualClock clock;
  BlobFixture fixture([&](Config& config) {
    config.clock = &clock;
    config.blob_retry_ms = 30'000;
  });
  const BlobReply failed = fixture.compile("error");
  CHECK(failed.status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(failed.status.error_message() == "node 0 (INPUT): refused on purpose");
  const BlobReply again = fixture.compile("error");
  CHECK(again.status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(again.status.error_message().find("refused on purpose (failed 0 s ago; it is not tried again") !=
        std::string::npos);
  // Another source is another request.
  fixture.write("root/src/error.cpp", "include a.h");
  CHECK(fixture.compile("error").status.error_message().find("ago") == std::string::npos);
  clock.advance(29s);
  CHECK(fixture.compile("error").status.error_message().find("(failed 29 s ago") != std::string::npos);
  clock.advance(1s);
  CHECK(fixture.compile("error").status.error_message().find("ago") == std::string::npos);
  CHECK(fixture.check_identity(5).blob_errors() == 5);
}

TEST_CASE("blob: a compiler that crashes, hangs or takes too much ends with a typed error") {
  test::ManualClock clock;
  BlobFixture fixture([&](Config& config) {
    config.clock = &clock;
    config.hang_limit_ms = 200'000;
    config.blob_compile_limit_ms = 3'600'000'000;
    config.blob_worker_memory_bytes = 300u << 20;
    config.blob_retry_ms = 0;
  });
  struct Row {
    const char* stem;
    grpc::StatusCode code;
    const char* says;
  };
  for (const Row& row : {Row{"crash", grpc::StatusCode::INTERNAL, test::kSanitizer ? "exited with code" : "signal 11"},
                         Row{"hang", grpc::StatusCode::DEADLINE_EXCEEDED, "hung"},
                         Row{kProgram.c_str(), grpc::StatusCode::DEADLINE_EXCEEDED, "hung"},
                         Row{"eater", grpc::StatusCode::RESOURCE_EXHAUSTED, "more than 300 MiB"}}) {
    INFO(row.stem);
    const bool hangs = row.code == grpc::StatusCode::DEADLINE_EXCEEDED;
    const BlobReply reply = hangs ? compile_turning(fixture, row.stem, clock) : fixture.compile(row.stem);
    INFO(reply.status.error_message());
    CHECK(reply.status.error_code() == row.code);
    CHECK(reply.status.error_message().find(row.says) != std::string::npos);
    CHECK(reply.status.error_message().find(std::string("blob '") + row.stem + "'") != std::string::npos);
    CHECK(fixture.compile("good").status.ok());
    CHECK(eventually([] { return sleepers() == 0; }));
  }
  // Three deaths of one blob: refused, with something to look at. The first one may be long ago by the turned clock.
  for (int i = 0; i < 3; ++i) CHECK_FALSE(fixture.compile("crash").status.ok());
  const BlobReply refused = fixture.compile("crash");
  CHECK(refused.status.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
  CHECK(refused.status.error_message().find("repro bundle") != std::string::npos);
}

TEST_CASE("blob: a compile longer than its limit is ended") {
  test::ManualClock clock;
  BlobFixture fixture([&](Config& config) {
    config.clock = &clock;
    config.blob_compile_limit_ms = 100'000;
  });
  // The fake compiler knows no limits, so this is the daemon's, which comes a little later.
  const BlobReply reply = compile_turning(fixture, "spin", clock);
  INFO(reply.status.error_message());
  CHECK(reply.status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED);
  CHECK(reply.status.error_message().find("did not finish within 105 s") != std::string::npos);
}

TEST_CASE("blob: a compile nobody waits for is stopped, one that somebody does is not") {
  BlobFixture fixture;
  v1::CompileBlobRequest alone = fixture.request(kProgram);
  alone.set_want_progress(true);
  grpc::ClientContext context;
  const BlobReply left =
      BlobFixture::compile(alone, fixture.daemon().compiler(), context, [&](const v1::BlobProgress& progress) {
        if (progress.state() != v1::BlobProgress::COMPILING) return;
        CHECK(eventually([] { return sleepers() == 2; }));
        context.TryCancel();
      });
  CHECK(left.status.error_code() == grpc::StatusCode::CANCELLED);
  CHECK(eventually([] { return sleepers() == 0; }));
  CHECK(fixture.check_identity(1).blob_errors() == 1);

  v1::CompileBlobRequest shared = fixture.request("slower");
  shared.set_want_progress(true);
  const auto start = [&](grpc::ClientContext& context) {
    const auto compiling = std::make_shared<std::promise<void>>();
    auto caller = std::async(std::launch::async, [&, compiling] {
      return BlobFixture::compile(shared, fixture.daemon().compiler(), context, [&](const v1::BlobProgress& progress) {
        if (progress.state() == v1::BlobProgress::COMPILING) compiling->set_value();
      });
    });
    compiling->get_future().wait();
    return caller;
  };
  grpc::ClientContext first;
  grpc::ClientContext second;
  auto caller = start(first);
  auto other = start(second);
  first.TryCancel();
  CHECK(caller.get().status.error_code() == grpc::StatusCode::CANCELLED);
  const BlobReply joined = other.get();
  CHECK((joined.status.ok() && joined.result.joined()));
  CHECK(fixture.check_identity(3).blobs_compiled() == 1);
}

TEST_CASE("blob: a daemon that leaves ends its compilers") {
  auto fixture = std::make_unique<BlobFixture>([](Config& config) { config.drain_ms = 100; });
  v1::CompileBlobRequest request = fixture->request(kProgram);
  auto caller = std::async(std::launch::async, [&] { return fixture->compile(request); });
  REQUIRE(eventually([] { return sleepers() == 2; }));
  fixture->daemon().stop();
  CHECK_FALSE(caller.get().status.ok());
  CHECK(sleepers() == 0);
}

TEST_CASE("blob: what a worker that was killed had started is ended") {
  BlobFixture fixture;
  v1::CompileBlobRequest request = fixture.request(kProgram);
  auto caller = std::async(std::launch::async, [&] { return fixture.compile(request); });
  REQUIRE(eventually([] { return sleepers() == 2; }));
  const auto workers = [] {  // the parents of the shells that sleep
    std::set<pid_t> found;
    for (const pid_t pid : descendants_of(::getpid())) {
      const std::string words = words_of("/proc/" + std::to_string(pid));
      if (words.find("--programs-ms=") != std::string::npos) found.insert(pid);
    }
    return found;
  };
  const std::set<pid_t> first = workers();
  for (const pid_t pid : first) ::kill(pid, SIGKILL);
  // Tried once more, by another worker: the first one's are gone when that one's are there.
  REQUIRE(eventually([&] {
    const std::set<pid_t> now = workers();
    return !now.empty() && std::ranges::none_of(now, [&](pid_t pid) { return first.contains(pid); }) && sleepers() == 2;
  }));
  for (const pid_t pid : workers()) ::kill(pid, SIGKILL);
  const BlobReply reply = caller.get();
  CHECK(reply.status.error_code() == grpc::StatusCode::INTERNAL);
  CHECK(eventually([] { return sleepers() == 0; }));
}

TEST_CASE("blob: a worker whose daemon closed its socket ends with what it started") {
  BlobFixture fixture;
  const std::string worker_path = program("hearth-fake-worker");
  v1::WorkerRequest request;
  request.set_id(1);
  *request.mutable_blob() = fixture.request(kProgram).blob();
  for (int round = 0; round < 10; ++round) {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    const std::string reads = "--read=" + std::filesystem::path(fixture.path("root")).parent_path().string();
    const TestFolder folder;
    const pid_t worker = ::fork();
    if (worker == 0) {
      ::dup2(ends[1], STDIN_FILENO);
      ::setenv("TMPDIR", folder.path().c_str(), 1);
      ::execl(worker_path.c_str(), worker_path.c_str(), "--socket-fd=0", "--programs-ms=60000", reads.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    REQUIRE(write_frame(ends[0], request, wait_for_ever).ok());
    REQUIRE(eventually([] { return sleepers() == 2; }));
    ::close(ends[0]);
    CHECK(::waitpid(worker, nullptr, 0) == worker);
    CHECK(eventually([] { return sleepers() == 0; }));
  }
}

}  // namespace
}  // namespace hearth::daemon
