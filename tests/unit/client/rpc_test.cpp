// gRPC's wire format as the client speaks it, and peers that do not keep to it.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <thread>

#include "client/connection/daemon_channel.h"
#include "client/connection/rpc_connection.h"
#include "client/connection/rpc_format.h"
#include "client/connection/rpc_methods.h"
#include "tests/unit/client/fake_service.h"

using namespace hearth;
using namespace hearth::client;
using Catch::Matchers::Contains;
using hearth::testing::FakeService;
using hearth::testing::saxpy_plan;
using hearth::testing::scratch_folder;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kLimit = 1 << 20;

std::string socket_path() {
  static int count = 0;
  const std::string folder = scratch_folder() + "/r" + std::to_string(count++);
  std::filesystem::create_directory(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  return folder + "/d.sock";
}

RpcConnection::Deadline in(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

// Accepts one connection and gives its descriptor to `serve`.
class RawServer {
 public:
  RawServer(const std::string& path, std::function<void(int)> serve) : listener_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(listener_, 8) == 0);
    thread_ = std::thread([this, serve = std::move(serve)] {
      const int fd = ::accept(listener_, nullptr, nullptr);
      serve(fd);
      ::close(fd);
    });
  }
  ~RawServer() {
    thread_.join();
    ::close(listener_);
  }

 private:
  int listener_;
  std::thread thread_;
};

// One Stats call to a peer that sends `bytes` and hangs up.
absl::Status call_peer(const std::string& bytes) {
  const std::string path = socket_path();
  RawServer server(path, [&](int fd) {
    if (::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return;
    ::shutdown(fd, SHUT_WR);
    char ignored[4096];
    while (::recv(fd, ignored, sizeof ignored, 0) > 0) {
    }
  });
  auto rpc = RpcConnection::connect(path, in(10s));
  REQUIRE(rpc.ok());
  (*rpc)->begin(rpc::kStats.path, in(60s));
  (*rpc)->send("", true);
  std::string message;
  CHECK((*rpc)->next(&message) == RpcConnection::Event::kEnded);
  CHECK(!(*rpc)->is_reusable());
  return (*rpc)->status();
}

std::string frame(char type, char flags, std::uint32_t stream, const std::string& payload) {
  const std::size_t size = payload.size();
  std::string bytes = {static_cast<char>(size >> 16), static_cast<char>(size >> 8), static_cast<char>(size), type,
                       flags};
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(stream >> shift);
  return bytes + payload;
}
std::string header(const std::string& name, const std::string& value) {  // a literal of HPACK, never indexed
  return std::string("\x10", 1) + static_cast<char>(name.size()) + name + static_cast<char>(value.size()) + value;
}
const std::string kSettings = frame(4, 0, 0, "");
constexpr char kData = 0, kHeaders = 1, kReset = 3, kGoAway = 7;
constexpr char kEndStream = 1, kEndHeaders = 4;
const std::string kAnswer = kSettings + frame(kHeaders, kEndHeaders, 1, header(":status", "200"));
std::string trailers(const std::string& headers) { return frame(kHeaders, kEndStream | kEndHeaders, 1, headers); }

template <typename Method>
void check_method(const Method& method, bool client_streams, bool server_streams) {
  INFO(method.path);
  std::string name(method.path.substr(1));
  name[name.find('/')] = '.';
  const auto* found = google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name);
  REQUIRE(found != nullptr);
  CHECK(found->input_type() == Method::Request::descriptor());
  CHECK(found->output_type() == Method::Response::descriptor());
  CHECK(found->client_streaming() == client_streams);
  CHECK(found->server_streaming() == server_streams);
}

}  // namespace

TEST_CASE("every method that the client calls is one of the protocol's, with its messages") {
  check_method(rpc::kPrepare, false, true);
  check_method(rpc::kFetchArtifact, false, true);
  check_method(rpc::kSession, true, true);
  check_method(rpc::kExplain, false, false);
  check_method(rpc::kTune, false, true);
  check_method(rpc::kCompileBlob, false, true);
  check_method(rpc::kStats, false, false);
  check_method(rpc::kCacheList, false, false);
  check_method(rpc::kCacheVerify, false, false);
  check_method(rpc::kCacheClear, false, false);
  check_method(rpc::kRemoveBlobs, false, false);
  check_method(rpc::kRemoveModel, false, false);
  check_method(rpc::kShutdown, false, false);
}

