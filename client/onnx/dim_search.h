// With which lengths of its symbolic dimensions a model can be imported, which of them may be ranges, and which values
// of inputs decide what it computes: found by importing it, with lengths that models commonly take and values that it
// compares inputs with. Nothing is compiled. Thread-safe. Errors: status naming the file, and node and operator where
// there is one: why the model cannot be imported with any of the lengths tried.
//
//   absl::StatusOr<DimSearch> found = find_dims(*read_model("model.onnx"), {.dims = {{"batch", 4}}});
//   if (found.ok()) import_model(model, {.dims = found->lengths, .constants = found->constants});
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/onnx.h"

namespace hearth::onnx {

class ModelFile;

// Usual lengths of one dimension, the others being as found.
struct TriedLengths {
  std::vector<std::int64_t> hold, fail;  // ascending
};

struct DimSearch {
  std::map<std::string, DimRange> lengths;  // of every symbolic dimension; those that were given are as given
  std::vector<std::string> open;            // those that were not given, in the model's order
  // Lengths that the model's operators want to be equal to what others make, "past + seq": none of `open`; those given.
  std::map<std::string, std::string> expressions;
  // Names among `open` whose length may be left to the replay, each alone.
  std::vector<std::string> ranged;
  std::map<std::string, DimRange> ranges;          // of `ranged`: the bounds that were tried
  std::map<std::string, DimRange> together;        // of those of `ranges` that hold at once
  std::map<std::string, TriedLengths> tried;       // of the others of `open`
  std::map<std::string, client::Array> constants;  // that had to be constants; those given as given
  // Outputs that are inputs of the next call, (output, input): what --carry may be.
  std::vector<std::pair<std::string, std::string>> carried;
  // What the model compares a scalar with; for booleans, true.
  std::map<std::string, std::vector<client::Array>> compared;
};

absl::StatusOr<DimSearch> find_dims(const std::shared_ptr<const ModelFile>& model, const ImportOptions& given = {});

// For every scalar input of integers or bools: the values that the model compares it with, and one more that it does
// not.
std::map<std::string, std::vector<client::Array>> steering_values(const std::shared_ptr<const ModelFile>& model);

}  // namespace hearth::onnx
