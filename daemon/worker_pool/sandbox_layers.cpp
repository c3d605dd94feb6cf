#include "daemon/worker_pool/sandbox_layers.h"

#include <algorithm>
#include <utility>

namespace hearth::daemon {
namespace {

constexpr std::pair<std::string_view, std::string_view> kLost[] = {
    {layer::kSeccomp,
     "a hijacked worker has every system call of the kernel to attack, and may signal other processes"},
    {layer::kLandlock, "only the mount namespace keeps a hijacked worker from the user's files"},
    {layer::kUserNamespace, "the other namespaces need it unless the daemon is root"},
    {layer::kMountNamespace, "only Landlock keeps a hijacked worker from the user's files, and it sees their names"},
    {layer::kPidNamespace, "a hijacked worker sees other processes, and what it starts is hard to end"},
    {layer::kNetworkNamespace, "only seccomp keeps a hijacked worker from the network"},
    {layer::kIpcNamespace, "only seccomp keeps a hijacked worker from shared memory and message queues"},
    {layer::kLimits, "a hijacked worker may use up descriptors, threads and processor time"},
    {layer::kFolder, "a hijacked worker may fill the disk of the temporary folder"},
    {layer::kCgroup, "memory and processes are counted by looking, ten times a second"},
};

}  // namespace

void add_layer(v1::SandboxReport* report, std::string_view name, v1::SandboxLayer::State state,
               std::string_view detail) {
  v1::SandboxLayer& layer = *report->add_layers();
  layer.set_name(std::string(name));
  layer.set_state(state);
  layer.set_detail(std::string(detail));
}

bool has_layer(const v1::SandboxReport& report, std::string_view name) {
  return std::any_of(report.layers().begin(), report.layers().end(), [name](const v1::SandboxLayer& layer) {
    return layer.name() == name &&
           (layer.state() == v1::SandboxLayer::ON || layer.state() == v1::SandboxLayer::PARTIAL);
  });
}

std::string missing_layers(const v1::SandboxReport& report) {
  std::string missing;
  for (const auto& [name, lost] : kLost) {
    if (name == layer::kCgroup || has_layer(report, name)) continue;
    std::string_view why = "it was not reported";
    for (const v1::SandboxLayer& layer : report.layers()) {
      if (layer.name() == name) why = layer.detail();
    }
    if (!missing.empty()) missing += ", ";
    missing += std::string(name) + " (" + std::string(why) + ")";
  }
  return missing;
}

std::string_view what_is_lost(std::string_view name) {
  for (const auto& [known, lost] : kLost) {
    if (known == name) return lost;
  }
  return {};
}

}  // namespace hearth::daemon
