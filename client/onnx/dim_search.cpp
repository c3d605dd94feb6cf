#include "client/onnx/dim_search.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

#include "client/onnx/model_file.h"
#include "client/onnx/model_summary.h"

namespace hearth::onnx {
namespace {

// Powers of two first: what is divided by strides or patch sizes is mostly divided by these. Then colours, bands of a
// spectrum, a second of audio, and the sides of common pictures.
constexpr std::int64_t kLengths[] = {16, 64, 1, 2, 4, 8, 32, 128, 256, 512, 1024, 4096, 3, 80, 16000, 224, 640};
constexpr std::int64_t kOthers[] = {64, 256};  // while one dimension is tried alone

bool is_called_batch(const std::string& name) {
  return absl::StrContains(absl::AsciiStrToLower(name), "batch") || name == "N";
}

// Dimensions that are called so, or are only ever the first axis of an input.
std::set<std::string> batches_of(const ModelSummary& summary) {
  std::set<std::string> first, other;
  for (const SummaryValue& input : summary.inputs) {
    for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
      const std::string& name = input.shape[axis].name;
      // A model's only axis is rather its length than its batch.
      const bool is_batch = is_called_batch(name) || (axis == 0 && input.shape.size() > 1);
      (is_batch ? first : other).insert(name);
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
  const std::set<std::string> batches = batches_of(summary);
  absl::Status first = absl::OkStatus();  // why the lengths tried first do not do
  const auto works = [&] {
    const absl::Status status = import_model(model, options).status();
    if (first.ok()) first = status;
    return status.ok();
  };
  const auto set_all = [&](std::int64_t length, bool one_batch) {
    for (const std::string& name : search.open) {
      options.dims.insert_or_assign(name, one_batch && batches.count(name) > 0 ? 1 : length);
    }
  };
  bool found = search.open.empty() && works();
  for (const bool one_batch : {true, false}) {
    for (const std::int64_t length : kLengths) {
      if (found || search.open.empty()) break;
      set_all(length, one_batch);
      found = works();
    }
  }
  for (const std::int64_t others : kOthers) {
    for (const std::string& name : search.open) {
      for (const std::int64_t length : kLengths) {
        if (found || search.open.size() < 2) break;
        set_all(others, /*one_batch=*/true);
        options.dims.insert_or_assign(name, length);
        found = works();
      }
    }
  }
  if (!found) return first;
  search.lengths = options.dims;
  for (const std::string& name : search.open) {
    const DimRange length = options.dims.at(name);
    options.dims.insert_or_assign(name, DimRange(length.min, 4 * length.max));
    if (import_model(model, options).ok()) search.ranged.push_back(name);
    options.dims.insert_or_assign(name, length);
  }
  return search;
}

}  // namespace hearth::onnx
