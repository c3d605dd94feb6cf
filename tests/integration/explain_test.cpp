// hearth explain and run --profile: the work of kernels against numbers counted by hand, what is kept, what is shown.
#include <catch2/catch.hpp>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/integration/place.h"
#include "tests/unit/onnx/model_builder.h"

using namespace hearth::integration;
using Catch::Matchers::Contains;
using hearth::onnx::ModelBuilder;

namespace {

std::string save_explained(const Place& place, ModelBuilder& m) {
  return place.write("m.onnx", m.proto().SerializeAsString());
}

// What explain says of the only kernel of a replay whose source names `node`.
nlohmann::json kernel_of(Place& place, ModelBuilder& m, const std::string& node) {
  const auto explained = place.json({"hearth", "explain", save_explained(place, m), "--threads", "1", "--json"});
  INFO(explained.dump(2));
  nlohmann::json found;
  for (const auto& kernel : explained["kernels"]) {
    const std::string symbol = kernel["symbol"];
    if (kernel["once"] == true || symbol.rfind("hearth_pack", 0) == 0) continue;
    if (kernel["source"].get<std::string>().find(node) == std::string::npos) continue;
    REQUIRE(found.is_null());
    found = kernel;
  }
  REQUIRE_FALSE(found.is_null());
  return found;
}

std::string two_kernels(const Place& place) {
  ModelBuilder m(17);
  m.input("x", {64, 64}).input("w", {64, 64}).input("t", {48, 80});
  m.node("MatMul", {"x", "w"}, {"p"}, "product")
      .node("Transpose", {"t"}, {"q"}, "copy")
      .attr("perm", std::vector<std::int64_t>{1, 0});
  m.output("p").output("q");
  return save_explained(place, m);
}

bool is_packing(const nlohmann::json& kernel) {
  const std::string name = kernel.contains("symbol") ? kernel["symbol"] : kernel["kernel"];
  return name.rfind("hearth_pack_", 0) == 0;
}

// Kernels of two_kernels() as `list` has them, without one that only puts w into the order in which this machine's
// product reads it.
nlohmann::json without_packing(const nlohmann::json& list) {
  nlohmann::json kept = nlohmann::json::array();
  for (const auto& kernel : list)
    if (!is_packing(kernel)) kept.push_back(kernel);
  return kept;
}

}  // namespace

TEST_CASE("explain: a product's operations are 2mnk, and its bytes those of its three matrices") {
  Place place;
  ModelBuilder m(17);
  m.input("x", {24, 33}).input("w", {33, 40}).node("MatMul", {"x", "w"}, {"y"}, "product").output("y");
  const auto kernel = kernel_of(place, m, "product");
  CHECK(kernel["ops"] == 2 * 24 * 33 * 40);
  CHECK(kernel["bytes_read"] == 4 * (24 * 33 + 33 * 40));
  CHECK(kernel["bytes_written"] == 4 * 24 * 40);
}

TEST_CASE("explain: work of a plan for a range of lengths is counted at the values of --var, else at the greatest") {
  Place place;
  ModelBuilder m(17);
  m.symbolic_input("x", {"rows", "deep"}).input("w", {33, 40}).node("MatMul", {"x", "w"}, {"y"}, "product").output("y");
  const std::string path = save_explained(place, m);
  std::vector<std::string> command = {"hearth", "explain",   path,    "--threads", "1",
                                      "--dim",  "rows=1:64", "--dim", "deep=33",   "--json"};
  CHECK(place.json(command)["work"]["ops"] == 2 * 64 * 33 * 40);
  command.insert(command.end(), {"--var", "rows=5"});
  const auto explained = place.json(command);
  CHECK(explained["work"]["ops"] == 2 * 5 * 33 * 40);
  for (const auto& kernel : without_packing(explained["kernels"])) {
    CHECK(kernel["bytes_read"] == 4 * (5 * 33 + 33 * 40));
    CHECK(kernel["bytes_written"] == 4 * 5 * 40);
  }
  command.back() = "rows=65";
  const auto refused = place.run(command);
  CHECK(refused.code == 1);
  CHECK_THAT(refused.err, Contains("--var rows=65: variable 'rows' goes from 1 to 64"));
  const auto profiled = place.json({"hearth", "run", path, "--threads", "1", "--dim", "rows=1:64", "--dim", "deep=33",
                                    "--var", "rows=5", "--profile", "--json"});
  CHECK(profiled["profile"]["kernels"][0]["ops"] == 2 * 5 * 33 * 40);
}

