// Memory of a StreamContext's device that has a file descriptor, by which other processes of this node map the same
// bytes: they stay as long as any of them, or a descriptor, is there. Immutable. Errors: those of StreamContext.
//
//   absl::StatusOr<std::shared_ptr<StreamMapping>> made = StreamMapping::create(context, bytes, &file);
//   absl::StatusOr<std::shared_ptr<StreamMapping>> same = StreamMapping::import(context, file.get(), bytes);
#pragma once
#include <memory>

#include "base/unique_fd.h"
#include "runtime/hal/stream/stream_context.h"

namespace hearth::runtime {

class StreamMapping {
 public:
  // With undefined bytes; the device has to be the thread's current one for both.
  static absl::StatusOr<std::shared_ptr<StreamMapping>> create(std::shared_ptr<const StreamContext> context,
                                                               std::size_t size_bytes, UniqueFd* file);
  // To be read. Of a descriptor that is none, or of other memory, it is the driver's error.
  static absl::StatusOr<std::shared_ptr<StreamMapping>> import(std::shared_ptr<const StreamContext> context, int file,
                                                               std::size_t size_bytes);
  ~StreamMapping();
  StreamMapping(const StreamMapping&) = delete;
  StreamMapping& operator=(const StreamMapping&) = delete;

  void* address() const { return address_; }
  std::size_t mapped_bytes() const { return mapped_bytes_; }

 private:
  explicit StreamMapping(std::shared_ptr<const StreamContext> context) : context_(std::move(context)) {}
  absl::Status round_up(std::size_t size_bytes);
  absl::Status map();
  absl::Status allow(int flags) const;
  StreamMemoryProperties properties() const;

  const std::shared_ptr<const StreamContext> context_;
  std::size_t mapped_bytes_ = 0;
  void* handle_ = nullptr;
  void* address_ = nullptr;
  bool is_mapped_ = false;
};

}  // namespace hearth::runtime
