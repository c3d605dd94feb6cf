// The layers of a worker's sandbox: their names, in the order in which they are reported, and those that the setting
// `sandbox = required` insists on. docs/security.md says what each denies. Stateless, thread-safe. Example:
//   add_layer(&report, layer::kSeccomp, v1::SandboxLayer::OFF, "this kernel has no seccomp");
//   if (std::string missing = missing_layers(report); !missing.empty()) refuse(missing);
#pragma once
#include <string>
#include <string_view>

#include "hearth/v1/sandbox.pb.h"

namespace hearth::daemon {

namespace layer {
inline constexpr char kSeccomp[] = "seccomp";
inline constexpr char kLandlock[] = "landlock";
inline constexpr char kUserNamespace[] = "user_ns";
inline constexpr char kMountNamespace[] = "mount_ns";
inline constexpr char kPidNamespace[] = "pid_ns";
inline constexpr char kNetworkNamespace[] = "network_ns";
inline constexpr char kIpcNamespace[] = "ipc_ns";
inline constexpr char kLimits[] = "limits";
inline constexpr char kFolder[] = "folder";  // the private folder's size
inline constexpr char kCgroup[] = "cgroup";  // the only one that is not required
}  // namespace layer

// The layers that a worker enters by itself; the daemon adds what it looks after from outside.
inline constexpr const char* kWorkerLayers[] = {layer::kSeccomp,        layer::kLandlock,     layer::kUserNamespace,
                                                layer::kMountNamespace, layer::kPidNamespace, layer::kNetworkNamespace,
                                                layer::kIpcNamespace,   layer::kLimits};

void add_layer(v1::SandboxReport* report, std::string_view name, v1::SandboxLayer::State state,
               std::string_view detail = {});

// True where it is on, or a part of it.
bool has_layer(const v1::SandboxReport& report, std::string_view name);

// "pid_ns (Operation not permitted), landlock (…)": the required layers that are off, with the reason; empty: none.
std::string missing_layers(const v1::SandboxReport& report);

// What is lost where a layer is off, in half a sentence for the log: "its processes can outlive it …".
std::string_view what_is_lost(std::string_view name);

}  // namespace hearth::daemon
