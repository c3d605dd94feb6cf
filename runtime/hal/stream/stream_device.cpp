#include "runtime/hal/stream/stream_device.h"

#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/hal/gpu/check_target.h"
#include "runtime/hal/stream/stream_executable.h"

namespace hearth::runtime {

absl::StatusOr<StreamDevice::Opened> StreamDevice::opened() const {
  const std::lock_guard lock(mutex_);
  if (opened_.memory) return opened_;
  HEARTH_ASSIGN_OR_RETURN(std::shared_ptr<StreamContext> context, StreamContext::open(api_, info_));
  HEARTH_ASSIGN_OR_RETURN(std::shared_ptr<StreamMemory> memory, StreamMemory::make(context));
  opened_ = {std::move(context), std::move(memory)};
  return opened_;
}

absl::StatusOr<Buffer> StreamDevice::allocate(std::size_t size_bytes, std::string_view what, MemoryUse use) const {
  HEARTH_ASSIGN_OR_RETURN(const Opened device, opened());
  return device.memory->allocate(size_bytes, what, use);
}

absl::StatusOr<ShareableBuffer> StreamDevice::allocate_shareable(std::size_t size_bytes, std::string_view what) const {
  HEARTH_ASSIGN_OR_RETURN(const Opened device, opened());
  return device.memory->allocate_shareable(size_bytes, what);
}

absl::StatusOr<Buffer> StreamDevice::import_memory(int file, std::size_t size_bytes, std::string_view what) const {
  HEARTH_ASSIGN_OR_RETURN(const Opened device, opened());
  return device.memory->import(file, size_bytes, what);
}

absl::Status StreamDevice::write(const Buffer& to, std::size_t offset, const void* from, std::size_t size_bytes) const {
  HEARTH_ASSIGN_OR_RETURN(const Opened device, opened());
  return device.memory->write(to, offset, from, size_bytes);
}

absl::Status StreamDevice::read(const Buffer& from, std::size_t offset, void* to, std::size_t size_bytes) const {
  HEARTH_ASSIGN_OR_RETURN(const Opened device, opened());
  return device.memory->read(from, offset, to, size_bytes);
}

absl::Status StreamDevice::check_memory(const void* address, std::size_t size_bytes) const {
  HEARTH_ASSIGN_OR_RETURN(const Opened device, opened());
  return device.memory->check_address(address, size_bytes);
}

absl::Status StreamDevice::check_target(const v1::Target& target) const {
  HEARTH_RETURN_IF_ERROR(check_gpu_target(target, info_));
  const v1::Target& own = info_.target;
  if (target.triple() == own.triple() && api_.runs(target.arch(), own.arch())) return absl::OkStatus();
  return absl::FailedPreconditionError(str_cat("the plan was compiled for ", target.arch(), " (", target.triple(),
                                               "), and ", info_.name, " is ", own.arch(), " (", own.triple(),
                                               "); prepare it for device '", info_.device, "'"));
}

absl::StatusOr<std::unique_ptr<Executable>> StreamDevice::load(const Plan& plan,
                                                               const std::vector<ArtifactSource>& artifacts) const {
  HEARTH_RETURN_IF_ERROR(check_target(plan.target));
  HEARTH_ASSIGN_OR_RETURN(const Opened device, opened());
  HEARTH_ASSIGN_OR_RETURN(std::unique_ptr<StreamExecutable> executable,
                          StreamExecutable::load(device.context, device.memory, plan, artifacts));
  return std::unique_ptr<Executable>(std::move(executable));
}

}  // namespace hearth::runtime
