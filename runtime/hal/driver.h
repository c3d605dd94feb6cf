// A kind of device, as the CPU or Vulkan: what is known of it where none of its devices is at hand, and which of them
// this machine has. One object a kind, which lives until the process ends; immutable; thread-safe.
// Errors of devices() and find(): NotFound where there is none, with what there is or what to install;
// FailedPrecondition for one that cannot be used, with the reason.
//
//   const Driver* vulkan = find_driver("vulkan:0");   // runtime/devices/devices.h
//   absl::StatusOr<const Device*> device = vulkan->find("0");
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/v1/artifact.pb.h"
#include "runtime/hal/device.h"

namespace hearth::runtime {

// What a kernel's code is, and how a file of it ends.
struct KernelFormat {
  std::string_view name;    // "spirv"
  std::string_view suffix;  // ".spv"
};

// A record that kernels are compiled for on machines that have no such device. The same on every machine and in every
// process of a version, but for those of this host.
struct NamedTarget {
  std::string name;  // "vulkan:lavapipe"
  v1::Target record;
};

// One device, for who looks at a list.
struct DeviceInfo {
  std::string device;                    // as find_device() takes it: "vulkan:0"
  std::string summary;                   // what it is, in a sentence; empty where the fields below say it
  std::string name;                      // as its driver says
  std::string type;                      // "discrete", "integrated", "virtual", "cpu", "other"; empty: none
  std::string uuid;                      // 16 bytes, the same in every process and after a restart
  std::string driver, driver_version;    //
  std::string api_version;               // "1.3.230"
  std::uint64_t memory_bytes = 0;        // of its largest heap of memory of its own
  bool has_host_visible_memory = false;  // all of that can be mapped
  v1::Target target;                     // what plans for it are compiled for
  std::string unusable;                  // why plans cannot run on it; empty: they can
};

class Driver {
 public:
  virtual ~Driver() = default;
  // What v1::Target.device says, and a device's name in front of ':': "vulkan".
  virtual std::string_view name() const = 0;
  // As sentences have it: "Vulkan".
  virtual std::string_view title() const { return name(); }
  // How its devices are named: "vulkan", "vulkan:N". More than one: what is behind ':' is for find().
  virtual std::vector<std::string> forms() const { return {std::string(name())}; }
  // The form of kernels' code.
  virtual KernelFormat format() const = 0;
  // Whether kernels have code; else a plan for it says what would be launched.
  virtual bool has_code() const { return true; }
  // Whether threads of this process run the kernels.
  virtual bool runs_on_host() const { return false; }
  virtual std::vector<NamedTarget> targets() const { return {}; }
  // All of this machine, those that cannot be used too, with the reason.
  virtual absl::StatusOr<std::vector<DeviceInfo>> devices() const = 0;
  // `which`: what is behind ':', or empty for the first that can be used. The device lives until the process ends.
  virtual absl::StatusOr<const Device*> find(std::string_view which) const = 0;
};

}  // namespace hearth::runtime
