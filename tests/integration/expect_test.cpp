// hearth run --expect and --test-data: whether a model computes what it should, by one command.
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "hearth/npy.h"
#include "hearth_onnx.pb.h"
#include "tests/integration/place.h"
#include "tests/unit/onnx/model_builder.h"

namespace hearth::integration {
namespace {

using Catch::Matchers::Contains;
using Json = nlohmann::json;

template <typename T>
std::string npy(Place& place, const std::string& name, DType dtype, std::vector<std::int64_t> shape,
                const std::vector<T>& values) {
  const std::string path = place.file(name);
  REQUIRE(client::write_npy(path, dtype, shape, values.data(), values.size() * sizeof(T)).ok());
  return path;
}

// y = 2 x and n = 2 k, whole numbers; [2, 3].
std::string twice(Place& place) {
  onnx::ModelBuilder m(17);
  m.input("x", {2, 3}).node("Add", {"x", "x"}, {"y"}).output("y");
  m.input("k", {2, 3}, ::hearth_onnx::TensorProto::INT64).node("Add", {"k", "k"}, {"n"}).output("n");
  return place.write("twice.onnx", m.proto().SerializeAsString());
}

void write_tensor(const std::string& path, const std::vector<std::int64_t>& dims, const std::vector<float>& values) {
  ::hearth_onnx::TensorProto tensor;
  tensor.set_data_type(::hearth_onnx::TensorProto::FLOAT);
  for (const std::int64_t dim : dims) tensor.add_dims(dim);
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  std::ofstream(path, std::ios::binary) << tensor.SerializeAsString();
}

}  // namespace

TEST_CASE("run --expect: right, wrong by how much and where, and what is no comparison") {
  Place place;
  const std::string model = twice(place);
  const std::vector<float> x = {0, 1, -2, 3, 400, NAN};
  const std::string input = "x=" + npy(place, "x.npy", DType::kF32, {2, 3}, x);
  const std::vector<std::int64_t> k = {0, 1, -2, 3, 400, 1ll << 60};
  const std::string counts = "k=" + npy(place, "k.npy", DType::kI64, {2, 3}, k);
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"hearth", "run", model, "--input", input, "--input", counts};
    words.insert(words.end(), more.begin(), more.end());
    return place.run(words);
  };
  const std::vector<float> want = {0, 2, -4, 6, 800, NAN};
  std::vector<float> near = want, far = want;
  near[4] = 800.5F;
  far[1] = 3, far[4] = 900;
  const std::string right = "y=" + npy(place, "right.npy", DType::kF32, {2, 3}, want);
  const Ran ok = run({"--expect", right});
  INFO(ok.out << ok.err);
  CHECK(ok.code == 0);
  CHECK_THAT(ok.out, Contains("output 'y' is as expected, bit for bit"));
  const std::string nearly = "y=" + npy(place, "near.npy", DType::kF32, {2, 3}, near);
  const Ran within = run({"--expect", nearly});
  CHECK(within.code == 0);
  CHECK_THAT(within.out, Contains("is as expected; furthest off at [1, 1]: 800, expected 800.5"));
  CHECK(run({"--expect", nearly, "--rtol", "1e-4"}).code == 1);
  CHECK(run({"--expect", nearly, "--rtol", "0", "--atol", "0.6"}).code == 0);
  const std::string wrong = "y=" + npy(place, "wrong.npy", DType::kF32, {2, 3}, far);
  const Ran bad = run({"--expect", wrong});
  CHECK(bad.code == 1);
  CHECK_THAT(bad.out, Contains("output 'y' is not as expected: 2 of 6 elements; the worst at [0, 1]: 2, expected 3"));
  const Ran json = run({"--expect", wrong, "--json"});
  CHECK(json.code == 1);
  const Json said = Json::parse(json.out)["expected"][0];
  CHECK((said["output"] == "y" && said["right"] == false && said["beyond"] == 2 && said["elements"] == 6));
  CHECK((said["worst"]["place"] == Json{0, 1} && said["worst"]["got"] == 2 && said["worst"]["expected"] == 3));

  // In f64, as numpy computes it, and whole numbers, which are equal or not.
  const std::vector<double> wide(want.begin(), want.end());
  CHECK(run({"--expect", "y=" + npy(place, "wide.npy", DType::kF64, {2, 3}, wide)}).code == 0);
  const std::vector<std::int64_t> whole = {0, 2, -4, 6, 801, 1ll << 61};
  const std::string off = "n=" + npy(place, "off.npy", DType::kI64, {2, 3}, whole);
  const Ran not_equal = run({"--expect", off});
  CHECK(not_equal.code == 1);
  CHECK_THAT(not_equal.out, Contains("the worst at [1, 1]: 800, expected 801"));
  CHECK(run({"--expect", off, "--atol", "1"}).code == 0);
  std::vector<std::int64_t> large = {0, 2, -4, 6, 800, (1ll << 61) + 1};  // no other number in f64
  CHECK(run({"--expect", "n=" + npy(place, "large.npy", DType::kI64, {2, 3}, large)}).code == 1);

  std::vector<float> nan = want;
  nan[0] = NAN;
  const Ran one_nan = run({"--expect", "y=" + npy(place, "nan.npy", DType::kF32, {2, 3}, nan)});
  CHECK(one_nan.code == 1);
  CHECK_THAT(one_nan.out, Contains("at [0, 0]: 0, expected nan"));
  const Ran shape = run({"--expect", "y=" + npy(place, "flat.npy", DType::kF32, {6}, want)});
  CHECK(shape.code == 1);
  CHECK_THAT(shape.out, Contains("output 'y' is [2, 3], expected [6]"));
  const Ran type = run({"--expect", "y=" + npy(place, "int.npy", DType::kI64, {2, 3}, whole)});
  CHECK(type.code == 1);
  CHECK_THAT(type.out, Contains("output 'y' is f32, expected i64"));
  const Ran name = run({"--expect", "z=" + right.substr(2)});
  CHECK(name.code != 0);
  CHECK_THAT(name.err, Contains("there is no output 'z'; there are: 'y', 'n'"));
  CHECK(run({"--expect", "y=no-such.npy"}).code != 0);
  CHECK(run({"--expect", "y"}).code == 2);
  const Ran nothing = run({"--rtol", "1e-3"});
  CHECK(nothing.code == 2);
  CHECK_THAT(nothing.err, Contains("--rtol: there is nothing to compare; give --expect"));
}

