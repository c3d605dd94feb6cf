// What to do with a Status or StatusOr that is not OK: return it.
//
//   HEARTH_ASSIGN_OR_RETURN(const std::string text, read_file(path));
//   HEARTH_RETURN_IF_ERROR(check(text));
#pragma once
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// lhs = value of a StatusOr expression, or return its error.
#define HEARTH_CONCAT_INNER(a, b) a##b
#define HEARTH_CONCAT(a, b) HEARTH_CONCAT_INNER(a, b)
#define HEARTH_ASSIGN_OR_RETURN(lhs, ...) \
  HEARTH_ASSIGN_OR_RETURN_IMPL(HEARTH_CONCAT(status_or_, __LINE__), lhs, (__VA_ARGS__))
#define HEARTH_ASSIGN_OR_RETURN_IMPL(temporary, lhs, expression) \
  auto temporary = expression;                                   \
  if (!temporary.ok()) return temporary.status();                \
  lhs = std::move(temporary).value()
#define HEARTH_RETURN_IF_ERROR(...) \
  if (absl::Status status_ = (__VA_ARGS__); !status_.ok()) return status_
