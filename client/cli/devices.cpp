// hearth devices: what this machine has that plans are compiled for. Drivers are asked in a child process: one that
// crashes or hangs costs its own lines.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/status_macros.h"
#include "client/cli/command.h"
#include "client/cli/connect.h"
#include "client/cli/format.h"
#include "client/cli/isolated.h"
#include "client/cli/plan_facts.h"
#include "client/cli/print.h"
#include "command_line/command.h"
#include "runtime/devices/devices.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds kDriverPatience{20};

Json json_of(const runtime::DeviceInfo& info) {
  Json json = {{"device", info.device}};
  if (!info.type.empty()) {
    json["name"] = info.name;
    json["type"] = info.type;
    json["uuid"] = hex(info.uuid);
    json["driver"] = info.driver;
    json["driver_version"] = info.driver_version;
    json["api_version"] = info.api_version;
    json["memory_bytes"] = info.memory_bytes;
    json["host_visible"] = info.has_host_visible_memory;
  }
  if (info.unusable.empty()) {
    json["target"] = target_json(info.target);
  } else {
    json["unusable"] = info.unusable;
  }
  return json;
}

std::string summary_of(const runtime::DeviceInfo& info, std::string_view api) {
  if (!info.unusable.empty()) return str_cat("cannot be used: ", info.unusable);
  if (!info.summary.empty()) return info.summary;
  return str_cat(info.type, ", ", human_bytes(static_cast<double>(info.memory_bytes)), ", ", api, " ", info.api_version,
                 ", ", info.driver, ", subgroups of ", info.target.gpu().subgroup_size());
}

// {"devices": [...], "rows": [[device, name, what it is], ...]} or {"error": "..."}, as text.
std::string ask(const runtime::Driver& driver) {
  const auto devices = driver.devices();
  Json answer;
  if (!devices.ok()) {
    answer["error"] = std::string(devices.status().message());
  } else {
    for (const runtime::DeviceInfo& info : *devices) {
      answer["devices"].push_back(json_of(info));
      answer["rows"].push_back({info.device, info.name.empty() ? "-" : info.name, summary_of(info, driver.title())});
    }
  }
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// What each driver answers, in their order.
absl::StatusOr<std::vector<Json>> answers_of(const std::vector<const runtime::Driver*>& drivers) {
  std::vector<Json> answers(drivers.size());
  const absl::Status ran = run_isolated(
      drivers.size(), kDriverPatience, [&](std::size_t i) { return ask(*drivers[i]); },
      [&](std::size_t i, absl::StatusOr<std::string> text) {
        if (text.ok()) answers[i] = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
        if (!text.ok())
          answers[i]["error"] =
              str_cat("a ", drivers[i]->title(), " driver failed: ", std::string(text.status().message()));
      });
  if (!ran.ok()) return ran;
  return answers;
}

absl::StatusOr<int> devices(bool json) {
  const std::vector<const runtime::Driver*> drivers = runtime::drivers();
  HEARTH_ASSIGN_OR_RETURN(const std::vector<Json> answers, answers_of(drivers));
  Json found = {{"devices", Json::array()}};
  Rows rows = {{"device", "name", "what it is"}};
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < drivers.size(); ++i) {
    const Json& answer = answers[i];
    if (const auto error = answer.find("error"); error != answer.end()) {
      found[str_cat(drivers[i]->name(), "_error")] = *error;
      notes.push_back(str_cat("no ", drivers[i]->title(), ": ", error->get<std::string>()));
      continue;
    }
    for (const Json& device : answer["devices"]) found["devices"].push_back(device);
    for (const Json& row : answer["rows"]) rows.push_back(row.get<std::vector<std::string>>());
  }
  if (json) {
    print_json(found);
    return 0;
  }
  print_table(rows);
  for (const std::string& text : notes) note(text);
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
