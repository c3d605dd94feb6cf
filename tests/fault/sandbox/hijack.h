// Hijack: a hijacked worker and its victim, through the daemon's own WorkerProcess, with the layers of the sandbox that
// a test wants. A worker that dies of an attempt, and a victim that was harmed, are replaced before the next one.
//
//   Hijack hijack({.on = std::set<std::string>{"landlock"}});
//   const Outcome outcome = hijack.attempt("truncate", true);
//   CHECK_FALSE(outcome.changed);
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "daemon/worker_pool/worker_process.h"
#include "tests/fault/sandbox/victim.h"

namespace hearth::sandbox_test {

struct Conditions {
  std::optional<std::set<std::string>> on;  // these layers only; none given: all of them
  bool programs = false;                    // a worker that may start programs
};

struct Outcome {
  bool says_done = false;
  bool changed = false;  // something of the victim is not as it was
  std::string went;      // what the worker said, or how it ended
};

class Hijack {
 public:
  explicit Hijack(Conditions conditions) : conditions_(std::move(conditions)) {}

  // False when this machine does not offer the layers that are wanted.
  bool has_layers();
  // `changes`: harm would be a change of the victim, not what the worker gets to know.
  Outcome attempt(const std::string& name, bool changes);

 private:
  void prepare();

  const Conditions conditions_;
  daemon::TestFolder folder_;
  v1::SandboxReport report_;
  std::unique_ptr<Victim> victim_;
  std::unique_ptr<daemon::WorkerProcess> worker_;
};

// The command of a hijacked worker with its folder in `folder`.
daemon::WorkerCommand hijacked_command(const std::string& folder, const Conditions& conditions);
v1::WorkerRequest hijacked_request(const std::string& name, const std::string& targets);

// The kernel's version of Landlock; 0: none.
int landlock_abi();

}  // namespace hearth::sandbox_test
