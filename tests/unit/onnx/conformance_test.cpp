// What client/onnx/conformance says of cases that do not pass.
#include "client/onnx/conformance.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <limits>

#include "tests/unit/onnx/model_builder.h"
#include "tests/unit/onnx/oracle.h"

using namespace hearth;
using namespace hearth::onnx;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

// A folder with one case, x -> Relu -> y; removed at the end.
class CaseFolder {
 public:
  CaseFolder() : path_(fs::temp_directory_path() / ("hearth_case_" + std::to_string(getpid()))) {
    fs::create_directories(path_ / "test_data_set_0");
    model_.input("x", {2}).node("Relu", {"x"}, {"y"}).output("y");
    model_.proto().mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
        ::hearth_onnx::TensorProto::FLOAT);
    write("input_0.pb", {-1, 2});
    write("output_0.pb", {0, 2});
  }
  ~CaseFolder() { fs::remove_all(path_); }

  void write(const std::string& name, const std::vector<float>& values) {
    ::hearth_onnx::TensorProto tensor;
    tensor.add_dims(static_cast<std::int64_t>(values.size()));
    tensor.set_data_type(::hearth_onnx::TensorProto::FLOAT);
    for (float value : values) tensor.add_float_data(value);
    write_tensor(name, tensor);
  }
  void write_tensor(const std::string& name, const ::hearth_onnx::TensorProto& tensor) {
    std::ofstream(path_ / "test_data_set_0" / name, std::ios::binary) << tensor.SerializeAsString();
  }
  ModelBuilder& model() { return model_; }
  const fs::path& path() const { return path_; }
  CaseResult check(const Evaluate& with = evaluate) {
    std::ofstream(path_ / "model.onnx", std::ios::binary) << model_.proto().SerializeAsString();
    return check_case(path_.string(), with);
  }

 private:
  fs::path path_;
  ModelBuilder model_ = ModelBuilder(17);
};

}  // namespace

TEST_CASE("a case passes, and is found by its folder") {
  CaseFolder folder;
  const CaseResult result = folder.check();
  CHECK(result.verdict == Verdict::kPassed);
  CHECK(result.reason.empty());
  CHECK(result.operators == std::vector<std::string>{"Relu"});
  CHECK(find_cases(folder.path().string()) == std::vector<std::string>{folder.path().string()});
  CHECK(find_cases((folder.path() / "none").string()).empty());
}

TEST_CASE("wrong results fail, by element, shape or number") {
  CaseFolder folder;
  folder.write("output_0.pb", {0, 2.001F});
  CHECK(folder.check().verdict == Verdict::kFailed);
  CHECK_THAT(folder.check().reason, Contains("output 0: element 1 is 2, expected 2.001"));
  folder.write("output_0.pb", {0, std::numeric_limits<float>::infinity()});
  CHECK(folder.check().verdict == Verdict::kFailed);
  folder.write("output_0.pb", {0, std::numeric_limits<float>::quiet_NaN()});
  CHECK(folder.check().verdict == Verdict::kFailed);
  folder.write("output_0.pb", {0, 2, 3});
  CHECK_THAT(folder.check().reason, Contains("shape [2], expected [3]"));
  folder.write("output_0.pb", {0, 2});
  const CaseResult none = folder.check([](const auto&, const auto&) { return std::vector<Array>(); });
  CHECK(none.verdict == Verdict::kFailed);
  CHECK_THAT(none.reason, Contains("0 results, expected 1"));
}

TEST_CASE("an evaluation that is refused is a failure, not a gap") {
  CaseFolder folder;
  const CaseResult result = folder.check([](const auto&, const auto&) -> absl::StatusOr<std::vector<Array>> {
    return absl::UnimplementedError("no such kernel");
  });
  CHECK(result.verdict == Verdict::kFailed);
  CHECK_THAT(result.reason, Contains("no such kernel"));
  const CaseResult thrown = folder.check(
      [](const auto&, const auto&) -> absl::StatusOr<std::vector<Array>> { throw std::runtime_error("thrown"); });
  CHECK(thrown.verdict == Verdict::kFailed);
}

TEST_CASE("operators that are not here, and data that contradicts its model, are unsupported") {
  CaseFolder folder;
  folder.model().last().set_op_type("Fly");
  CHECK(folder.check().verdict == Verdict::kUnsupported);
  folder.model().last().set_op_type("Relu");
  ::hearth_onnx::TensorProto tensor;
  tensor.add_dims(2);
  tensor.set_data_type(::hearth_onnx::TensorProto::INT32);
  tensor.add_int32_data(1);
  tensor.add_int32_data(1);
  folder.write_tensor("input_0.pb", tensor);
  CHECK(folder.check().verdict == Verdict::kUnsupported);
  CHECK_THAT(folder.check().reason, Contains("INT32") && Contains("'x'"));
}

TEST_CASE("cases without data or with files that are none fail") {
  CaseFolder folder;
  std::ofstream(folder.path() / "test_data_set_0" / "input_0.pb", std::ios::binary) << "\xff\xff\xff";
  CHECK(folder.check().verdict == Verdict::kFailed);
  fs::remove_all(folder.path() / "test_data_set_0");
  CHECK_THAT(folder.check().reason, Contains("no test_data_set_0"));
}

TEST_CASE("inputs that must be known become initializers, and the result says so") {
  CaseFolder folder;
  folder.model() = ModelBuilder(17);
  folder.model().input("x", {2}).input("shape", {2}, ::hearth_onnx::TensorProto::INT64);
  folder.model().node("Reshape", {"x", "shape"}, {"y"}).output("y");
  folder.model().proto().mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      ::hearth_onnx::TensorProto::FLOAT);
  ::hearth_onnx::TensorProto shape;
  shape.add_dims(2);
  shape.set_data_type(::hearth_onnx::TensorProto::INT64);
  shape.add_int64_data(1);
  shape.add_int64_data(2);
  folder.write_tensor("input_1.pb", shape);
  ::hearth_onnx::TensorProto y;
  for (int i : {1, 2}) y.add_dims(i);
  y.set_data_type(::hearth_onnx::TensorProto::FLOAT);
  y.add_float_data(-1);
  y.add_float_data(2);
  folder.write_tensor("output_0.pb", y);
  const CaseResult result = folder.check();
  CHECK(result.reason.empty());
  CHECK(result.verdict == Verdict::kPassed);
  CHECK(result.inputs_known);
}

TEST_CASE("random numbers are compared by type and shape, and the result says so") {
  CaseFolder folder;
  folder.model() = ModelBuilder(17);
  folder.model().input("x", {2}).node("RandomNormalLike", {"x"}, {"y"}).output("y");
  folder.model().proto().mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      ::hearth_onnx::TensorProto::FLOAT);
  folder.write("output_0.pb", {100, 100});
  CHECK(folder.check().verdict == Verdict::kPassed);
  CHECK(folder.check().types_only);
  folder.write("output_0.pb", {100, 100, 100});
  CHECK(folder.check().verdict == Verdict::kFailed);
}
