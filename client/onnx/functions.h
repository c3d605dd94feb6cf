// The functions a model brings along (ModelProto.functions), and the versions of the operator domains that a model or
// a function imports. Errors: JitError.
//
//   const Function* gelu = find_function(read_functions(*model), {"my.domain", "Gelu", ""});
#pragma once
#include <compare>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace hearth_onnx {
class AttributeProto;
class FunctionProto;
class ModelProto;
class NodeProto;
}  // namespace hearth_onnx

namespace hearth::onnx {

using Opsets = std::map<std::string, int>;  // by domain; "" for ONNX's own operators, which are also called ai.onnx

struct Function {
  const ::hearth_onnx::FunctionProto* proto = nullptr;
  Opsets opsets;
  std::vector<::hearth_onnx::AttributeProto> defaults;  // of attributes a call may leave out
};
// One name may stand for several functions, told apart by their overload (IR version 10); mostly "".
struct FunctionName {
  std::string domain, name, overload;
  auto operator<=>(const FunctionName&) const = default;
};
using Functions = std::map<FunctionName, Function>;

// "" for "ai.onnx".
std::string normal_domain(const std::string& domain);
// JitError unless ONNX's own operators, where imported, have an opset from kFirstOpset to kLastOpset.
Opsets read_opsets(const ::hearth_onnx::ModelProto& model);
Functions read_functions(const ::hearth_onnx::ModelProto& model);
// Null when the model has no such function.
const Function* find_function(const Functions& functions, const FunctionName& name);
// The function that a node calls, should there be one of that name.
FunctionName called_function(const ::hearth_onnx::NodeProto& node);
FunctionName name_of(const ::hearth_onnx::FunctionProto& function);

}  // namespace hearth::onnx
