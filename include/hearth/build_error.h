// The error of a build body (hearth/jit_wrapper.h) inside the status that prepare() gives: a thrown exception as it
// was, or the status that the body returned, as a JitError. It lives as long as a copy of the status does, in this
// process only. Thread-safe.
//
//   if (std::exception_ptr inner = build_error(prepared.status())) {
//     try { std::rethrow_exception(inner); } catch (const MissingWeights& missing) { fetch(missing.name); }
//   }
#pragma once
#include <exception>
#include <string>

#include "absl/status/status.h"
#include "hearth/config.h"

#pragma GCC visibility push(default)
namespace hearth::client {

// Null for every status that is not of the kind Build, or came from elsewhere than prepare() in this process.
std::exception_ptr build_error(const absl::Status& status);

// For prepare(): the status of the kind Build for what the body threw (code UNKNOWN, the texts of nested exceptions in
// order) or returned, or threw as a JitError (its code, text and payloads).
absl::Status build_failed(std::exception_ptr thrown);
absl::Status build_failed(const absl::Status& returned, std::exception_ptr thrown = nullptr);

// what() of an exception and of those nested in it, "outer: inner"; the type's name for one that has none.
std::string describe(std::exception_ptr error);

}  // namespace hearth::client
#pragma GCC visibility pop
