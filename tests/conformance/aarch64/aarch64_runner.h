// Kernels of AArch64: on such a machine run as they are, on others under QEMU's user mode emulation (Debian's qemu-user),
// in a child process. Not thread-safe.
//
//   const absl::StatusOr<RunnerProcess*> runner = aarch64_runner();   // NotFound names what is not installed
//   absl::Status status = (*runner)->run(blocks, launches);
#pragma once
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "tests/conformance/runner/runner_process.h"

namespace hearth::conformance {

// The process's only one. NotFound: the emulator is missing or cannot run this machine's programs, or the cross compiler
// was missing when this was built; it says what to install.
absl::StatusOr<RunnerProcess*> aarch64_runner();
// The same of a program and, where this processor does not run it, an emulator.
absl::StatusOr<std::unique_ptr<RunnerProcess>> start_aarch64_runner(const std::string& program,
                                                                    const std::optional<std::string>& emulator);

}  // namespace hearth::conformance