TEST_CASE("explain: a plan of half precision on a CPU says that it is computed in f32") {
  Place place;
  for (const auto type : {::hearth_onnx::TensorProto::FLOAT16, ::hearth_onnx::TensorProto::FLOAT}) {
    ModelBuilder m(17);
    m.input("x", {24, 32}, type).input("w", {32, 40}, type).node("MatMul", {"x", "w"}, {"y"}).output("y");
    const auto shown = place.run({"hearth", "explain", save_explained(place, m), "--device", "cpu"});
    INFO(shown.err);
    CHECK(shown.code == 0);
    const bool is_said = shown.out.find("on this CPU kernels compute in f32") != std::string::npos;
    CHECK(is_said == (type == ::hearth_onnx::TensorProto::FLOAT16));
  }
}

TEST_CASE("explain: a convolution's operations are two a weight and output element") {
  Place place;
  ModelBuilder m(17);
  m.input("x", {1, 3, 8, 8}).input("w", {4, 3, 3, 3}).node("Conv", {"x", "w"}, {"y"}, "conv").output("y");
  const auto kernel = kernel_of(place, m, "conv");
  CHECK(kernel["ops"] == 2 * (4 * 6 * 6) * (3 * 3 * 3));
  CHECK(kernel["bytes_read"] == 4 * (3 * 8 * 8 + 4 * 3 * 3 * 3));
  CHECK(kernel["bytes_written"] == 4 * (4 * 6 * 6));
}

TEST_CASE("explain: a softmax's operations: the greatest, a difference, an exp, a sum and a quotient an element") {
  Place place;
  ModelBuilder m(17);
  m.input("x", {32, 64}).node("Softmax", {"x"}, {"y"}, "softmax").attr("axis", std::int64_t{-1}).output("y");
  const auto kernel = kernel_of(place, m, "softmax");
  // The quotient may be a product with a row's reciprocal.
  CHECK(kernel["ops"].get<int>() >= 5 * 32 * 64);
  CHECK(kernel["ops"].get<int>() <= 5 * 32 * 64 + 32);
  CHECK(kernel["bytes_read"] == 4 * 32 * 64);
  CHECK(kernel["bytes_written"] == 4 * 32 * 64);
}

TEST_CASE("explain: a copy does no arithmetic, and moves what it copies and no more") {
  Place place;
  ModelBuilder transposed(17);
  transposed.input("x", {24, 33})
      .node("Transpose", {"x"}, {"y"}, "copy")
      .attr("perm", std::vector<std::int64_t>{1, 0})
      .output("y");
  const auto whole = kernel_of(place, transposed, "copy");
  CHECK(whole["ops"] == 0);
  CHECK((whole["bytes_read"] == 4 * 24 * 33 && whole["bytes_written"] == 4 * 24 * 33));
  ModelBuilder part(17);  // rows 2 to 5 of 100
  part.input("x", {100, 8})
      .ints("b", {1}, {2})
      .ints("e", {1}, {6})
      .node("Slice", {"x", "b", "e"}, {"y"}, "slice")
      .output("y");
  const auto slice = kernel_of(place, part, "slice");
  CHECK((slice["ops"] == 0 && slice["bytes_read"] == 4 * 4 * 8 && slice["bytes_written"] == 4 * 4 * 8));
  ModelBuilder converted(17);  // conversions and selections are no arithmetic
  converted.input("x", {50}).node("Cast", {"x"}, {"y"}, "cast").attr("to", std::int64_t{6}).output("y");
  const auto cast = kernel_of(place, converted, "cast");
  CHECK((cast["ops"] == 0 && cast["bytes_read"] == 200 && cast["bytes_written"] == 200));
  ModelBuilder padded(17);
  padded.input("x", {10}).ints("p", {2}, {3, 4}).node("Pad", {"x", "p"}, {"y"}, "pad").output("y");
  const auto pad = kernel_of(place, padded, "pad");
  CHECK((pad["ops"] == 0 && pad["bytes_read"] == 40 && pad["bytes_written"] == 68));
}

