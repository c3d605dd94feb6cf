#include "client/onnx/dim_search.h"

#include <algorithm>
#include <set>

#include "client/onnx/model_file.h"
#include "client/onnx/model_summary.h"

namespace hearth::onnx {
namespace {

// Powers of two first: what is divided by strides or patch sizes is mostly divided by these. Then a second of audio,
// and the sides of common pictures.
constexpr std::int64_t kLengths[] = {16, 64, 1, 2, 4, 8, 32, 128, 256, 512, 1024, 4096, 16000, 224, 640};

// Dimensions that are only ever the first axis of an input: most often a batch.
std::set<std::string> first_axes(const ModelSummary& summary) {
  std::set<std::string> first, other;
  for (const SummaryValue& input : summary.inputs) {
    for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
      // A model's only axis is rather its length than its batch.
      (axis == 0 && input.shape.size() > 1 ? first : other).insert(input.shape[axis].name);
    }
  }
  for (const std::string& name : other) first.erase(name);
  return first;
}

}  // namespace

absl::StatusOr<DimSearch> find_dims(const ModelFilePtr& model, const ImportOptions& given) {
  const ModelSummary summary = summarize(model);
  DimSearch search;
  search.lengths = given.dims;
  std::set<std::string> fixed_inputs;
  for (const SummaryValue& input : summary.inputs) {
    if (given.input_shapes.count(input.name) == 0) continue;
    for (const SummaryDim& dim : input.shape) fixed_inputs.insert(dim.name);
  }
  for (const std::string& name : summary.symbolic_dims) {
    if (given.dims.count(name) == 0 && fixed_inputs.count(name) == 0) search.open.push_back(name);
  }
  ImportOptions options = given;
  const auto refused = [&] { return import_model(model, options).status(); };
  const std::set<std::string> batches = first_axes(summary);
  absl::Status first = absl::OkStatus();
  bool found = false;
  for (const bool one_batch : {true, false}) {
    for (const std::int64_t length : kLengths) {
      for (const std::string& name : search.open) {
        options.dims.insert_or_assign(name, one_batch && batches.count(name) > 0 ? 1 : length);
      }
      const absl::Status status = refused();
      found = status.ok();
      if (first.ok()) first = status;
      if (found || search.open.empty()) break;
    }
    if (found || search.open.empty() || batches.empty()) break;
  }
  if (!found) return first;
  search.lengths = options.dims;
  for (const std::string& name : search.open) {
    const DimRange length = options.dims.at(name);
    options.dims.insert_or_assign(name, DimRange(length.min, 4 * length.max));
    if (refused().ok()) search.ranged.push_back(name);
    options.dims.insert_or_assign(name, length);
  }
  return search;
}

}  // namespace hearth::onnx
