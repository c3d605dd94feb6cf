#include "client/cli/weights_report.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/cli/format.h"
#include "client/cli/outputs.h"
#include "client/cli/print.h"
#include "client/cli/replay_inputs.h"
#include "client/tensor/elements.h"

namespace hearth::cli {
namespace {

constexpr std::ptrdiff_t kMaxNames = 3;

double difference(const client::Array& narrow, const client::Array& f32) {
  if (narrow.shape != f32.shape || narrow.dtype != f32.dtype) return std::numeric_limits<double>::infinity();
  const std::size_t bytes = dtype_bytes(f32.dtype);
  double largest = 0, apart = 0;
  for (std::size_t at = 0; at < f32.bytes.size(); at += bytes) {
    const double was = client::decode_float(std::string_view(f32.bytes).substr(at, bytes), f32.dtype);
    const double is = client::decode_float(std::string_view(narrow.bytes).substr(at, bytes), f32.dtype);
    if (is == was || (std::isnan(is) && std::isnan(was))) {
      if (std::isfinite(was)) largest = std::max(largest, std::fabs(was));
      continue;
    }
    if (!std::isfinite(is) || !std::isfinite(was)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::fabs(was));
    apart = std::max(apart, std::fabs(is - was));
  }
  if (apart == 0) return 0;
  return largest > 0 ? apart / largest : std::numeric_limits<double>::infinity();
}

}  // namespace

std::string weights_name(onnx::Weights form) {
  return form == onnx::Weights::kBf16 ? "bf16" : form == onnx::Weights::kInt8 ? "int8" : "f32";
}

std::string percent_text(double part) { return str_cat(fixed(100 * part, part < 0.0001 ? 4 : 2), " %"); }

void note_weights(onnx::Weights form, const onnx::WeightsReport& report) {
  if (form == onnx::Weights::kF32) return;
  const std::string name = weights_name(form);
  if (report.tensors == 0) {
    note("weights: none is stored as ", name, "; those of the model are small, not f32, or used in another way");
  } else {
    note("weights: ", name, ", ", human_bytes(static_cast<double>(report.stored_bytes)), " in place of ",
         human_bytes(static_cast<double>(report.f32_bytes)), " in ", report.tensors,
         report.tensors == 1 ? " tensor" : " tensors", "; the largest error, in '", report.worst, "', is ",
         percent_text(report.worst_error), " of its largest weight");
  }
  if (report.kept.empty()) return;
  const auto shown = std::min<std::ptrdiff_t>(kMaxNames, static_cast<std::ptrdiff_t>(report.kept.size()));
  note("weights: f32 still, for they hold values that ", name, " has not: '",
       absl::StrJoin(report.kept.begin(), report.kept.begin() + shown, "', '"), "'",
       report.kept.size() > static_cast<std::size_t>(shown)
           ? str_cat(" and ", report.kept.size() - static_cast<std::size_t>(shown), " more")
           : "");
}

nlohmann::ordered_json weights_json(onnx::Weights form, const onnx::WeightsReport& report) {
  return {{"form", weights_name(form)},
          {"tensors", report.tensors},
          {"f32_bytes", report.f32_bytes},
          {"stored_bytes", report.stored_bytes},
          {"worst", report.worst.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(report.worst)},
          {"worst_error", report.worst_error},
          {"kept_f32", report.kept}};
}

absl::StatusOr<std::vector<double>> differences_from_f32(const std::string& path, const ModelFlags& flags,
                                                         const std::vector<std::string>& vars,
                                                         const PreparedModel& prepared, client::Instance& instance) {
  HEARTH_ASSIGN_OR_RETURN(auto options, flags.import_options());
  options.weights = onnx::Weights::kF32;
  for (const auto& [name, array] : prepared.model.arrays) options.input_shapes[name] = array.shape;
  for (const runtime::FixedInput& input : prepared.model.imported.fixed_inputs)
    options.constants[input.name] = {input.dtype, input.shape, input.bytes};
  HEARTH_ASSIGN_OR_RETURN(const auto model, onnx::import_model(path, options));
  HEARTH_ASSIGN_OR_RETURN(const auto config, flags.prepare_config());
  HEARTH_ASSIGN_OR_RETURN(client::PreparedPlan plan, client::prepare(model.outputs, config));
  HEARTH_ASSIGN_OR_RETURN(client::Instance f32, plan.instantiate());
  HEARTH_RETURN_IF_ERROR(set_variables(f32, plan, prepared.model, vars));
  for (const client::ValueInfo& input : plan.inputs()) {
    const absl::StatusOr<client::MutableView> from = instance.input(input.name), to = f32.input(input.name);
    HEARTH_RETURN_IF_ERROR(from.status());
    HEARTH_RETURN_IF_ERROR(to.status());
    if (from->size_bytes != to->size_bytes) {
      return absl::InternalError(str_cat("input '", input.name, "' has another size with f32 weights"));
    }
    std::memcpy(to->data, from->data, to->size_bytes);
  }
  HEARTH_RETURN_IF_ERROR(f32.execute());
  HEARTH_ASSIGN_OR_RETURN(const auto narrow_results, read_results(instance, prepared.model.imported));
  HEARTH_ASSIGN_OR_RETURN(const auto f32_results, read_results(f32, model));
  std::vector<double> differences;
  for (std::size_t i = 0; i < f32_results.size(); ++i) {
    differences.push_back(difference(narrow_results[i], f32_results[i]));
  }
  return differences;
}

}  // namespace hearth::cli