TEST_CASE("explain: what it compiles is kept, and the summary says what was there") {
  Place place;
  const std::string model = two_kernels(place);
  const Ran cold = place.run_ok({"hearth", "explain", model, "--threads", "1"});
  const auto listed = place.json({"hearth", "explain", model, "--threads", "1", "--json"})["kernels"];
  CHECK(without_packing(listed).size() == 2);
  const std::string number = std::to_string(listed.size());
  CHECK_THAT(cold.out, Contains("was not in the cache: compiled " + number + " kernels and kept") &&
                           Contains("no plan of this model was in the cache"));
  // The answer first: what is before the first table.
  const std::string summary = cold.out.substr(0, cold.out.find("\n\n"));
  CHECK_THAT(summary, Contains("m.onnx") && Contains("target") &&
                          Contains(number + ", " + number + " launches a replay") && Contains("524 kFLOP") &&
                          Contains("inputs 47.0 KiB, outputs 31.0 KiB"));
  const auto run = place.json({"hearth", "run", model, "--threads", "1", "--json"});
  CHECK((run["plan_hit"] == true && run["compiled_kernels"] == 0));
  const Ran warm = place.run_ok({"hearth", "explain", model, "--threads", "1"});
  CHECK_THAT(warm.out, Contains(", was in the cache") && !Contains("why"));
  // Another number of threads is another plan of the same model; another model is not mentioned.
  CHECK_THAT(place.run_ok({"hearth", "explain", model, "--threads", "2"}).out,
             Contains("the nearest cached plan of this model (") && Contains("differs in target.threads"));
  ModelBuilder other(17);
  other.input("x", {5}).node("Exp", {"x"}, {"y"}).output("y");
  const std::string stranger = place.write("other.onnx", other.proto().SerializeAsString());
  CHECK_THAT(place.run_ok({"hearth", "explain", stranger, "--threads", "1"}).out,
             Contains("no plan of this model was in the cache"));
}

TEST_CASE("explain: launches that two threads run with one fork are counted as parallel regions") {
  Place place;
  ModelBuilder m(17);
  m.input("x", {8, 64, 64});
  std::string value = "x";
  for (const std::string& step : {std::string("a"), std::string("b"), std::string("c")}) {
    m.node("Softmax", {value}, {step}).attr("axis", std::int64_t{2});
    value = step + "_turned";
    m.node("Transpose", {step}, {value}).attr("perm", std::vector<std::int64_t>{0, 2, 1});
  }
  const std::string model = save_explained(place, m.output(value));
  CHECK(place.json({"hearth", "explain", model, "--threads", "1", "--json"})["parallel_regions"].empty());
  const auto two = place.json({"hearth", "explain", model, "--threads", "2", "--json"});
  const auto region = nlohmann::json{{"first_launch", 0}, {"launches", two["launches"]}};
  CHECK(two["parallel_regions"] == nlohmann::json::array({region}));
  const std::string all = std::to_string(two["launches"].get<int>());
  CHECK_THAT(place.run_ok({"hearth", "explain", model, "--threads", "2"}).out,
             Contains(all + " launches a replay, " + all + " of them in 1 parallel region\n"));
}

TEST_CASE("explain: syntax tree, LLVM IR and assembly of a kernel, by number or name, when it is cached too") {
  Place place;
  const std::string model = two_kernels(place);
  const auto json = place.json({"hearth", "explain", model, "--threads", "1", "--json"});
  const std::string symbol = json["kernels"][0]["symbol"];
  for (const std::string& kernel : {std::string("0"), symbol}) {
    const auto show = [&](const char* what) {
      return place.run_ok({"hearth", "explain", model, "--threads", "1", "--kernel", kernel, "--show", what}).out;
    };
    CHECK_THAT(show("ast"), Contains("store") && Contains("range"));
    CHECK_THAT(show("ir"), Contains("define") && Contains(symbol));
    CHECK_THAT(show("asm"), Contains(symbol + ":") && Contains("ret"));
    CHECK_THAT(show("passes"), Contains("--- after linearize"));
  }
  const Ran facts = place.run_ok({"hearth", "explain", model, "--threads", "1", "--kernel", "1"});
  CHECK_THAT(facts.out, Contains("was in the cache") && Contains("opts"));
  const Ran unknown = place.run({"hearth", "explain", model, "--threads", "1", "--kernel", "7"});
  CHECK(unknown.code == 1);
  CHECK_THAT(unknown.err, Contains("no kernel '7'"));
  CHECK(place.run({"hearth", "explain", model, "--show", "ir"}).code == 2);
  CHECK(place.run({"hearth", "explain", model, "--kernel", "0", "--show", "wasm"}).code == 2);
}

