// hearth tune, end to end: what one process has the daemon find, every later one gets.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/integration/place.h"
#include "tests/support/skip.h"
#include "tests/unit/onnx/model_builder.h"

using namespace hearth::integration;

namespace {

// relu(x·w): w is a parameter. `before`: another kernel stands before it, and everything has another name.
std::string tuned_model(const Place& place, const std::string& name, bool before) {
  hearth::onnx::ModelBuilder m(17);
  std::vector<float> weights(33 * 40);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 17) / 16 - 0.5f;
  m.input("x", {24, 33}).floats("w" + name, {33, 40}, weights);
  if (before) m.input("a", {7, 5}).node("Exp", {"a"}, {"b"}).output("b");
  m.node("MatMul", {"x", "w" + name}, {"p" + name}).node("Relu", {"p" + name}, {"y"}).output("y");
  return place.write(name + ".onnx", m.proto().SerializeAsString());
}

struct Run {
  nlohmann::json json;
  std::vector<float> y;
};

Run run(Place& place, const std::string& path, const std::string& folder) {
  Run result;
  result.json = place.json({"hearth", "run", path, "--threads", "1", "--output-dir", place.file(folder), "--json"});
  for (const auto& output : result.json["outputs"]) {
    if (output["name"] != "y") continue;
    const std::string bytes = content(output["file"].get<std::string>());
    const std::size_t data = bytes.size() - 24 * 40 * sizeof(float);
    result.y.resize(24 * 40);
    std::memcpy(result.y.data(), bytes.data() + data, result.y.size() * sizeof(float));
  }
  return result;
}

// The one kernel that multiplies.
nlohmann::json product_of(Place& place, const std::string& path) {
  const auto explained = place.json({"hearth", "explain", path, "--threads", "1", "--json"});
  for (const auto& kernel : explained["kernels"]) {
    if (kernel["symbol"].get<std::string>().find("hearth_r_") == 0) return kernel;
  }
  throw std::runtime_error("no kernel with a reduction");
}

void check_close(const std::vector<float>& got, const std::vector<float>& wanted) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) REQUIRE(std::abs(got[i] - wanted[i]) <= 1e-5f);
}

}  // namespace

TEST_CASE("tune: the kernel that was found is in every later plan, and computes the same") {
  Place place;
  place.environment()["HEARTH_WORKER"] = (bin_dir() / "hearth-scripted-worker").string();
  const std::string first = tuned_model(place, "first", false), second = tuned_model(place, "second", true);
  const Run before = run(place, first, "before"), other_before = run(place, second, "other_before");
  REQUIRE_FALSE(product_of(place, first)["tuned"].get<bool>());
  const std::string heuristic = product_of(place, first)["opts"];

  const auto tuned = place.json({"hearth", "tune", first, "--threads", "1", "--budget", "60", "--json"});
  INFO(tuned.dump(2));
  const auto& kernel = tuned["kernels"][0];
  CHECK(kernel["outcome"] == "tuned");
  CHECK(kernel["heuristic"] == heuristic);
  CHECK(kernel["best"] != heuristic);
  CHECK(kernel["best"].get<std::string>().find(", 2)") != std::string::npos);
  CHECK(kernel["speedup"] == 2);
  // Those that crash lose only themselves; all others that were run computed the same.
  CHECK(kernel["failed_candidates"].get<int>() == place.stats()["worker_crashes"].get<int>());
  CHECK(kernel["failed_candidates"] > 0);
  CHECK(kernel["candidates"] > kernel["failed_candidates"].get<int>() + 5);

  const Run after = run(place, first, "after"), other_after = run(place, second, "other_after");
  CHECK(after.json["plan_key"] != before.json["plan_key"]);
  CHECK(other_after.json["plan_key"] != other_before.json["plan_key"]);
  CHECK(product_of(place, first)["opts"] == kernel["best"]);
  CHECK(product_of(place, second)["opts"] == kernel["best"]);
  CHECK(product_of(place, second)["tuned"].get<bool>());
  CHECK(other_after.json["cache_hits"] > 0);  // the product was compiled for the first model, exp long ago
  check_close(after.y, before.y);
  check_close(other_after.y, other_before.y);

  place.stop_daemon();
  const Run restarted = run(place, first, "restarted");
  CHECK(restarted.json["plan_key"] == after.json["plan_key"]);
  CHECK(restarted.json["compiled_kernels"] == 0);
  CHECK(std::memcmp(restarted.y.data(), after.y.data(), after.y.size() * sizeof(float)) == 0);
  CHECK(place.json({"hearth", "tune", first, "--threads", "1", "--json"})["kernels"][0]["outcome"] == "tuned before");

  const std::string kept = place.run_ok({"hearth", "cache", "clear"}).out;
  CHECK(kept.find("tuning records kept; --tuning removes them too") != std::string::npos);
  CHECK(run(place, first, "recompiled").json["plan_key"] == after.json["plan_key"]);
  CHECK(place.json({"hearth", "cache", "clear", "--tuning", "--json"})["kept_tuning"] == 0);
  CHECK(run(place, first, "forgotten").json["plan_key"] == before.json["plan_key"]);
}

