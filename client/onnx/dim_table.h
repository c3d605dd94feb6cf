// The lengths of a model's symbolic dimensions during one import: given as numbers or ranges by name, read from the
// shapes of arrays, or computed where a dimension's name is an expression of others (client/onnx/dim_expression.h).
// Single-threaded. Errors: JitError naming dimensions, inputs and the flags that would help.
//
//   DimTable dims(options);
//   dims.learn(inputs);
//   client::Shape shape = dims.shape_of(inputs[0]);
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "client/onnx/dim_expression.h"
#include "hearth/onnx.h"

namespace hearth_onnx {
class ValueInfoProto;
}

namespace hearth::onnx {

class DimTable {
 public:
  explicit DimTable(const ImportOptions& options) : options_(options) {}

  // Reads what all of the model's inputs say, those of known shape about their lengths, too. Every dimension must then
  // have a length or a range: all that lack one are named at once.
  void learn(const std::vector<::hearth_onnx::ValueInfoProto>& inputs);
  client::Shape shape_of(const ::hearth_onnx::ValueInfoProto& input);

 private:
  void name_by_axis(const std::vector<::hearth_onnx::ValueInfoProto>& inputs);
  void define(const std::string& name, const std::string& text);
  void learn_shape(const ::hearth_onnx::ValueInfoProto& input);
  void check_all_given(const std::vector<::hearth_onnx::ValueInfoProto>& inputs) const;
  // That computed lengths are what was given for them.
  void check_computed(const ::hearth_onnx::ValueInfoProto& input) const;
  client::Dim variable(const std::string& name) const;
  client::Dim computed(const std::string& name, const DimExpression& expression) const;

  const ImportOptions& options_;
  std::map<std::string, DimRange> ranges_;
  std::map<std::string, std::string> expressions_;
  DimNames all_;
};

}  // namespace hearth::onnx
