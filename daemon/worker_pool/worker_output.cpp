#include "daemon/worker_pool/worker_output.h"

#include <absl/strings/escaping.h>
#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace hearth::daemon {
namespace {

constexpr std::size_t kLongestLine = 1'000;
constexpr std::size_t kMaxLogged = 64 << 10;  // of one worker: a crash report of a sanitizer, not a log file filled

}  // namespace

WorkerOutput::WorkerOutput() {
  // A full pipe takes nothing more, rather than making the worker wait.
  if (::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0) ends_[0] = ends_[1] = -1;
}

WorkerOutput::~WorkerOutput() {
  close_worker_end();
  if (ends_[0] >= 0) ::close(ends_[0]);
}

void WorkerOutput::close_worker_end() {
  if (ends_[1] >= 0) ::close(ends_[1]);
  ends_[1] = -1;
}

void WorkerOutput::drain() {
  char bytes[4096];
  while (ends_[0] >= 0) {
    const ssize_t size = ::read(ends_[0], bytes, sizeof(bytes));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    pending_.append(bytes, static_cast<std::size_t>(size));
    log_lines(false);
  }
}

void WorkerOutput::finish() {
  drain();
  log_lines(true);
}

void WorkerOutput::log_lines(bool rest) {
  while (!pending_.empty()) {
    const std::size_t end = std::min(pending_.find('\n'), pending_.size());
    if (end == pending_.size() && end < kLongestLine && !rest) return;
    const std::string line = pending_.substr(0, std::min(end, kLongestLine));
    pending_.erase(0, line.size() == end && end < pending_.size() ? end + 1 : line.size());
    if (line.empty() || num_logged_bytes_ >= kMaxLogged) continue;
    num_logged_bytes_ += line.size();
    spdlog::warn("compiler worker: {}", absl::Utf8SafeCEscape(line));
    if (num_logged_bytes_ >= kMaxLogged) spdlog::warn("compiler worker: it says too much; the rest is left out");
  }
}

}  // namespace hearth::daemon
