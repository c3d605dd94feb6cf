#include "daemon/log.h"

#include <fmt/chrono.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/printable.h"
#include "daemon/log_fields.h"

namespace hearth::daemon {
namespace {

// A file is appended to, so that it still tells of a daemon that died when its successor has started; it and the two
// before it are kept.
constexpr std::size_t kLogBytes = 8u << 20;
constexpr std::size_t kOldLogs = 2;

// The longest line, and the longest of its fields: who can cause a line decides what it says.
constexpr std::size_t kMaxLineBytes = 4'096, kMaxFieldBytes = 256;

class PrintableFormatter : public spdlog::formatter {
 public:
  explicit PrintableFormatter(std::unique_ptr<spdlog::formatter> inner) : inner_(std::move(inner)) {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const std::string text = printable({message.payload.data(), message.payload.size()}, kMaxLineBytes);
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

// {"time":"2026-11-24T10:00:00.000Z","level":"info","pid":7,"message":"…"}, and what LogFields says.
class JsonFormatter : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const auto since = message.time.time_since_epoch();
    const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(since).count();
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(since).count() % 1000;
    std::tm utc{};
    ::gmtime_r(&seconds, &utc);
    const std::string text = printable({message.payload.data(), message.payload.size()}, kMaxLineBytes);
    nlohmann::ordered_json line = {{"time", fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", utc, ms)},
                                   {"level", spdlog::level::to_string_view(message.level).data()},
                                   {"pid", ::getpid()},
                                   {"message", text}};
    if (const LogFields::Fields* fields = LogFields::current()) {
      for (const auto& [name, value] : *fields) {
        const auto* const words = std::get_if<std::string>(&value);
        if (words != nullptr) {
          line[name] = printable(*words, kMaxFieldBytes);
        } else if (const auto* const whole = std::get_if<std::int64_t>(&value)) {
          line[name] = *whole;
        } else {
          line[name] = std::get<double>(value);
        }
      }
    }
    const std::string dumped = line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    out.append(dumped.data(), dumped.data() + dumped.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<JsonFormatter>(); }
};

// Throws unless `info` is of a file of this user's own under one name, or of a device.
void check_own(const std::string& file, const struct stat& info) {
  if (S_ISCHR(info.st_mode) || S_ISFIFO(info.st_mode)) return;
  if (S_ISREG(info.st_mode) && info.st_uid == ::geteuid() && info.st_nlink == 1) return;
  spdlog::throw_spdlog_ex(file + " is no file of yours alone (user " + std::to_string(info.st_uid) + ", " +
                          std::to_string(info.st_nlink) +
                          " names): remove it, or choose a folder that only you can write");
}

// The same of what a path names now; a link must be this user's or root's.
void check_path(const std::string& file) {
  struct stat info{};
  if (::lstat(file.c_str(), &info) != 0) return;  // it is made
  if (S_ISLNK(info.st_mode) && info.st_uid != ::geteuid() && info.st_uid != 0) check_own(file, info);
  if (::stat(file.c_str(), &info) == 0) check_own(file, info);
}

// The log is looked at before and after it is opened, also at each rotation: others may write the folder it lies in.
// Where descriptor 2 is the log it follows: what the C library has to say of a crash goes there. A terminal, or what a
// service manager reads, stays.
spdlog::file_event_handlers handlers_of(const std::string& log_file) {
  struct stat log{}, error{};
  const bool error_follows = ::stat(log_file.c_str(), &log) == 0 && ::fstat(STDERR_FILENO, &error) == 0 &&
                             S_ISREG(log.st_mode) && log.st_dev == error.st_dev && log.st_ino == error.st_ino;
  spdlog::file_event_handlers handlers;
  handlers.before_open = check_path;
  handlers.after_open = [error_follows](const spdlog::filename_t& file, std::FILE* opened) {
    struct stat info{};
    if (::fstat(::fileno(opened), &info) != 0) return;
    check_own(file, info);
    check_path(file);
    if (error_follows) ::dup2(::fileno(opened), STDERR_FILENO);
  };
  return handlers;
}

}  // namespace

absl::Status start_log(const Config& config) {
  try {
    auto log = config.log_file.empty() ? spdlog::stderr_logger_mt("hearthd")
                                       : spdlog::rotating_logger_mt("hearthd", config.log_file, kLogBytes, kOldLogs,
                                                                    false, handlers_of(config.log_file));
    log->set_level(spdlog::level::from_str(config.log_level == "warn" ? "warning" : config.log_level));
    log->flush_on(spdlog::level::trace);
    if (config.log_json) {
      log->set_formatter(std::make_unique<JsonFormatter>());
    } else {
      log->set_formatter(std::make_unique<PrintableFormatter>(std::make_unique<spdlog::pattern_formatter>(
          "%Y-%m-%dT%H:%M:%S.%eZ [%P] %l %v", spdlog::pattern_time_type::utc)));
    }
    spdlog::set_default_logger(log);
  } catch (const spdlog::spdlog_ex& error) {
    return absl::InvalidArgumentError(std::string("cannot write the log file: ") + error.what());
  }
  return absl::OkStatus();
}

}  // namespace hearth::daemon
