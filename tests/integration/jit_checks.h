// A small model and the checks that tests of the JIT wrapper share.
#pragma once
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "hearth/jit_wrapper.h"
#include "hearth/ops.h"

namespace hearth::integration {

struct Line {
  std::vector<float> slope = {2, 3};
  float shift = 1;
  std::int64_t max_rows = 8;
};

inline client::Tensor line(const Line& model, const client::Tensor& x) {
  return x * client::parameter("slope", {2}, DType::kF32, client::bytes_of(model.slope)) + model.shift;
}

inline void fill(const absl::StatusOr<client::MutableView>& view, const std::vector<float>& values) {
  const absl::Status copied = client::copy_into(view, values);
  INFO(copied.message());
  REQUIRE(copied.ok());
}

inline std::vector<float> values(const absl::StatusOr<client::ConstView>& view) {
  REQUIRE(view.ok());
  const auto elements = view->as<float>();
  REQUIRE(elements.ok());
  return {elements->begin(), elements->end()};
}

template <typename T>
void check_kind(const absl::StatusOr<T>& result, client::JitErrorKind kind, const std::string& text) {
  INFO(result.status().ToString());
  REQUIRE(!result.ok());
  CHECK(client::jit_error_kind(result.status()) == kind);
  CHECK_THAT(std::string(result.status().message()), Catch::Matchers::Contains(text));
}
inline void check_kind(const absl::Status& status, client::JitErrorKind kind, const std::string& text) {
  check_kind(absl::StatusOr<int>(status), kind, text);
}

}  // namespace hearth::integration
