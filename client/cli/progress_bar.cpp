#include "client/cli/progress_bar.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

namespace hearth::cli {

ProgressBar::ProgressBar(std::string title, bool enabled)
    : title_(std::move(title)), enabled_(enabled && isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

std::function<void(const client::PrepareProgress&)> ProgressBar::callback() {
  if (!enabled_) return {};
  return [this](const client::PrepareProgress& progress) { show(progress); };
}

void ProgressBar::show(const client::PrepareProgress& progress) {
  using State = client::PrepareProgress::State;
  constexpr unsigned kWidth = 30;
  drawn_ = true;
  if (progress.state == State::kCompiling && progress.kernels_total > 0) {
    const unsigned filled = kWidth * progress.kernels_done / progress.kernels_total;
    const std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '-');
    std::fprintf(stderr, "\r\033[K%s [%s] kernel %u of %u", title_.c_str(), bar.c_str(), progress.kernels_done,
                 progress.kernels_total);
  } else {
    const char* text = progress.state == State::kQueued     ? "queued"
                       : progress.state == State::kLowering ? "lowering"
                       : progress.state == State::kLoading  ? "loading"
                                                            : "compiling";
    std::fprintf(stderr, "\r\033[K%s: %s", title_.c_str(), text);
  }
  std::fflush(stderr);
}

}  // namespace hearth::cli
