// What storing weights narrow (--weights) did to a model: how much smaller they are and how far from what they were,
// and, when it is asked for, how far the outputs are from those of f32 weights. Errors: those of importing, preparing,
// replay.
//
//   note_weights(flags.weights, model.imported.weights);          // one line on stderr
//   auto differences = differences_from_f32(path, flags, vars, prepared, instance);
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "client/cli/prepare_model.h"

namespace hearth::cli {

// "bf16"
std::string weights_name(onnx::Weights form);
// Nothing for f32.
void note_weights(onnx::Weights form, const onnx::WeightsReport& report);
nlohmann::ordered_json weights_json(onnx::Weights form, const onnx::WeightsReport& report);

// The largest difference of each result of `instance`, which ran, from what f32 weights give, in parts of their largest
// |value|; infinite where shapes differ or one of the two is not finite. The inputs are those of `instance`.
absl::StatusOr<std::vector<double>> differences_from_f32(const std::string& path, const ModelFlags& flags,
                                                         const std::vector<std::string>& vars,
                                                         const PreparedModel& prepared, client::Instance& instance);

// "0.39 %"
std::string percent_text(double part);

}  // namespace hearth::cli
