#include "client/cli/replay_inputs.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "base/split_mix.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/cli/format.h"
#include "client/cli/model_needs.h"
#include "client/cli/print.h"
#include "client/tensor/elements.h"
#include "hearth/npy.h"

namespace hearth::cli {
namespace {

struct GivenValue {
  std::int64_t value = 0;
  std::string by;
};
using GivenValues = std::map<std::string, GivenValue>;

// Lengths that are a variable as it is tell its value; where a length is computed of variables, fill_inputs checks it.
absl::Status infer(const onnx::ModelValue& input, const client::Array& array, GivenValues* given) {
  for (std::size_t axis = 0; axis < std::min(input.shape.size(), array.shape.size()); ++axis) {
    std::vector<client::Variable> names;
    input.shape[axis].collect_variables(names);
    const client::Dim& stated = input.shape[axis];
    if (names.size() != 1) continue;
    const auto& [variable, min, max, parts, unit] = names[0];
    if (!(stated == client::Dim::multiple(variable, unit, min, max, parts))) continue;
    const std::int64_t length = array.shape[axis];
    if (length % unit != 0)
      return absl::InvalidArgumentError(str_cat("input '", input.name, "' has length ", length, " along axis ", axis,
                                                "; expected a multiple of ", unit, ", ", min, " to ", max));
    const auto [known, fresh] =
        given->emplace(names[0].name, GivenValue{length, str_cat("the array of input '", input.name, "'")});
    if (fresh || known->second.value == length) continue;
    return absl::InvalidArgumentError(str_cat("variable '", names[0].name, "' is ", known->second.value, " by ",
                                              known->second.by, " but input '", input.name, "' has length ", length,
                                              " along axis ", axis));
  }
  return absl::OkStatus();
}

// By --var, then by the arrays of --input.
absl::StatusOr<GivenValues> given_values(const Model& model, const std::vector<std::string>& vars) {
  GivenValues given;
  for (const std::string& text : vars) {
    HEARTH_ASSIGN_OR_RETURN(const auto flag, split_flag("--var", text, "NAME=N"));
    std::int64_t value = 0;
    if (!absl::SimpleAtoi(flag.second, &value)) {
      return usage_error("--var ", text, ": '", flag.second, "' is not a number");
    }
    given.insert_or_assign(flag.first, GivenValue{value, str_cat("--var ", text)});
  }
  for (const onnx::ModelValue& input : model.imported.inputs) {
    const auto array = model.arrays.find(input.name);
    if (array == model.arrays.end()) continue;
    HEARTH_RETURN_IF_ERROR(infer(input, array->second, &given));
  }
  return given;
}

}  // namespace

absl::StatusOr<std::vector<std::int64_t>> variable_values(const Model& model, const std::vector<std::string>& vars) {
  HEARTH_ASSIGN_OR_RETURN(const GivenValues given, given_values(model, vars));
  std::vector<std::int64_t> values;
  for (const v1::Variable& variable : model.traced.graph.vars()) {
    const auto found = given.find(variable.name());
    values.push_back(found == given.end() ? variable.max() : found->second.value);
    if (values.back() >= variable.min() && values.back() <= variable.max()) continue;
    return absl::OutOfRangeError(str_cat(found->second.by, ": variable '", variable.name(), "' goes from ",
                                         variable.min(), " to ", variable.max()));
  }
  return values;
}

absl::Status set_variables(client::Instance& instance, const client::PreparedPlan& plan, const Model& model,
                           const std::vector<std::string>& vars) {
  HEARTH_ASSIGN_OR_RETURN(const GivenValues given, given_values(model, vars));
  std::vector<client::Variable> of_model;
  for (const onnx::ModelValue& input : model.imported.inputs) {
    for (const client::Dim& length : input.shape) length.collect_variables(of_model);
  }
  const auto has = [](const auto& variables, const std::string& name) {
    return std::ranges::any_of(variables, [&](const auto& variable) { return variable.name == name; });
  };
  for (const auto& [name, value] : given) {
    if (has(of_model, name) && !has(plan.variables(), name)) continue;
    if (absl::Status set = instance.set_var(name, value.value); !set.ok()) {
      return absl::Status(set.code(), str_cat(value.by, ": ", std::string(set.message())));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> fill_inputs(client::Instance& instance, const client::PreparedPlan& plan,
                                                     Model& model, std::uint64_t seed) {
  std::set<std::string> wanted;
  for (const client::ValueInfo& input : plan.inputs()) wanted.insert(input.name);
  for (const client::FixedInput& input : plan.fixed_inputs()) {
    const auto found = model.arrays.find(input.name);
    if (found == model.arrays.end()) continue;
    const auto array = client::as_dtype(found->second, input.dtype);
    HEARTH_ASSIGN_OR_RETURN(const client::MutableView own, instance.input(input.name));
    if (!array || array->bytes.size() != own.size_bytes) {
      return absl::InvalidArgumentError(str_cat(
          "input '", input.name, "' is given ", dtype_name(found->second.dtype), " ", shape_text(found->second.shape),
          "; the plan was prepared for one value of ", dtype_name(input.dtype), " ", shape_text(input.shape)));
    }
    std::memcpy(own.data, array->bytes.data(), array->bytes.size());
  }
  std::vector<std::string> random;
  for (const onnx::ModelValue& input : model.imported.inputs) {
    if (wanted.count(input.name) == 0) continue;
    // Into the instance's own memory, which is aligned and asks for huge pages.
    HEARTH_ASSIGN_OR_RETURN(const client::MutableView own, instance.input(input.name));
    const auto found = model.arrays.find(input.name);
    const auto steering = model.steering.find(input.name);
    if (found == model.arrays.end() && steering != model.steering.end() && steering->second.size() > 1 &&
        own.dtype != DType::kBool) {
      const auto value = client::as_dtype(steering->second.front(), own.dtype);
      if (value && value->bytes.size() == own.size_bytes) {
        note("input '", input.name, "' decides what the model computes: it is ", constant_text(*value),
             ", which the model compares it with; --input or --const gives another value");
        std::memcpy(own.data, value->bytes.data(), own.size_bytes);
        continue;
      }
    }
    if (found == model.arrays.end()) {
      random.push_back(input.name);
      const std::string bytes = uniform_bytes(input.name, own.dtype, own.size_bytes / dtype_bytes(own.dtype), seed);
      std::memcpy(own.data, bytes.data(), bytes.size());
      continue;
    }
    if (found->second.shape != own.shape) {
      return absl::InvalidArgumentError(str_cat("input '", input.name, "' has shape ", shape_text(found->second.shape),
                                                "; the plan reads ", shape_text(own.shape), " (see --var)"));
    }
    std::memcpy(own.data, found->second.bytes.data(), found->second.bytes.size());
    found->second.bytes = std::string();
  }
  return random;
}

void note_random_inputs(const std::vector<std::string>& names, std::uint64_t seed) {
  if (names.empty()) return;
  note("random values (seed ", seed, ") for ", names.size() == 1 ? "input" : "inputs", " '",
       absl::StrJoin(names, "', '"), "': no --input gives ", names.size() == 1 ? "it" : "them");
}

std::string uniform_bytes(const std::string& name, DType dtype, std::size_t elements, std::uint64_t seed) {
  std::uint64_t state = seed;
  for (unsigned char c : name) state = (state ^ c) * 0x100000001b3U;
  std::string bytes;
  bytes.reserve(elements * dtype_bytes(dtype));
  for (std::size_t i = 0; i < elements; ++i) {
    const std::uint64_t random = next_random(state);
    if (is_float(dtype)) {
      bytes += client::encode_float(static_cast<double>(random >> 40) / (1 << 24), dtype);
    } else {
      const std::uint64_t below = dtype == DType::kBool ? 2 : 10;
      bytes += client::encode_integer(static_cast<std::int64_t>((random >> 33) % below), dtype);
    }
  }
  return bytes;
}

}  // namespace hearth::cli