TEST_CASE("tune: on a Vulkan device this process times the candidates; what is found computes the same") {
  Place place;
  const auto devices = place.json({"hearth", "devices", "--json"});
  const auto is_vulkan = [](const nlohmann::json& d) { return d["device"].get<std::string>().rfind("vulkan", 0) == 0; };
  const auto found = std::find_if(devices["devices"].begin(), devices["devices"].end(), is_vulkan);
  if (found == devices["devices"].end()) SKIP_CASE("there is no Vulkan device");
  const std::string device = (*found)["device"], model = tuned_model(place, "first", false);
  const auto run_there = [&](const std::string& folder) {
    Run result;
    result.json =
        place.json({"hearth", "run", model, "--device", device, "--output-dir", place.file(folder), "--json"});
    const std::string bytes = content(result.json["outputs"][0]["file"].get<std::string>());
    result.y.resize(24 * 40);
    std::memcpy(result.y.data(), bytes.data() + bytes.size() - 24 * 40 * sizeof(float), 24 * 40 * sizeof(float));
    return result;
  };
  const Run before = run_there("before");
  const auto tuned = place.json({"hearth", "tune", model, "--device", device, "--budget", "20", "--json"});
  INFO(tuned.dump(2));
  const auto& kernel = tuned["kernels"][0];
  CHECK(kernel["candidates"] > 3);
  CHECK(kernel["failed_candidates"] == 0);
  CHECK(kernel["heuristic_us"] > 0);
  const std::string outcome = kernel["outcome"];
  CHECK((outcome == "tuned" || outcome == "heuristic kept" || outcome == "unfinished"));
  const Run after = run_there("after");
  CHECK(after.json["compiled_kernels"] == 0);  // prepared by tune
  CHECK((after.json["plan_key"] != before.json["plan_key"]) == (outcome == "tuned"));
  check_close(after.y, before.y);
}

TEST_CASE("tune: every other model stays prewarmed, sealed too; only plans with the kernel change") {
  Place place;
  place.environment()["HEARTH_WORKER"] = (bin_dir() / "hearth-scripted-worker").string();
  hearth::onnx::ModelBuilder exp(17), wide(17);
  exp.input("x", {9, 31}).node("Exp", {"x"}, {"y"}).output("y");
  wide.input("x", {50, 21}).floats("w", {21, 12}, std::vector<float>(252, 0.25F));
  wide.node("MatMul", {"x", "w"}, {"y"}).output("y");
  // Each with a product of 24 x 33 x 40, or with none.
  const std::vector<std::string> models = {tuned_model(place, "first", false), tuned_model(place, "second", true),
                                           place.write("exp.onnx", exp.proto().SerializeAsString()),
                                           place.write("wide.onnx", wide.proto().SerializeAsString())};
  const auto prewarm = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> words = {"hearth", "prewarm", "--threads", "1"};
    words.insert(words.end(), flags.begin(), flags.end());
    words.insert(words.end(), models.begin(), models.end());
    return place.run(words);
  };
  const auto run_sealed = [&] {
    place.environment()["HEARTH_SEALED"] = "1";
    std::vector<std::string> keys;
    for (const std::string& model : models) {
      const Ran ran = place.run({"hearth", "run", model, "--threads", "1", "--json"});
      INFO(ran.err);
      CHECK(ran.code == 0);
      keys.push_back(ran.code == 0 ? nlohmann::json::parse(ran.out)["plan_key"].get<std::string>() : ran.err);
    }
    place.environment().erase("HEARTH_SEALED");
    return keys;
  };
  CHECK(prewarm({}).code == 0);
  CHECK(prewarm({"--sealed"}).code == 0);
  const std::vector<std::string> before = run_sealed();
  const auto tuned = place.json({"hearth", "tune", models[0], "--threads", "1", "--budget", "60", "--json"});
  INFO(tuned.dump(2));
  REQUIRE(tuned["kernels"][0]["outcome"] == "tuned");
  CHECK(tuned["prepared"]["compiled_kernels"] > 0);
  CHECK(tuned["other_plans"] == 1);  // the second model's

  const Ran sealed = prewarm({"--sealed"});
  INFO(sealed.err);
  CHECK(sealed.code == 0);
  const std::vector<std::string> after = run_sealed();
  CHECK(after[0] != before[0]);
  CHECK(after[1] == before[1]);  // as it was, since nothing is compiled
  CHECK(after[2] == before[2]);
  CHECK(after[3] == before[3]);

  place.stop_daemon();  // what plans read is found on the disk
  CHECK(run_sealed() == after);
  place.stop_daemon();
  place.environment()["HEARTH_SEALED_PLANS"] = "newest";
  const Ran newest = prewarm({"--sealed"});
  INFO(newest.err);
  CHECK(newest.code == 1);
  CHECK(newest.err.find("1 of 4 models failed") != std::string::npos);
  CHECK(newest.err.find("second.onnx") != std::string::npos);
  CHECK(newest.err.find("the nearest of this model differs in tuning") != std::string::npos);
  CHECK(prewarm({}).code == 0);
  CHECK(prewarm({"--sealed"}).code == 0);
  const std::vector<std::string> again = run_sealed();
  CHECK(again[1] != before[1]);
  CHECK((again[0] == after[0] && again[2] == before[2] && again[3] == before[3]));
}

TEST_CASE("tune: with the real clock every candidate that is run computes what the heuristic's kernel does") {
  Place place;
  const std::string path = tuned_model(place, "real", false);
  // Enough for a busy machine under sanitizers, too: the search ends when it is done.
  const nlohmann::json kernel =
      place.json({"hearth", "tune", path, "--threads", "2", "--budget", "240", "--json"})["kernels"][0];
  INFO(kernel.dump(2));
  const std::string outcome = kernel["outcome"];
  CHECK((outcome == "tuned" || outcome == "heuristic kept"));
  CHECK(kernel["candidates"] > 0);
  CHECK(kernel["heuristic_us"] > 0);
  CHECK(place.stats()["worker_crashes"] == 0);
  const Ran refused = place.run({"hearth", "tune", path, "--device", "null"});
  CHECK(refused.code == 1);
  CHECK(refused.err.find("null") != std::string::npos);
}
