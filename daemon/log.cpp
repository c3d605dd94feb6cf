#include "daemon/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

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

}  // namespace

absl::Status start_log(const Config& config) {
  try {
    auto log = config.log_file.empty() ? spdlog::stderr_logger_mt("hearthd")
                                       : spdlog::rotating_logger_mt("hearthd", config.log_file, kLogBytes, kOldLogs);
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
