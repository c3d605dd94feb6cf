// DaemonSession: the one Session stream of this process to a daemon; while it is open the daemon keeps this process's
// leases. Its own thread connects, waits for the stream's end and gives leases back; it is detached, so that a process
// never waits for it. Thread-safe; of no use in a forked child, which opens one of its own.
// Errors: none are reported; a session that cannot be had has the id 0 and no leases are taken.
//
//   std::shared_ptr<DaemonSession> session = DaemonSession::open(socket_path);
//   request.set_session_id(session->id(deadline));
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace hearth::client {

class DaemonSession {
 public:
  static std::shared_ptr<DaemonSession> open(const std::string& socket_path);
  ~DaemonSession();  // ends the stream and with it the leases, without waiting

  // Waits until the daemon names the session; 0 when it has not by `deadline` or the stream ended.
  std::uint64_t id(std::chrono::steady_clock::time_point deadline);
  bool ended() const;
  // Gives a lease back some time later, or, when the daemon does not read, with the session. Waits for nobody.
  void release(std::uint64_t lease_id);

 private:
  struct State;
  explicit DaemonSession(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace hearth::client
