#include "client/cli/trace_file.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "client/cli/checks.h"
#include "client/cli/format.h"
#include "client/cli/print.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

// A row of the picture: spans of it are apart, or one within another.
class Lane {
 public:
  bool takes(std::uint64_t start, std::uint64_t end) {
    while (!ends_.empty() && ends_.back() <= start) ends_.pop_back();
    if (!ends_.empty() && ends_.back() < end) return false;
    ends_.push_back(end);
    return true;
  }

 private:
  std::vector<std::uint64_t> ends_;  // of spans that contain the last one
};

double microseconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e3; }

Json name_event(const char* what, int process, std::int64_t thread, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

}  // namespace

Json trace_json(std::vector<SpanRecord> spans, const std::string& program) {
  // A span comes before those within it.
  std::stable_sort(spans.begin(), spans.end(), [](const SpanRecord& a, const SpanRecord& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.duration_ns > b.duration_ns;
  });
  const std::uint64_t begin = spans.empty() ? 0 : spans.front().start_ns;
  // Process ids of several namespaces may be the same, so processes have numbers of their own.
  std::map<std::pair<std::string, std::int64_t>, int> processes;
  std::map<std::pair<int, std::int64_t>, bool> threads;
  std::map<int, std::vector<Lane>> lanes;
  Json events = Json::array();
  const auto process_of = [&](const SpanRecord& span) {
    const bool is_own = span.program.empty();
    const std::int64_t id = is_own ? ::getpid() : span.process;
    const std::string& name = is_own ? program : span.program;
    const auto [found, fresh] = processes.try_emplace({name, id}, static_cast<int>(processes.size()) + 1);
    if (fresh) {
      const std::string shown = id > 0 ? str_cat(name, " (process ", id, ")") : name;
      events.push_back(name_event("process_name", found->second, 0, shown));
    }
    return found->second;
  };
  for (const SpanRecord& span : spans) {
    const int process = process_of(span);
    std::int64_t thread = span.thread;
    if (thread == 0) {
      std::vector<Lane>& all = lanes[process];
      const std::uint64_t end = span.start_ns + span.duration_ns;
      auto lane = std::find_if(all.begin(), all.end(), [&](Lane& one) { return one.takes(span.start_ns, end); });
      if (lane == all.end()) {
        all.emplace_back().takes(span.start_ns, end);
        lane = all.end() - 1;
      }
      thread = lane - all.begin() + 1;
    } else if (!std::exchange(threads[{process, thread}], true)) {
      events.push_back(name_event("thread_name", process, thread,
                                  thread == ::getpid() ? std::string("main thread") : str_cat("thread ", thread)));
    }
    events.push_back({{"ph", "X"},
                      {"name", span.name},
                      {"cat", span.category},
                      {"ts", microseconds(span.start_ns - begin)},
                      {"dur", microseconds(span.duration_ns)},
                      {"pid", process},
                      {"tid", thread}});
  }
  return {{"displayTimeUnit", "ms"}, {"traceEvents", events}};
}

void TraceFile::add_to(CLI::App& command) {
  command
      .add_option("--trace", path_,
                  "Write what was done when, by this process, the daemon, its workers and the kernels' threads, as "
                  "JSON that ui.perfetto.dev and chrome://tracing show")
      ->type_name("FILE")
      ->check(not_empty());
}

absl::Status TraceFile::start(const std::string& program) {
  if (!is_wanted()) return absl::OkStatus();
  program_ = program;
  const std::filesystem::path folder = std::filesystem::absolute(path_).parent_path();
  std::error_code error;
  if (std::filesystem::is_directory(path_, error)) return usage_error("--trace ", path_, ": is a folder");
  if (!std::filesystem::is_directory(folder, error))
    return absl::NotFoundError(str_cat("--trace ", path_, ": there is no folder ", folder.string()));
  go_on();
  return absl::OkStatus();
}

void TraceFile::go_on() {
  if (is_wanted()) record_spans();
}

void TraceFile::pause() {
  if (!is_wanted()) return;
  std::size_t left_out = 0;
  std::vector<SpanRecord> taken = take_spans(&left_out);
  left_out_ += left_out;
  spans_.insert(spans_.end(), std::make_move_iterator(taken.begin()), std::make_move_iterator(taken.end()));
}

absl::Status TraceFile::write() {
  if (!is_wanted()) return absl::OkStatus();
  pause();
  const std::string text = trace_json(spans_, program_).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (absl::Status written = runtime::write_file(path_, {text}); !written.ok())
    return absl::Status(written.code(), str_cat("--trace ", written.message()));
  if (left_out_ > 0) note("--trace ", path_, ": has no room for ", counted(left_out_, "span"));
  print_summary("trace of ", counted(spans_.size(), "span"), " -> ", path_);
  return absl::OkStatus();
}

}  // namespace hearth::cli
