// hearth devices: what is there, what a driver says of itself against the record that a name has, and what is not
// there.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/integration/place.h"
#include "tests/support/skip.h"

using namespace hearth::integration;
using Catch::Matchers::Contains;
using Json = nlohmann::json;

namespace {

Json device_named(const Json& answer, const std::string& name) {
  for (const Json& device : answer["devices"]) {
    if (device["device"] == name) return device;
  }
  return {};
}

}  // namespace

TEST_CASE("devices: the processor, null, and Vulkan devices with their records") {
  Place place;
  const Json answer = place.json({"hearth", "devices", "--json"});
  INFO(answer.dump(2));
  CHECK(device_named(answer, "cpu")["target"]["device"] == "cpu");
  CHECK(device_named(answer, "null")["target"]["device"] == "null");
  CHECK(place.daemons().empty());
  const Json vulkan = device_named(answer, "vulkan:0");
  if (vulkan.is_null()) {
    CHECK(answer["vulkan_error"].get<std::string>() != "");
    SKIP_CASE("there is no Vulkan device");
  }
  CHECK(vulkan["uuid"].get<std::string>().size() == 32);
  CHECK(vulkan["memory_bytes"] > 0);
  CHECK_THAT(place.run_ok({"hearth", "devices"}).out, Contains(vulkan["name"].get<std::string>()));
}

TEST_CASE("devices: lavapipe of Debian 12 says of itself what the target vulkan:lavapipe says") {
  Place place;
  const Json answer = place.json({"hearth", "devices", "--json"});
  for (const Json& device : answer["devices"]) {
    if (device.value("driver", "") != "llvmpipe" ||
        device["driver_version"].get<std::string>().rfind("Mesa 22.3", 0) != 0)
      continue;
    const std::string model = (source_dir() / "examples/digits/digits.onnx").string();
    place.run_ok({"hearth", "emit", model, "--target", "vulkan:lavapipe", "--output-dir", place.file("out")});
    const Json named = Json::parse(content(place.file("out") + "/manifest.json"))["target"];
    CHECK(device["target"] == named);
    return;
  }
  SKIP_CASE("this machine has no lavapipe of Mesa 22.3");
}

TEST_CASE("devices: of several the first that can is used, which is said on standard error and in JSON") {
  Place place;
  const std::string model = (source_dir() / "examples/digits/digits.onnx").string();
  const Ran ran = place.run({"hearth", "run", model, "--device", "vulkan:99,cpu", "--json"});
  REQUIRE(ran.code == 0);
  CHECK_THAT(ran.err, Contains("on cpu, because not on vulkan:99: "));
  const Json json = Json::parse(ran.out);
  CHECK(json["device"] == "cpu");
  REQUIRE(json["passed_over"].size() == 1);
  CHECK_THAT(json["passed_over"][0].get<std::string>(), Contains("vulkan:99: "));
  const Ran none = place.run({"hearth", "run", model, "--device", "vulkan:98,vulkan:99"});
  CHECK(none.code == 1);
  CHECK_THAT(none.err, Contains("vulkan:98: ") && Contains("; vulkan:99: "));
  CHECK(place.json({"hearth", "run", model, "--device", "cpu,vulkan", "--json"})["passed_over"].empty());
  // A program that draws on the processors is no reason to leave them.
  const Ran software = place.run({"hearth", "run", model, "--device", "vulkan,cpu", "--json"});
  REQUIRE(software.code == 0);
  const Json chosen = Json::parse(software.out);
  const Json devices = place.json({"hearth", "devices", "--json"})["devices"];
  const auto is_vulkan = [](const Json& d) { return d["device"].get<std::string>().rfind("vulkan", 0) == 0; };
  const auto first = std::find_if(devices.begin(), devices.end(), is_vulkan);
  if (first != devices.end() && (*first)["type"] == "cpu") {
    CHECK(chosen["device"] == "cpu");
    CHECK_THAT(software.err, Contains("computes on this host's processors, which cpu does faster"));
    const Ran alone = place.run({"hearth", "run", model, "--device", "vulkan"});
    CHECK_THAT(alone.err, Contains("which computes on this host's processors: cpu is faster"));
    CHECK_THAT(alone.err, !Contains("hearth-vulkan-trial"));
  }
  for (const char* wrong : {"vulkan,,cpu", "cpu,gpu", ","}) {
    const Ran refused = place.run({"hearth", "run", model, "--device", wrong});
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, Contains("expected"));
  }
}

