#include "blobs/tools/build_progress.h"

#include <cstdio>
#include <fstream>
#include <utility>

#include "base/text.h"

namespace hearth::blobs {

BuildProgress::BuildProgress(std::string what, std::string file, std::function<void(const std::string&)> line)
    : what_(std::move(what)), file_(std::move(file)), line_(std::move(line)) {
  if (!file_.empty()) std::ofstream(file_, std::ios::trunc).flush();
}

void BuildProgress::step(const std::string& text) { write(text, Clock::now()); }

void BuildProgress::still(const std::string& text, Clock::time_point now) {
  if (now - last_ >= kPause) write(text, now);
}

void BuildProgress::write(const std::string& text, Clock::time_point now) {
  last_ = now;
  const auto time = std::chrono::duration_cast<std::chrono::seconds>(now - begin_);
  const std::string line = str_cat(what_, " ", minutes(time), " ", text);
  if (line_) line_(line);
  if (!file_.empty()) std::ofstream(file_, std::ios::app) << line << "\n";
}

std::string minutes(std::chrono::seconds time) {
  const long long all = time.count();
  char text[32];
  if (all >= 3600)
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", all / 3600, all / 60 % 60, all % 60);
  else
    std::snprintf(text, sizeof text, "%lld:%02lld", all / 60, all % 60);
  return text;
}

}  // namespace hearth::blobs
