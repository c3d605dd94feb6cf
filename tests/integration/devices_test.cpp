// hearth devices: what is there, what a driver says of itself against the record that a name has, and what is not
// there.
#include <catch2/catch.hpp>

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

TEST_CASE("devices: without a driver the others are listed, and it is said what is missing") {
  Place place;
  place.environment()["VK_ICD_FILENAMES"] = place.file("none.json");
  place.environment()["VK_DRIVER_FILES"] = place.file("none.json");
  const Ran ran = place.run({"hearth", "devices"});
  CHECK(ran.code == 0);
  CHECK_THAT(ran.out, Contains("cpu") && Contains("null") && !Contains("vulkan:0"));
  CHECK_THAT(ran.err, Contains("no Vulkan: ") && Contains("install"));
}
