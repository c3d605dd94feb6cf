#include "client/cli/progress_bar.h"

#include <utility>

#include "base/text.h"
#include "client/cli/format.h"

namespace hearth::cli {

ProgressBar::ProgressBar(std::string title, bool enabled) : title_(std::move(title)), line_(enabled) {}

std::function<void(const client::PrepareProgress&)> ProgressBar::callback() {
  if (!line_.is_shown()) return {};
  return [this](const client::PrepareProgress& progress) { show(progress); };
}

std::function<void(const v1::TuneProgress&)> ProgressBar::tune_callback(std::chrono::seconds budget) {
  if (!line_.is_shown()) return {};
  return [this, budget](const v1::TuneProgress& progress) { show(progress, budget); };
}

void ProgressBar::show(const v1::TuneProgress& progress, std::chrono::seconds budget) {
  Status status{.title = title_, .state = "queued", .budget = budget};
  if (progress.state() == v1::TuneProgress::LOWERING) status.state = "lowering";
  if (progress.state() == v1::TuneProgress::TUNING) {
    status.state =
        str_cat("kernel ", progress.kernels_done() + 1, " of ", progress.kernels_total(), ", ", progress.candidates(),
                " tried, ", fixed(progress.speedup(), 2), "x (", progress.symbol(), ")");
  }
  line_.show(std::move(status));
}

void ProgressBar::show(const client::PrepareProgress& progress) {
  using State = client::PrepareProgress::State;
  Status status{.title = title_, .state = "compiling"};
  if (progress.state == State::kCompiling && progress.kernels_total > 0) {
    status.state = str_cat("kernel ", progress.kernels_done, " of ", progress.kernels_total);
    status.done = progress.kernels_done;
    status.total = progress.kernels_total;
  } else if (progress.state == State::kPacking) {
    status.state = str_cat("weights, ", human_bytes(progress.bytes_done), " of ", human_bytes(progress.bytes_total));
    status.done = progress.bytes_done;
    status.total = progress.bytes_total;
  } else {
    status.state = progress.state == State::kQueued     ? "queued"
                   : progress.state == State::kLowering ? "lowering"
                   : progress.state == State::kLoading  ? "loading"
                                                        : "compiling";
  }
  line_.show(std::move(status));
}

}  // namespace hearth::cli
