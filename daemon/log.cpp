#include "daemon/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "base/printable.h"

namespace hearth::daemon {
namespace {

// A file is appended to, so that it still tells of a daemon that died when its successor has started; it and the two
// before it are kept.
constexpr std::size_t kLogBytes = 8u << 20;
constexpr std::size_t kOldLogs = 2;

class PrintableFormatter : public spdlog::formatter {
 public:
  explicit PrintableFormatter(std::unique_ptr<spdlog::formatter> inner) : inner_(std::move(inner)) {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const std::string text = printable({message.payload.data(), message.payload.size()});
    spdlog::details::log_msg safe = message;
    safe.payload = {text.data(), text.size()};
    inner_->format(safe, out);
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<PrintableFormatter>(inner_->clone());
  }

 private:
  std::unique_ptr<spdlog::formatter> inner_;
};

// Descriptor 2 is the current log too, also after a rotation: what the C library has to say of a crash goes there. A
// terminal, or what a service manager reads, stays.
spdlog::file_event_handlers standard_error_follows(const std::string& file) {
  spdlog::file_event_handlers handlers;
  struct stat log{}, error{};
  if (::stat(file.c_str(), &log) != 0 || ::fstat(STDERR_FILENO, &error) != 0) return handlers;
  if (log.st_dev != error.st_dev || log.st_ino != error.st_ino) return handlers;
  handlers.after_open = [](const spdlog::filename_t&, std::FILE* opened) { ::dup2(::fileno(opened), STDERR_FILENO); };
  return handlers;
}

}  // namespace

absl::Status start_log(const Config& config) {
  try {
    auto log = config.log_file.empty() ? spdlog::stderr_logger_mt("hearthd")
                                       : spdlog::rotating_logger_mt("hearthd", config.log_file, kLogBytes, kOldLogs,
                                                                    false, standard_error_follows(config.log_file));
    log->set_level(spdlog::level::from_str(config.log_level == "warn" ? "warning" : config.log_level));
    log->flush_on(spdlog::level::trace);
    log->set_formatter(std::make_unique<PrintableFormatter>(std::make_unique<spdlog::pattern_formatter>(
        "%Y-%m-%dT%H:%M:%S.%eZ [%P] %l %v", spdlog::pattern_time_type::utc)));
    spdlog::set_default_logger(log);
  } catch (const spdlog::spdlog_ex& error) {
    return absl::InvalidArgumentError(std::string("cannot write the log file: ") + error.what());
  }
  return absl::OkStatus();
}

}  // namespace hearth::daemon
