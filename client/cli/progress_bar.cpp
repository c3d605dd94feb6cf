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

std::function<void(const v1::TuneProgress&)> ProgressBar::tune_callback() {
  if (!enabled_) return {};
  return [this](const v1::TuneProgress& progress) { show(progress); };
}

void ProgressBar::show(const v1::TuneProgress& progress) {
  drawn_ = true;
  if (progress.state() == v1::TuneProgress::TUNING) {
    std::fprintf(stderr, "\r\033[K%s: kernel %u of %u (%s): %u candidates, %.2f times as fast", title_.c_str(),
                 progress.kernels_done() + 1, progress.kernels_total(), progress.symbol().c_str(),
                 progress.candidates(), progress.speedup());
  } else {
    std::fprintf(stderr, "\r\033[K%s: %s", title_.c_str(),
                 progress.state() == v1::TuneProgress::LOWERING ? "lowering" : "queued");
  }
  std::fflush(stderr);
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
