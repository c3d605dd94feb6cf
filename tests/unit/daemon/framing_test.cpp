#include "daemon/worker_pool/framing.h"

#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "hearth/v1/worker.pb.h"

namespace hearth::daemon {
namespace {

struct Pair {
  int a = -1, b = -1;
  Pair() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    a = ends[0];
    b = ends[1];
  }
  ~Pair() {
    ::close(a);
    if (b >= 0) ::close(b);
  }
};

TEST_CASE("frames: a message larger than the socket's buffer arrives whole") {
  Pair pair;
  v1::WorkerReply sent, got;
  sent.set_id(7);
  sent.mutable_compiled()->mutable_artifact()->set_data(std::string(5 << 20, 'x'));
  absl::Status written;
  std::thread writer([&] { written = write_frame(pair.a, sent, wait_for_ever); });
  const absl::Status read = read_frame(pair.b, got, kMaxFrameBytes, wait_for_ever);
  writer.join();
  CHECK((written.ok() && read.ok()));
  CHECK(got.SerializeAsString() == sent.SerializeAsString());
}

TEST_CASE("frames: what is wrong has its own code") {
  Pair pair;
  v1::WorkerReply reply;
  SECTION("closed between frames") {
    ::close(pair.b);
    pair.b = -1;
    CHECK(absl::IsOutOfRange(read_frame(pair.a, reply, 100, wait_for_ever)));
    CHECK(absl::IsUnavailable(write_frame(pair.a, reply, wait_for_ever)));  // and no SIGPIPE
  }
  SECTION("closed inside a frame") {
    REQUIRE(::send(pair.b, "\x05\0\0\0ab", 6, 0) == 6);
    ::close(pair.b);
    pair.b = -1;
    CHECK(absl::IsUnavailable(read_frame(pair.a, reply, 100, wait_for_ever)));
  }
  SECTION("over the limit") {
    REQUIRE(::send(pair.b, "\xff\xff\xff\x7f", 4, 0) == 4);
    const absl::Status status = read_frame(pair.a, reply, 100, wait_for_ever);
    CHECK(absl::IsDataLoss(status));
    CHECK(std::string(status.message()).find("2147483647") != std::string::npos);
  }
  SECTION("no message") {
    REQUIRE(::send(pair.b, "\x03\0\0\0\xff\xff\xff", 7, 0) == 7);
    CHECK(absl::IsDataLoss(read_frame(pair.a, reply, 100, wait_for_ever)));
  }
  SECTION("the wait gives up") {
    const absl::Status status =
        read_frame(pair.a, reply, 100, [](int, short) { return absl::DeadlineExceededError("late"); });
    CHECK(absl::IsDeadlineExceeded(status));
  }
}

}  // namespace
}  // namespace hearth::daemon