TEST_CASE("devices: what is compiled ahead for a named target is there for the device that has this record") {
  Place place;
  const std::string model = (source_dir() / "examples/digits/digits.onnx").string();
  place.environment()["VK_ICD_FILENAMES"] = place.file("none.json");  // on a machine without one
  const Json ahead = place.json({"hearth", "prewarm", model, "--target", "vulkan:lavapipe", "--json"})["models"][0];
  CHECK(ahead["compiled_kernels"] == ahead["kernels"]);
  CHECK(place.run({"hearth", "prewarm", model, "--target", "vulkan:lavapip"}).code == 2);
  CHECK(place.run({"hearth", "prewarm", model, "--target", "vulkan:lavapipe", "--tune"}).code == 2);
  const Ran nowhere = place.run({"hearth", "run", model, "--device", "vulkan"});
  CHECK(nowhere.code == 1);
  CHECK_THAT(nowhere.err, Contains("install"));
  place.environment().erase("VK_ICD_FILENAMES");
  const Json answer = place.json({"hearth", "devices", "--json"});
  for (const Json& device : answer["devices"]) {
    if (!device.contains("target") || device["target"].value("arch", "") != "lavapipe") continue;
    const Json run = place.json({"hearth", "run", model, "--device", device["device"], "--json"});
    CHECK(run["compiled_kernels"] == 0);
    CHECK(run["device"] == device["device"]);
    return;
  }
  SKIP_CASE("this machine has no lavapipe");
}

TEST_CASE("devices: a plan file runs on the device of its kind that is named, and on no other") {
  Place place;
  const std::string model = (source_dir() / "examples/digits/digits.onnx").string();
  if (place.run({"hearth", "run", model, "--device", "vulkan"}).code != 0) SKIP_CASE("there is no Vulkan device");
  const std::string plan = place.file("digits.hearth");
  place.run_ok({"hearth", "export", model, "--device", "vulkan", "-o", plan});
  const std::string device = place.json({"hearth", "run", plan, "--json"})["device"];
  CHECK(device.rfind("vulkan:", 0) == 0);
  CHECK(place.json({"hearth", "run", plan, "--device", device, "--json"})["device"] == device);
  const Ran other = place.run({"hearth", "run", plan, "--device", "vulkan:99"});
  CHECK(other.code == 1);
  CHECK_THAT(other.err, Contains(plan) && Contains("'vulkan:99'"));
  CHECK_THAT(place.run({"hearth", "run", plan, "--device", "cpu"}).err, Contains("was compiled when it was exported"));
  place.environment()["VK_ICD_FILENAMES"] = place.file("none.json");
  CHECK_THAT(place.run({"hearth", "run", plan}).err, Contains(plan) && Contains("install"));
}

TEST_CASE("devices: without a driver the others are listed, and it is said what is missing") {
  Place place;
  place.environment()["VK_ICD_FILENAMES"] = place.file("none.json");
  place.environment()["VK_DRIVER_FILES"] = place.file("none.json");
  const Ran ran = place.run({"hearth", "devices"});
  CHECK(ran.code == 0);
  CHECK_THAT(ran.out, Contains("cpu") && Contains("null") && !Contains("vulkan:0"));
  CHECK_THAT(ran.err, Contains("no Vulkan: ") && Contains("install"));
}
