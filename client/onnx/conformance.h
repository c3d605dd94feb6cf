// ONNX's standard test cases: a folder with model.onnx and test_data_set_N/{input,output}_M.pb. A case is imported,
// evaluated by the caller's means (a daemon's plan, the reference interpreter) and its results compared. Inputs that
// the importer must know (axes, shapes, conditions), which test cases give at run time and exporters write as
// initializers, become initializers in a second try (all but the first) or a third (all); the result says so.
// Thread-safe. Errors: in the result, never thrown.
//
//   for (const std::string& folder : find_cases("/usr/share/libonnx-testdata/data/node"))
//     CaseResult result = check_case(folder, evaluate);
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/npy.h"
#include "hearth/onnx.h"

namespace hearth::onnx {

using Array = client::Array;

enum class Verdict {
  kPassed,
  kFailed,       // wrong or no result, or the model is refused as wrong
  kUnsupported,  // a valid model that needs more than is here, said while importing
};
std::string_view to_string(Verdict verdict);

struct CaseResult {
  std::string name;  // of the folder
  Verdict verdict = Verdict::kFailed;
  std::string reason;                  // empty when passed
  bool types_only = false;             // random numbers: only types and shapes of the results are compared
  bool inputs_known = false;           // inputs had to be known while importing
  std::vector<std::string> operators;  // of the model's main graph, sorted, each once; "domain::name" if not ONNX's own
};

// What a model computes, in the order of ImportedModel::outputs, for arrays by input name.
using Evaluate =
    std::function<absl::StatusOr<std::vector<Array>>(const ImportedModel&, const std::map<std::string, Array>&)>;

// |got - want| <= absolute + relative * |want|; integers and bool exactly.
struct CaseTolerance {
  double relative = 1e-4;
  double absolute = 1e-5;
};

// Folders below `root` (or `root` itself) that hold a model.onnx or a test case without one, sorted.
std::vector<std::string> find_cases(const std::string& root);
CaseResult check_case(const std::string& folder, const Evaluate& evaluate, const CaseTolerance& tolerance = {});

// What differs beyond the tolerance, "" if nothing. Shapes and types must be equal.
std::string difference(const Array& got, const Array& want, const CaseTolerance& tolerance);

}  // namespace hearth::onnx
