#include "hearth/onnx.h"

#include <new>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/onnx/constant_inputs.h"
#include "client/onnx/dim_table.h"
#include "client/onnx/graph_importer.h"
#include "client/onnx/model_file.h"
#include "client/onnx/node_order.h"
#include "client/onnx/reject.h"
#include "client/onnx/storage_type.h"
#include "client/tensor/equal_lengths.h"
#include "hearth/error.h"
#include "hearth_onnx.pb.h"

namespace hearth::onnx {
namespace {

using Dimension = ::hearth_onnx::TensorShapeProto::Dimension;

// An input that is no initializer, or one whose default is replaced, as the tensors that stand for it: one, or a
// sequence's elements, or none.
struct DeclaredInput {
  std::string name;
  bool is_sequence = false;
  bool is_absent = false;
  std::vector<::hearth_onnx::ValueInfoProto> tensors = {};
};

DeclaredInput declare(const ::hearth_onnx::ValueInfoProto& input, const ImportOptions& options) {
  DeclaredInput declared{.name = input.name()};
  const ::hearth_onnx::TypeProto* type = &input.type();
  if (type->has_optional_type()) {
    declared.is_absent = options.absent.count(input.name()) != 0;
    if (declared.is_absent) return declared;
    type = &type->optional_type().elem_type();
  }
  std::vector<std::string> names = {input.name()};
  if (type->has_sequence_type()) {
    declared.is_sequence = true;
    type = &type->sequence_type().elem_type();
    const auto length = options.sequence_lengths.find(input.name());
    if (length == options.sequence_lengths.end()) {
      reject(str_cat("input '", input.name(), "' is a sequence; give its length (sequence_lengths)"));
    }
    names.clear();
    for (std::size_t i = 0; i < length->second; ++i) names.push_back(str_cat(input.name(), "/", i));
  }
  if (!type->has_tensor_type()) {
    reject_unsupported(
        str_cat("input '", input.name(), "': a type other than tensors, sequences and optionals of them"));
  }
  for (const std::string& name : names) {
    ::hearth_onnx::ValueInfoProto& tensor = declared.tensors.emplace_back();
    tensor.set_name(name);
    *tensor.mutable_type() = *type;
    auto& stated = *tensor.mutable_type()->mutable_tensor_type();
    if (stated.has_shape()) {
      if (!declared.is_sequence) continue;
      // Elements may differ in shape, whatever their one type names its dimensions.
      for (Dimension& dim : *stated.mutable_shape()->mutable_dim()) dim.clear_dim_param();
      continue;
    }
    const auto given = options.input_shapes.find(name);
    if (given == options.input_shapes.end())
      reject(str_cat("input '", name, "' has no shape: give its array (--input ", name,
                     "=FILE.npy), from which it is taken"));
    stated.mutable_shape();
    for (std::int64_t length : given->second) stated.mutable_shape()->add_dim()->set_dim_value(length);
  }
  return declared;
}

std::set<std::string> names_read(const ::hearth_onnx::GraphProto& graph) {
  std::set<std::string> given;
  for (const ::hearth_onnx::ValueInfoProto& input : graph.input()) given.insert(input.name());
  for (const ::hearth_onnx::NodeProto& node : graph.node()) {
    for (const std::string& name : node.output()) {
      if (!name.empty() && given.contains(name))
        reject(str_cat("'", name, "' is defined twice, as an input and by a node"));
    }
  }
  std::vector<std::string> outputs;
  for (const ::hearth_onnx::ValueInfoProto& output : graph.output()) outputs.push_back(output.name());
  return needed_nodes(graph.node(), outputs).reads;
}

// What a plan can have as an input, should nobody read it.
bool is_plain_tensor(const ::hearth_onnx::TypeProto& type) {
  return type.has_tensor_type() && type.tensor_type().has_shape() &&
         type.tensor_type().elem_type() != ::hearth_onnx::TensorProto::STRING;
}

// `reads`: names that nodes or outputs read. Other inputs may be of kinds that are not known here.
std::vector<DeclaredInput> declared_inputs(const ::hearth_onnx::GraphProto& graph, const ImportOptions& options,
                                           const std::set<std::string>& reads) {
  std::set<std::string> initializers;
  for (const ::hearth_onnx::TensorProto& tensor : graph.initializer()) initializers.insert(tensor.name());
  std::vector<DeclaredInput> inputs;
  for (const ::hearth_onnx::ValueInfoProto& input : graph.input()) {
    const bool is_default = initializers.count(input.name()) != 0;
    const bool is_given = options.input_shapes.count(input.name()) != 0 || options.constants.count(input.name()) != 0;
    if (!is_given && !reads.contains(input.name()) && !is_plain_tensor(input.type())) continue;
    if (!is_default || is_given) inputs.push_back(declare(input, options));
  }
  return inputs;
}

void check_named_inputs(const ImportOptions& options, const std::vector<DeclaredInput>& inputs) {
  std::set<std::string> names, tensors;
  for (const DeclaredInput& input : inputs) {
    names.insert(input.name);
    for (const auto& tensor : input.tensors) tensors.insert(tensor.name());
  }
  const auto check = [](const std::set<std::string>& known, const std::string& name) {
    if (known.count(name) != 0) return;
    reject(str_cat("the model has no input '", name, "' (it has: ", absl::StrJoin(known, ", "), ")"));
  };
  for (const auto& [name, shape] : options.input_shapes) check(tensors, name);
  for (const auto& [name, length] : options.sequence_lengths) check(names, name);
  for (const std::string& name : options.absent) check(names, name);
  for (const auto& [name, value] : options.constants) check(tensors, name);
}

std::string stored_as(const StorageType* type) { return type == nullptr ? "" : std::string(type->ml_dtypes_name); }

// Adds what `value`, the graph's output `name`, holds; `tensors` are the values behind the results.
void add_outputs(const std::string& name, const Value& value, ImportedModel& result, Values& tensors) {
  if (value.is_absent()) return;
  if (value.is_sequence()) {
    for (std::size_t i = 0; i < value.elements().size(); ++i) {
      add_outputs(str_cat(name, "/", i), value.elements()[i], result, tensors);
    }
    return;
  }
  if (value.is_stored()) {
    result.results.push_back({name, DType::kU8, value.dims(), stored_as(&value.storage())});
    result.outputs.emplace_back(name, value.codes().tensor());
    tensors.push_back(value.codes());
    return;
  }
  result.results.push_back({name, value.dtype(), value.dims()});
  result.outputs.emplace_back(name, value.tensor());
  tensors.push_back(value);
}

DType dtype_of_input(const ::hearth_onnx::ValueInfoProto& tensor) {
  const int elem_type = tensor.type().tensor_type().elem_type();
  if (elem_type == ::hearth_onnx::TensorProto::STRING)
    reject_unsupported(str_cat("input '", tensor.name(), "' of element type ", elem_type, " (string)"));
  return dtype_of_elements(elem_type);
}

// A file that says another type than its nodes compute would hand callers bytes that they take for something else.
void check_declared_type(const ::hearth_onnx::ValueInfoProto& declared, const Value& value) {
  if (value.is_absent() || value.is_sequence() || !declared.type().has_tensor_type()) return;
  const int elem_type = declared.type().tensor_type().elem_type();
  if (elem_type == ::hearth_onnx::TensorProto::UNDEFINED) return;
  dtype_of_elements(elem_type);  // one that is known
  const std::string_view wanted = element_type_name(elem_type),
                         made = value.is_stored() ? value.storage().name : dtype_name(value.dtype());
  if (wanted == made) return;
  reject(str_cat("output '", declared.name(), "' is declared as ", wanted, ", but the graph computes ", made,
                 "; correct the declaration, or export the model again"));
}

// Nobody is misled by a wrong shape in the file, since results say theirs: a warning, as ONNX Runtime has it. Empty
// where what is declared may be so.
std::string wrong_declared_shape(const ::hearth_onnx::ValueInfoProto& declared, const Value& value) {
  if (value.is_absent() || value.is_sequence() || !declared.type().has_tensor_type()) return "";
  if (value.is_bounded() || !declared.type().tensor_type().has_shape()) return "";
  const auto& stated = declared.type().tensor_type().shape().dim();
  const client::Shape computed = value.dims();
  bool fits = stated.size() == static_cast<int>(computed.size());
  std::vector<std::string> shown;
  for (int i = 0; i < stated.size(); ++i) {
    const bool is_number = stated[i].has_dim_value() && stated[i].dim_value() >= 0;
    shown.push_back(is_number                   ? str_cat(stated[i].dim_value())
                    : stated[i].has_dim_param() ? stated[i].dim_param()
                                                : "?");
    if (!fits || !is_number || !computed[static_cast<std::size_t>(i)].is_const()) continue;
    fits = computed[static_cast<std::size_t>(i)].value() == stated[i].dim_value();
  }
  if (fits) return "";
  return str_cat("output '", declared.name(), "' is declared as [", absl::StrJoin(shown, ", "),
                 "], but the graph computes ", client::to_string(computed));
}

// Makes the lengths of bounded results outputs of their own; results may share one.
void name_lengths(const Values& values, ImportedModel& model) {
  std::map<const client::Node*, std::string> names;
  std::set<std::string> taken;
  for (const ModelValue& result : model.results) taken.insert(result.name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].is_bounded()) continue;
    const client::Tensor& length = values[i].length();
    ModelValue& result = model.results[i];
    auto [known, fresh] = names.emplace(length.node().get(), str_cat(result.name, ".length"));
    if (fresh) {
      while (!taken.insert(known->second).second) known->second += "_";
      model.outputs.emplace_back(known->second, length);
    }
    result.length_output = known->second;
    result.length_axis = values[i].bounded_axis();
  }
}

