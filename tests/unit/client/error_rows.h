// Calls that must fail, each with the message it must fail with. Every row's message also names the caller's file.
//
//   check_rows({{"axis 2 is out of range", [] { softmax(f32({2, 3}), 2); }}});
#pragma once
#include <catch2/catch.hpp>
#include <functional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "hearth/ops.h"

namespace hearth::client::error_rows {

inline Tensor f32(Shape shape) { return input("x", std::move(shape), DType::kF32); }
inline Tensor i64(Shape shape) { return input("i", std::move(shape), DType::kI64); }

inline std::string message(const std::function<void()>& record) {
  try {
    record();
  } catch (const JitError& error) {
    CHECK(error.status().code() == absl::StatusCode::kInvalidArgument);
    return error.what();
  }
  return "no error";
}

struct Row {
  const char* expected;
  std::function<void()> record;
};

inline void check_rows(const std::vector<Row>& rows, std::source_location caller = std::source_location::current()) {
  const std::string file = caller.file_name();
  for (const Row& row : rows) {
    const std::string text = message(row.record);
    CHECK_THAT(text, Catch::Contains(row.expected));
    CHECK_THAT(text, Catch::Contains(file.substr(file.rfind('/') + 1) + ":"));
  }
}

}  // namespace hearth::client::error_rows
