// ONNX model -> recorded client graph. Opsets 1 to 28; weights become parameters whose bytes stay in this process (kept
// alive by the result), shape computations are folded on the host, loops unrolled. An input or output that is a
// sequence of N tensors is N inputs or outputs, NAME/0 to NAME/N-1; an optional one is its value, or nothing. Symbolic
// dimensions need a length or a range: `dims` by name ("NAME.AXIS" for unnamed ones) or `input_shapes`; one of a range
// becomes a variable of that name, set at replay (Instance::set_var). An input on whose value a shape, a trip count or
// the choice of a branch depends must be a constant: its value is part of the graph, see ImportedModel::fixed_inputs.
// Thread-safe (no shared state). Errors: one line naming the file and, where there is one, node, operator and opset;
// InvalidArgument for a wrong model, Unimplemented for a valid one that needs more than is here, NotFound.
//
//   absl::StatusOr<ImportedModel> model = import_model("model.onnx", {.dims = {{"batch", 1}, {"time", {1, 512}}}});
//   if (!model.ok()) return model.status();
//   absl::StatusOr<PreparedPlan> plan = prepare(model->outputs, {.fixed_inputs = model->fixed_inputs});
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/array.h"
#include "hearth/graph.h"
#include "hearth/instance.h"
#include "hearth/prepare.h"
#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::onnx {

// A length, or the least and the greatest length: 0 <= min <= max.
struct DimRange {
  std::int64_t min = 0;
  std::int64_t max = 0;
  client::RangeParts parts = {};  // what of the range is compiled for itself
  std::int64_t unit = 1;          // lengths are multiples of it, as an image's of a detector's coarsest cell
  DimRange(std::int64_t length) : min(length), max(length) {}  // NOLINT: written as {{"batch", 4}}
  DimRange(std::int64_t least, std::int64_t greatest, client::RangeParts its_parts = {})
      : min(least), max(greatest), parts(std::move(its_parts)) {}
};

// What f32 weights of products, convolutions, recurrences and embedding tables are stored as; sums stay f32.
enum class Weights { kF32, kBf16, kInt8 };

struct ImportOptions {
  std::map<std::string, DimRange> dims = {};
  // Dimensions that are expressions of others, as a dimension may be named by one itself: {"total", "past + seq"}. They
  // need no length of their own.
  std::map<std::string, std::string> dim_expressions = {};
  // Fixes the dimensions of an input that `dims` does not name; must lie within the ranges of those it does.
  std::map<std::string, std::vector<std::int64_t>> input_shapes = {};
  std::map<std::string, std::size_t> sequence_lengths = {};  // one for every input that is a sequence
  std::set<std::string> absent = {};                         // optional inputs without a value
  // Inputs that are constants, by name. Numbers of another type are converted when they keep their value.
  std::map<std::string, client::Array> constants = {};
  // Values that inputs will have at replay as far as they are known: an input that the graph cannot be recorded without
  // (it chooses a branch, is a shape or a trip count) becomes a constant of this value; no other is looked at.
  std::map<std::string, client::Array> known_values = {};
  Weights weights = Weights::kF32;  // narrower ones cost accuracy; see WeightsReport
  // Tensors in files that links lead to, out of the model's folder. Without it they are taken where the model's file is a
  // link itself, to a file beside them of the same owner, as caches of model hubs have it.
  bool allow_links = false;
};

struct ModelValue {
  std::string name;
  DType dtype = DType::kF32;
  client::Shape shape;
  // "int4", "float8_e8m0fnu" and so on, as ml_dtypes names them, where the model's elements are of a type that is only
  // stored: `dtype` is u8 then, and an element its code in the lowest bits, as numpy has them. Empty: `dtype` says it.
  std::string stored = {};
  // Not empty when a result's length along `length_axis` depends on the data: then only its first N positions count,
  // N being the output of this name, an i64 scalar that is none of the results.
  std::string length_output = {};
  std::int64_t length_axis = 0;
};

// What ImportOptions.weights did. Errors are in parts of the largest |weight| of their tensor.
struct WeightsReport {
  std::size_t tensors = 0;         // stored narrow
  std::uint64_t f32_bytes = 0;     // what they would take
  std::uint64_t stored_bytes = 0;  // what they take, with their scales
  std::string worst = {};          // the tensor with the largest error; empty: none is stored narrow
  double worst_error = 0;
  std::vector<std::string> kept = {};  // f32 still: they hold values that the narrow form has not
};

struct ImportedModel {
  int opset = 0;
  std::vector<ModelValue> inputs;  // as declared; initializers and constants are none
  // Inputs that became constants; for PrepareConfig, so that another value at replay is refused.
  runtime::FixedInputs fixed_inputs;
  std::vector<std::string> input_order;  // names of both, as declared
  std::vector<ModelValue> results;       // what `outputs` compute
  bool is_random = false;                // some node gives random numbers, which differ between implementations
  client::NamedTensors outputs;          // the results, in their order, and the lengths they name
  WeightsReport weights;
  // What the file says of itself and is not so, for people: an output that is declared with another shape than the
  // graph computes.
  std::vector<std::string> warnings;
};

// How the model is called, for ExportConfig::call: a plan's own inputs are in the order in which they were recorded.
client::CallSignature call_signature(const ImportedModel& model);

// Large weights are mapped, from the model's file and from those in its folder that it names, as long as the result or
// a plan made of it lives; such a file may be replaced meanwhile (by renaming another one), but not truncated or
// written to.
absl::StatusOr<ImportedModel> import_model(const std::string& path, const ImportOptions& options = {});
// The model's bytes; `path` only names it in errors. Weights in other files are refused.
absl::StatusOr<ImportedModel> import_model_bytes(std::string_view bytes, const std::string& path,
                                                 const ImportOptions& options = {});

}  // namespace hearth::onnx
#pragma GCC visibility pop