// Constants as host tensors, by name; what they say of the shapes of others is added to `options`.
std::map<std::string, HostTensor> constants_of(const std::vector<DeclaredInput>& inputs, ImportOptions& options) {
  std::map<std::string, HostTensor> constants;
  for (const DeclaredInput& input : inputs) {
    for (const ::hearth_onnx::ValueInfoProto& tensor : input.tensors) {
      const auto given = options.constants.find(tensor.name());
      if (given == options.constants.end()) continue;
      HostTensor value = constant_input(tensor, given->second);
      options.input_shapes.insert_or_assign(tensor.name(), value.shape());
      constants.emplace(tensor.name(), std::move(value));
    }
  }
  return constants;
}

ImportedModel import_graph(const ModelFilePtr& model, ImportOptions options) {
  ImportedModel result;
  result.opset = standard_opset(model->proto());
  const ::hearth_onnx::GraphProto& graph = model->proto().graph();
  const std::set<std::string> reads = names_read(graph);
  const std::vector<DeclaredInput> inputs = declared_inputs(graph, options, reads);
  check_named_inputs(options, inputs);
  const std::map<std::string, HostTensor> constants = constants_of(inputs, options);
  DimTable dims(options);
  std::vector<::hearth_onnx::ValueInfoProto> tensor_inputs;
  for (const DeclaredInput& input : inputs) {
    tensor_inputs.insert(tensor_inputs.end(), input.tensors.begin(), input.tensors.end());
  }
  dims.learn(tensor_inputs);
  GraphImporter importer(model, options.weights);
  for (const auto& [name, value] : options.known_values) importer.know(name);
  for (const DeclaredInput& input : inputs) {
    Values members;
    for (const auto& tensor : input.tensors) {
      const StorageType* const stored = storage_type(tensor.type().tensor_type().elem_type());
      ModelValue value{tensor.name(), dtype_of_input(tensor), dims.shape_of(tensor), stored_as(stored)};
      client::ScopedLocation here(str_cat("ONNX input '", value.name, "'"));
      if (client::is_const(value.shape)) count(client::const_shape(value.shape));
      result.input_order.push_back(value.name);
      if (const auto constant = constants.find(value.name); constant != constants.end()) {
        const HostTensor& x = constant->second;
        members.push_back(stored != nullptr ? Value::stored(Value::host(x), *stored) : Value::host(x));
        result.fixed_inputs.push_back({value.name, value.dtype, x.shape(), std::string(x.data(), x.bytes())});
        continue;
      }
      Value member(client::input(value.name, value.shape, value.dtype));
      members.push_back(stored != nullptr ? Value::stored(std::move(member), *stored) : std::move(member));
      result.inputs.push_back(std::move(value));
    }
    importer.bind(input.name, input.is_absent     ? Value::absent()
                              : input.is_sequence ? Value::sequence(std::move(members))
                                                  : members[0]);
  }
  const Values outputs = importer.run(graph);
  if (outputs.empty()) reject("the model has no outputs");
  Values tensors;
  for (int i = 0; i < graph.output_size(); ++i) {
    const Value& output = outputs[static_cast<std::size_t>(i)];
    if (output.empty()) reject(str_cat("output ", i, " has no name"));
    check_declared_type(graph.output(i), output);
    if (std::string wrong = wrong_declared_shape(graph.output(i), output); !wrong.empty())
      result.warnings.push_back(std::move(wrong));
    add_outputs(graph.output(i).name(), output, result, tensors);
  }
  if (result.outputs.empty()) reject("the model's outputs hold no tensor");
  name_lengths(tensors, result);
  result.is_random = importer.is_random();
  result.weights = importer.take_weights_report();
  return result;
}

