// hearth prewarm --manifest: one file says what all models of a product are prepared with.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/integration/place.h"
#include "tests/unit/onnx/model_builder.h"

namespace hearth::integration {
namespace {

using Catch::Matchers::Contains;
using Json = nlohmann::json;

std::string matmul(Place& place, const std::string& name, const std::string& dim, std::int64_t width) {
  onnx::ModelBuilder m(17);
  m.symbolic_input("x", {dim, ""})
      .floats("w", {width, 5}, std::vector<float>(static_cast<std::size_t>(width) * 5, 0.5F));
  auto* shape = m.proto().mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->mutable_dim(1)->set_dim_value(width);
  m.node("MatMul", {"x", "w"}, {"y"}).output("y");
  return place.write(name + ".onnx", m.proto().SerializeAsString());
}

std::string written(Place& place, const std::string& text) {
  const std::string path = place.file("models.toml");
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

}  // namespace

TEST_CASE("a manifest: models whose dimensions have one name and several meanings, sets of lengths, threads, targets") {
  Place place;
  matmul(place, "wide", "n", 9);
  matmul(place, "narrow", "n", 3);
  const std::string manifest = written(place, R"(# as Paddle's exporter names them
[[model]]
file = "wide.onnx"
lengths = [{ n = 4 }, { n = "1:8" }]
threads = [1, 2]

[[model]]
file = "narrow.onnx"
dims = { n = 7 }
targets = ["cpu:x86-64-v3", "cpu:armv8.2-a"]
)");
  const Json first = place.json({"hearth", "prewarm", "--manifest", manifest, "--json"});
  INFO(first.dump(2));
  CHECK(first["failures"] == 0);
  REQUIRE(first["models"].size() == 6);  // two sets by two numbers of threads, and two targets
  CHECK(first["models"][0]["dims"] == Json{"n=4"});
  CHECK(first["models"][3]["dims"] == Json{"n=1:8"});
  CHECK(first["models"][5]["target"] == "cpu:armv8.2-a");
  const std::string receipt = place.file("receipt.json");
  const Ran sealed = place.run({"hearth", "prewarm", "--manifest", manifest, "--sealed", "--report", receipt});
  INFO(sealed.err);
  CHECK(sealed.code == 0);
  CHECK(Json::parse(content(receipt))["complete"] == true);
  // What clients ask for is there.
  for (const char* dim : {"n=4", "n=1:8"})
    CHECK(place.run({"hearth", "run", place.file("wide.onnx"), "--sealed", "--dim", dim, "--threads", "2"}).code == 0);
  CHECK(place.run({"hearth", "run", place.file("wide.onnx"), "--sealed", "--dim", "n=5", "--threads", "2"}).code == 1);

  std::ofstream(manifest, std::ios::app) << "[[model]]\nfile = \"wide.onnx\"\nname = \"again\"\ndims = { n = 6 }\n";
  const Ran missing = place.run({"hearth", "prewarm", "--manifest", manifest, "--sealed"});
  CHECK(missing.code == 1);
  CHECK_THAT(missing.err, Contains("1 of 4 models failed") && Contains("wide.onnx"));
}

TEST_CASE("a manifest: inspect writes a first one") {
  Place place;
  const std::string model = matmul(place, "wide", "batch", 9);
  const std::string text = place.run_ok({"hearth", "inspect", "--manifest", model}).out;
  INFO(text);
  CHECK_THAT(text, Contains("[[model]]") && Contains("\"batch\" = \""));
  const Json made = place.json({"hearth", "prewarm", "--manifest", written(place, text), "--json"});
  CHECK((made["failures"] == 0 && made["models"].size() == 1));
}

TEST_CASE("a manifest: what is wrong is named with its line") {
  Place place;
  matmul(place, "m", "n", 3);
  struct Row {
    const char* text;
    const char* message;
  };
  const Row rows[] = {
      {"", "models.toml: there is no [[model]] in it"},
      {"[[models]]\nfile = \"m.onnx\"",
       "models.toml:1: the manifest has no key 'models'; there are: model; did you mean"},
      {"[[model]]\nfile = \"m.onnx\"\ndim = { n = 1 }", "models.toml:3: [[model]] has no key 'dim'"},
      {"[[model]]\nname = \"m\"", "models.toml:1: [[model]] has no file"},
      {"[[model]]\nfile = 3", "models.toml:2: file: expected text"},
      {"[[model]]\nfile = \"m.onnx\"\ndims = 3", "models.toml:3: dims: expected a table"},
      {"[[model]]\nfile = \"m.onnx\"\ndims = { n = [\"a\"] }", "models.toml:3: dims.n: a list is one of numbers"},
      {"[[model]]\nfile = \"m.onnx\"\nthreads = [1, -2]", "models.toml:3: threads: -2; expected 0 to "},
      {"[[model]]\nfile = \"m.onnx\"\nthreads = []", "models.toml:3: threads: the list is empty"},
      {"[[model]]\nfile = \"m.onnx\"\nweights = \"f8\"", "models.toml:3: weights: 'f8'; expected f32, bf16 or int8"},
      {"[[model]]\nfile = \"m.onnx\"\nlengths = { n = 1 }", "models.toml:3: lengths: expected a list of tables"},
      {"[[model]]\nfile = \"m.onnx\"\nlengths = [3]", "models.toml:3: lengths: expected a table"},
      {"[[model]]\nfile = \"m.onnx\"\ndevice = \"cpu\"\ntargets = [\"cpu\"]",
       "models.toml:1: a model has either a device"},
      {"[[model]]\nfile = \"m.onnx\"\n\n[[model]]\nfile = \"m.onnx\"",
       "models.toml:4: a model before has the name 'm'"},
      {"[[model]]\nfile = \"m.onnx\"\ntargets = [\"cpu:x86-64-v9\"]", "model 'm': "},
      {"[[model]]\nfile = \"m.onnx\nthreads = 1", "models.toml:2: "},
      {"[[model]]\nfile = \"m.onnx\"\nfile = \"m.onnx\"", "models.toml:3: "},
      {"[[model]]\r\n\tfile = \"m.onnx\"\r\ndims = { k = 1 }\r\n", "--dim k=1: the model has no such"},
      {"[[model]]\nfile = \"gone.onnx\"", "gone.onnx"},
      {"\xff\xfe", "models.toml:1: "},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    const Ran ran = place.run({"hearth", "prewarm", "--manifest", written(place, row.text)});
    CHECK(ran.code != 0);
    CHECK_THAT(ran.err, Contains(row.message));
  }
  const std::string good = written(place, "[[model]]\nfile = \"m.onnx\"\ndims = { n = 2 }");
  const Ran both = place.run({"hearth", "prewarm", "--manifest", good, place.file("m.onnx")});
  CHECK(both.code == 2);
  CHECK_THAT(both.err, Contains("give models or --manifest, not both"));
  const Ran dim = place.run({"hearth", "prewarm", "--manifest", good, "--dim", "n=3"});
  CHECK(dim.code == 2);
  CHECK_THAT(dim.err, Contains("--dim n=3: the manifest says it for each model"));
  CHECK(place.run({"hearth", "prewarm"}).code == 2);
  CHECK(place.run({"hearth", "prewarm", "--manifest", place.file("nowhere.toml")}).code == 1);
}

}  // namespace hearth::integration
