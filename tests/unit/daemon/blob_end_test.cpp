// CompileBlob when compiles go wrong: errors, crashes, hangs, memory, callers and daemons that leave.
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "daemon/worker_pool/framing.h"
#include "daemon/worker_pool/worker_usage.h"
#include "tests/support/sanitizer.h"
#include "tests/unit/daemon/blob_fixture.h"

namespace hearth::daemon {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

bool eventually(const std::function<bool()>& holds, std::chrono::milliseconds patience = 20s) {
  const Clock::time_point give_up = Clock::now() + patience;
  while (!holds()) {
    if (Clock::now() > give_up) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

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

TEST_CASE("blob: a compile that failed is not tried again at once") {
  BlobFixture fixture([](Config& config) { config.blob_retry_ms = 1500; });
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
  std::this_thread::sleep_for(1600ms);
  CHECK(fixture.compile("error").status.error_message().find("ago") == std::string::npos);
  CHECK(fixture.check_identity(4).blob_errors() == 4);
}

TEST_CASE("blob: a compiler that crashes, hangs or takes too much ends with a typed error") {
  BlobFixture fixture([](Config& config) {
    config.hang_limit_ms = 500;
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
    const BlobReply reply = fixture.compile(row.stem);
    INFO(reply.status.error_message());
    CHECK(reply.status.error_code() == row.code);
    CHECK(reply.status.error_message().find(row.says) != std::string::npos);
    CHECK(reply.status.error_message().find(std::string("blob '") + row.stem + "'") != std::string::npos);
    CHECK(fixture.compile("good").status.ok());
    CHECK(sleepers() == 0);
  }
  // Three deaths of one blob: refused, with something to look at.
  for (int i = 0; i < 2; ++i) CHECK_FALSE(fixture.compile("crash").status.ok());
  const BlobReply refused = fixture.compile("crash");
  CHECK(refused.status.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
  CHECK(refused.status.error_message().find("repro bundle") != std::string::npos);
}

TEST_CASE("blob: a compile longer than its limit is ended") {
  BlobFixture fixture([](Config& config) { config.blob_compile_limit_ms = 100; });
  // The fake compiler knows no limits, so this is the daemon's, which comes a little later.
  const BlobReply reply = fixture.compile("spin");
  INFO(reply.status.error_message());
  CHECK(reply.status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED);
  CHECK(reply.status.error_message().find("did not finish within 5.1 s") != std::string::npos);
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
  std::promise<void> compiling;
  grpc::ClientContext first;
  auto caller = std::async(std::launch::async, [&] {
    return BlobFixture::compile(shared, fixture.daemon().compiler(), first, [&](const v1::BlobProgress& progress) {
      if (progress.state() == v1::BlobProgress::COMPILING) compiling.set_value();
    });
  });
  compiling.get_future().wait();
  auto other = std::async(std::launch::async, [&] { return fixture.compile(fixture.request("slower")); });
  std::this_thread::sleep_for(300ms);  // joins
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
  auto caller = std::async(std::launch::async, [&] { return fixture.compile(request, 8s); });
  REQUIRE(eventually([] { return sleepers() == 2; }));
  const auto kill_worker = [] {  // the parent of the shell that sleeps
    for (const pid_t pid : descendants_of(::getpid())) {
      const std::string words = words_of("/proc/" + std::to_string(pid));
      if (words.find("--programs-ms=") != std::string::npos) ::kill(pid, SIGKILL);
    }
  };
  kill_worker();
  // Tried once more, by another worker: the first one's are gone when that one's are there.
  std::this_thread::sleep_for(500ms);
  CHECK(eventually([] { return sleepers() == 2; }));
  kill_worker();
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
    CHECK(eventually([] { return sleepers() == 0; }, 2s));
  }
}

}  // namespace
}  // namespace hearth::daemon
