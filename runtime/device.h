// What a device is to the replay loop: it checks that it can run a target and loads a plan's kernels into an
// Executable, which is immutable, shared by all instances and called from any thread.
// Errors: FailedPrecondition when the target does not fit this host, by name; DataLoss for damaged artifacts.
//
//   absl::StatusOr<const Device*> device = find_device("cpu");
//   absl::StatusOr<std::unique_ptr<Executable>> kernels = (*device)->load(plan, artifacts);
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hearth/v1/artifact.pb.h"
#include "runtime/plan.h"

namespace hearth::runtime {

// Where an artifact's bytes are: a file on this host, or memory when `path` is empty.
struct ArtifactSource {
  std::string digest;  // 32 bytes
  std::string path;
  std::string bytes;
};

class Executable {
 public:
  virtual ~Executable() = default;
  // Computes units [begin, end) of plan kernel `kernel`; allocates nothing, fails never.
  virtual void run(std::uint32_t kernel, void* const* buffers, const std::int64_t* vars, std::int64_t begin,
                   std::int64_t end) const = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;
  // What plans for this host are compiled for; `threads` 0: every CPU this process may use.
  virtual v1::Target target(int threads) const = 0;
  virtual absl::StatusOr<std::unique_ptr<Executable>> load(const Plan& plan,
                                                           const std::vector<ArtifactSource>& artifacts) const = 0;
};

// "cpu" or "null"; NotFound names the known devices.
absl::StatusOr<const Device*> find_device(std::string_view name);

}  // namespace hearth::runtime