TEST_CASE("messages come whole out of chunks of any size") {
  std::string bytes;
  const std::vector<std::string> sent = {"", "a", std::string(300, 'b'), "", std::string(70'000, 'c')};
  for (const std::string& message : sent) append_rpc_message(message, &bytes);
  for (const std::size_t chunk : {std::size_t{1}, std::size_t{4}, std::size_t{5}, std::size_t{301}, bytes.size()}) {
    RpcMessages messages;
    std::vector<std::string> taken;
    for (std::size_t at = 0; at < bytes.size(); at += chunk) {
      CHECK(messages.add(std::string_view(bytes).substr(at, chunk), kLimit).ok());
      for (std::string message; messages.take(&message);) taken.push_back(message);
    }
    CHECK(taken == sent);
    CHECK(messages.is_between_messages());
  }
  RpcMessages half;
  CHECK(half.add(std::string_view(bytes).substr(0, 8), kLimit).ok());
  CHECK_FALSE(half.is_between_messages());
}

TEST_CASE("a message that is too long or compressed is refused by its first bytes") {
  RpcMessages messages;
  CHECK(absl::IsResourceExhausted(messages.add(std::string("\0\xff\xff\xff\xff", 5), kLimit)));
  CHECK(absl::IsInternal(RpcMessages().add(std::string("\1\0\0\0\0", 5), kLimit)));
}

TEST_CASE("deadlines have at most eight digits and never become shorter") {
  CHECK(rpc_timeout(0ns) == "0m");
  CHECK(rpc_timeout(-5s) == "0m");
  CHECK(rpc_timeout(1ns) == "1m");
  CHECK(rpc_timeout(1500us) == "2m");
  CHECK(rpc_timeout(120s) == "120000m");
  CHECK(rpc_timeout(99'999'999ms) == "99999999m");
  CHECK(rpc_timeout(100'000'000ms) == "100000S");
  CHECK(rpc_timeout(std::chrono::hours(1'000'000)) == "99999999S");
}

TEST_CASE("a status keeps its code and its text, and what is no status is an error") {
  const auto status = [](const std::vector<std::pair<std::string, std::string>>& headers) {
    RpcTrailers trailers;
    for (const auto& [name, value] : headers) trailers.add(name, value);
    return trailers.status();
  };
  CHECK(status({{":status", "200"}, {"grpc-status", "0"}}).ok());
  CHECK(status({{"grpc-status", "5"}, {"grpc-message", "no %22x%22: 100%25, 5%, %zz%C3%A9"}}) ==
        absl::NotFoundError("no \"x\": 100%, 5%, %zz\xC3\xA9"));
  CHECK(status({{"grpc-status", "5"}}) ==
        absl::NotFoundError("the daemon ended the call with NOT_FOUND and no message"));
  CHECK(absl::IsUnknown(status({{"grpc-status", "17"}})));
  CHECK(absl::IsUnknown(status({{"grpc-status", "zero"}})));
  CHECK(absl::IsUnknown(status({{"grpc-status", "-1"}})));
  CHECK(absl::IsUnavailable(status({{":status", "503"}})));
  CHECK(absl::IsInternal(status({{":status", "200"}})));
}

TEST_CASE("peers that are no daemon, or a broken one, give an error by name") {
  CHECK(absl::IsUnavailable(call_peer("")));
  CHECK(absl::IsUnavailable(call_peer("HTTP/1.1 400 Bad Request\r\n\r\n")));
  CHECK(absl::IsUnavailable(call_peer(std::string(100'000, '\xff'))));
  CHECK(absl::IsUnavailable(call_peer(kSettings)));
  CHECK(absl::IsUnavailable(call_peer(kAnswer)));
  CHECK(absl::IsInternal(call_peer(kAnswer + trailers(header("x", "y")))));
  CHECK(absl::IsInternal(call_peer(kAnswer + frame(kData, 0, 1, std::string("\0\0\0\0\x09six", 8)) +
                                   trailers(header("grpc-status", "0")))));
  CHECK(absl::IsResourceExhausted(call_peer(kAnswer + frame(kData, 0, 1, std::string("\0\xff\xff\xff\xff", 5)))));
  CHECK(absl::IsInternal(call_peer(kAnswer + frame(kData, 0, 1, std::string("\1\0\0\0\1x", 6)))));
  CHECK(absl::IsUnavailable(call_peer(kAnswer + frame(kReset, 0, 1, std::string("\0\0\0\7", 4)))));  // REFUSED_STREAM
  CHECK(absl::IsCancelled(call_peer(kAnswer + frame(kReset, 0, 1, std::string("\0\0\0\x8", 4)))));
  CHECK(absl::IsUnavailable(call_peer(kSettings + frame(kGoAway, 0, 0, std::string(8, '\0')))));
  CHECK(absl::IsPermissionDenied(call_peer(
      kSettings + frame(kHeaders, kEndStream | kEndHeaders, 1,
                        header(":status", "200") + header("grpc-status", "7") + header("grpc-message", "not%20you")))));
}

TEST_CASE("messages larger than any window go both ways") {
  const std::string socket = socket_path();
  FakeService service(socket, saxpy_plan(100, false));
  service.behaviour().padding = 40 << 20;
  const auto channel = *DaemonChannel::get({.socket = socket, .auto_start = false});
  v1::PrepareRequest request;
  request.mutable_target()->set_triple(std::string(3 << 20, 't'));
  for (int i = 0; i < 3; ++i) {
    const absl::StatusOr<v1::PrepareResult> result = channel->prepare(request, in(60s));
    INFO(result.status().ToString());
    REQUIRE(result.ok());
    CHECK(result->plan_key() == std::string(40 << 20, 'k'));
  }
  // More than the server takes: it answers before it has read everything, and the next call is none the worse.
  request.mutable_target()->set_triple(std::string(30 << 20, 't'));
  CHECK(absl::IsResourceExhausted(channel->prepare(request, in(60s)).status()));
  request.clear_target();
  CHECK(channel->prepare(request, in(60s)).ok());
}

TEST_CASE("calls of several threads at a time share one session") {
  const std::string socket = socket_path();
  FakeService service(socket, saxpy_plan(100, false));
  const auto channel = *DaemonChannel::get({.socket = socket, .auto_start = false});
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) good += channel->prepare({}, in(60s)).ok();
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(good == 400);
  CHECK(service.behaviour().sessions == 1);
}
