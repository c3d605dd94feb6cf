// PipelineTrials: whether a driver survives compiling a kernel, found out in a child process (hearth-vulkan-trial),
// once for each module, device and driver version: the verdicts are kept for later processes (cache_file.h). Without
// the program (base/find_program.h), or with HEARTH_VULKAN_TRIAL=0, nothing is tried; the variable may also be
// its path. Thread-safe. Errors: FAILED_PRECONDITION naming the module whose compile ended a child.
//
//   trials.run(modules);                               // those that are new
//   absl::Status known = trials.check(modules[0]);
#pragma once
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/sha256.h"
#include "runtime/hal/vulkan/vulkan_devices.h"

namespace hearth::runtime {

class PipelineTrials {
 public:
  explicit PipelineTrials(const VulkanDeviceInfo& info) : info_(info) {}
  void run(const std::vector<std::string_view>& modules);
  absl::Status check(std::string_view module);
  // Whether kernels are to be tried, and there is no program that does it.
  static bool are_missing();

 private:
  enum class Verdict : char { kSurvived = '+', kEnded = '-' };
  void read();
  void save() const;

  const VulkanDeviceInfo info_;
  std::mutex mutex_;  // of all below
  bool is_read_ = false;
  std::map<Digest, Verdict> verdicts_;
};

// What the program does: compiles the modules of standard input, each behind its length of 8 bytes, for the device of
// that UUID (hexadecimal), and answers each with a byte. The exit code.
int run_trial(std::string_view uuid);

}  // namespace hearth::runtime
