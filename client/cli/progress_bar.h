// What the daemon says while a plan is prepared or tuned, as a status line (status_line.h).
//
//   ProgressBar bar("model.onnx", /*enabled=*/!flags.json);
//   config.progress = bar.callback();
#pragma once
#include <chrono>
#include <functional>
#include <string>

#include "client/cli/status_line.h"
#include "hearth/prepare.h"
#include "hearth/v1/compiler_service.pb.h"

namespace hearth::cli {

class ProgressBar {
 public:
  ProgressBar(std::string title, bool enabled);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Empty when nothing is to be shown. Valid while the bar lives.
  std::function<void(const client::PrepareProgress&)> callback();
  std::function<void(const v1::TuneProgress&)> tune_callback(std::chrono::seconds budget);

 private:
  void show(const client::PrepareProgress& progress);
  void show(const v1::TuneProgress& progress, std::chrono::seconds budget);
  const std::string title_;
  StatusLine line_;
};

}  // namespace hearth::cli
