#include "client/onnx/functions.h"

#include <google/protobuf/io/coded_stream.h>

#include "base/text.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "hearth_onnx.pb.h"

namespace hearth::onnx {
namespace {

// FunctionProto.attribute_proto, newer than Debian's onnx.proto, which keeps it among the unknown fields.
constexpr int kDefaultsField = 11;

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

std::vector<::hearth_onnx::AttributeProto> defaults_of(const ::hearth_onnx::FunctionProto& function) {
  using google::protobuf::io::CodedInputStream;
  constexpr std::uint32_t kLengthDelimited = 2;
  std::vector<::hearth_onnx::AttributeProto> defaults;
  const std::string& unknown = function.unknown_fields();
  CodedInputStream fields(reinterpret_cast<const std::uint8_t*>(unknown.data()), static_cast<int>(unknown.size()));
  while (const std::uint32_t tag = fields.ReadTag()) {
    std::uint32_t size = 0;
    std::string bytes;
    if (tag != (kDefaultsField << 3U | kLengthDelimited) || !fields.ReadVarint32(&size) ||
        !fields.ReadString(&bytes, static_cast<int>(size)) || !defaults.emplace_back().ParseFromString(bytes)) {
      reject_unsupported(str_cat("function '", function.name(), "' has a field that"));
    }
  }
  return defaults;
}

}  // namespace

std::string normal_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

Opsets read_opsets(const ::hearth_onnx::ModelProto& model) { return opsets_of(model.opset_import()); }

Functions read_functions(const ::hearth_onnx::ModelProto& model) {
  Functions functions;
  for (const ::hearth_onnx::FunctionProto& proto : model.functions()) {
    const auto key = std::pair(normal_domain(proto.domain()), proto.name());
    if (!functions.emplace(key, Function{&proto, opsets_of(proto.opset_import()), defaults_of(proto)}).second) {
      reject(str_cat("function '", proto.name(), "' of domain '", proto.domain(), "' is defined twice"));
    }
  }
  return functions;
}

const Function* find_function(const Functions& functions, const std::string& domain, const std::string& name) {
  const auto found = functions.find({domain, name});
  return found == functions.end() ? nullptr : &found->second;
}

}  // namespace hearth::onnx
