// How the client says no. Recording ops (hearth/tensor.h, client/ops/*.h) throw JitError, since they are
// expressions; everything that talks to a daemon or replays returns absl::Status / absl::StatusOr.
// A JitError carries the absl::Status that describes it: code, argument, value, expectation, user's source line.
//
//   absl::StatusOr<Tensor> y = catch_jit_error([&] { return matmul(x, w) + b; });
//   if (!y.ok()) return y.status();
#pragma once
#include <exception>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hearth/config.h"

#pragma GCC visibility push(default)
namespace hearth::client {

using Loc = std::source_location;

class JitError : public std::exception {
 public:
  explicit JitError(absl::Status status);
  const char* what() const noexcept override { return text_.c_str(); }
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
  std::string text_;
};

// Throws JitError(InvalidArgument): "OP: MESSAGE (at FILE:LINE)", with the innermost ScopedLocation when one is set.
[[noreturn]] void fail(std::string_view op, std::string_view message, const Loc& loc);

// Runs `record` and turns a JitError into its status. `record` must return a value.
template <typename F>
auto catch_jit_error(F&& record) -> absl::StatusOr<decltype(std::forward<F>(record)())> {
  try {
    return std::forward<F>(record)();
  } catch (const JitError& error) {
    return error.status();
  }
}

}  // namespace hearth::client
#pragma GCC visibility pop