// Begins anew with each constant that it turns out to need; every time there are more of them.
ImportedModel import_with_steering(const ModelFilePtr& model, ImportOptions options) {
  for (;;) {
    try {
      return import_graph(model, options);
    } catch (const SteeringInputs& steering) {
      for (const std::string& name : steering.names) {
        options.constants.insert_or_assign(name, options.known_values.at(name));
        options.known_values.erase(name);
      }
    }
  }
}

}  // namespace

absl::StatusOr<ImportedModel> import_model(const ModelFilePtr& model, const ImportOptions& options) {
  absl::StatusOr<ImportedModel> imported = absl::InternalError("");
  try {
    imported = client::catch_jit_error([&] { return import_with_steering(model, options); });
  } catch (const std::bad_alloc&) {
    imported = absl::ResourceExhaustedError("not enough memory to import the model");
  }
  if (imported.ok()) return imported;
  absl::Status named(imported.status().code(), str_cat(model->path(), ": ", imported.status().message()));
  client::copy_equal_lengths(imported.status(), named);
  return named;
}

absl::StatusOr<ImportedModel> import_model(const std::string& path, const ImportOptions& options) {
  HEARTH_ASSIGN_OR_RETURN(const ModelFilePtr model, read_model(path, options.allow_links));
  return import_model(model, options);
}

absl::StatusOr<ImportedModel> import_model_bytes(std::string_view bytes, const std::string& path,
                                                 const ImportOptions& options) {
  HEARTH_ASSIGN_OR_RETURN(const ModelFilePtr model, parse_model(bytes, path));
  return import_model(model, options);
}

}  // namespace hearth::onnx
