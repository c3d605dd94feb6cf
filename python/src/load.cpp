// hearth.load's C++ half: models and plan files to functions. hearth/_load.py checks and orders the arguments.
#include "load.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>

#include "argument.h"
#include "callbacks.h"
#include "errors.h"
#include "function.h"
#include "hearth/onnx.h"
#include "hearth/plan_file.h"
#include "interpreter.h"

namespace hearth::python {
namespace {

// A model's file or its bytes.
struct Source {
  std::string path;
  nb::object bytes;  // None, or what is kept alive
  std::string_view view;

  Source(const nb::object& path_or_none, const nb::object& bytes_or_none, const std::string& name)
      : bytes(bytes_or_none) {
    if (path_or_none.is_none()) {
      const auto whole = nb::borrow<nb::bytes>(bytes_or_none);
      view = {whole.c_str(), whole.size()};
      path = name;
    } else {
      const auto encoded = nb::borrow<nb::bytes>(path_or_none);
      path = {encoded.c_str(), encoded.size()};
    }
  }
  bool is_file() const { return bytes.is_none(); }
};

client::Array copy_of(const Argument& argument) {
  return {argument.dtype(),
          {argument.shape().begin(), argument.shape().end()},
          std::string(static_cast<const char*>(argument.data()), argument.size_bytes())};
}

onnx::ImportOptions import_options(const nb::list& dims, const nb::dict& expressions, const nb::dict& constants,
                                   const nb::dict& example, const std::string& weights, bool allow_links) {
  onnx::ImportOptions options;
  options.allow_links = allow_links;
  const auto known = [&](const std::string& name, nb::handle value) {
    const std::string what = "example: '" + name + "'";
    Argument argument;
    argument.read(value, what.c_str(), DType::kF32);
    argument.make_dense(what.c_str(), true);
    options.input_shapes[name] = {argument.shape().begin(), argument.shape().end()};
    options.known_values[name] = copy_of(argument);
  };
  for (const auto& [key, value] : example) {
    const auto name = nb::cast<std::string>(key);
    if (value.is_none()) {
      options.absent.insert(name);
    } else if (PyList_Check(value.ptr())) {  // a sequence of tensors
      std::size_t place = 0;
      for (nb::handle one : nb::borrow(value)) known(name + "/" + std::to_string(place++), one);
      options.sequence_lengths[name] = place;
    } else {
      known(name, value);
    }
  }
  for (nb::handle row : dims) {
    const auto name = nb::cast<std::string>(row[0]);
    onnx::DimRange range(nb::cast<std::int64_t>(row[1]), nb::cast<std::int64_t>(row[2]),
                         {nb::cast<std::vector<std::int64_t>>(row[3]), nb::cast<std::vector<std::int64_t>>(row[4])});
    range.unit = nb::cast<std::int64_t>(row[5]);
    options.dims.emplace(name, range);
  }
  for (const auto& [name, expression] : expressions)
    options.dim_expressions[nb::cast<std::string>(name)] = nb::cast<std::string>(expression);
  for (const auto& [key, value] : constants) {
    const auto name = nb::cast<std::string>(key);
    const std::string what = "constants: '" + name + "'";
    Argument argument;
    const bool is_whole = PyLong_Check(value.ptr()) != 0 && !PyBool_Check(value.ptr());
    argument.read(value, what.c_str(), is_whole ? DType::kI64 : PyBool_Check(value.ptr()) ? DType::kBool : DType::kF64);
    argument.make_dense(what.c_str(), true);
    options.constants[name] = copy_of(argument);
  }
  if (weights == "bf16") options.weights = onnx::Weights::kBf16;
  if (weights == "int8") options.weights = onnx::Weights::kInt8;
  return options;
}

Function* load_model(const nb::object& path, const nb::object& bytes, const std::string& name, const nb::list& dims,
                     const nb::dict& expressions, const nb::dict& constants, const nb::dict& example,
                     const std::string& weights, const nb::dict& options, const nb::object& progress, bool may_copy,
                     bool allow_links) {
  const Source source(path, bytes, name);
  const onnx::ImportOptions import_as = import_options(dims, expressions, constants, example, weights, allow_links);
  client::PrepareConfig config = prepare_config(options);
  config.model = name;
  std::optional<onnx::ImportedModel> model;
  std::optional<client::PreparedPlan> plan;
  absl::Status status;
  Callbacks callbacks(progress);
  {
    WithoutGil open;
    const Waiting waiting;
    callbacks.add_to(&config, &open);
    client::connect_early(config);
    absl::StatusOr<onnx::ImportedModel> imported = source.is_file()
                                                       ? onnx::import_model(source.path, import_as)
                                                       : onnx::import_model_bytes(source.view, source.path, import_as);
    status = imported.status();
    if (imported.ok()) {
      model = *std::move(imported);
      config.fixed_inputs = model->fixed_inputs;
      absl::StatusOr<client::PreparedPlan> prepared = client::prepare(model->outputs, config);
      status = prepared.status();
      if (prepared.ok()) plan = *std::move(prepared);
    }
  }
  callbacks.rethrow();
  check(status);
  FunctionInfo info{name, may_copy, model->opset, model->warnings, model->weights};
  return new Function(*plan, Signature::of(*plan, *model), std::move(info));
}

Function* load_plan(const nb::object& path, const nb::object& bytes, const std::string& name,
                    const nb::dict& parameters, const nb::dict& options, bool may_copy) {
  const Source source(path, bytes, name);
  client::LoadPlanConfig config;
  for (const auto& [key, value] : options) {
    const auto option = nb::cast<std::string>(key);
    if (option == "threads") config.threads = nb::cast<int>(value);
    if (option == "device") config.device = nb::cast<std::string>(value);
    if (option == "subnormals") config.subnormals = subnormals_from_name(nb::cast<std::string>(value));
  }
  for (const auto& [key, value] : parameters) {
    const auto parameter = nb::cast<std::string>(key);
    const std::string what = "parameters: '" + parameter + "'";
    Argument argument;
    argument.read(value, what.c_str(), DType::kF32);
    argument.make_dense(what.c_str(), true);
    const auto copy = std::make_shared<const client::Array>(copy_of(argument));
    config.parameters[parameter] = {copy->bytes.data(), copy->bytes.size(), copy};
  }
  absl::StatusOr<client::PreparedPlan> plan = [&] {
    WithoutGil open;
    const Waiting waiting;
    return source.is_file() ? client::load_plan(source.path, config) : client::load_plan_bytes(source.view, config);
  }();
  check(plan.status());
  return new Function(*plan, Signature::of(*plan), {name, may_copy, 0, {}, {}});
}

}  // namespace

client::PrepareConfig prepare_config(const nb::dict& options) {
  client::PrepareConfig config = value_of(client::PrepareConfig::from_env());
  for (const auto& [key, value] : options) {
    const auto name = nb::cast<std::string>(key);
    if (name == "threads") config.threads = nb::cast<int>(value);
    if (name == "device") config.device = nb::cast<std::string>(value);
    if (name == "socket") config.socket = nb::cast<std::string>(value);
    if (name == "sealed") config.sealed = nb::cast<bool>(value);
    if (name == "carry") config.carried = carried_pairs(nb::cast<nb::dict>(value));
    if (name == "subnormals") config.subnormals = subnormals_from_name(nb::cast<std::string>(value));
    if (name == "fast_math") config.fast_math = nb::cast<bool>(value);
    if (name == "deadline_ms") config.deadline = std::chrono::milliseconds(nb::cast<std::int64_t>(value));
  }
  return config;
}

void add_load(nb::module_& module) {
  module.def("is_plan_file", [](const nb::bytes& path) { return client::is_plan_file({path.c_str(), path.size()}); });
  module.def("load_model", &load_model, nb::arg("path").none(), nb::arg("bytes").none(), nb::arg("name"),
             nb::arg("dims"), nb::arg("expressions"), nb::arg("constants"), nb::arg("example"), nb::arg("weights"),
             nb::arg("options"), nb::arg("progress").none(), nb::arg("copy"), nb::arg("allow_links"));
  module.def("load_plan", &load_plan, nb::arg("path").none(), nb::arg("bytes").none(), nb::arg("name"),
             nb::arg("parameters"), nb::arg("options"), nb::arg("copy"));
}

}  // namespace hearth::python
