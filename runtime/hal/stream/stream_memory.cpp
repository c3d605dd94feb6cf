#include "runtime/hal/stream/stream_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "absl/strings/numbers.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/hal/stream/stream_error.h"
#include "runtime/hal/stream/stream_mapping.h"
#include "runtime/plan/plan.h"

namespace hearth::runtime {
namespace {

std::size_t cache_bytes(const StreamDeviceInfo& info) {
  std::uint64_t bytes = 0;
  const char* const text = std::getenv("HEARTH_DEVICE_CACHE_BYTES");
  return text != nullptr && absl::SimpleAtoi(text, &bytes) ? bytes : info.memory_bytes / 8;
}

absl::Status named(const absl::Status& made, std::size_t size_bytes, std::string_view what) {
  if (made.ok()) return made;
  return absl::Status(made.code(), str_cat("cannot allocate ", size_bytes, " bytes for ", what, ": ", made.message()));
}

}  // namespace

// Freed by who made it, which it keeps.
struct StreamMemory::Block {
  explicit Block(std::shared_ptr<StreamMemory> of) : memory(std::move(of)) {}
  Block(const Block&) = delete;
  ~Block() {
    if (address != nullptr && !memory->context_->is_abandoned()) memory->give_back(*this);
  }
  const std::shared_ptr<StreamMemory> memory;
  void* data = nullptr;  // of pinned memory
  void* address = nullptr;
  std::size_t size_bytes = 0;  // that were allocated
};

bool StreamMemory::is_managed() {
  const char* const text = std::getenv("HEARTH_DEVICE_MEMORY");
  return text != nullptr && std::string_view(text) == "managed";
}

StreamMemory::StreamMemory(std::shared_ptr<const StreamContext> context)
    : context_(std::move(context)), is_managed_(is_managed()), free_blocks_(cache_bytes(context_->info())) {}

absl::StatusOr<std::shared_ptr<StreamMemory>> StreamMemory::make(std::shared_ptr<const StreamContext> context) {
  std::shared_ptr<StreamMemory> memory(new StreamMemory(std::move(context)));
  const StreamContext::Current current(*memory->context_);
  HEARTH_RETURN_IF_ERROR(current.status());
  HEARTH_ASSIGN_OR_RETURN(Stream stream, make_stream(memory->context_));
  memory->idle_streams_.push_back(std::move(stream));
  return memory;
}

StreamMemory::~StreamMemory() {
  if (context_->is_abandoned()) return;
  const StreamContext::Current current(*context_);
  if (current.status().ok()) free_all(free_blocks_.take_all());
}

void StreamMemory::free_all(const std::vector<void*>& blocks) const {
  for (void* const block : blocks) context_->api().free(block);
}

void StreamMemory::give_back(const Block& block) {
  const StreamContext::Current current(*context_);
  if (!current.status().ok()) return;
  if (block.data != nullptr) {
    context_->api().free_host(block.data);
    return;
  }
  std::vector<void*> beyond_limit;
  {
    const std::lock_guard lock(mutex_);
    beyond_limit = free_blocks_.give(block.address, block.size_bytes);
  }
  free_all(beyond_limit);
}

void* StreamMemory::take_free(std::size_t size_bytes) {
  const std::lock_guard lock(mutex_);
  return free_blocks_.take(size_bytes);
}

absl::Status StreamMemory::allocate_own(std::size_t size_bytes, Block& block) {
  const std::size_t rounded = FreeBlocks::rounded(size_bytes);
  void* address = take_free(rounded);
  if (address == nullptr) {
    const StreamApi& api = context_->api();
    const auto ask = [&] {
      return is_managed_ ? api.allocate_managed(&address, rounded, kManagedGlobal) : api.allocate(&address, rounded);
    };
    int error = ask();
    if (error == kOutOfMemory) {
      std::vector<void*> kept;
      {
        const std::lock_guard lock(mutex_);
        kept = free_blocks_.take_all();
      }
      free_all(kept);
      if (!kept.empty()) error = ask();
    }
    HEARTH_RETURN_IF_ERROR(context_->check(error, is_managed_ ? Entry::allocate_managed : Entry::allocate));
  }
  block.address = address;
  block.size_bytes = rounded;
  return run(Entry::fill, [&](void* stream) { return context_->api().fill(address, 0, rounded, stream); });
}

absl::Status StreamMemory::allocate_pinned(std::size_t size_bytes, Block& block) {
  void* data = nullptr;
  block.size_bytes = aligned_size(std::max<std::size_t>(size_bytes, 1));
  HEARTH_RETURN_IF_ERROR(context_->check(context_->api().allocate_host(&data, block.size_bytes, kHostPortableMapped),
                                         Entry::allocate_host));
  std::memset(data, 0, block.size_bytes);
  block.data = data;
  const absl::Status mapped =
      context_->check(context_->api().host_address(&block.address, data, 0), Entry::host_address);
  if (!mapped.ok()) context_->api().free_host(data);
  return mapped;
}

absl::Status StreamMemory::check_size(std::size_t size_bytes, std::string_view what) const {
  const std::uint64_t most = context_->info().memory_bytes;
  constexpr std::size_t kMostAddresses = std::size_t{1} << 46;  // sizes beyond it are none, and would not be rounded
  if (size_bytes <= (is_managed_ ? kMostAddresses : most)) return absl::OkStatus();
  return absl::ResourceExhaustedError(str_cat("cannot allocate ", size_bytes, " bytes for ", what, ": ",
                                              context_->info().name, " has ", most, " bytes of memory"));
}

absl::StatusOr<Buffer> StreamMemory::allocate(std::size_t size_bytes, std::string_view what, MemoryUse use) {
  HEARTH_RETURN_IF_ERROR(context_->check_usable());
  HEARTH_RETURN_IF_ERROR(check_size(size_bytes, what));
  const StreamContext::Current current(*context_);
  HEARTH_RETURN_IF_ERROR(current.status());
  auto block = std::make_shared<Block>(shared_from_this());
  const absl::Status made =
      use == MemoryUse::kDevice ? allocate_own(size_bytes, *block) : allocate_pinned(size_bytes, *block);
  HEARTH_RETURN_IF_ERROR(named(made, size_bytes, what));
  void* const data = block->data;
  void* const address = block->address;
  return Buffer(data, address, size_bytes, std::move(block));
}

absl::StatusOr<ShareableBuffer> StreamMemory::allocate_shareable(std::size_t size_bytes, std::string_view what) {
  HEARTH_RETURN_IF_ERROR(context_->check_usable());
  HEARTH_RETURN_IF_ERROR(check_size(size_bytes, what));
  const StreamContext::Current current(*context_);
  HEARTH_RETURN_IF_ERROR(current.status());
  UniqueFd file;
  absl::StatusOr<std::shared_ptr<StreamMapping>> made = StreamMapping::create(context_, size_bytes, &file);
  HEARTH_RETURN_IF_ERROR(named(made.status(), size_bytes, what));
  void* const address = (*made)->address();
  const std::size_t whole = (*made)->mapped_bytes();
  const absl::Status filled =
      run(Entry::fill, [&](void* stream) { return context_->api().fill(address, 0, whole, stream); });
  HEARTH_RETURN_IF_ERROR(named(filled, size_bytes, what));
  return ShareableBuffer{Buffer(nullptr, address, size_bytes, *std::move(made)), std::move(file)};
}

absl::StatusOr<Buffer> StreamMemory::import(int file, std::size_t size_bytes, std::string_view what) {
  HEARTH_RETURN_IF_ERROR(context_->check_usable());
  const StreamContext::Current current(*context_);
  HEARTH_RETURN_IF_ERROR(current.status());
  absl::StatusOr<std::shared_ptr<StreamMapping>> made = StreamMapping::import(context_, file, size_bytes);
  HEARTH_RETURN_IF_ERROR(named(made.status(), size_bytes, what));
  void* const address = (*made)->address();
  return Buffer(nullptr, address, size_bytes, *std::move(made));
}

absl::StatusOr<Stream> StreamMemory::take_stream() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_streams_.empty()) {
      Stream stream = std::move(idle_streams_.back());
      idle_streams_.pop_back();
      return stream;
    }
  }
  return make_stream(context_);
}

