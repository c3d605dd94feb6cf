// BuildProgress: what a build is doing, with the time since it began, for people who wait: a line when it does
// something else, and again every quarter of a minute while it does the same.
//
// Lines go to a function and, where there is one, to a file that others follow. One thread. No errors: a file that
// cannot be written is not. Example:
//   BuildProgress progress("libmha_bwd", "/tmp/b/libmha_bwd/progress", [](const std::string& line) { … });
//   progress.step("rewriting 1 dispatcher");            // "libmha_bwd 0:00 rewriting 1 dispatcher"
//   progress.still("compiling fmha_bwd_api.cpp");       // now and then
#pragma once
#include <chrono>
#include <functional>
#include <string>

namespace hearth::blobs {

class BuildProgress {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kPause{15};

  BuildProgress(std::string what, std::string file, std::function<void(const std::string&)> line);

  void step(const std::string& text);
  void still(const std::string& text, Clock::time_point now = Clock::now());

 private:
  void write(const std::string& text, Clock::time_point now);

  const std::string what_, file_;
  const std::function<void(const std::string&)> line_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point last_ = begin_;
};

// "1:05" of 65 seconds, "1:00:05" of 3605.
std::string minutes(std::chrono::seconds time);

}  // namespace hearth::blobs
