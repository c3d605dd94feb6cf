#include "client/onnx/conformance.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "client/elements.h"
#include "client/errors.h"
#include "client/onnx/model_file.h"
#include "client/onnx/reject.h"
#include "client/onnx/results.h"
#include "onnx/onnx.pb.h"
#include "runtime/text.h"

namespace hearth::onnx {
namespace {

namespace fs = std::filesystem;
using client::JitError;
using Arrays = std::vector<Array>;

struct DataSet {
  Arrays inputs;
  Arrays outputs;
};

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Array to_array(const HostTensor& x) { return {x.dtype(), x.shape(), std::string(x.data(), x.bytes())}; }

std::string type_name(int type) {
  return ::onnx::TensorProto_DataType_IsValid(type) ? ::onnx::TensorProto_DataType_Name(type) : str_cat(type);
}

// One input or output as the model declares it.
Array read_value(const fs::path& path, const ::onnx::ValueInfoProto& declared) {
  if (!declared.type().has_tensor_type()) {
    reject_unsupported(str_cat("'", declared.name(), "': a type other than a tensor"));
  }
  ::onnx::TensorProto tensor;
  if (!tensor.ParseFromString(content(path))) reject(str_cat(path.filename().string(), " is no tensor"));
  const int type = declared.type().tensor_type().elem_type();
  if (tensor.data_type() != type) {
    reject_unsupported(str_cat("data of type ", type_name(tensor.data_type()), " for '", declared.name(),
                               "', which the case's own model declares as ", type_name(type), ","));
  }
  return to_array(to_host_tensor(tensor, nullptr));
}

template <typename Declared>
Arrays read_values(const fs::path& folder, const std::string& prefix, const Declared& declared) {
  Arrays found;
  for (int i = 0; i < declared.size(); ++i) {
    const fs::path path = folder / str_cat(prefix, i, ".pb");
    if (!fs::exists(path)) break;
    found.push_back(read_value(path, declared[i]));
  }
  return found;
}

std::vector<DataSet> read_data_sets(const fs::path& folder, const ::onnx::GraphProto& graph) {
  std::vector<DataSet> sets;
  for (int i = 0;; ++i) {
    const fs::path place = folder / str_cat("test_data_set_", i);
    if (!fs::exists(place)) return sets;
    sets.push_back({read_values(place, "input_", graph.input()), read_values(place, "output_", graph.output())});
    const DataSet& set = sets.back();
    if (set.outputs.empty()) reject(str_cat(place.filename().string(), " has no outputs"));
  }
}

// Inputs from `first` on as initializers, as exporters write axes and shapes.
::onnx::ModelProto with_known_inputs(::onnx::ModelProto model, const Arrays& inputs, std::size_t first) {
  for (std::size_t i = first; i < inputs.size(); ++i) {
    ::onnx::TensorProto* tensor = model.mutable_graph()->add_initializer();
    const ::onnx::ValueInfoProto& declared = model.graph().input(static_cast<int>(i));
    tensor->set_name(declared.name());
    tensor->set_data_type(declared.type().tensor_type().elem_type());
    for (std::int64_t length : inputs[i].shape) tensor->add_dims(length);
    tensor->set_raw_data(inputs[i].bytes);
  }
  return model;
}

absl::Status check_results(const Arrays& got, const Arrays& want, const CaseTolerance& tolerance, bool types_only) {
  if (got.size() < want.size()) return absl::DataLossError(str_cat(got.size(), " results, expected ", want.size()));
  for (std::size_t i = 0; i < want.size(); ++i) {
    const bool alike = types_only && got[i].dtype == want[i].dtype && got[i].shape == want[i].shape;
    const std::string what = alike ? "" : difference(got[i], want[i], tolerance);
    if (!what.empty()) return absl::DataLossError(str_cat("output ", i, ": ", what));
  }
  return absl::OkStatus();
}

absl::Status check_set(const ::onnx::ModelProto& model, const DataSet& set, std::size_t first_known,
                       const Evaluate& evaluate, const CaseTolerance& tolerance, CaseResult* result) {
  std::map<std::string, Array> arrays;
  ImportOptions options;
  for (std::size_t i = 0; i < set.inputs.size(); ++i) {
    const std::string& input = model.graph().input(static_cast<int>(i)).name();
    arrays[input] = set.inputs[i];
    if (i < first_known) options.input_shapes[input] = set.inputs[i].shape;
  }
  const ::onnx::ModelProto given = with_known_inputs(model, set.inputs, first_known);
  const auto imported = import_model_bytes(given.SerializeAsString(), result->name, options);
  if (!imported.ok()) return imported.status();
  const auto outputs = evaluate(*imported, arrays);
  // What is refused after importing is no announced gap of the importer but a failure.
  if (!outputs.ok()) return absl::InternalError(str_cat("evaluation: ", outputs.status().message()));
  const auto results = cut_to_length(*imported, *outputs);
  if (!results.ok()) return results.status();
  result->types_only = imported->is_random;
  return check_results(*results, set.outputs, tolerance, result->types_only);
}

std::vector<std::string> operators_of(const ::onnx::GraphProto& graph) {
  std::set<std::string> names;
  for (const ::onnx::NodeProto& node : graph.node()) {
    const bool own = node.domain().empty() || node.domain() == "ai.onnx";
    names.insert(own ? node.op_type() : str_cat(node.domain(), "::", node.op_type()));
  }
  return {names.begin(), names.end()};
}

// What the expected values of some of ONNX's cases are good for.
CaseTolerance as_written(const std::string& name, CaseTolerance tolerance) {
  // Written with four decimals.
  const bool rounded = name.starts_with("test_gridsample") || name.starts_with("test_roialign");
  if (rounded) tolerance.absolute = std::max(tolerance.absolute, 5e-5);
  // Computed with 3.1415 for pi, not with what the same cases' expanded graphs hold.
  if (name.find("window") != std::string::npos && !name.starts_with("test_stft")) {
    tolerance.relative = std::max(tolerance.relative, 1e-3);
  }
  return tolerance;
}

absl::Status check_model(const fs::path& folder, const Evaluate& evaluate, const CaseTolerance& tolerance,
                         CaseResult* result) {
  ::onnx::ModelProto model;
  if (!fs::exists(folder / "model.onnx")) return absl::UnimplementedError("the case comes without its model");
  if (!model.ParseFromString(content(folder / "model.onnx"))) return absl::DataLossError("model.onnx is no model");
  result->operators = operators_of(model.graph());
  const std::vector<DataSet> sets = read_data_sets(folder, model.graph());
  if (sets.empty()) return absl::NotFoundError("no test_data_set_0");
  std::size_t first_known = sets[0].inputs.size();
  absl::Status status;
  for (const DataSet& set : sets) {
    status = check_set(model, set, first_known, evaluate, tolerance, result);
    // All inputs but the first (axes, shapes), then that one too (the length of a window).
    for (std::size_t first = std::min<std::size_t>(first_known, 2); absl::IsUnimplemented(status) && first-- > 0;) {
      const absl::Status again = check_set(model, set, first, evaluate, tolerance, result);
      // Refusals only: the first says what is missing of the case as it stands.
      if (absl::IsUnimplemented(again)) continue;
      result->inputs_known = true;
      first_known = first;
      status = again;
    }
    if (!status.ok()) return status;
  }
  return status;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  if (verdict == Verdict::kPassed) return "passed";
  return verdict == Verdict::kFailed ? "failed" : "unsupported";
}

std::vector<std::string> find_cases(const std::string& root) {
  std::set<std::string> found;
  const auto consider = [&](const fs::path& folder) {
    if (fs::exists(folder / "model.onnx") || fs::exists(folder / "data.json")) found.insert(folder.string());
  };
  std::error_code error;
  consider(root);
  for (fs::recursive_directory_iterator at(root, error), end; !error && at != end; at.increment(error)) {
    if (at->is_directory(error)) consider(at->path());
  }
  return {found.begin(), found.end()};
}

CaseResult check_case(const std::string& folder, const Evaluate& evaluate, const CaseTolerance& tolerance) {
  CaseResult result;
  result.name = fs::path(folder).filename().string();
  absl::Status status;
  try {
    status = check_model(folder, evaluate, as_written(result.name, tolerance), &result);
  } catch (const JitError& error) {
    status = error.status();
  } catch (const std::exception& error) {
    status = absl::InternalError(error.what());
  }
  result.verdict = status.ok()                     ? Verdict::kPassed
                   : absl::IsUnimplemented(status) ? Verdict::kUnsupported
                                                   : Verdict::kFailed;
  result.reason = std::string(status.message());
  return result;
}

std::string difference(const Array& got, const Array& want, const CaseTolerance& tolerance) {
  if (got.dtype != want.dtype) return str_cat("type ", dtype_name(got.dtype), ", expected ", dtype_name(want.dtype));
  if (got.shape != want.shape) return str_cat("shape ", to_string(got.shape), ", expected ", to_string(want.shape));
  const std::size_t width = dtype_bytes(got.dtype);
  for (std::size_t at = 0; at < want.bytes.size(); at += width) {
    if (got.bytes.compare(at, width, want.bytes, at, width) == 0) continue;
    if (!is_float(got.dtype)) return str_cat("element ", at / width, " differs");
    const double a = client::decode_float(std::string_view(got.bytes).substr(at, width), got.dtype);
    const double b = client::decode_float(std::string_view(want.bytes).substr(at, width), want.dtype);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    // A difference to an infinity is infinite or NaN, and so is the bound.
    if (!std::isfinite(b) || !(std::fabs(a - b) <= tolerance.absolute + tolerance.relative * std::fabs(b))) {
      return str_cat("element ", at / width, " is ", a, ", expected ", b);
    }
  }
  return "";
}

}  // namespace hearth::onnx
