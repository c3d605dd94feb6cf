// NodeContext: one ONNX node while its operator is imported: inputs as Values, attributes (each read is ticked off;
// what nobody read is an error), and how to make results. Lives for one handler call; single-threaded.
// Errors: JitError through reject().
//
//   Values relu(NodeContext& node) { return {Value(client::relu(node.tensor(0)))}; }
//   std::int64_t axis = node.integer("axis", -1);
#pragma once
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/onnx/value.h"

namespace hearth_onnx {
class AttributeProto;
class GraphProto;
class NodeProto;
}  // namespace hearth_onnx

namespace hearth::onnx {

class ModelFile;
class NarrowWeights;
struct StoredWeight;

using Values = std::vector<Value>;

// What a node may ask of the import it is part of.
class ImportScope {
 public:
  virtual ~ImportScope() = default;
  // A parameter name no other value has.
  virtual std::string unique_name(const std::string& base) = 0;
  virtual NarrowWeights& narrow_weights() = 0;
  // Imports a nested graph, which sees the names around it, with these values as its inputs.
  virtual Values run_nested(const ::hearth_onnx::GraphProto& graph, const Values& inputs) = 0;
  // Called where `tensor` would have to be known while importing. Throws SteeringInputs when the values of the inputs
  // that it depends on are known; else says which those are and how to give them, "" when there is nothing to say.
  virtual std::string need_value(const client::Tensor& tensor) = 0;
  // What the call of the function under way gives for this attribute; null when it gives none.
  virtual const ::hearth_onnx::AttributeProto* function_attribute(const std::string& name) const = 0;
};

// A float narrower than f32 as f32; anything else as it is.
client::Tensor widened(const client::Tensor& x);

class NodeContext {
 public:
  NodeContext(const ::hearth_onnx::NodeProto& proto, int opset, Values inputs, std::shared_ptr<const ModelFile> model,
              ImportScope& scope);

  const ::hearth_onnx::NodeProto& proto() const { return proto_; }
  int opset() const { return opset_; }
  ImportScope& scope() const { return scope_; }

  // Inputs whose length depends on the data (Value::is_bounded) are refused unless allowed.
  void allow_bounded() { bounded_allowed_ = true; }

  std::size_t num_inputs() const { return inputs_.size(); }
  bool has_input(std::size_t index) const { return index < inputs_.size() && !inputs_[index].empty(); }
  const Value& input(std::size_t index) const;
  const client::Tensor& tensor(std::size_t index) const { return input(index).tensor(); }
  // An empty handle when the input is omitted.
  client::Tensor tensor_or_empty(std::size_t index) const;
  // A float narrower than f32 as f32, for operators that are made of several ops; anything else as it is.
  client::Tensor wide(std::size_t index) const;
  // What was computed of wide(like), in the type of input `like`.
  client::Tensor rounded(const client::Tensor& result, std::size_t like = 0) const;
  // A weight as the import is asked to store it (client/onnx/narrow_weights.h); any other tensor as it is.
  StoredWeight weight(std::size_t index, std::int64_t channel_axis) const;
  StoredWeight unscaled_weight(const Value& value) const;
  // Whether `value` would be stored narrow where it is a weight.
  bool is_narrow_weight(const Value& value) const;
  // An input that must be known while importing, e.g. axes; `what` names it in the error.
  const HostTensor& known(std::size_t index, std::string_view what) const;
  Ints known_integers(std::size_t index, std::string_view what) const { return known(index, what).integers(); }
  // The same, but elements may be symbolic.
  Lengths known_lengths(std::size_t index, std::string_view what) const;

  std::size_t num_outputs() const;
  bool wants_output(std::size_t index) const;

  bool has(std::string_view attribute) const { return find(attribute) != nullptr; }
  std::int64_t integer(std::string_view attribute, std::int64_t fallback);
  std::int64_t required_integer(std::string_view attribute);
  double real(std::string_view attribute, double fallback);
  std::string text(std::string_view attribute, std::string_view fallback);
  std::optional<Ints> integers(std::string_view attribute);
  std::optional<std::vector<double>> reals(std::string_view attribute);
  // JitError when an opset before `since` has this input, which it knows as an attribute.
  void expect_no_input(std::size_t index, std::string_view what, int since) const;
  // What older opsets give as an attribute and those from `input_since` on as input `index`, known while importing.
  std::optional<Ints> integers(std::string_view attribute, std::size_t index, int input_since);
  std::optional<client::Shape> lengths(std::string_view attribute, std::size_t index, int input_since);
  std::vector<std::string> texts(std::string_view attribute);
  std::optional<HostTensor> host_tensor(std::string_view attribute);
  // A tensor of numbers, strings or codes (stored_values.h); nothing where there is none.
  Value tensor_attribute(std::string_view attribute);
  const ::hearth_onnx::GraphProto& graph(std::string_view attribute);
  // Attributes as they are given, references to those of a function resolved. All count as read.
  std::vector<std::pair<std::string, const ::hearth_onnx::AttributeProto*>> all_attributes();
  // Allowed only with this value (or absent).
  void expect_integer(std::string_view attribute, std::int64_t only);
  const ::hearth_onnx::AttributeProto* attribute(std::string_view name, int type);
  // The results hold random numbers: other implementations give others.
  void set_random() { is_random_ = true; }
  bool is_random() const { return is_random_; }
  // JitError naming an attribute that was never read.
  void check_all_read() const;

  // A host result or part of one; part 0 is the first output itself.
  Value made(HostTensor data, std::string_view part = "") const;
  Value made(Lengths lengths, std::string_view part = "") const;
  // `x`, known while importing, with its elements moved by `move` (see client/onnx/lengths.h).
  Value moved(const Value& x, const std::function<HostTensor(const HostTensor&)>& move,
              std::string_view part = "") const;
  // The results of another of ONNX's own operators (its meaning in kAppliedOpset) on these values, as parts of this
  // node; folds what that operator folds.
  static constexpr int kAppliedOpset = 17;
  Values apply(std::string_view op, Values inputs,
               const std::vector<std::pair<std::string_view, std::int64_t>>& attributes = {},
               std::size_t num_outputs = 1) const;

 private:
  const ::hearth_onnx::AttributeProto* find(std::string_view name) const;
  std::string name_of(std::string_view part) const;

  const ::hearth_onnx::NodeProto& proto_;
  int opset_;
  Values inputs_;
  std::shared_ptr<const ModelFile> model_;
  ImportScope& scope_;
  std::set<std::string, std::less<>> read_;
  bool bounded_allowed_ = false;
  bool is_random_ = false;
};

}  // namespace hearth::onnx