template <typename Queue>
absl::Status StreamMemory::run(Entry entry, const Queue& queue) {
  HEARTH_ASSIGN_OR_RETURN(Stream stream, take_stream());
  absl::Status done = context_->check(queue(stream.get()), entry);
  if (done.ok()) done = context_->wait(stream.get());
  const std::lock_guard lock(mutex_);
  idle_streams_.push_back(std::move(stream));
  return done;
}

absl::Status StreamMemory::write(const Buffer& to, std::size_t offset, const void* from, std::size_t size_bytes) {
  HEARTH_RETURN_IF_ERROR(context_->check_usable());
  if (size_bytes == 0) return absl::OkStatus();
  if (to.data() != nullptr) {
    std::memcpy(static_cast<char*>(to.data()) + offset, from, size_bytes);
    return absl::OkStatus();
  }
  const StreamContext::Current current(*context_);
  HEARTH_RETURN_IF_ERROR(current.status());
  return run(Entry::copy_in, [&](void* stream) {
    return context_->api().copy_in(static_cast<char*>(to.address()) + offset, from, size_bytes, stream);
  });
}

absl::Status StreamMemory::check_address(const void* address, std::size_t size_bytes) const {
  HEARTH_RETURN_IF_ERROR(context_->check_usable());
  if (size_bytes == 0) return absl::OkStatus();
  const StreamContext::Current current(*context_);
  HEARTH_RETURN_IF_ERROR(current.status());
  void* begin = nullptr;
  std::size_t whole = 0;
  int device = -1;
  void* const asked_of = const_cast<void*>(address);
  absl::Status asked = context_->check(context_->api().address_range(&begin, &whole, asked_of), Entry::address_range);
  // One space of addresses has the memory of all GPUs.
  if (asked.ok()) {
    asked =
        context_->check(context_->api().pointer_attribute(&device, kPointerDevice, asked_of), Entry::pointer_attribute);
  }
  if (absl::IsUnavailable(asked)) return asked;
  if (!asked.ok() || device != context_->info().ordinal)
    return absl::InvalidArgumentError(str_cat("its address is in no memory of ", context_->info().name));
  const auto* const end = static_cast<const char*>(begin) + whole;
  if (static_cast<std::size_t>(end - static_cast<const char*>(address)) >= size_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      str_cat("its ", size_bytes, " bytes go beyond the end of what was allocated on ", context_->info().name));
}

absl::Status StreamMemory::read(const Buffer& from, std::size_t offset, void* to, std::size_t size_bytes) {
  HEARTH_RETURN_IF_ERROR(context_->check_usable());
  if (size_bytes == 0) return absl::OkStatus();
  if (from.data() != nullptr) {
    std::memcpy(to, static_cast<const char*>(from.data()) + offset, size_bytes);
    return absl::OkStatus();
  }
  const StreamContext::Current current(*context_);
  HEARTH_RETURN_IF_ERROR(current.status());
  return run(Entry::copy_out, [&](void* stream) {
    return context_->api().copy_out(to, static_cast<const char*>(from.address()) + offset, size_bytes, stream);
  });
}

}  // namespace hearth::runtime
