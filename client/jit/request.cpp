#include "client/jit/request.h"

#include <algorithm>

#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/devices/devices.h"

namespace hearth::client {

absl::StatusOr<std::vector<std::string>> device_names(const std::string& list) {
  std::vector<std::string> names = absl::StrSplit(list, ',');
  for (const std::string& name : names) {
    if (name.empty())
      return absl::InvalidArgumentError(str_cat("'", list, "' names no device; expected one, or several: vulkan,cpu"));
  }
  return names;
}

absl::StatusOr<std::vector<std::string>> devices_in_order(const std::string& list, std::vector<std::string>* moved) {
  absl::StatusOr<std::vector<std::string>> names = device_names(list);
  if (!names.ok()) return names;
  const auto host = std::ranges::find_if(*names, runtime::runs_on_host);
  if (host == names->end()) return names;
  std::stable_partition(names->begin(), host + 1, [&](const std::string& name) {
    if (runtime::runs_on_host(name)) return true;
    const absl::StatusOr<const runtime::Device*> device = runtime::find_device(name);
    const std::string software = device.ok() ? (*device)->software_name() : std::string();
    if (!software.empty() && moved != nullptr)
      moved->push_back(str_cat(name, ": '", software, "' computes on this host's processors, which cpu does faster"));
    return software.empty();
  });
  return names;
}

absl::StatusOr<const runtime::Device*> device_for(const PrepareConfig& config) {
  HEARTH_ASSIGN_OR_RETURN(const std::vector<std::string> names, devices_in_order(config.device, nullptr));
  absl::Status last;
  for (const std::string& name : names) {
    absl::StatusOr<const runtime::Device*> device = runtime::find_device(name);
    if (device.ok()) return device;
    last = device.status();
  }
  return last;
}

absl::StatusOr<v1::Target> target_for(const PrepareConfig& config) {
  HEARTH_ASSIGN_OR_RETURN(const int threads, choose_threads(config.threads));
  HEARTH_ASSIGN_OR_RETURN(const runtime::Device* const device, device_for(config));
  return device->target(threads);
}

// One memory for both, whatever lengths they have in turn. The compiler names outputs and inputs that are not there.
v1::Graph graph_for(const EncodedGraph& traced, const PrepareConfig& config) {
  v1::Graph graph = traced.graph;
  for (const Carried& carried : config.carried) {
    v1::CarriedInput& wire = *graph.add_carried();
    wire.set_output(carried.output);
    wire.set_input(carried.input);
    const Shape *from = nullptr, *to = nullptr;
    for (const v1::GraphOutput& output : graph.outputs()) {
      if (output.name() == carried.output) from = &traced.shapes[output.node()];
    }
    for (int i = 0; i < graph.nodes_size(); ++i) {
      const v1::Node& node = graph.nodes(i);
      if (node.op() == v1::INPUT && node.name() == carried.input) to = &traced.shapes[static_cast<std::size_t>(i)];
    }
    if (from == nullptr || to == nullptr) continue;
    for (std::size_t i = 0; i < std::min(from->size(), to->size()); ++i)
      wire.add_storage(std::max((*from)[i].max(), (*to)[i].max()));
  }
  return graph;
}

}  // namespace hearth::client
