#include "tests/fuzz/bytes/onnx_structure_target.h"

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "client/trace/encoded_graph.h"
#include "hearth/onnx.h"
#include "tests/unit/onnx/model_builder.h"
#include "tests/unit/runtime/kernel_factory.h"

namespace hearth::fuzz {
namespace {

using ::hearth_onnx::AttributeProto;
using ::hearth_onnx::GraphProto;
using ::hearth_onnx::ModelProto;
using ::hearth_onnx::NodeProto;
using ::hearth_onnx::TensorProto;
using onnx::ModelBuilder;

constexpr std::size_t kFileBytes = 256;
constexpr char kDomain[] = "my";

// A function within a function, with an attribute of the outer one; an If in a Loop.
ModelProto functions_and_graphs() {
  ModelBuilder inner(17), outer(17), then_branch(17), else_branch(17), body(17), m(17);
  inner.input("a", {}).node("LeakyRelu", {"a"}, {"r"});
  inner.attr_reference("alpha", "slope", AttributeProto::FLOAT).output("r");
  outer.input("a", {}).node("Inner", {"a"}, {"b"});
  outer.last().set_domain(kDomain);
  outer.attr_reference("slope", "slope", AttributeProto::FLOAT).node("Neg", {"b"}, {"r"}).output("r");
  then_branch.node("Relu", {"x"}, {"t"}).output("t");
  else_branch.node("Neg", {"x"}, {"e"}).output("e");
  body.input("i", {}, TensorProto::INT64).input("c", {}, TensorProto::BOOL).input("v", {2});
  body.node("Identity", {"c"}, {"c2"}).node("Add", {"v", "x"}, {"v2"}).output("c2").output("v2");
  m.function(kDomain, "Inner", {"slope"}, inner).function(kDomain, "Outer", {"slope"}, outer);
  m.input("x", {2}).ints("three", {}, {3}).ints("one", {}, {1});
  m.node("Cast", {"one"}, {"yes"}).attr("to", std::int64_t{TensorProto::BOOL});
  m.node("Outer", {"x"}, {"o"});
  m.last().set_domain(kDomain);
  m.attr_real("slope", 0.5F);
  m.node("If", {"yes"}, {"f"}).attr_graph("then_branch", then_branch).attr_graph("else_branch", else_branch);
  m.node("Loop", {"three", "yes", "f"}, {"l"}).attr_graph("body", body);
  m.node("Add", {"o", "l"}, {"y"}).output("y");
  return m.proto();
}

void set_entry(TensorProto* tensor, const std::string& key, const std::string& value) {
  auto* entry = tensor->add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

ModelProto external_weights() {
  ModelBuilder m(17);
  m.input("x", {2, 4}).floats("w", {4, 4}, std::vector<float>(16, 1)).floats("b", {4}, std::vector<float>(4, 1));
  m.node("MatMul", {"x", "w"}, {"p"}).node("Add", {"p", "b"}, {"y"}).output("y");
  for (TensorProto& tensor : *m.proto().mutable_graph()->mutable_initializer()) {
    const bool is_first = tensor.name() == "w";
    tensor.clear_float_data();
    tensor.clear_raw_data();
    tensor.set_data_location(TensorProto::EXTERNAL);
    set_entry(&tensor, "location", "weights.bin");
    set_entry(&tensor, "offset", is_first ? "0" : "64");
    set_entry(&tensor, "length", is_first ? "64" : "16");
  }
  return m.proto();
}

// As many functions, each of which calls the one before, or the last one itself.
void add_calls(ModelProto& model, Random& random) {
  const std::int64_t depth = random.pick<std::int64_t>({2, 99, 100, 101, 1000, 3000});
  for (std::int64_t i = 0; i < depth; ++i) {
    auto* function = model.add_functions();
    function->set_domain(kDomain);
    function->set_name(absl::StrCat("F", i));
    function->add_input("a");
    function->add_output("r");
    function->add_opset_import()->set_version(17);
    auto* import = function->add_opset_import();
    import->set_domain(kDomain);
    import->set_version(1);
    NodeProto* node = function->add_node();
    node->add_input("a");
    node->add_output("r");
    node->set_op_type(i > 0 ? absl::StrCat("F", i - 1) : random.one_in(4) ? absl::StrCat("F", depth - 1) : "Relu");
    if (node->op_type() != "Relu") node->set_domain(kDomain);
  }
  NodeProto* call = model.mutable_graph()->add_node();
  call->set_domain(kDomain);
  call->set_op_type(absl::StrCat("F", depth - 1));
  call->add_input(model.graph().input(0).name());
  call->add_output("called");
  model.mutable_graph()->add_output()->set_name("called");
}

// Branches within branches.
void nest(ModelProto& model, Random& random) {
  GraphProto* graph = model.mutable_graph();
  for (std::int64_t depth = random.pick<std::int64_t>({1, 5, 20, 30, 40}); depth > 0; --depth) {
    NodeProto* node = graph->add_node();
    node->set_op_type("If");
    node->add_input("yes");
    node->add_output(absl::StrCat("n", depth));
    graph->add_output()->set_name(absl::StrCat("n", depth));
    for (const char* name : {"else_branch", "then_branch"}) {
      AttributeProto* attribute = node->add_attribute();
      attribute->set_name(name);
      attribute->set_type(AttributeProto::GRAPH);
      graph = attribute->mutable_g();
    }
  }
}

// Places and sizes in files that are odd.
void move_data(ModelProto& model, Random& random) {
  for (TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
    for (auto& entry : *tensor.mutable_external_data()) {
      if (random.one_in(2)) continue;
      entry.set_value(entry.key() == "location" && random.one_in(2) ? odd_text(random)
                                                                    : absl::StrCat(odd_number(random)));
    }
    if (random.one_in(4)) set_entry(&tensor, random.pick<std::string>({"location", "offset", "length"}), "1");
    if (random.one_in(4) && tensor.dims_size() > 0) tensor.set_dims(0, odd_number(random));
  }
}

std::string mutated(const std::string& bytes, Random& random) {
  ModelProto model;
  model.ParseFromString(bytes);
  const bool is_external = model.graph().initializer_size() > 0 && model.functions_size() == 0;
  switch (random.in(0, 3)) {
    case 0:
      if (!is_external) add_calls(model, random);
      break;
    case 1:
      if (!is_external) nest(model, random);
      break;
    case 2:
      move_data(model, random);
      break;
    default:
      return mutated_wire(bytes, random);
  }
  const std::string changed = model.SerializePartialAsString();
  return random.one_in(3) ? mutated_wire(changed, random) : changed;
}

}  // namespace

Target onnx_structure() {
  const std::string folder = testing::scratch_folder(), path = folder + "/fuzz.onnx";
  (void)runtime::write_file(folder + "/weights.bin", {std::string(kFileBytes, '\1')});
  return {"ONNX model's structure",
          {functions_and_graphs().SerializeAsString(), external_weights().SerializeAsString()},
          [path](const std::string& bytes, Answer* answer) -> std::string {
            if (absl::Status written = runtime::write_file(path, {bytes}); !written.ok())
              return std::string(written.message());
            const auto model = onnx::import_model(path);
            if (model.ok()) client::encode_graph(model->outputs).IgnoreError();
            answer->accepted = model.ok();
            answer->message = std::string(model.status().message());
            if (model.ok()) return "";
            if (answer->message.empty()) return "a refusal without a word";
            const bool is_ours = absl::IsInternal(model.status()) || absl::IsUnknown(model.status());
            return is_ours ? absl::StrCat("a refusal as ", model.status().ToString()) : "";
          },
          mutated,
          1000};
}

}  // namespace hearth::fuzz
