// Many pieces of work in one child process, each isolated from the others' failure: a piece that crashes or takes too
// long costs its own result and a new child, which goes on with the next. To be called while this process has one
// thread (it forks). Errors: of a piece, its status; of the machine (no process, no pipe), the returned status.
//
//   run_isolated(10, std::chrono::seconds(60), [](std::size_t i) { return work(i); },
//                [](std::size_t i, absl::StatusOr<std::string> text) { … });
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace hearth::cli {

// `work` runs in the child and returns what `done` gets here, in order. DeadlineExceeded and Aborted (killed, exited)
// say what became of a child.
absl::Status run_isolated(std::size_t count, std::chrono::milliseconds limit,
                          const std::function<std::string(std::size_t)>& work,
                          const std::function<void(std::size_t, absl::StatusOr<std::string>)>& done);

}  // namespace hearth::cli
