// The values of ONNX's test cases: files of a TensorProto, SequenceProto or OptionalProto, as the model declares its
// input or output. (Debian's onnx.proto has no messages for the last two.) Errors: JitError.
//
//   CaseValue x = read_case_value("test_data_set_0/input_0.pb", model.graph().input(0));
#pragma once
#include <string>
#include <vector>

#include "hearth/npy.h"

namespace hearth_onnx {
class ValueInfoProto;
}  // namespace hearth_onnx

namespace hearth::onnx {

struct CaseValue {
  std::string name;
  bool is_sequence = false;
  bool is_absent = false;  // an optional without a value
  std::vector<client::Array> tensors = {};
  std::string text = {};  // an input of strings, as the TensorProto's bytes: only ever known while importing
  // The name of tensor `index`, as ImportedModel has it.
  std::string tensor_name(std::size_t index) const;
};

CaseValue read_case_value(const std::string& path, const ::hearth_onnx::ValueInfoProto& declared);

}  // namespace hearth::onnx
