#include "tests/conformance/aarch64/aarch64_runner.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/find_program.h"

namespace hearth::conformance {

// What a greeting of the child shows is more than a version that is old enough.
absl::StatusOr<std::unique_ptr<RunnerProcess>> start_aarch64_runner(const std::string& program,
                                                                    const std::optional<std::string>& emulator) {
  if (!std::filesystem::exists(program))
    return absl::NotFoundError("hearth-aarch64-runner was not built: gcc-aarch64-linux-gnu is not installed");
  std::vector<std::string> command = {program};
#if !defined(__aarch64__)
  if (!emulator) return absl::NotFoundError("qemu-user is not installed: there is no qemu-aarch64");
  command = {*emulator, "-cpu", "max", "-L", "/usr/aarch64-linux-gnu", program};
#endif
  auto runner = std::make_unique<RunnerProcess>(command);
  if (const auto hello = runner->start(); !hello.ok())
    return absl::NotFoundError(absl::StrCat("qemu-user is too old, or runs no program of Debian's arm64: ",
                                            std::string(hello.status().message())));
  return runner;
}

absl::StatusOr<RunnerProcess*> aarch64_runner() {
  static const absl::StatusOr<std::unique_ptr<RunnerProcess>>& runner =
      *new absl::StatusOr<std::unique_ptr<RunnerProcess>>(
          start_aarch64_runner(runner_program("hearth-aarch64-runner"), runtime::find_program("qemu-aarch64")));
  if (!runner.ok()) return runner.status();
  return runner->get();
}

}  // namespace hearth::conformance
