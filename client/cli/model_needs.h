// What a run of a model needs to be given, for people and as JSON: lengths of dimensions, and values of inputs that
// decide what it computes. No errors.
//
//   print_needs(*onnx::find_dims(model));   // needs --dim time=N, or --dim time=MIN:MAX (checked with 16:64)
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "client/onnx/dim_search.h"
#include "hearth/array.h"

namespace hearth::cli {

// As --const takes it: "16000", "true", "[1,16]".
std::string constant_text(const client::Array& value);

void print_needs(const onnx::DimSearch& dims);

nlohmann::ordered_json dims_json(const onnx::DimSearch& dims);
nlohmann::ordered_json constants_json(const onnx::DimSearch& dims);

}  // namespace hearth::cli
