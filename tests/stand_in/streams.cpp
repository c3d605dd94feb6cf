// The stand-in's streams, which run what is queued when somebody waits, and events.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <utility>

#include "tests/stand_in/faults.h"
#include "tests/stand_in/objects.h"

namespace hearth::stand_in {
namespace {

std::atomic<bool> hangs = false;

}  // namespace

void hang(bool now) { hangs = now; }

namespace {

// As much of it as is queued before record number `record` of `event`; null: all.
int run_until(Stream& stream, const Event* event, std::uint64_t record) {
  const Touch touch;
  int first = kSuccess;
  while (!stream.queue.empty() && (event == nullptr || event->done < record)) {
    const Operation operation = std::move(stream.queue.front());
    stream.queue.pop_front();
    if (const int error = operation.run(); error != kSuccess && first == kSuccess) first = error;
  }
  return first;
}

}  // namespace

int run_all(Stream& stream) { return run_until(stream, nullptr, 0); }

int copy(void* to, const void* from, std::size_t size_bytes, void* stream, bool to_device) {
  const auto locked = lock();
  check_range("a copy", to_device ? to : from, size_bytes);
  const void* const host = to_device ? from : to;
  if (host == nullptr) broken("a copy", "there is no address of the host");
  stream_of("a copy", stream)
      .queue.push_back({[=] {
                          std::memcpy(to, from, size_bytes);
                          return kSuccess;
                        },
                        host});
  return kSuccess;
}

int fill(void* to, unsigned char value, std::size_t count, void* stream) {
  const auto locked = lock();
  check_range("a fill", to, count);
  stream_of("a fill", stream).queue.push_back({[=] {
    // Of much, zeros that take no memory: pages that are given back.
    constexpr std::uintptr_t kPage = 4096, kMuch = std::uintptr_t{64} << 20;
    const auto begin = reinterpret_cast<std::uintptr_t>(to), end = begin + count;
    const std::uintptr_t first = (begin + kPage - 1) / kPage * kPage, last = end / kPage * kPage;
    if (value != 0 || count < kMuch || madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED) != 0) {
      std::memset(to, value, count);
      return kSuccess;
    }
    std::memset(to, 0, first - begin);
    std::memset(reinterpret_cast<void*>(last), 0, end - last);
    return kSuccess;
  }});
  return kSuccess;
}

int stream_create(void** stream, unsigned flags) {
  if (flags != 1) broken("making a stream", "it would wait for the default stream");
  const auto locked = lock();
  *stream = add(std::make_unique<Stream>());
  return kSuccess;
}

int stream_query(void* handle) {
  const auto locked = lock();
  Stream& stream = stream_of("looking at a stream", handle);
  if (!stream.queue.empty() && (hangs || !std::exchange(stream.was_looked_at, true))) return kNotReady;
  stream.was_looked_at = false;
  return run_all(stream);
}

int stream_synchronize(void* handle) {
  while (hangs) usleep(1000);
  const auto locked = lock();
  return run_all(stream_of("waiting for a stream", handle));
}

int stream_destroy(void* handle) {
  const auto locked = lock();
  const int error = run_all(of<Stream>("destroying a stream", handle));
  remove(handle);
  return error;
}

int event_create(void** event) {
  const auto locked = lock();
  *event = add(std::make_unique<Event>());
  return kSuccess;
}

int event_record(void* event, void* stream) {
  const auto locked = lock();
  Event& one = of<Event>("recording an event", event);
  one.stream = stream;
  const std::uint64_t record = ++one.queued;
  stream_of("recording an event", stream).queue.push_back({[event, record] {
    Event& then = of<Event>("an event that is recorded", event);
    then.done = record;
    then.time = std::chrono::steady_clock::now();
    return kSuccess;
  }});
  return kSuccess;
}

// What was queued before the event was recorded, on its stream, runs first.
int stream_wait_event(void* handle, void* event) {
  const auto locked = lock();
  const Event& now = of<Event>("waiting for an event", event);
  stream_of("waiting for an event", handle).queue.push_back({[event, stream = now.stream, record = now.queued] {
    const Event& awaited = of<Event>("an event that is waited for", event);
    if (awaited.done < record) return run_until(stream_of("an event's stream", stream), &awaited, record);
    return kSuccess;
  }});
  return kSuccess;
}

int event_query(void* handle) {
  const auto locked = lock();
  Event& event = of<Event>("looking at an event", handle);
  if (event.done >= event.queued) return kSuccess;  // as of one that was never recorded
  if (hangs || !std::exchange(event.was_looked_at, true)) return kNotReady;
  event.was_looked_at = false;
  return run_until(stream_of("an event's stream", event.stream), &event, event.queued);
}

int event_elapsed(float* ms, void* start, void* end) {
  const auto locked = lock();
  const Event &from = of<Event>("the time between events", start), &to = of<Event>("the time between events", end);
  if (from.done < from.queued || to.done < to.queued || from.queued == 0 || to.queued == 0) return kNotReady;
  *ms = std::chrono::duration<float, std::milli>(to.time - from.time).count();
  return kSuccess;
}

int event_destroy(void* event) {
  const auto locked = lock();
  of<Event>("destroying an event", event);
  remove(event);
  return kSuccess;
}

}  // namespace hearth::stand_in
