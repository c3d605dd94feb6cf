#include "daemon/worker_pool/sandbox_status.h"

#include <absl/strings/str_cat.h>
#include <spdlog/spdlog.h>

#include "daemon/worker_pool/sandbox_layers.h"

namespace hearth::daemon {

std::string_view name_of(SandboxSetting setting) {
  switch (setting) {
    case SandboxSetting::kRequired:
      return "required";
    case SandboxSetting::kBestEffort:
      return "best-effort";
    case SandboxSetting::kOff:
      return "off";
  }
  return "unknown";
}

absl::Status SandboxStatus::judge(const v1::SandboxReport& report) {
  const std::string missing = setting_ == SandboxSetting::kRequired ? missing_layers(report) : std::string();
  std::string state;
  for (const v1::SandboxLayer& layer : report.layers()) absl::StrAppend(&state, layer.name(), layer.state(), ";");
  {
    std::lock_guard lock(mutex_);
    last_ = report;
    if (told_ != state && missing.empty()) tell(report);
    told_ = state;
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the sandbox of ", workers_, " lacks ", missing,
                   ", and the setting sandbox = required asks for all of it: have the kernel or the container allow it "
                   "(docs/security.md says how), or set sandbox = best-effort"));
}

void SandboxStatus::tell(const v1::SandboxReport& report) const {
  if (setting_ == SandboxSetting::kOff) {
    spdlog::warn("the sandbox of {} is off: who makes a compiler misbehave has all rights of this user", workers_);
    return;
  }
  for (const v1::SandboxLayer& layer : report.layers()) {
    if (layer.state() == v1::SandboxLayer::ON) continue;
    const bool is_off = layer.state() == v1::SandboxLayer::OFF;
    const std::string text =
        absl::StrCat("the sandbox of ", workers_, is_off ? " lacks " : " has only a part of ", layer.name(), " (",
                     layer.detail(), ")", is_off ? ": " + std::string(what_is_lost(layer.name())) : "");
    is_off&& layer.name() != layer::kCgroup ? spdlog::warn("{}", text) : spdlog::info("{}", text);
  }
}

v1::SandboxReport SandboxStatus::last() const {
  std::lock_guard lock(mutex_);
  return last_;
}

}  // namespace hearth::daemon