TEST_CASE("run --test-data: the arrays that come with a model") {
  Place place;
  onnx::ModelBuilder m(17);
  m.symbolic_input("x", {"rows", "3"}).node("Relu", {"x"}, {"y"}).output("y");
  const std::string model = place.write("relu.onnx", m.proto().SerializeAsString());
  const auto add = [&](const std::string& set, const std::vector<float>& x, const std::vector<float>& y) {
    fs::create_directories(place.file("data/" + set));
    const auto rows = static_cast<std::int64_t>(x.size()) / 3;
    write_tensor(place.file("data/" + set + "/input_0.pb"), {rows, 3}, x);
    write_tensor(place.file("data/" + set + "/output_0.pb"), {rows, 3}, y);
  };
  add("test_data_set_0", {1, -1, 2}, {1, 0, 2});
  add("test_data_set_1", {1, -1, 2, 4, -5, 6}, {1, 0, 2, 4, 0, 6});
  const Ran both = place.run({"hearth", "run", model, "--test-data", place.file("data")});
  INFO(both.out << both.err);
  CHECK(both.code == 0);
  CHECK_THAT(both.out, Contains("test_data_set_0") && Contains("test_data_set_1"));
  CHECK_THAT(both.err, !Contains("random values"));
  add("test_data_set_1", {1, -1, 2, 4, -5, 6}, {1, 0, 2, 4, 5, 6});
  const Ran wrong = place.run({"hearth", "run", model, "--test-data", place.file("data")});
  CHECK(wrong.code == 1);
  CHECK_THAT(wrong.out, Contains("output 'y' is not as expected: 1 of 6 elements; the worst at [1, 1]: 0, expected 5"));
  CHECK(place.run({"hearth", "run", model, "--test-data", place.file("data/test_data_set_0"), "--json"}).code == 0);
  CHECK(place.run({"hearth", "run", model, "--test-data", place.file("data"), "--json"}).code == 2);
  const Ran none = place.run({"hearth", "run", model, "--test-data", place.file("nowhere")});
  CHECK(none.code != 0);
  CHECK_THAT(none.err, Contains("neither output_0.pb nor a folder test_data_set_0"));
  std::ofstream(place.file("data/test_data_set_0/output_0.pb"), std::ios::binary) << "\xff\xff";
  const Ran damaged = place.run({"hearth", "run", model, "--test-data", place.file("data/test_data_set_0")});
  CHECK(damaged.code != 0);
  CHECK_THAT(damaged.err, Contains("output_0.pb"));
  add("test_data_set_0", {1, -1, 2}, {1, 0, 2});
  write_tensor(place.file("data/test_data_set_0/output_1.pb"), {1}, {1});
  const Ran more = place.run({"hearth", "run", model, "--test-data", place.file("data/test_data_set_0")});
  CHECK(more.code != 0);
  CHECK_THAT(more.err, Contains("output_1.pb: the model has 1 of them"));
}

TEST_CASE("run: an input that the model compares with a constant is that constant, not a random number") {
  Place place;
  onnx::ModelBuilder m(17);
  m.input("x", {4}).input("rate", {}, ::hearth_onnx::TensorProto::INT64).ints("known", {}, {16000});
  m.floats("two", {}, {2}).floats("three", {}, {3});
  m.node("Equal", {"rate", "known"}, {"is_known"}).node("Where", {"is_known", "two", "three"}, {"factor"});
  m.node("Mul", {"x", "factor"}, {"y"}).output("y");
  const std::string model = place.write("rate.onnx", m.proto().SerializeAsString());
  const std::string x = "x=" + npy(place, "x.npy", DType::kF32, {4}, std::vector<float>{1, 2, 3, 4});
  const std::string y = "y=" + npy(place, "y.npy", DType::kF32, {4}, std::vector<float>{2, 4, 6, 8});
  const Ran ran = place.run({"hearth", "run", model, "--input", x, "--expect", y});
  INFO(ran.out << ran.err);
  CHECK(ran.code == 0);
  CHECK_THAT(ran.err, Contains("input 'rate' decides what the model computes: it is 16000") && !Contains("random"));
  const std::string other = "rate=" + npy(place, "rate.npy", DType::kI64, {}, std::vector<std::int64_t>{8000});
  CHECK(place.run({"hearth", "run", model, "--input", x, "--input", other, "--expect", y}).code == 1);
}

}  // namespace hearth::integration
