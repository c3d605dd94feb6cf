// Victim: what a hijacked worker is after, made anew for each attempt: a daemon that is a process of its own with
// secrets in its environment, a cache folder with a file that clients have mapped, a home folder with a secret,
// sockets, shared memory. state() says in words how all of it is, so that harm is what differs.
//
//   Victim victim;
//   const std::string before = victim.state();
//   attack(victim.targets());
//   CHECK(victim.state() == before);
#pragma once
#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/fault/sandbox/targets.h"
#include "tests/unit/daemon/test_folder.h"

namespace hearth::sandbox_test {

class Victim {
 public:
  Victim();
  ~Victim();
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  const Targets& targets() const { return targets_; }
  std::string cache() const { return folder_ / "cache"; }
  std::string home() const { return folder_ / "home"; }
  // Processes die and messages arrive a little later: waits until it is not `before` any more, for minutes.
  std::string state_unlike(const std::string& before) const;
  std::string state() const;

 private:
  void make_files();
  void start_daemon();
  void make_sockets();
  void make_shared();

  daemon::TestFolder folder_;
  Targets targets_;
  pid_t pid_ = -1;
  std::vector<int> sockets_;
  void* shared_ = nullptr;
  int queue_ = -1;
};

}  // namespace hearth::sandbox_test
