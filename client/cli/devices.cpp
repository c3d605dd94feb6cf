// hearth devices: what this machine has that plans are compiled for. Drivers are asked in a child process: one that
// crashes or hangs costs its own lines.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "client/cli/command.h"
#include "client/cli/connect.h"
#include "client/cli/format.h"
#include "client/cli/isolated.h"
#include "client/cli/plan_facts.h"
#include "client/cli/print.h"
#include "command_line/command.h"
#include "runtime/hal/device.h"
#include "runtime/hal/vulkan/vulkan_devices.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds kDriverPatience{20};

Json json_of(const runtime::VulkanDeviceInfo& info) {
  Json json = {{"device", str_cat("vulkan:", info.index)},
               {"name", info.name},
               {"type", info.type},
               {"uuid", hex(info.uuid)},
               {"driver", info.driver},
               {"driver_version", info.driver_version},
               {"api_version", info.api_version},
               {"memory_bytes", info.memory_bytes},
               {"host_visible", info.has_host_visible_memory}};
  if (info.unusable.empty()) {
    json["target"] = target_json(info.target);
  } else {
    json["unusable"] = info.unusable;
  }
  return json;
}

// {"devices": [...]} or {"error": "..."}, as text.
std::string ask_vulkan() {
  const auto devices = runtime::vulkan_devices();
  Json answer;
  if (!devices.ok()) {
    answer["error"] = std::string(devices.status().message());
  } else {
    answer["devices"] = Json::array();
    for (const runtime::VulkanDeviceInfo& info : *devices) answer["devices"].push_back(json_of(info));
    if (devices->empty()) answer["error"] = "the Vulkan loader knows no device; install a driver";
  }
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<Json> vulkan_answer() {
  Json answer;
  const absl::Status ran = run_isolated(
      1, kDriverPatience, [](std::size_t) { return ask_vulkan(); },
      [&](std::size_t, absl::StatusOr<std::string> text) {
        if (text.ok()) answer = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
        if (!text.ok()) answer["error"] = str_cat("a Vulkan driver failed: ", std::string(text.status().message()));
      });
  if (!ran.ok()) return ran;
  return answer;
}

std::string summary_of(const Json& device) {
  if (device.contains("unusable")) return str_cat("cannot be used: ", device["unusable"].get<std::string>());
  std::string text =
      str_cat(device["type"].get<std::string>(), ", ", human_bytes(device["memory_bytes"].get<double>()), ", Vulkan ",
              device["api_version"].get<std::string>(), ", ", device["driver"].get<std::string>());
  const Json& gpu = device["target"]["gpu"];
  str_append(&text, ", subgroups of ", gpu["subgroup_size"].get<std::uint32_t>());
  return text;
}

absl::StatusOr<int> devices(bool json) {
  const absl::StatusOr<Json> vulkan = vulkan_answer();
  if (!vulkan.ok()) return vulkan.status();
  Json all = Json::array();
  for (const char* name : {"cpu", "null"}) {
    const auto device = runtime::find_device(name);
    if (!device.ok()) return device.status();
    all.push_back({{"device", name}, {"target", target_json((*device)->target(0))}});
  }
  if (vulkan->contains("devices")) {
    for (const Json& device : (*vulkan)["devices"]) all.push_back(device);
  }
  if (json) {
    Json answer = {{"devices", all}};
    if (vulkan->contains("error")) answer["vulkan_error"] = (*vulkan)["error"];
    print_json(answer);
    return 0;
  }
  Rows rows = {{"device", "name", "what it is"}};
  const Json& cpu = all[0]["target"];
  rows.push_back({"cpu", cpu.value("triple", ""),
                  str_cat("this machine's processor, ", cpu.value("threads", 0), " threads, vectors of ",
                          cpu.value("vector_bits", 0), " bits")});
  rows.push_back({"null", "-", "records launches, computes nothing"});
  for (std::size_t i = 2; i < all.size(); ++i) rows.push_back({all[i]["device"], all[i]["name"], summary_of(all[i])});
  print_table(rows);
  if (vulkan->contains("error")) note("no Vulkan: ", (*vulkan)["error"].get<std::string>());
  return 0;
}

}  // namespace

void add_devices(CLI::App& app, Action& action) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = command_line::add_command(
      app, "devices", "Show the devices of this machine",
      {.details =
           "With --json each device has its record, which hearth emit and hearth explain take as --target "
           "RECORD.json. The names are what --device of the other commands takes; vulkan alone is the first that "
           "can be used. Starts no daemon.",
       .examples = {{"hearth devices", "Lists the processor and every Vulkan device."},
                    {"hearth run model.onnx --device vulkan:0", "Runs a model on the first of them."}},
       .environment = {{"HEARTH_VULKAN_VALIDATION", "1: Vulkan's validation layer is loaded."}}});
  add_json_to(*command, *json);
  command->callback([json, &action] { action = [json] { return devices(*json); }; });
}

}  // namespace hearth::cli
