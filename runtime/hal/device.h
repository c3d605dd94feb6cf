// What a device is to the runtime: it says what plans for it are compiled for, has memory, and loads a plan's kernels
// into an Executable, which is immutable, shared by all instances and called from any thread; of that, each instance
// makes a Program over its rows. Thread-safe.
// Errors: FailedPrecondition when the target does not fit this host, by name; DataLoss for damaged artifacts;
// ResourceExhausted for memory.
//
//   absl::StatusOr<const Device*> device = find_device("cpu");   // runtime/devices/devices.h
//   absl::StatusOr<std::unique_ptr<Executable>> kernels = (*device)->load(plan, artifacts);
//   absl::StatusOr<std::unique_ptr<Program>> program = (*kernels)->program(rows, {.threads = 4});
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "hearth/subnormals.h"
#include "hearth/v1/artifact.pb.h"
#include "runtime/hal/program.h"
#include "runtime/hal/rows.h"
#include "runtime/memory/buffer.h"
#include "runtime/plan/plan.h"

namespace hearth::runtime {

// Where an artifact's bytes are: a file on this host, or memory when `path` is empty.
struct ArtifactSource {
  std::string digest;  // 32 bytes
  std::string path;
  std::string bytes;
};

// How the host's processors take part, where they do.
struct HostWork {
  int threads = 1;
  Subnormals subnormals = Subnormals::kKeep;
};

class Executable {
 public:
  virtual ~Executable() = default;
  // A program for rows whose memory and values are set. Both outlive the program.
  virtual absl::StatusOr<std::unique_ptr<Program>> program(Rows& rows, const HostWork& host) const = 0;
};

// Who uses memory that kernels reach.
enum class MemoryUse {
  kShared,   // the host reads and writes it in place: outputs
  kWritten,  // the host writes it in place and seldom reads it, kernels read it: inputs, rows of launches
  kDevice,   // kernels; the host sees it where the device lets it: intermediates and weights
};

// Memory that other processes can have, too.
struct ShareableBuffer {
  Buffer buffer;
  UniqueFd file;
};

class Device {
 public:
  virtual ~Device() = default;
  // As find_device() takes it.
  virtual std::string_view name() const = 0;
  // Its name where it is no device of its own but this host's processors, as Mesa's llvmpipe; else empty.
  virtual std::string software_name() const { return {}; }
  // What its user should know, a sentence each.
  virtual std::vector<std::string> notes() const { return {}; }
  // What plans for it are compiled for; `threads` 0: every CPU this process may use, where they take part.
  virtual v1::Target target(int threads) const = 0;
  // Whether kernels can be given any address of this process; else only those of what allocate() made.
  virtual bool reaches_host_memory() const = 0;
  // Whether kernels read weights in memory that processes share (weights/weight_sharing.h).
  virtual bool shares_weights() const { return false; }
  // Where those are of the device: which one, the same in every process. Empty: in the host's memory.
  virtual std::string weights_device() const { return {}; }
  // Zeroed memory of the device, and the descriptor of a file by which other processes that have the same device import
  // it; its bytes stay as long as one of them or a descriptor is there. UNIMPLEMENTED where weights are shared in the
  // host's memory or not at all.
  virtual absl::StatusOr<ShareableBuffer> allocate_shareable(std::size_t size_bytes, std::string_view what) const;
  // What that made in another process, to be read; any error of the driver for another descriptor.
  virtual absl::StatusOr<Buffer> import_memory(int file, std::size_t size_bytes, std::string_view what) const;
  // Zeroed memory that kernels can reach. `what` is for the error.
  virtual absl::StatusOr<Buffer> allocate(std::size_t size_bytes, std::string_view what, MemoryUse use) const = 0;
  // Copies into what allocate() made, or out of it, from `offset` on. The others are of the host. No program that uses
  // that part may run.
  virtual absl::Status write(const Buffer& to, std::size_t offset, const void* from, std::size_t size_bytes) const;
  virtual absl::Status read(const Buffer& from, std::size_t offset, void* to, std::size_t size_bytes) const;
  // Whether `size_bytes` from that address on are one part of this device's memory, whoever allocated it.
  // INVALID_ARGUMENT: they are not; UNIMPLEMENTED: its memory has no addresses that others know.
  virtual absl::Status check_memory(const void* address, std::size_t size_bytes) const;
  virtual absl::StatusOr<std::unique_ptr<Executable>> load(const Plan& plan,
                                                           const std::vector<ArtifactSource>& artifacts) const = 0;
};

}  // namespace hearth::runtime
