// Spans of a job that a worker did, for whoever wants a trace of what was built. Pure.
//
//   add_job_spans("kernel 'sum_4'", "compile", reply.times(), reply.compiled().passes(), &trace);
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "hearth/v1/compiler_service.pb.h"

namespace hearth::daemon {

using BuildTrace = std::vector<v1::TraceSpan>;
inline constexpr std::size_t kMaxTraceSpans = 65'536;  // of a plan; further ones are left out

// Its wait, its work and the work's passes.
void add_job_spans(const std::string& what, const char* category, const v1::JobTimes& times,
                   const google::protobuf::RepeatedPtrField<v1::PassReport>& passes, BuildTrace* trace);
void add_span(const std::string& name, const char* category, std::uint64_t start_ns, std::uint64_t end_ns,
              std::uint32_t worker, BuildTrace* trace);

}  // namespace hearth::daemon
