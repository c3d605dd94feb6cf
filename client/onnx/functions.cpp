#include "client/onnx/functions.h"

#include "base/text.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/onnx/unknown_fields.h"
#include "hearth_onnx.pb.h"

namespace hearth::onnx {
namespace {

// Fields of FunctionProto and NodeProto that are newer than Debian's onnx.proto.
constexpr std::uint32_t kDefaultsField = 11;  // attribute_proto
constexpr std::uint32_t kValueInfoField = 12, kOverloadField = 13, kMetadataField = 14;
constexpr std::uint32_t kNodeOverloadField = 8;

template <typename Imports>
Opsets opsets_of(const Imports& imports) {
  Opsets opsets;
  for (const ::hearth_onnx::OperatorSetIdProto& set : imports) {
    const std::string domain = normal_domain(set.domain());
    if (domain.empty() && (set.version() < kFirstOpset || set.version() > kLastOpset)) {
      reject_unsupported(str_cat("opset ", set.version(), " (export the model with an opset from ", kFirstOpset, " to ",
                                 kLastOpset, ", or convert it with onnx.version_converter)"));
    }
    opsets.emplace(domain, static_cast<int>(set.version()));
  }
  return opsets;
}

struct NewerFields {
  std::string overload;
  std::vector<::hearth_onnx::AttributeProto> defaults;
};

NewerFields newer_fields(const ::hearth_onnx::FunctionProto& function) {
  const std::string what = str_cat("function '", function.name(), "'");
  NewerFields newer;
  for (UnknownField& field : unknown_fields(function.unknown_fields(), what)) {
    switch (field.number) {
      case kDefaultsField:
        if (!newer.defaults.emplace_back().ParseFromString(field.bytes))
          reject(str_cat(what, ": attribute_proto cannot be read"));
        break;
      case kOverloadField:
        newer.overload = std::move(field.bytes);
        break;
      case kValueInfoField:  // types of values, which follow from the nodes
      case kMetadataField:
        break;
      default:
        reject_unsupported(str_cat(what, " has a field (number ", field.number, ") that"));
    }
  }
  return newer;
}

}  // namespace

std::string normal_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

Opsets read_opsets(const ::hearth_onnx::ModelProto& model) { return opsets_of(model.opset_import()); }

Functions read_functions(const ::hearth_onnx::ModelProto& model) {
  Functions functions;
  for (const ::hearth_onnx::FunctionProto& proto : model.functions()) {
    NewerFields newer = newer_fields(proto);
    const FunctionName key = {normal_domain(proto.domain()), proto.name(), newer.overload};
    if (!functions.emplace(key, Function{&proto, opsets_of(proto.opset_import()), std::move(newer.defaults)}).second) {
      reject(str_cat("function '", proto.name(), "' of domain '", proto.domain(), "' is defined twice",
                     newer.overload.empty() ? "" : str_cat(" with the overload '", newer.overload, "'")));
    }
  }
  return functions;
}

const Function* find_function(const Functions& functions, const FunctionName& name) {
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : &found->second;
}

FunctionName called_function(const ::hearth_onnx::NodeProto& node) {
  FunctionName name = {normal_domain(node.domain()), node.op_type(), ""};
  if (node.unknown_fields().empty()) return name;
  for (UnknownField& field : unknown_fields(node.unknown_fields(), str_cat("node '", node.name(), "'"))) {
    if (field.number == kNodeOverloadField) name.overload = std::move(field.bytes);
  }
  return name;
}

FunctionName name_of(const ::hearth_onnx::FunctionProto& function) {
  return {normal_domain(function.domain()), function.name(), newer_fields(function).overload};
}

}  // namespace hearth::onnx
