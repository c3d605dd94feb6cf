// A progress bar on stderr while a plan is prepared: only on a terminal, and gone when it is destroyed.
//
//   ProgressBar bar("model.onnx", /*enabled=*/!flags.json);
//   config.progress = bar.callback();
#pragma once
#include <functional>
#include <string>

#include "client/jit.h"
#include "hearth/v1/compiler_service.pb.h"

namespace hearth::cli {

class ProgressBar {
 public:
  ProgressBar(std::string title, bool enabled);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Empty when nothing is to be shown. Valid while the bar lives.
  std::function<void(const client::PrepareProgress&)> callback();
  std::function<void(const v1::TuneProgress&)> tune_callback();

 private:
  void show(const client::PrepareProgress& progress);
  void show(const v1::TuneProgress& progress);
  std::string title_;
  bool enabled_;
  bool drawn_ = false;
};

}  // namespace hearth::cli
