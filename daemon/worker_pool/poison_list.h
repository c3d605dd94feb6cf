// PoisonList: keys that keep killing workers. The third death refuses the key for ten minutes and writes a repro bundle
// (the serialized WorkerRequest, for `hearth-worker --replay FILE`).
//
// Thread-safe. check() answers FAILED_PRECONDITION naming the bundle. A success forgets earlier deaths. Example:
//   HEARTH_RETURN_IF_ERROR(poison.check(key));
//   poison.record_death(key, "kernel 'sum_4'", request.SerializeAsString());
#pragma once
#include <absl/status/status.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/sha256.h"
#include "base/status_macros.h"

namespace hearth::daemon {

class PoisonList {
 public:
  static constexpr unsigned kDeathsToRefuse = 3;

  // `repro_folder` is created when first needed.
  PoisonList(std::string repro_folder, std::chrono::milliseconds refuse_for)
      : repro_folder_(std::move(repro_folder)), refuse_for_(refuse_for) {}

  absl::Status check(const Digest& key, Clock::time_point now);
  // A sentence for the caller's error: empty before the third death.
  std::string record_death(const Digest& key, const std::string& what, std::string_view request, Clock::time_point now);
  void record_success(const Digest& key);

 private:
  struct Record {
    unsigned deaths = 0;
    Clock::time_point last_death;
    Clock::time_point refused_until;
    std::string sentence;
  };
  // Where the bundle lies, or why it could not be written.
  std::string write_bundle(const Digest& key, std::string_view request) const;
  void forget_old(Clock::time_point now);

  const std::string repro_folder_;
  const std::chrono::milliseconds refuse_for_;
  std::mutex mutex_;
  std::map<Digest, Record> records_;
};

}  // namespace hearth::daemon
