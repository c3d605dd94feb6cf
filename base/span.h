// Span: what this process did from when to when, for traces. Nothing is kept before record_spans(); from then on every
// Span that ends is, up to kMaxSpans, until take_spans(). Times are of CLOCK_MONOTONIC, which the processes of a
// machine share. Thread-safe. Where nothing is recorded a Span costs a load.
//
//   record_spans();
//   { Span span("load the model", "client"); ... }
//   for (const SpanRecord& span : take_spans()) ...
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

inline constexpr std::size_t kMaxSpans = 1'000'000;

struct SpanRecord {
  std::string name = {}, category = {};
  std::uint64_t start_ns = 0, duration_ns = 0;
  std::int64_t process = 0;  // 0: this one; else another's process id, as `program` has it
  std::string program = {};  // of another process
  std::int64_t thread = 0;   // its kernel's number for it; 0: of no one thread
};

void record_spans();
bool records_spans();
// In the order in which they ended, and how many there was no room for.
std::vector<SpanRecord> take_spans(std::size_t* left_out = nullptr);
void add_span(SpanRecord span);
std::uint64_t span_clock_ns();

class Span {
 public:
  // `name` and `category` must live as long.
  Span(std::string_view name, std::string_view category)
      : name_(name), category_(category), start_ns_(records_spans() ? span_clock_ns() : 0) {}
  ~Span() { end(); }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  void end();

 private:
  std::string_view name_, category_;
  std::uint64_t start_ns_;  // 0: not recorded
};

}  // namespace hearth
