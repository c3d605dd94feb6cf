#include "base/span.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <utility>

namespace hearth {
namespace {

std::atomic<bool> is_recording{false};

struct Recorded {
  std::mutex mutex;
  std::vector<SpanRecord> spans;
  std::size_t left_out = 0;
};

Recorded& recorded() {
  static auto* const all = new Recorded;  // threads may end after static objects are gone
  return *all;
}

}  // namespace

void record_spans() { is_recording = true; }
bool records_spans() { return is_recording.load(std::memory_order_relaxed); }

std::uint64_t span_clock_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

void add_span(SpanRecord span) {
  if (!records_spans()) return;
  Recorded& all = recorded();
  const std::lock_guard lock(all.mutex);
  if (all.spans.size() < kMaxSpans) {
    all.spans.push_back(std::move(span));
  } else {
    ++all.left_out;
  }
}

std::vector<SpanRecord> take_spans(std::size_t* left_out) {
  is_recording = false;
  Recorded& all = recorded();
  const std::lock_guard lock(all.mutex);
  if (left_out != nullptr) *left_out = all.left_out;
  all.left_out = 0;
  return std::exchange(all.spans, {});
}

void Span::end() {
  const std::uint64_t start = std::exchange(start_ns_, 0);
  if (start == 0) return;
  add_span({.name = std::string(name_),
            .category = std::string(category_),
            .start_ns = start,
            .duration_ns = span_clock_ns() - start,
            .thread = ::syscall(SYS_gettid)});
}

}  // namespace hearth
