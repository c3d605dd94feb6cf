// Start-up storms: sealed clients and daemons, what prewarm covers, and why a plan is not found.
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/integration/place.h"
#include "tests/support/eventually.h"
#include "tests/unit/onnx/model_builder.h"

namespace hearth::integration {
namespace {

using Catch::Matchers::Contains;
using Json = nlohmann::json;

std::string digits_model() { return (source_dir() / "examples/digits/digits.onnx").string(); }

std::string relu_of_length(const Place& place, const std::string& name, std::int64_t length) {
  onnx::ModelBuilder m(17);
  m.input("x", {length}).node("Relu", {"x"}, {"y"}).output("y");
  return place.write(name, m.proto().SerializeAsString());
}

}  // namespace

TEST_CASE("sealed: what is not in the cache is an error that says what is missing, and nothing is compiled") {
  Place place;
  const auto sealed = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"hearth", "run", digits_model(), "--sealed"});
    return place.run(more);
  };
  const Ran cold = sealed({"--threads", "1"});
  CHECK(cold.code == 1);
  CHECK_THAT(cold.err, Contains("sealed: nothing is compiled") && Contains("and 1 thread is not in") &&
                           Contains("no plan of this model is") && Contains("hearth prewarm"));
  CHECK(place.stats()["kernels_compiled"] == 0);
  place.run_ok({"hearth", "prewarm", digits_model(), "--threads", "1"});
  const int compiled = place.stats()["kernels_compiled"];
  CHECK(sealed({"--threads", "1"}).code == 0);
  const Ran others = sealed({"--threads", "2"});
  CHECK(others.code == 1);
  CHECK_THAT(others.err, Contains("the nearest of this model differs in target.threads (2 here, 1 there)"));
  CHECK(place.stats()["kernels_compiled"] == compiled);
  place.environment()["HEARTH_SEALED"] = "1";
  CHECK(place.run({"hearth", "run", digits_model(), "--threads", "2"}).code == 1);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"explain"}, {"emit", "--output-dir", place.file("out")}, {"tune"}}) {
    std::vector<std::string> all = {"hearth", words[0], digits_model(), "--threads", "2"};
    all.insert(all.end(), words.begin() + 1, words.end());
    const Ran ran = place.run(all);
    INFO(words[0] << ": " << ran.err);
    CHECK(ran.code != 0);
    CHECK_THAT(ran.err, Contains("sealed") || Contains("HEARTH_SEALED"));
  }
  CHECK(place.stats()["kernels_compiled"] == compiled);
  CHECK(place.run({"hearth", "explain", digits_model(), "--threads", "1"}).code == 0);
  CHECK(place.run({"hearth", "run", digits_model(), "--threads", "2", "--no-sealed"}).code == 0);
}

TEST_CASE("sealed: a sealed daemon compiles for nobody and goes on serving what it has") {
  Place place;
  place.run_ok({"hearth", "prewarm", digits_model(), "--threads", "1"});
  place.stop_daemon();
  place.environment()["HEARTH_SEALED_CACHE"] = "true";  // of the daemon that is started now
  place.run_ok({"hearth", "daemon", "start"});
  place.environment().erase("HEARTH_SEALED_CACHE");
  CHECK(place.run({"hearth", "run", digits_model(), "--threads", "1"}).code == 0);
  const std::string model = relu_of_length(place, "m.onnx", 8);
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"hearth", "run", model}, {"hearth", "tune", model, "--budget", "1"}, {"hearth", "explain", model}}) {
    const Ran ran = place.run(words);
    INFO(words[1] << ": " << ran.err);
    CHECK(ran.code == 1);
    CHECK_THAT(ran.err, Contains("sealed"));
  }
  CHECK(place.run({"hearth", "explain", model, "--why-miss"}).code == 3);
  CHECK(place.stats()["kernels_compiled"] == 0);
}

TEST_CASE("explain --why-miss names what differs from the nearest plan, and compiles nothing") {
  Place place;
  const auto why = [&](const std::string& threads) {
    return place.run({"hearth", "explain", digits_model(), "--why-miss", "--threads", threads, "--json"});
  };
  CHECK(why("1").code == 3);
  CHECK(place.stats()["kernels_compiled"] == 0);
  place.run_ok({"hearth", "prewarm", digits_model(), "--threads", "1"});
  const Ran hit = why("1"), miss = why("4");
  CHECK(hit.code == 0);
  CHECK(Json::parse(hit.out)["plan_cached"] == true);
  CHECK(miss.code == 3);
  CHECK(Json::parse(miss.out)["miss"]["differing_parts"] == Json({"target.threads"}));
  const Ran text = place.run({"hearth", "explain", digits_model(), "--why-miss", "--threads", "4"});
  CHECK_THAT(text.out, Contains("is not in the cache") && Contains("target.threads"));
}

TEST_CASE("prewarm --report says what is covered, and sealed it is the gate of a rollout") {
  Place place;
  const std::string small = relu_of_length(place, "small.onnx", 8), large = relu_of_length(place, "large.onnx", 64),
                    broken = place.write("broken.onnx", "no model"), receipt = place.file("receipt.json");
  const auto prewarm = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"hearth", "prewarm", "--threads", "1,2", "--jobs", "3", "--report", receipt});
    return place.run(more);
  };
  const Ran gate = prewarm({small, large, "--sealed"});
  CHECK(gate.code == 1);
  Json report = Json::parse(content(receipt));
  CHECK(report["complete"] == false);
  CHECK(report["missing"].size() == 4);
  REQUIRE(prewarm({small, large}).code == 0);
  report = Json::parse(content(receipt));
  CHECK(report["complete"] == true);
  CHECK(report["models"] == 2);
  REQUIRE(report["covered"].size() == 4);
  for (const Json& plan : report["covered"]) {
    CHECK(plan["plan_key"].get<std::string>().size() == 64);
    CHECK(plan["sha256"].get<std::string>().size() == 64);
    CHECK((plan["threads"] == 1 || plan["threads"] == 2));
    CHECK(plan["target"]["device"] == "cpu");
  }
  CHECK(prewarm({small, large, "--sealed"}).code == 0);
  CHECK(prewarm({small, broken}).code == 1);
  report = Json::parse(content(receipt));
  CHECK(report["complete"] == false);
  CHECK(report["missing"][0]["model"] == broken);
}

TEST_CASE("prewarm that is killed goes on where it was") {
  Place place;
  std::vector<std::string> words = {"hearth", "prewarm", "--threads", "1", "--json", "--jobs", "2"};
  for (int i = 0; i < 40; ++i) words.push_back(relu_of_length(place, "m" + std::to_string(i) + ".onnx", 8 + i));
  {
    place.run_ok({"hearth", "daemon", "start"});
    Process first = place.start(words);
    REQUIRE(hearth::test::eventually([&] { return place.stats()["kernels_compiled"] >= 5; }));
    ::kill(first.pid(), SIGKILL);
    CHECK(first.wait().code == -SIGKILL);
  }
  const Json second = place.json(words);
  CHECK(second["failures"] == 0);
  int compiled = 0;
  for (const Json& model : second["models"]) compiled += model["compiled_kernels"].get<int>();
  CHECK(compiled <= 35);
  CHECK(place.stats()["kernels_compiled"] == 40);
}

}  // namespace hearth::integration
