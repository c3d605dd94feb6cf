// What a model file says about itself: format, inputs and outputs, parameters, operators and whether they are known
// here. Read from the file alone: nothing is imported, no weight is read. Thread-safe. Errors: JitError never; a part
// that makes no sense is left out, since importing says what is wrong with it.
//
//   ModelSummary summary = summarize(*read_model("model.onnx"));
//   for (const SummaryValue& input : summary.inputs) …
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace hearth::onnx {

class ModelFile;

struct SummaryDim {
  std::int64_t length = -1;  // negative: symbolic
  std::string name;          // of a symbolic one, as ImportOptions.dims takes it: "NAME.AXIS" for unnamed ones
};

struct SummaryValue {
  std::string name;
  std::string type;  // "f32", "sequence of f32", "optional i64", "string", "?" for what is not stated
  bool is_sequence = false;
  bool has_shape = false;
  std::vector<SummaryDim> shape;  // of a sequence: of its elements
  bool has_default = false;       // an initializer of the same name: it need not be given
};

struct SummaryParameters {
  std::size_t count = 0;
  std::uint64_t bytes = 0;
};

struct SummaryOperator {
  std::string name;  // "domain::name" if not ONNX's own
  std::size_t count = 0;
  std::string missing;  // why it, or one of its uses, is not supported; empty when it is
};

struct ModelSummary {
  std::int64_t ir_version = 0;
  std::int64_t model_version = 0;
  std::string producer;  // name and version
  std::string graph_name;
  std::map<std::string, std::int64_t> opsets;  // by domain; "" is ONNX's own
  std::vector<SummaryValue> inputs;
  std::vector<SummaryValue> outputs;
  std::vector<std::string> symbolic_dims;  // of inputs that are tensors without a default, in their order, each once;
                                           // not those that are expressions of others
  std::map<std::string, SummaryParameters> parameters;  // initializers of the main graph, by type
  SummaryParameters constants;  // tensors in Constant nodes, those of nested graphs and functions included
  std::map<std::string, std::uint64_t> external_files;  // bytes that tensors take of each
  std::size_t num_nodes = 0;
  std::vector<SummaryOperator> operators;  // by name
  std::string refused;                     // why the model as a whole is not supported, e.g. its opset
};

ModelSummary summarize(const std::shared_ptr<const ModelFile>& model);

}  // namespace hearth::onnx
