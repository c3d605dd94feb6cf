#include "daemon/serve/library_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <spdlog/spdlog.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "daemon/log_limit.h"

namespace hearth::daemon {
namespace {

constexpr std::size_t kMaxBytes = 1'000;  // of a message

void log_line(const char* library, bool is_error, const char* file, int line, std::string_view message) {
  static LogLimit& limit = *new LogLimit();  // threads of libraries may outlive static objects
  const std::string_view name = file != nullptr ? file : "";
  const auto times = limit.count(std::hash<std::string_view>()(name) * 31 + static_cast<std::uint64_t>(line));
  if (!times) return;
  spdlog::log(is_error ? spdlog::level::warn : spdlog::level::debug, "{} ({} times): {}{}", library, *times,
              message.substr(0, kMaxBytes), message.size() > kMaxBytes ? "…" : "");
}

void log_for_grpc(gpr_log_func_args* args) {
  log_line("gRPC", args->severity == GPR_LOG_SEVERITY_ERROR, args->file, args->line,
           args->message != nullptr ? args->message : "");
}

void log_for_protobuf(google::protobuf::LogLevel level, const char* file, int line, const std::string& message) {
  log_line("Protobuf", level >= google::protobuf::LOGLEVEL_ERROR, file, line, message);
}

}  // namespace

void route_library_logs() {
  gpr_set_log_function(log_for_grpc);
  google::protobuf::SetLogHandler(log_for_protobuf);
}

}  // namespace hearth::daemon
