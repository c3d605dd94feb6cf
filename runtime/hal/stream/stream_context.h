// StreamContext: one device of a StreamApi as this process uses it, and what all programs share. Made when the device is
// first used, kept as long as anything of it lives. Thread-safe.
// Errors: FAILED_PRECONDITION where the device cannot be used or the process was forked since; UNAVAILABLE once the
// device is lost; RESOURCE_EXHAUSTED, DEADLINE_EXCEEDED, INTERNAL as runtime/hal/program.h has them, each naming the
// entry point and what it gave.
//
//   HEARTH_ASSIGN_OR_RETURN(std::shared_ptr<StreamContext> context, StreamContext::open(api, info));
//   const StreamContext::Current current(*context);
//   HEARTH_RETURN_IF_ERROR(current.status());
#pragma once
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/hal/gpu/device_state.h"
#include "runtime/hal/stream/stream_api.h"

namespace hearth::runtime {

class StreamContext {
 public:
  static absl::StatusOr<std::shared_ptr<StreamContext>> open(const StreamApi& api, const StreamDeviceInfo& info);

  // Calls of this thread are of the device while it lives.
  class Current {
   public:
    explicit Current(const StreamContext& context)
        : context_(context), error_(context.api_.enter(context.info_.ordinal, &previous_)) {}
    ~Current() {
      if (error_ == 0) context_.api_.leave(previous_);
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    absl::Status status() const { return context_.check(error_, Entry::enter); }

   private:
    const StreamContext& context_;
    void* previous_ = nullptr;
    const int error_;
  };

  const StreamApi& api() const { return api_; }
  const StreamDeviceInfo& info() const { return info_; }
  // OK for 0.
  absl::Status check(int error, Entry entry) const;
  // Before anything else of the device: whether it was lost, is stuck, or belongs to another process.
  absl::Status check_usable() const { return state_.check_usable(); }
  // Whether nothing may be destroyed any more.
  bool is_abandoned() const { return state_.is_abandoned(); }
  // For all of `stream`. DEADLINE_EXCEEDED after HEARTH_DEVICE_TIMEOUT_MS, else two minutes: the device counts as stuck
  // from then on.
  absl::Status wait(void* stream) const;
  // Waits for what was queued before `event` was recorded.
  absl::Status wait_for_event(void* event) const;
  // The same where `queued` is OK; else `queued`, after what was queued before it has ended.
  absl::Status wait_for(const absl::Status& queued, void* stream) const;

 private:
  // Until look() gives something else than that it is not ready.
  template <typename Look>
  absl::StatusOr<int> look_until_ready(const Look& look) const;
  void drain(void* stream) const;
  StreamContext(const StreamApi& api, const StreamDeviceInfo& info) : api_(api), info_(info), state_(info.name) {}

  const StreamApi& api_;
  const StreamDeviceInfo info_;
  const DeviceState state_;
};

// Something of a context, which `destroy` frees. Move-only.
template <auto Destroy>
class StreamObject {
 public:
  StreamObject() = default;
  StreamObject(std::shared_ptr<const StreamContext> context, void* handle)
      : context_(std::move(context)), handle_(handle) {}
  StreamObject(StreamObject&& other) noexcept { swap(other); }
  StreamObject& operator=(StreamObject&& other) noexcept {
    swap(other);
    return *this;
  }
  ~StreamObject() {
    if (handle_ == nullptr || context_->is_abandoned()) return;
    const StreamContext::Current current(*context_);
    if (current.status().ok()) (context_->api().*Destroy)(handle_);
  }
  void* get() const { return handle_; }

 private:
  void swap(StreamObject& other) {
    std::swap(context_, other.context_);
    std::swap(handle_, other.handle_);
  }
  std::shared_ptr<const StreamContext> context_;
  void* handle_ = nullptr;
};

using Stream = StreamObject<&StreamApi::stream_destroy>;
using StreamEvent = StreamObject<&StreamApi::event_destroy>;
using StreamModule = StreamObject<&StreamApi::module_unload>;
using StreamGraph = StreamObject<&StreamApi::graph_destroy>;
using StreamGraphExecutable = StreamObject<&StreamApi::graph_executable_destroy>;

absl::StatusOr<Stream> make_stream(const std::shared_ptr<const StreamContext>& context);

}  // namespace hearth::runtime
