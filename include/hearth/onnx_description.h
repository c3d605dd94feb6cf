// What a model file says of itself, before anything is prepared: its inputs, outputs and dimensions, and what of it is not
// supported. Read from the file alone: nothing is imported, no weight is read. Thread-safe.
//
//   const absl::StatusOr<hearth::onnx::ModelDescription> model = hearth::onnx::describe_model("model.onnx");
//   if (!model.ok()) return model.status();
//   for (const std::string& name : model->dims) std::puts(name.c_str());  // what ImportOptions.dims may give
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#pragma GCC visibility push(default)
namespace hearth::onnx {

struct DescribedDim {
  std::int64_t length = -1;  // negative: it varies
  std::string name;          // of one that varies, as ImportOptions.dims takes it: "VALUE.AXIS" for one without a name
};

struct DescribedValue {
  std::string name;
  std::string type;        // "f32", "sequence of f32", "optional i64", "string", "?" for what is not stated
  bool has_shape = false;  // without it, even the number of axes is open
  std::vector<DescribedDim> shape;
  bool has_default = false;  // an initializer of the same name: it need not be given
};

struct ModelDescription {
  std::string producer;                        // name and version
  std::map<std::string, std::int64_t> opsets;  // by domain; "" is ONNX's own
  std::vector<DescribedValue> inputs, outputs;
  std::vector<std::string> dims;  // that vary, of inputs, each once; not those that are expressions of others
  // What a decoder with a cache has: outputs that are inputs of the next call, and lengths that are sums of others, as
  // ImportOptions.dim_expressions takes them: {"total", "past + new"}.
  std::map<std::string, std::string> carried, sums;
  std::uint64_t parameters = 0, parameter_bytes = 0;
  std::map<std::string, std::size_t> operators;      // how often each occurs; "domain::name" if not ONNX's own
  std::map<std::string, std::string> not_supported;  // operators, and why
  std::string refused;                               // why the model as a whole is not supported; empty: it is
};

absl::StatusOr<ModelDescription> describe_model(const std::string& path);
// The model's bytes; `path` only names it in errors.
absl::StatusOr<ModelDescription> describe_model_bytes(std::string_view bytes, const std::string& path);

}  // namespace hearth::onnx
#pragma GCC visibility pop
