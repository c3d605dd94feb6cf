// Real conversations between client and daemon as bytes, and sockets that play changed ones.
//
//   const Conversation spoken = record(daemon_socket, folder, [](const std::string& socket) { … a call … });
//   ReplayServer hostile(folder / "h.sock", mutated_bytes(spoken.from_server, random));
#pragma once
#include <functional>
#include <string>
#include <thread>

namespace hearth::fuzz {

// A unix socket's descriptor, closed with the object.
class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  ~Socket();
  int fd() const { return fd_; }

  static Socket listening(const std::string& path);
  static Socket connected(const std::string& path);

 private:
  int fd_;
};

struct Conversation {
  std::string from_client, from_server;
};

// What `call` and the server at `socket` say to each other, by a proxy in `folder` that `call` is given the socket of.
// One connection; ends when the client hangs up.
Conversation record(const std::string& socket, const std::string& folder,
                    const std::function<void(const std::string& proxy_socket)>& call);

// Says `bytes` to the first connection, whatever it asks, and hangs up.
class ReplayServer {
 public:
  ReplayServer(const std::string& path, std::string bytes);
  ~ReplayServer();

 private:
  Socket listener_;
  std::thread thread_;
};

// Says `bytes` to a server and reads until it hangs up; false when it does not within `timeout_ms`.
bool speak(const std::string& socket, const std::string& bytes, int timeout_ms);

}  // namespace hearth::fuzz
