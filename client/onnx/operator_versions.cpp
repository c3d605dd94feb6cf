#include "client/onnx/operator_versions.h"

namespace hearth::onnx {
namespace {

// Each operator in the order of its versions. Versions that only took more element types, or attributes that change
// nothing unless they are given (which is refused where they are not known), need no row.
constexpr OperatorVersion kVersions[] = {
    {"DFT", 20, "the axis is an input"},
    {"GridSample", 20, "modes have other names, and volumes can be sampled"},
    {"ReduceMax", 20, "bool is reduced"},
    {"ReduceMin", 20, "bool is reduced"},
    {"DequantizeLinear", 21, "scales of blocks"},
    {"GroupNormalization", 21, "scale and bias are one a channel"},
    {"QuantizeLinear", 21, "scales of blocks and the type of the result"},
    {"QuantizeLinear", 23, "the precision of the division"},
    {"DequantizeLinear", 23, "the type of the result"},
    {"Attention", 24, "nonpad_kv_seqlen"},
};

}  // namespace

const OperatorVersion* unknown_version(std::string_view name, int opset, int known) {
  for (const OperatorVersion& version : kVersions) {
    if (version.name == name && version.version <= opset && version.version > known) return &version;
  }
  return nullptr;
}

}  // namespace hearth::onnx
