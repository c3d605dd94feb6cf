#include "daemon/prepare/build_trace.h"

#include <absl/strings/str_cat.h>

namespace hearth::daemon {

void add_span(const std::string& name, const char* category, std::uint64_t start_ns, std::uint64_t end_ns,
              std::uint32_t worker, BuildTrace* trace) {
  if (trace->size() >= kMaxTraceSpans || start_ns == 0 || end_ns < start_ns) return;
  v1::TraceSpan& span = trace->emplace_back();
  span.set_name(name);
  span.set_category(category);
  span.set_start_ns(start_ns);
  span.set_duration_ns(end_ns - start_ns);
  span.set_worker(worker);
}

void add_job_spans(const std::string& what, const char* category, const v1::JobTimes& times,
                   const google::protobuf::RepeatedPtrField<v1::PassReport>& passes, BuildTrace* trace) {
  add_span(absl::StrCat("queue: ", what), "queue", times.queued_ns(), times.started_ns(), 0, trace);
  add_span(absl::StrCat(category, " ", what), category, times.started_ns(), times.ended_ns(), times.worker(), trace);
  for (const v1::PassReport& pass : passes)
    add_span(pass.name(), "pass", pass.start_ns(), pass.start_ns() + pass.time_ns(), times.worker(), trace);
}

}  // namespace hearth::daemon
