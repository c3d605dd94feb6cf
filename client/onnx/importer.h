// ONNX model -> recorded client graph. Opsets 1 to 19; weights become parameters whose bytes stay in this process (kept
// alive by the result), shape computations are folded on the host, loops unrolled. An input or output that is a
// sequence of N tensors is N inputs or outputs, NAME/0 to NAME/N-1; an optional one is its value, or nothing. Symbolic
// dimensions need a length or a range: `dims` by name ("NAME.AXIS" for unnamed ones) or `input_shapes`; one of a range
// becomes a variable of that name, set at replay (Instance::set_var). Thread-safe (no shared state). Errors: one line
// naming the file and, where there is one, node, operator and opset; InvalidArgument for a wrong model, Unimplemented
// for a valid one that needs more than is here, NotFound.
//
//   absl::StatusOr<ImportedModel> model = import_model("model.onnx", {.dims = {{"batch", 1}, {"time", {1, 512}}}});
//   if (!model.ok()) return model.status();
//   absl::StatusOr<client::PreparedPlan> plan = client::prepare(model->outputs);
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/tensor.h"
#include "client/tracer.h"

namespace hearth::onnx {

// A length, or the least and the greatest length: 0 <= min <= max.
struct DimRange {
  std::int64_t min = 0;
  std::int64_t max = 0;
  DimRange(std::int64_t length) : min(length), max(length) {}  // NOLINT: written as {{"batch", 4}}
  DimRange(std::int64_t least, std::int64_t greatest) : min(least), max(greatest) {}
};

struct ImportOptions {
  std::map<std::string, DimRange> dims = {};
  // Fixes the dimensions of an input that `dims` does not name; must lie within the ranges of those it does.
  std::map<std::string, std::vector<std::int64_t>> input_shapes = {};
  std::map<std::string, std::size_t> sequence_lengths = {};  // one for every input that is a sequence
  std::set<std::string> absent = {};                         // optional inputs without a value
};

struct ModelValue {
  std::string name;
  DType dtype = DType::kF32;
  client::Shape shape;
  // Not empty when a result's length along `length_axis` depends on the data: then only its first N positions count,
  // N being the output of this name, an i64 scalar that is none of the results.
  std::string length_output = {};
  std::int64_t length_axis = 0;
};

struct ImportedModel {
  int opset = 0;
  std::vector<ModelValue> inputs;   // as declared; initializers are none
  std::vector<ModelValue> results;  // what `outputs` compute
  bool is_random = false;           // some node gives random numbers, which differ between implementations
  client::NamedTensors outputs;     // the results, in their order, and the lengths they name
};

class ModelFile;  // client/onnx/model_file.h: a parsed model, for who imports one more than once

// Large weights are mapped, from the model's file and from those in its folder that it names, as long as the result or
// a plan made of it lives; such a file may be replaced meanwhile (by renaming another one), but not truncated or
// written to.
absl::StatusOr<ImportedModel> import_model(const std::string& path, const ImportOptions& options = {});
absl::StatusOr<ImportedModel> import_model(const std::shared_ptr<const ModelFile>& model,
                                           const ImportOptions& options = {});
// The model's bytes; `path` only names it in errors. Weights in other files are refused.
absl::StatusOr<ImportedModel> import_model_bytes(std::string_view bytes, const std::string& path,
                                                 const ImportOptions& options = {});

}  // namespace hearth::onnx
