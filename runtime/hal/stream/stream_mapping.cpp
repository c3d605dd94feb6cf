#include "runtime/hal/stream/stream_mapping.h"

#include <cstdint>
#include <utility>

#include "base/status_macros.h"

namespace hearth::runtime {

StreamMemoryProperties StreamMapping::properties() const {
  StreamMemoryProperties properties;
  properties.place.device = context_->info().ordinal;
  return properties;
}

// To whole units of the driver's.
absl::Status StreamMapping::round_up(std::size_t size_bytes) {
  const StreamMemoryProperties wanted = properties();
  std::size_t unit = 0;
  HEARTH_RETURN_IF_ERROR(context_->check(context_->api().memory_granularity(&unit, &wanted, kLeastGranularity),
                                         Entry::memory_granularity));
  if (unit == 0) return absl::InternalError("the driver's memory has units of 0 bytes");
  mapped_bytes_ = (size_bytes + unit - 1) / unit * unit;
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<StreamMapping>> StreamMapping::create(std::shared_ptr<const StreamContext> context,
                                                                     std::size_t size_bytes, UniqueFd* file) {
  std::shared_ptr<StreamMapping> made(new StreamMapping(std::move(context)));
  const StreamApi& api = made->context_->api();
  HEARTH_RETURN_IF_ERROR(made->round_up(size_bytes));
  const StreamMemoryProperties wanted = made->properties();
  HEARTH_RETURN_IF_ERROR(
      made->context_->check(api.memory_create(&made->handle_, made->mapped_bytes_, &wanted, 0), Entry::memory_create));
  HEARTH_RETURN_IF_ERROR(made->map());
  HEARTH_RETURN_IF_ERROR(made->allow(kMayReadAndWrite));
  int number = -1;
  HEARTH_RETURN_IF_ERROR(
      made->context_->check(api.memory_export(&number, made->handle_, kHandleIsFile, 0), Entry::memory_export));
  *file = UniqueFd(number);
  return made;
}

absl::StatusOr<std::shared_ptr<StreamMapping>> StreamMapping::import(std::shared_ptr<const StreamContext> context,
                                                                     int file, std::size_t size_bytes) {
  std::shared_ptr<StreamMapping> made(new StreamMapping(std::move(context)));
  const StreamApi& api = made->context_->api();
  HEARTH_RETURN_IF_ERROR(made->round_up(size_bytes));
  void* const given =
      api.takes_file_by_address ? static_cast<void*>(&file) : reinterpret_cast<void*>(static_cast<std::intptr_t>(file));
  HEARTH_RETURN_IF_ERROR(
      made->context_->check(api.memory_import(&made->handle_, given, kHandleIsFile), Entry::memory_import));
  HEARTH_RETURN_IF_ERROR(made->map());
  // Some drivers know no memory that may be read alone.
  if (!made->allow(kMayRead).ok()) HEARTH_RETURN_IF_ERROR(made->allow(kMayReadAndWrite));
  return made;
}

absl::Status StreamMapping::map() {
  const StreamApi& api = context_->api();
  HEARTH_RETURN_IF_ERROR(
      context_->check(api.address_reserve(&address_, mapped_bytes_, 0, nullptr, 0), Entry::address_reserve));
  HEARTH_RETURN_IF_ERROR(context_->check(api.memory_map(address_, mapped_bytes_, 0, handle_, 0), Entry::memory_map));
  is_mapped_ = true;
  return absl::OkStatus();
}

absl::Status StreamMapping::allow(int flags) const {
  StreamMemoryAccess access;
  access.place.device = context_->info().ordinal;
  access.flags = flags;
  return context_->check(context_->api().memory_access(address_, mapped_bytes_, &access, 1), Entry::memory_access);
}

StreamMapping::~StreamMapping() {
  if (handle_ == nullptr || context_->is_abandoned()) return;
  const StreamContext::Current current(*context_);
  if (!current.status().ok()) return;
  const StreamApi& api = context_->api();
  if (is_mapped_ && api.memory_unmap(address_, mapped_bytes_) != 0) return;  // its addresses are still in use
  if (address_ != nullptr) api.address_free(address_, mapped_bytes_);
  api.memory_release(handle_);
}

}  // namespace hearth::runtime
