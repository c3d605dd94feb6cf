// SandboxStatus: what the workers of one class are confined by, and whether that is enough.
//
// The setting `sandbox` decides: `required` refuses a worker that lacks a layer, `best-effort` says once in the log
// what is missing and what that loses, `off` says that there is none. Thread-safe. Example:
//   SandboxStatus status(SandboxSetting::kRequired, "compiler workers");
//   absl::Status enough = status.judge(report);   // FAILED_PRECONDITION naming the layers that are missing
#pragma once
#include <absl/status/status.h>

#include <mutex>
#include <string>
#include <string_view>

#include "hearth/v1/sandbox.pb.h"

namespace hearth::daemon {

enum class SandboxSetting { kRequired, kBestEffort, kOff };

// As in settings: "required", "best-effort", "off".
std::string_view name_of(SandboxSetting setting);

class SandboxStatus {
 public:
  // `workers`: how the log calls them.
  SandboxStatus(SandboxSetting setting, std::string workers) : setting_(setting), workers_(std::move(workers)) {}

  absl::Status judge(const v1::SandboxReport& report);

  SandboxSetting setting() const { return setting_; }
  v1::SandboxReport last() const;  // empty before the first worker

 private:
  void tell(const v1::SandboxReport& report) const;

  const SandboxSetting setting_;
  const std::string workers_;
  mutable std::mutex mutex_;
  v1::SandboxReport last_;
  std::string told_;  // what of the last report was logged
};

}  // namespace hearth::daemon
