#include "client/cli/sandbox_text.h"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

const char* state_text(v1::SandboxLayer::State state) {
  switch (state) {
    case v1::SandboxLayer::ON:
      return "on";
    case v1::SandboxLayer::PARTIAL:
      return "partial";
    case v1::SandboxLayer::OFF:
      return "off";
    default:
      return "unknown";
  }
}

Json layers_json(const v1::SandboxReport& report) {
  Json layers = Json::array();
  for (const v1::SandboxLayer& layer : report.layers())
    layers.push_back({{"layer", layer.name()}, {"state", state_text(layer.state())}, {"detail", layer.detail()}});
  return layers;
}

std::string listed(const std::set<std::string>& names, const char* before) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? before : ", ") + name;
  return text;
}

}  // namespace

// Both kinds of workers together: what either lacks is lacking.
std::string sandbox_text(const v1::StatsResponse& stats) {
  if (stats.sandbox() == "off") return "off";
  std::set<std::string> all, off, partial;
  for (const v1::SandboxReport* report : {&stats.worker_sandbox(), &stats.blob_worker_sandbox()}) {
    for (const v1::SandboxLayer& layer : report->layers()) {
      all.insert(layer.name());
      if (layer.state() == v1::SandboxLayer::PARTIAL) partial.insert(layer.name());
      if (layer.state() == v1::SandboxLayer::OFF) off.insert(layer.name());
    }
  }
  for (const std::string& name : off) partial.erase(name);
  if (all.empty()) return stats.sandbox() + ": no worker has started yet";
  return stats.sandbox() + ": " + std::to_string(all.size() - off.size()) + " of " + std::to_string(all.size()) +
         " layers" + listed(off, "; without ") + listed(partial, "; in part ");
}

Json sandbox_json(const v1::StatsResponse& stats) {
  return {{"setting", stats.sandbox()},
          {"workers", layers_json(stats.worker_sandbox())},
          {"blob_workers", layers_json(stats.blob_worker_sandbox())}};
}

}  // namespace hearth::cli