TEST_CASE("explain --measure: times of all kernels, beside the replay's, and rates for those that compute") {
  Place place;
  const auto json = place.json({"hearth", "explain", two_kernels(place), "--threads", "1", "--measure", "--json"});
  const auto& measured = json["measured"];
  INFO(measured.dump(2));
  REQUIRE(without_packing(measured["kernels"]).size() == 2);
  CHECK(measured["replays"] >= 5);
  double sum = 0;
  for (const auto& kernel : measured["kernels"]) {
    const double time = kernel["time_us"];
    CHECK(time > 0);
    sum += time;
    if (is_packing(kernel)) {
      CHECK(kernel["gflops"].is_null());
      continue;
    }
    const bool computes = kernel["source"].get<std::string>().find("product") != std::string::npos;
    CHECK(kernel["gflops"].is_null() == !computes);
    if (computes) CHECK(kernel["gflops"].get<double>() == Approx(2.0 * 64 * 64 * 64 / time / 1e3));
    const double bytes = computes ? 4.0 * 3 * 64 * 64 : 4.0 * 2 * 48 * 80;
    CHECK(kernel["gbytes_per_s"].get<double>() == Approx(bytes / time / 1e3));
  }
  CHECK(measured["kernels_us"].get<double>() == Approx(sum));
  CHECK(measured["between_us"].get<double>() ==
        Approx(std::max(0.0, measured["replay_us"].get<double>() - sum)).margin(1e-6));
}

TEST_CASE("run --profile: warm medians with nodes, no rate for a copy, and a total that is the replay's") {
  Place place;
  const std::string model = two_kernels(place);
  const auto json = place.json({"hearth", "run", model, "--threads", "1", "--profile", "--json"});
  const auto& profile = json["profile"];
  INFO(json.dump(2));
  REQUIRE(without_packing(profile["kernels"]).size() == 2);
  CHECK(profile["replay_us"] == json["replay_us"]["p50"]);
  const double kernels = profile["kernels_us"], between = profile["between_us"], replay = profile["replay_us"];
  CHECK((kernels >= replay || kernels + between == Approx(replay)));
  for (const auto& kernel : profile["kernels"]) {
    if (is_packing(kernel)) continue;
    const bool copies = kernel["source"].get<std::string>().find("copy") != std::string::npos;
    CHECK(kernel["gflops"].is_null() == copies);
    CHECK_THAT(kernel["source"].get<std::string>(), Contains(copies ? "copy" : "product"));
  }
  const Ran text = place.run_ok({"hearth", "run", model, "--threads", "1", "--profile"});
  CHECK_THAT(text.out, Contains("replay (median)") && Contains("between kernels") && Contains("from"));
}

TEST_CASE("explain --measure says in one table what each kernel is limited by, and its node before others") {
  Place place;
  ModelBuilder m(17);
  m.input("x", {64, 64}).input("w", {64, 64}).input("b", {64});
  m.node("MatMul", {"x", "w"}, {"p"}, "z_product").node("Add", {"p", "b"}, {"s"}, "bias");
  m.node("Relu", {"s"}, {"y"}, "activation").output("y");
  const std::string model = save_explained(place, m);
  const Ran text = place.run_ok({"hearth", "explain", model, "--threads", "1", "--measure"});
  CHECK_THAT(text.out, Contains("limited by") && Contains("bandwidth") && Contains("FLOP/s of f32"));
  CHECK_THAT(text.out, Contains("z_product (MatMul) +2"));
  const auto json = place.json({"hearth", "explain", model, "--threads", "1", "--measure", "--json"});
  const auto& machine = json["measured"]["machine"];
  CHECK(machine["threads"] == 1);
  for (const auto& kernel : json["measured"]["kernels"]) {
    INFO(kernel.dump(2));
    CHECK(kernel["operator"] == "MatMul");
    CHECK(kernel["limited_by"].is_string());
    if (is_packing(kernel)) continue;
    CHECK(kernel["peak_share"].get<double>() ==
          Approx(kernel["gflops"].get<double>() * 1e9 / machine["flops_per_s"].get<double>()));
  }
  // Kept: the next command has the same figures.
  CHECK(place.json({"hearth", "explain", model, "--threads", "1", "--measure", "--json"})["measured"]["machine"] ==
        machine);
}

