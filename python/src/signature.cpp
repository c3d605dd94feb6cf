#include "signature.h"

#include <algorithm>

#include "errors.h"

namespace hearth::python {
namespace {

nb::object interned(const std::string& name) {
  PyObject* text = PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "backslashreplace");
  if (text == nullptr) throw nb::python_error();
  PyUnicode_InternInPlace(&text);
  return nb::steal(text);
}

template <typename Values>
std::optional<std::size_t> place_of(const Values& values, const std::string& name) {
  const auto found = std::find_if(values.begin(), values.end(), [&](const auto& value) { return value.name == name; });
  if (found == values.end()) return std::nullopt;
  return static_cast<std::size_t>(found - values.begin());
}

std::vector<std::string> texts(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> lengths;
  for (const std::int64_t length : shape) lengths.push_back(std::to_string(length));
  return lengths;
}

std::vector<std::string> texts(const client::Shape& shape) {
  std::vector<std::string> lengths;
  for (const client::Dim& length : shape) lengths.push_back(length.to_string());
  return lengths;
}

Parameter parameter(const std::string& name, Parameter::Kind kind, std::size_t place, DType dtype,
                    std::vector<std::string> lengths, const std::string& stored = "") {
  return {name, "input '" + name + "'", kind, place, dtype, interned(name), std::move(lengths), stored};
}

}  // namespace

void Signature::finish(const client::PreparedPlan& plan) {
  variables.clear();
  for (const client::VariableInfo& variable : plan.variables()) variables.push_back(interned(variable.name));
  outputs_type = nb::module_::import_("hearth._types").attr("outputs_type")(result_names());
}

Signature Signature::of(const client::PreparedPlan& plan) {
  Signature signature;
  if (!plan.call().empty()) return of(plan, plan.call());
  for (const client::ValueInfo& input : plan.inputs()) {
    signature.parameters.push_back(
        parameter(input.name, Parameter::Kind::kInput, signature.parameters.size(), input.dtype, input.lengths));
  }
  for (std::size_t i = 0; i < plan.fixed_inputs().size(); ++i) {
    const client::FixedInput& fixed = plan.fixed_inputs()[i];
    signature.parameters.push_back(parameter(fixed.name, Parameter::Kind::kFixed, i, fixed.dtype, texts(fixed.shape)));
  }
  for (const client::ValueInfo& output : plan.outputs())
    signature.results.push_back({output.name, signature.results.size(), output.dtype, {}, 0, output.lengths});
  signature.finish(plan);
  return signature;
}

Signature Signature::of(const client::PreparedPlan& plan, const client::CallSignature& call) {
  Signature signature;
  for (const client::ValueInfo& input : call.inputs) {
    const auto fixed = place_of(plan.fixed_inputs(), input.name), place = place_of(plan.inputs(), input.name);
    const Parameter::Kind kind = fixed   ? Parameter::Kind::kFixed
                                 : place ? Parameter::Kind::kInput
                                         : Parameter::Kind::kUnread;
    signature.parameters.push_back(
        parameter(input.name, kind, fixed ? *fixed : place.value_or(0), input.dtype, input.lengths, input.stored));
  }
  std::vector<client::CallSignature::Result> results = call.results;
  if (results.empty())
    for (const client::ValueInfo& output : plan.outputs()) results.push_back({output.name});
  for (const client::CallSignature::Result& result : results) {
    const std::size_t place = place_of(plan.outputs(), result.name).value();
    const client::ValueInfo& output = plan.outputs()[place];
    Result of{result.name,    place,        output.dtype, {}, static_cast<std::size_t>(result.length_axis),
              output.lengths, result.stored};
    if (!result.length_output.empty()) of.length_place = place_of(plan.outputs(), result.length_output);
    signature.results.push_back(std::move(of));
  }
  signature.finish(plan);
  return signature;
}

client::CallSignature Signature::call(const client::PreparedPlan& plan) const {
  client::CallSignature call;
  for (const Parameter& parameter : parameters)
    call.inputs.push_back({parameter.name, parameter.dtype, {}, 0, parameter.lengths, parameter.stored});
  for (const Result& result : results) {
    call.results.push_back({result.name, result.length_place ? plan.outputs()[*result.length_place].name : "",
                            static_cast<std::int64_t>(result.length_axis), result.stored});
  }
  return call;
}

Signature Signature::of(const client::PreparedPlan& plan, const onnx::ImportedModel& model) {
  Signature signature;
  for (const std::string& name : model.input_order) {
    if (const auto fixed = place_of(plan.fixed_inputs(), name)) {
      const client::FixedInput& value = plan.fixed_inputs()[*fixed];
      signature.parameters.push_back(parameter(name, Parameter::Kind::kFixed, *fixed, value.dtype, texts(value.shape)));
      continue;
    }
    const auto declared = place_of(model.inputs, name);
    if (!declared) continue;
    const onnx::ModelValue& input = model.inputs[*declared];
    const auto place = place_of(plan.inputs(), name);
    const Parameter::Kind kind = place ? Parameter::Kind::kInput : Parameter::Kind::kUnread;
    signature.parameters.push_back(
        parameter(name, kind, place.value_or(0), input.dtype, texts(input.shape), input.stored));
  }
  for (const onnx::ModelValue& result : model.results) {
    const std::optional<std::size_t> place = place_of(plan.outputs(), result.name);
    if (!place) raise(absl::InternalError("the plan has no output '" + result.name + "'"));
    Result of{result.name,         *place,       result.dtype, {}, static_cast<std::size_t>(result.length_axis),
              texts(result.shape), result.stored};
    if (!result.length_output.empty()) of.length_place = place_of(plan.outputs(), result.length_output);
    signature.results.push_back(std::move(of));
  }
  signature.finish(plan);
  return signature;
}

Signature Signature::without(const std::vector<client::Carried>& carried) const {
  Signature rest = *this;
  if (carried.empty()) return rest;
  for (const client::Carried& pair : carried) {
    const auto input = place_of(rest.parameters, pair.input);
    if (!input || rest.parameters[*input].kind != Parameter::Kind::kInput)
      raise_unknown("carry: there is no input '" + pair.input + "'", nb::str(pair.input.c_str()), parameter_names());
    rest.parameters.erase(rest.parameters.begin() + static_cast<std::ptrdiff_t>(*input));
    const auto output = place_of(rest.results, pair.output);
    if (!output)
      raise_unknown("carry: there is no output '" + pair.output + "'", nb::str(pair.output.c_str()), result_names());
    rest.results.erase(rest.results.begin() + static_cast<std::ptrdiff_t>(*output));
  }
  rest.outputs_type = nb::module_::import_("hearth._types").attr("outputs_type")(rest.result_names());
  return rest;
}

nb::list Signature::parameter_names() const {
  nb::list names;
  for (const Parameter& parameter : parameters) names.append(parameter.key);
  return names;
}

nb::list Signature::result_names() const {
  nb::list names;
  for (const Result& result : results) names.append(interned(result.name));
  return names;
}

}  // namespace hearth::python
