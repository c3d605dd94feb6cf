// hearth.inspect's C++ half: what a model file says of itself.
#include <nanobind/stl/string.h>

#include "errors.h"
#include "hearth/onnx_description.h"
#include "interpreter.h"
#include "load.h"

namespace hearth::python {
namespace {

// (name, type, shape or None, whether it has a default); a length that varies is its name.
nb::list values(const std::vector<onnx::DescribedValue>& all) {
  nb::list made;
  for (const onnx::DescribedValue& value : all) {
    nb::list shape;
    for (const onnx::DescribedDim& dim : value.shape)
      shape.append(dim.length >= 0 ? nb::object(nb::int_(dim.length)) : text_of(dim.name));
    made.append(nb::make_tuple(text_of(value.name), text_of(value.type),
                               value.has_shape ? nb::object(nb::tuple(shape)) : nb::none(), value.has_default));
  }
  return made;
}

nb::dict inspect_model(const nb::object& path, const nb::object& bytes, const std::string& name) {
  const bool is_file = bytes.is_none();
  const nb::object kept = is_file ? path : bytes;
  const auto view = nb::borrow<nb::bytes>(kept);
  const std::string_view held(view.c_str(), view.size());
  const absl::StatusOr<onnx::ModelDescription> model = without_gil(
      [&] { return is_file ? onnx::describe_model(std::string(held)) : onnx::describe_model_bytes(held, name); });
  check(model.status());
  nb::dict made, opsets, operators, missing;
  for (const auto& [domain, version] : model->opsets) opsets[text_of(domain)] = version;
  for (const auto& [op, count] : model->operators) operators[text_of(op)] = count;
  for (const auto& [op, why] : model->not_supported) missing[text_of(op)] = text_of(why);
  nb::dict carried, sums;
  for (const auto& [output, input] : model->carried) carried[text_of(output)] = text_of(input);
  for (const auto& [total, sum] : model->sums) sums[text_of(total)] = text_of(sum);
  made["carry"] = carried;
  made["sums"] = sums;
  nb::list dims;
  for (const std::string& dim : model->dims) dims.append(text_of(dim));
  made["inputs"] = values(model->inputs);
  made["outputs"] = values(model->outputs);
  made["dims"] = nb::tuple(dims);
  made["opsets"] = opsets;
  made["operators"] = operators;
  made["not_supported"] = missing;
  made["producer"] = text_of(model->producer);
  made["refused"] = text_of(model->refused);
  made["parameters"] = model->parameters;
  made["parameter_bytes"] = model->parameter_bytes;
  return made;
}

}  // namespace

void add_inspect(nb::module_& module) {
  module.def("inspect_model", &inspect_model, nb::arg("path").none(), nb::arg("bytes").none(), nb::arg("name"));
}

}  // namespace hearth::python
