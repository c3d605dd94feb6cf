#include "runtime/hal/stream/stream_context.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/hal/stream/stream_error.h"

namespace hearth::runtime {

absl::StatusOr<std::shared_ptr<StreamContext>> StreamContext::open(const StreamApi& api, const StreamDeviceInfo& info) {
  std::shared_ptr<StreamContext> context(new StreamContext(api, info));
  const Current current(*context);
  HEARTH_RETURN_IF_ERROR(current.status());
  return context;
}

absl::Status StreamContext::check(int error, Entry entry) const {
  if (error == 0) return absl::OkStatus();
  const char* const name = api_.error_name(error);
  if (is_lost(error)) state_.set_lost(name);
  return absl::Status(code_of_stream_error(error),
                      str_cat(info_.name, ": ", api_.entry_name(entry), ": ", name, remedy_of(error)));
}

template <typename Look>
absl::StatusOr<int> StreamContext::look_until_ready(const Look& look) const {
  using Clock = std::chrono::steady_clock;
  // A run of a small model ends while this looks again and again; of a long one, no more than a hundredth is waited on.
  constexpr std::chrono::microseconds kLooking(200), kMostSleep(1000);
  const Clock::time_point begin = Clock::now();
  for (;;) {
    const int error = look();
    if (error != kNotReady) return error;
    const Clock::duration waited = Clock::now() - begin;
    if (waited > state_.timeout()) return state_.stuck();
    if (waited > kLooking) std::this_thread::sleep_for(std::min<Clock::duration>(kMostSleep, waited / 100));
  }
}

absl::Status StreamContext::wait(void* stream) const {
  HEARTH_ASSIGN_OR_RETURN(const int error, look_until_ready([&] { return api_.stream_query(stream); }));
  if (error != 0 && !is_lost(error)) drain(stream);
  return check(error, Entry::stream_query);
}

absl::Status StreamContext::wait_for_event(void* event) const {
  HEARTH_ASSIGN_OR_RETURN(const int error, look_until_ready([&] { return api_.event_query(event); }));
  return check(error, Entry::event_query);
}

// What was queued may still use what its owner is about to free. No longer than wait() has: what goes on behind a failure
// may stand still, too.
void StreamContext::drain(void* stream) const {
  const absl::StatusOr<int> error = look_until_ready([&] { return api_.stream_query(stream); });
  if (error.ok() && *error != 0 && !is_lost(*error)) state_.set_stuck();
}

absl::Status StreamContext::wait_for(const absl::Status& queued, void* stream) const {
  if (queued.ok()) return wait(stream);
  if (check_usable().ok()) drain(stream);
  return queued;
}

absl::StatusOr<Stream> make_stream(const std::shared_ptr<const StreamContext>& context) {
  void* stream = nullptr;
  HEARTH_RETURN_IF_ERROR(
      context->check(context->api().stream_create(&stream, kStreamNonBlocking), Entry::stream_create));
  return Stream(context, stream);
}

}  // namespace hearth::runtime
