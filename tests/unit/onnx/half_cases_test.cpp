// Every ONNX operator in half precision: ONNX's standard cases with their f32 values turned to f16 or bf16, at several
// magnitudes. The judge is the same model over the same numbers in f64, rounded once: two units in the last place.
#include <catch2/catch.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "base/text.h"
#include "client/onnx/case_data.h"
#include "client/tensor/elements.h"
#include "hearth/error.h"
#include "tests/support/half_ulps.h"
#include "tests/support/skip.h"
#include "tests/unit/onnx/oracle.h"

namespace hearth::onnx {
namespace {

namespace fs = std::filesystem;
using ::hearth_onnx::AttributeProto;
using ::hearth_onnx::GraphProto;
using ::hearth_onnx::ModelProto;
using ::hearth_onnx::NodeProto;
using ::hearth_onnx::TensorProto;
using ::hearth_onnx::TypeProto;

constexpr const char* kCases = "/usr/share/libonnx-testdata/data/node";

int onnx_type(DType dtype) {
  return dtype == DType::kF16    ? TensorProto::FLOAT16
         : dtype == DType::kBF16 ? TensorProto::BFLOAT16
                                 : TensorProto::DOUBLE;
}

// A model's f32 turned to `stored`, every number being one of `half`.
struct Conversion {
  DType stored, half;

  void apply(TensorProto& tensor) const {
    if (tensor.data_type() != TensorProto::FLOAT) return;
    std::string bytes;
    const auto add = [&](double value) { bytes += client::encode_float(test::rounded(value, half), stored); };
    for (const float value : tensor.float_data()) add(static_cast<double>(value));
    for (std::size_t at = 0; at + 4 <= tensor.raw_data().size(); at += 4)
      add(client::decode_float(std::string_view(tensor.raw_data()).substr(at, 4), DType::kF32));
    tensor.clear_float_data();
    tensor.set_raw_data(bytes);
    tensor.set_data_type(onnx_type(stored));
  }
  void apply(TypeProto& type) const {
    if (type.has_optional_type()) return apply(*type.mutable_optional_type()->mutable_elem_type());
    if (type.has_sequence_type()) return apply(*type.mutable_sequence_type()->mutable_elem_type());
    if (type.has_tensor_type() && type.tensor_type().elem_type() == TensorProto::FLOAT)
      type.mutable_tensor_type()->set_elem_type(onnx_type(stored));
  }
  void apply(NodeProto& node) const {
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      const bool is_type = attribute.name() == "to" || attribute.name() == "dtype";
      if (is_type && attribute.type() == AttributeProto::INT && attribute.i() == TensorProto::FLOAT)
        attribute.set_i(onnx_type(stored));
      if (attribute.has_t()) apply(*attribute.mutable_t());
      if (attribute.has_g()) apply(*attribute.mutable_g());
    }
  }
  void apply(GraphProto& graph) const {
    for (TensorProto& tensor : *graph.mutable_initializer()) apply(tensor);
    for (NodeProto& node : *graph.mutable_node()) apply(node);
    for (auto& value : *graph.mutable_input()) apply(*value.mutable_type());
    for (auto& value : *graph.mutable_output()) apply(*value.mutable_type());
    graph.clear_value_info();
  }
  Array operator()(const Array& array, double scale) const {
    if (array.dtype != DType::kF32) return array;
    Array made{stored, array.shape, ""};
    for (std::size_t at = 0; at < array.bytes.size(); at += 4) {
      const double value = client::decode_float(std::string_view(array.bytes).substr(at, 4), DType::kF32);
      made.bytes += client::encode_float(test::rounded(value * scale, half), stored);
    }
    return made;
  }
};

struct Case {
  std::string name;
  ModelProto model;
  std::map<std::string, Array> inputs;
};

// Nothing where the case has no floats, or values that are no tensors.
std::optional<Case> read_case(const std::string& folder) {
  Case made{fs::path(folder).filename(), {}, {}};
  std::ifstream file(folder + "/model.onnx", std::ios::binary);
  if (!made.model.ParseFromIstream(&file)) return std::nullopt;
  bool has_float = false;
  for (int i = 0; i < made.model.graph().input_size(); ++i) {
    const std::string path = str_cat(folder, "/test_data_set_0/input_", i, ".pb");
    if (!fs::exists(path)) return std::nullopt;
    const CaseValue value = read_case_value(path, made.model.graph().input(i));
    if (value.is_sequence || value.is_absent || !value.text.empty()) return std::nullopt;
    made.inputs[value.name] = value.tensors.at(0);
    has_float = has_float || value.tensors[0].dtype == DType::kF32;
  }
  return has_float ? std::optional(std::move(made)) : std::nullopt;
}

absl::StatusOr<std::vector<Array>> run(const Case& c, const Conversion& conversion, double scale) {
  ModelProto model = c.model;
  conversion.apply(*model.mutable_graph());
  for (auto& function : *model.mutable_functions()) {
    for (NodeProto& node : *function.mutable_node()) conversion.apply(node);
  }
  ImportOptions options;
  std::map<std::string, Array> arrays;
  for (const auto& [name, array] : c.inputs) {
    arrays[name] = conversion(array, scale);
    options.input_shapes[name] = array.shape;
    options.known_values[name] = arrays[name];
  }
  const auto imported = import_model_bytes(model.SerializeAsString(), c.name, options);
  if (!imported.ok()) return imported.status();
  if (imported->is_random) return absl::UnimplementedError("random numbers");
  return evaluate(*imported, arrays);
}

// Written out as a graph of several nodes, each of which rounds.
bool is_expanded(const std::string& name) { return name.find("_expanded") != std::string::npos; }

}  // namespace

TEST_CASE("every ONNX operator in half precision is its value in f64, rounded once") {
  if (!fs::exists(kCases)) SKIP_CASE("ONNX's test cases are not installed (libonnx-testdata)");
  int compared = 0, refused = 0;
  for (const std::string& folder : find_cases(kCases)) {
    const std::optional<Case> c = read_case(folder);
    if (!c || is_expanded(c->name)) continue;
    for (const DType half : {DType::kF16, DType::kBF16}) {
      for (const double scale : {1.0, 0x1p-10, 250.0}) {
        const auto got = run(*c, {half, half}, scale), want = run(*c, {DType::kF64, half}, scale);
        if (!got.ok() || !want.ok()) {
          // What needs f32 alone, or is refused in every type, says so while it is imported.
          INFO(c->name << ": " << got.status() << " / " << want.status());
          CHECK((absl::IsUnimplemented(got.status()) || absl::IsInvalidArgument(got.status()) || !want.ok()));
          ++refused;
          break;
        }
        REQUIRE(got->size() == want->size());
        for (std::size_t i = 0; i < got->size(); ++i) {
          const Array &a = (*got)[i], &b = (*want)[i];
          INFO(c->name << " in " << dtype_name(half) << ", values times " << scale << ", output " << i);
          REQUIRE(a.shape == b.shape);
          if (a.dtype != half || b.dtype != DType::kF64) continue;
          ++compared;
          CHECK(test::most_ulps_apart(a, b) <= 2);
        }
      }
    }
  }
  std::cout << "half precision: " << compared << " results compared, " << refused
            << " cases in types they do not have\n";
  CHECK(compared > 2000);
}

}  // namespace hearth::onnx
