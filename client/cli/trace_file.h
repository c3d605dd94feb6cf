// TraceFile: --trace of a command. What this process, the daemon and its workers did from when to when, as JSON of
// Chrome's trace format, which ui.perfetto.dev and chrome://tracing show. One at a time; single-threaded.
//
//   TraceFile trace;
//   trace.add_to(*command);
//   absl::Status checked = trace.start("hearth run");   // nothing where --trace was not given
//   ...                                                 // Span (base/span.h) wherever something is worth it
//   trace.pause();                                      // what follows is not traced
//   absl::Status written = trace.write();
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/span.h"
#include "base/status_macros.h"

namespace CLI {
class App;
}

namespace hearth::cli {

class TraceFile {
 public:
  void add_to(CLI::App& command);
  bool is_wanted() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  // Where the file cannot be written, before anything is done.
  absl::Status start(const std::string& program);
  void pause();
  void go_on();
  // With a note of where it is.
  absl::Status write();

 private:
  std::string path_, program_;
  std::vector<SpanRecord> spans_;
  std::size_t left_out_ = 0;
};

// What `run` does, traced where --trace was given; the file is written where it gave a status of its own.
template <class Run>
absl::StatusOr<int> traced(TraceFile& trace, const std::string& program, const Run& run) {
  HEARTH_RETURN_IF_ERROR(trace.start(program));
  absl::StatusOr<int> ended = run();
  if (!ended.ok()) return ended;
  HEARTH_RETURN_IF_ERROR(trace.write());
  return ended;
}

// Times in microseconds from the earliest on. Spans that overlap and are of no thread lie in lanes. `program`: this
// process.
nlohmann::ordered_json trace_json(std::vector<SpanRecord> spans, const std::string& program);

}  // namespace hearth::cli
