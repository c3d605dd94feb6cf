// What is behind the handles of the C ABI (hearth/hearth.h), and how its functions end. Inside client/c_abi/ only.
//
//   hearth_code hearth_plan_export(const hearth_plan* plan, const char* path, int with_parameters,
//                                   hearth_error** error) {
//     return guarded(error, [&]() -> absl::Status {
//       HEARTH_RETURN_IF_ERROR(check_given({{plan, "plan"}, {path, "path"}}));
//       return plan->plan.export_to(path, {.parameters = with_parameters != 0});
//     });
//   }
#pragma once
#include <cstddef>
#include <exception>
#include <initializer_list>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "hearth/hearth.h"
#include "hearth/onnx.h"
#include "hearth/prepare.h"

struct hearth_error {
  absl::StatusCode code = absl::StatusCode::kUnknown;
  std::string message;
};

struct hearth_import_options {
  hearth::onnx::ImportOptions options;
};

struct hearth_graph {
  // The lengths of a value as texts, and pointers to them.
  struct Lengths {
    std::vector<std::string> texts;
    std::vector<const char*> pointers;
  };
  explicit hearth_graph(hearth::onnx::ImportedModel imported);
  hearth::onnx::ImportedModel model;
  std::vector<Lengths> inputs, results;
};

struct hearth_prepare_options {
  hearth::client::PrepareConfig config;
  std::map<std::string, hearth::client::ParameterData> parameters = {};
};

struct hearth_bytes {
  std::string bytes;
};

struct hearth_plan {
  hearth::client::PreparedPlan plan;
};

struct hearth_instance {
  hearth::client::Instance instance;
  std::vector<std::int64_t> shape = {};                           // of the view that was given last
  std::vector<hearth::client::Instance::InputArray> inputs = {};  // of a call, kept for their memory
  std::vector<hearth::client::Instance::OutputArray> outputs = {};
};

struct hearth_profile {
  std::uint64_t total_ns = 0;
  std::vector<hearth::client::Profile::Row> rows;
};

namespace hearth::c_abi {

// The code of `status`, and `error` set to it where the caller wants it.
hearth_code end_call(const absl::Status& status, hearth_error** error) noexcept;
absl::Status status_of(const std::exception_ptr& thrown);

// InvalidArgument naming the first argument that is null.
struct Argument {
  const void* pointer;
  const char* name;
};
absl::Status check_given(std::initializer_list<Argument> arguments);
// OutOfRange: "output 3 of 2".
absl::Status check_index(std::size_t index, std::size_t count, std::string_view what);

// Runs a call's body, whose exceptions end here.
template <typename F>
hearth_code guarded(hearth_error** error, F&& body) noexcept {
  try {
    return end_call(std::forward<F>(body)(), error);
  } catch (...) {
    return end_call(status_of(std::current_exception()), error);
  }
}

// The part of a caller's struct that both sides know: what the caller has said of its size, if that is possible at all.
template <typename T>
absl::Status check_struct(const T* given, const char* name, std::size_t least_bytes) {
  HEARTH_RETURN_IF_ERROR(check_given({{given, name}}));
  if (given->struct_size < least_bytes) {
    return absl::InvalidArgumentError(std::string(name) + "->struct_size is " + std::to_string(given->struct_size) +
                                      "; set it to sizeof *" + name);
  }
  return absl::OkStatus();
}

}  // namespace hearth::c_abi