TEST_CASE("explain: of a GPU's kernels the share of what it allows, the invocations that are busy, and shared memory") {
  Place place;
  ModelBuilder m(17);
  m.input("x", {512, 512}).input("w", {512, 512}).node("MatMul", {"x", "w"}, {"p"}, "product");
  m.node("Relu", {"x"}, {"r"}, "activation").output("p").output("r");
  const std::string model = save_explained(place, m);
  const Ran text = place.run_ok({"hearth", "explain", model, "--target", "cuda:sm_90a"});
  CHECK_THAT(text.out,
             Contains("what the GPU's arithmetic and memory allow") && Contains("busy") && Contains("shared"));
  const auto json = place.json({"hearth", "explain", model, "--target", "cuda:sm_90a", "--json"});
  for (const auto& kernel : json["kernels"]) {
    INFO(kernel.dump(2));
    const bool multiplies = kernel["source"].get<std::string>().find("product") != std::string::npos;
    CHECK(kernel["least_cycles"] > 0);
    CHECK(kernel["cycles"].get<double>() >= kernel["least_cycles"].get<double>());
    CHECK((kernel["occupancy_percent"] > 0 && kernel["occupancy_percent"] <= 100));
    CHECK((kernel["shared_bytes"] > 0) == multiplies);
    // 512^3 multiply-adds of at most 32,768 invocations; a megabyte read and one written for the other.
    if (multiplies) CHECK(kernel["least_cycles"].get<double>() == Approx(512.0 * 512 * 512 / 32768).epsilon(0.01));
    if (!multiplies) CHECK(kernel["least_cycles"].get<double>() == Approx(8.0 * 2 * (1 << 20) / 32768).epsilon(0.01));
  }
  CHECK_FALSE(
      place.json({"hearth", "explain", model, "--threads", "1", "--json"})["kernels"][0].contains("shared_bytes"));
}

TEST_CASE("explain --by operator or node: sums of kernels, most first") {
  Place place;
  const std::string model = two_kernels(place);
  const auto operators = place.json({"hearth", "explain", model, "--threads", "1", "--by", "operator", "--json"});
  INFO(operators["groups"].dump(2));
  REQUIRE(operators["groups"].size() == 2);
  CHECK(operators["groups"][0]["name"] == "MatMul");
  CHECK(operators["groups"][0]["ops"] == 2 * 64 * 64 * 64);
  CHECK(operators["groups"][1]["name"] == "Transpose");
  const Ran nodes = place.run_ok({"hearth", "explain", model, "--threads", "1", "--by", "node", "--measure"});
  CHECK_THAT(nodes.out, Contains("product (MatMul)") && Contains("copy (Transpose)") && Contains("share"));
  CHECK(place.run({"hearth", "explain", model, "--by", "colour"}).code == 2);
}

TEST_CASE("explain counts subnormal weights by tensor and says what is done about them") {
  Place place;
  ModelBuilder m(17);
  m.input("x", {1, 40});
  std::vector<float> weights(1600, 1.0F);
  std::fill(weights.begin(), weights.begin() + 300, -1e-40F);
  std::vector<float> bias(40, -0.0F);
  bias[3] = 1e-39F;
  m.floats("weight\n", {40, 40}, weights).floats("bias", {40}, bias);
  m.node("MatMul", {"x", "weight\n"}, {"p"}).node("Add", {"p", "bias"}, {"y"}).output("y");
  const std::string model = save_explained(place, m);
  const Ran told = place.run_ok({"hearth", "explain", model, "--threads", "1"});
  CHECK_THAT(told.out,
             Contains("301 of 1640 weights are subnormal (weight\\n 300; bias 1): zeros stand in their place"));
  const auto kept = place.json({"hearth", "explain", model, "--threads", "1", "--subnormals", "keep", "--json"});
  CHECK_THAT(kept["notes"].dump(), Contains("kept (--subnormals keep)"));
  const std::string other = two_kernels(place);
  CHECK_THAT(place.run_ok({"hearth", "explain", other, "--threads", "1"}).out, !Contains("subnormal"));
  const Ran wrong = place.run({"hearth", "run", model, "--subnormals", "flush"});
  CHECK(wrong.code == 2);
  CHECK_THAT(wrong.err, Contains("--subnormals"));
}
