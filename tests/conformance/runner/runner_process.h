// RunnerProcess: a child process that runs kernels for tests, so that a store outside of a buffer ends the child and not
// the test, and kernels of another processor run under its emulator. The child stays for the next run; where it died the
// next one is started. Not thread-safe.
//
//   RunnerProcess runner({"/…/bin/hearth-vulkan-runner"});
//   absl::StatusOr<WireReader> hello = runner.start();
//   absl::Status status = runner.run(blocks, launches);
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/conformance/runner/runner_wire.h"

namespace hearth::conformance {

struct RunnerBlock {  // memory that launches read and write; the child's bytes come back into it
  std::uint8_t* data = nullptr;
  std::size_t size = 0;
  std::size_t alignment = 64;
};

struct RunnerLaunch {
  const std::string* module = nullptr;  // SPIR-V words, or an ELF library
  std::string symbol = {};
  std::int64_t begin = 0, end = 0;  // units of the grid
  std::uint32_t workgroup_size = 1;
  std::vector<const std::uint8_t*> buffers;  // each inside of a block
  std::vector<std::int64_t> vars;
  std::vector<std::pair<const std::uint8_t*, bool>> run_if = {};  // single bools, and the values that they have to have
};

class RunnerProcess {
 public:
  explicit RunnerProcess(std::vector<std::string> command) : command_(std::move(command)) {}
  ~RunnerProcess();
  RunnerProcess(const RunnerProcess&) = delete;

  // What the child says first. INTERNAL with how it ended, where it says nothing.
  absl::StatusOr<WireReader> start();
  void stop();
  // In order, each after the stores of those before it. INTERNAL with what the child said, or how it ended; or when a
  // kernel wrote outside of the blocks.
  absl::Status run(std::span<const RunnerBlock> blocks, std::span<const RunnerLaunch> launches);

 private:
  absl::Status ended();

  std::vector<std::string> command_;
  pid_t child_ = -1;
  int to_ = -1, from_ = -1;
};

// A program of HEARTH_BIN_DIR, or else beside this one.
std::string runner_program(const std::string& name);

}  // namespace hearth::conformance
