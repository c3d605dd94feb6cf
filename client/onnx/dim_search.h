// With which lengths of its symbolic dimensions a model can be imported, and which of them may be ranges: found by
// importing it, with lengths that models commonly take. Nothing is compiled. Thread-safe. Errors: status naming the
// file, and node and operator where there is one: why the model cannot be imported with any of the lengths tried.
//
//   absl::StatusOr<DimSearch> found = find_dims(*read_model("model.onnx"), {.dims = {{"batch", 4}}});
//   if (found.ok()) import_model(model, {.dims = found->lengths});
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/onnx/importer.h"

namespace hearth::onnx {

struct DimSearch {
  std::map<std::string, DimRange> lengths;  // of every symbolic dimension; those that were given are as given
  std::vector<std::string> open;            // those that were not given, in the model's order
  // Of `open`: those whose length may be left to the replay, each alone.
  std::vector<std::string> ranged;
};

absl::StatusOr<DimSearch> find_dims(const std::shared_ptr<const ModelFile>& model, const ImportOptions& given = {});

}  // namespace hearth::onnx
