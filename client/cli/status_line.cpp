#include "client/cli/status_line.h"

#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "base/printable.h"
#include "client/cli/display_width.h"
#include "client/cli/print.h"
#include "client/cli/terminal.h"

namespace hearth::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenDrawings{100};
constexpr std::chrono::milliseconds kBeforeFirst{200};  // what is done sooner needs no line
constexpr std::size_t kBarColumns = 20, kNarrowestTitle = 8, kRoomForTime = 24;

std::mutex g_mutex;             // of what is on the terminal
std::size_t g_drawn_width = 0;  // columns of the line that stands there

void write_to_terminal(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(STDERR_FILENO, text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR) return;  // the terminal is gone; the work goes on
    if (written > 0) at += static_cast<std::size_t>(written);
  }
}

// Blanks over what the new text does not cover: erasing without an escape sequence.
void draw(const std::string& text, std::size_t columns) {
  const std::size_t width = display_width(text), old_width = std::min(g_drawn_width, columns);
  std::string out = "\r" + text;
  if (old_width > width) out += std::string(old_width - width, ' ') + "\r" + text;
  write_to_terminal(out);
  g_drawn_width = width;
}

std::string bar(std::size_t done, std::size_t total) {
  const std::size_t filled = kBarColumns * std::min(done, total) / total;
  return "[" + std::string(filled, '#') + std::string(kBarColumns - filled, '-') + "] ";
}

std::string time_text(std::chrono::seconds time) {
  const long long seconds = time.count();
  if (seconds < 100) return str_cat(seconds, " s");
  if (seconds < 3600) return str_cat(seconds / 60, " min ", seconds % 60, " s");
  return str_cat(seconds / 3600, " h ", seconds / 60 % 60, " min");
}

}  // namespace

std::string status_text(const Status& status, std::chrono::seconds elapsed, std::size_t columns) {
  std::string time = ", " + time_text(elapsed);
  if (status.budget.count() > 0) time += " of " + time_text(status.budget);
  if (columns < kRoomForTime) time.clear();
  const std::size_t room = columns - std::min(columns, display_width(time));
  const std::string title =
      shorten_front(printable(status.title), std::max<std::size_t>(columns / 4, kNarrowestTitle)) + ": ";
  const std::string state = printable(status.state);
  // A bar says nothing that the state does not: it takes what room is left.
  const bool has_bar = status.total > 0 && display_width(title) + kBarColumns + 3 + display_width(state) <= room;
  return shorten(title + (has_bar ? bar(status.done, status.total) : "") + state, room) + time;
}

class StatusLine::Drawer {
 public:
  Drawer() : thread_([this] { run(); }) {}
  ~Drawer() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    wake_.notify_all();
    thread_.join();
    clear_status_line();
  }

  void show(Status status) {
    const std::lock_guard lock(mutex_);
    status_ = std::move(status);
    has_status_ = true;
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    std::string drawn;
    auto pause = kBeforeFirst;
    while (!wake_.wait_for(lock, pause, [this] { return ended_; })) {
      pause = kBetweenDrawings;
      if (!has_status_) continue;
      const std::size_t columns = std::max<std::size_t>(terminal_columns(STDERR_FILENO), 2) - 1;
      const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - started_);
      const std::string text = status_text(status_, elapsed, columns);
      const std::lock_guard terminal(g_mutex);
      if (text == drawn && g_drawn_width > 0) continue;
      draw(text, columns);
      drawn = text;
    }
  }

  const Clock::time_point started_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ended_ = false, has_status_ = false;
  Status status_;
  std::thread thread_;  // last: it uses the others
};

StatusLine::StatusLine(bool wanted) {
  if (wanted && verbosity() != Verbosity::kQuiet && can_rewrite_lines(STDERR_FILENO)) {
    drawer_ = std::make_unique<Drawer>();
  }
}

StatusLine::~StatusLine() = default;

void StatusLine::show(Status status) {
  if (drawer_ != nullptr) drawer_->show(std::move(status));
}

void clear_status_line() {
  const std::lock_guard lock(g_mutex);
  if (g_drawn_width == 0) return;
  const std::size_t columns = std::max<std::size_t>(terminal_columns(STDERR_FILENO), 2) - 1;
  draw("", columns);
  g_drawn_width = 0;
}

}  // namespace hearth::cli
