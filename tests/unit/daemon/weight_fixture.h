// A weight server of a test's own, and peers of it, honest or not.
//
//   Served served;
//   const Client client(served.path());
//   client.ask('a');   // then client.outcome()
#pragma once
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/memory_file.h"
#include "daemon/weights/weight_server.h"
#include "proto/versions.h"
#include "tests/support/eventually.h"
#include "tests/unit/daemon/test_folder.h"

namespace hearth::daemon {

inline constexpr std::uint64_t kSize = 1 << 16;
inline const int kLong_ms = static_cast<int>(std::chrono::milliseconds(test::give_up()).count());  // for what happens
inline constexpr int kShort_ms = 100;                                                              // for what must not

inline std::string key(char letter) { return std::string(32, letter); }

// With all of its bytes, or with the first `filled` of them.
inline UniqueFd sealed(std::uint64_t size = kSize, std::uint64_t filled = ~0ull) {
  absl::StatusOr<UniqueFd> file = runtime::create_memory_file("test", size);
  REQUIRE(file.ok());
  const std::string bytes(std::min(size, filled), 'w');
  REQUIRE(::write(file->get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  REQUIRE(runtime::seal_memory_file(file->get()).ok());
  return *std::move(file);
}

// As a stand-in of a GPU's driver has it: it can be written to.
inline UniqueFd device_memory(std::uint64_t size = kSize) {
  absl::StatusOr<UniqueFd> file = runtime::create_memory_file("test", size);
  REQUIRE(file.ok());
  return *std::move(file);
}

inline std::size_t num_descriptors() {
  const auto folder = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(folder), end(folder)));
}

// What the server does a moment later, of its own accord.
inline bool happens(const std::function<bool()>& condition) { return test::eventually(condition); }

inline bool connect_to(int fd, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  return ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
}

inline void send_many(int socket, std::string bytes, const std::vector<int>& files) {
  iovec part{bytes.data(), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 8)] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = CMSG_SPACE(sizeof(int) * files.size());
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int) * files.size());
  std::memcpy(CMSG_DATA(rights), files.data(), sizeof(int) * files.size());
  REQUIRE(::sendmsg(socket, &header, 0) > 0);
}

class Client {
 public:
  explicit Client(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    REQUIRE(connect_to(fd_.get(), path));
  }
  int fd() const { return fd_.get(); }

  void send(v1::WeightsRequest request, int file = -1) const {
    request.set_version(kWeightsVersion);
    REQUIRE(send_packet(fd_.get(), request.SerializeAsString(), file).ok());
  }
  void ask(char letter, std::uint64_t size = kSize, bool on_device = false) const {
    v1::WeightsRequest request;
    request.mutable_take()->set_key(key(letter));
    request.mutable_take()->set_size_bytes(size);
    request.mutable_take()->set_on_device(on_device);
    send(request);
  }
  void ask_for_device(char letter) const { ask(letter, kSize, true); }
  void give(int file) const {
    v1::WeightsRequest request;
    request.mutable_give();
    send(request, file);
  }

  struct Answer {
    v1::WeightsResponse::Outcome outcome =
        v1::WeightsResponse::OUTCOME_UNSPECIFIED;  // also for a connection that was closed
    UniqueFd file;
    v1::WeightsResponse response;
  };
  Answer answer() const {
    pollfd entry{fd_.get(), POLLIN, 0};
    REQUIRE(::poll(&entry, 1, kLong_ms) == 1);
    absl::StatusOr<Packet> packet = receive_packet(fd_.get());
    Answer answer;
    if (!packet.ok()) return answer;
    REQUIRE(answer.response.ParseFromString(packet->bytes));
    answer.outcome = answer.response.outcome();
    answer.file = std::move(packet->file);
    return answer;
  }
  v1::WeightsResponse::Outcome outcome() const { return answer().outcome; }
  bool is_waiting() const {
    pollfd entry{fd_.get(), POLLIN, 0};
    return ::poll(&entry, 1, kShort_ms) == 0;
  }
  bool is_closed() const {
    Answer last = answer();
    if (last.outcome == v1::WeightsResponse::REFUSED) last = answer();
    return last.outcome == v1::WeightsResponse::OUTCOME_UNSPECIFIED;
  }

 private:
  UniqueFd fd_;
};

class Served {
 public:
  explicit Served(WeightLimits limits = {.bytes = 10 * kSize}, ConnectionLimits connections = {}) {
    auto server = WeightServer::open(path(), limits, connections);
    REQUIRE(server.ok());
    server_ = *std::move(server);
  }
  std::string path() const { return folder_ / "s.share"; }
  const TestFolder& folder() const { return folder_; }
  WeightServer& server() { return *server_; }
  void make(char letter, std::uint64_t size = kSize) {
    const Client maker(path());
    maker.ask(letter, size);
    REQUIRE(maker.outcome() == v1::WeightsResponse::MAKE);
    maker.give(sealed(size).get());
    REQUIRE(maker.outcome() == v1::WeightsResponse::DONE);
  }
  // Whether somebody who asks is given them; leaves nothing behind.
  bool has(char letter, std::uint64_t size = kSize) {
    const Client client(path());
    client.ask(letter, size);
    return client.outcome() == v1::WeightsResponse::FOUND;
  }

 private:
  TestFolder folder_;
  std::unique_ptr<WeightServer> server_;
};

}  // namespace hearth::daemon
