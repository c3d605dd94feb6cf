// WorkerOutput: what a worker says on its standard output and error. A hijacked worker must not write to the daemon's
// log or terminal itself: its words come through a pipe, are escaped, limited and logged line by line.
//
// Owns both ends; the worker's is to be closed once it has started. One thread. Example:
//   WorkerOutput output;
//   spawn_worker(output.worker_end());
//   output.close_worker_end();
//   output.drain();   // as often as convenient: the worker does not wait for it
#pragma once
#include <cstddef>
#include <string>

namespace hearth::daemon {

class WorkerOutput {
 public:
  WorkerOutput();  // without a pipe, when the system has none to give, everything is lost
  ~WorkerOutput();
  WorkerOutput(const WorkerOutput&) = delete;
  WorkerOutput& operator=(const WorkerOutput&) = delete;

  int worker_end() const { return ends_[1]; }
  void close_worker_end();
  // Logs complete lines.
  void drain();
  // Logs the rest too.
  void finish();

 private:
  void log_lines(bool rest);

  int ends_[2] = {-1, -1};
  std::string pending_;
  std::size_t num_logged_bytes_ = 0;
};

}  // namespace hearth::daemon
