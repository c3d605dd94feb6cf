// A device of a StreamApi as a device of the runtime. Nothing of it is used before memory or code is asked for; what was
// made stays. Thread-safe.
//
//   const StreamDevice device(api, info);
#pragma once
#include <memory>
#include <mutex>
#include <string>

#include "runtime/hal/device.h"
#include "runtime/hal/stream/stream_context.h"
#include "runtime/hal/stream/stream_memory.h"

namespace hearth::runtime {

class StreamDevice final : public Device {
 public:
  // The api outlives it.
  StreamDevice(const StreamApi& api, StreamDeviceInfo info) : api_(api), info_(std::move(info)) {}
  std::string_view name() const override { return info_.device; }
  v1::Target target(int) const override { return info_.target; }
  bool reaches_host_memory() const override { return false; }
  // Managed memory is no process's to give.
  bool shares_weights() const override { return info_.shares_memory && !StreamMemory::is_managed(); }
  std::string weights_device() const override { return info_.uuid; }
  absl::StatusOr<ShareableBuffer> allocate_shareable(std::size_t size_bytes, std::string_view what) const override;
  absl::StatusOr<Buffer> import_memory(int file, std::size_t size_bytes, std::string_view what) const override;
  absl::StatusOr<Buffer> allocate(std::size_t size_bytes, std::string_view what, MemoryUse use) const override;
  absl::Status write(const Buffer& to, std::size_t offset, const void* from, std::size_t size_bytes) const override;
  absl::Status read(const Buffer& from, std::size_t offset, void* to, std::size_t size_bytes) const override;
  absl::Status check_memory(const void* address, std::size_t size_bytes) const override;
  absl::StatusOr<std::unique_ptr<Executable>> load(const Plan& plan,
                                                   const std::vector<ArtifactSource>& artifacts) const override;

 private:
  struct Opened {
    std::shared_ptr<StreamContext> context;
    std::shared_ptr<StreamMemory> memory;
  };
  absl::StatusOr<Opened> opened() const;
  absl::Status check_target(const v1::Target& target) const;

  const StreamApi& api_;
  const StreamDeviceInfo info_;
  mutable std::mutex mutex_;
  mutable Opened opened_;  // once it is used
};

}  // namespace hearth::runtime
