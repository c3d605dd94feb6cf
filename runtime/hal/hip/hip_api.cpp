#include "runtime/hal/hip/hip_api.h"

#include <array>
#include <cstring>

#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/hal/stream/stream_error.h"

namespace hearth::runtime {
namespace {

// The name of the GPU in hipDeviceProp_t. Where that field is differs between releases, as does the structure's size; its
// text does not: "gfx" and the version, up to ':' or the end, behind the 256 bytes of the product's name.
std::string arch_in(const char* properties, std::size_t size) {
  constexpr std::size_t kNameBytes = 256;
  for (std::size_t i = kNameBytes; i + 8 < size; ++i) {
    if (std::memcmp(properties + i, "gfx", 3) != 0) continue;
    std::size_t end = i + 3;
    while (end < size && properties[end] != 0 && properties[end] != ':') ++end;
    return std::string(properties + i, end - i);
  }
  return "";
}

class HipApi final : public StreamApi {
 public:
  std::string_view title() const override { return "HIP"; }
  std::string_view name() const override { return "hip"; }

  absl::Status open() {
    HEARTH_RETURN_IF_ERROR(
        StreamApi::open({"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"},
                        "install libamdhip64 and the driver of an AMD GPU", "HIP 5.2"));
    if (!take(properties_, {"hipGetDevicePropertiesR0600", "hipGetDeviceProperties"}) ||
        !take(set_device_, {"hipSetDevice"}) || !take(get_device_, {"hipGetDevice"}) ||
        !take(load_, {"hipModuleLoadData"}) || !take(add_kernel_, {"hipGraphAddKernelNode"}) ||
        !take(error_name_, {"hipGetErrorName"})) {
      return absl::FailedPreconditionError("HIP's library lacks entry points of HIP 5.2, which is needed");
    }
    if (const int error = init(0)) {
      const bool has_none = error == kNoDevice || error == kInvalidDevice;
      return absl::Status(
          has_none ? absl::StatusCode::kNotFound : code_of_stream_error(error),
          str_cat("hipInit: ", error_name(error), "; is there an AMD GPU, and may this user open ", "/dev/kfd?"));
    }
    int version = 0;
    takes_file_by_address = driver_version(&version) == 0 && version < kFilesByValue;
    return absl::OkStatus();
  }

  std::string_view entry_name(Entry entry) const override {
    static constexpr const char* kNames[] = {
#define HEARTH_ENTRY_POINT(name, cuda, hip, parameters) hip,
#include "runtime/hal/stream/entry_points.def"
#undef HEARTH_ENTRY_POINT
        "hipSetDevice", "hipModuleLoadData", "hipGraphAddKernelNode", "hipGetDeviceProperties"};
    return kNames[static_cast<std::size_t>(entry)];
  }

  const char* error_name(int error) const override { return error_name_(error); }

  int enter(int ordinal, void** previous) const override {
    int before = 0;
    if (const int error = get_device_(&before)) return error;
    *previous = reinterpret_cast<void*>(static_cast<std::intptr_t>(before));
    return before == ordinal ? 0 : set_device_(ordinal);
  }

  void leave(void* previous) const override {
    set_device_(static_cast<int>(reinterpret_cast<std::intptr_t>(previous)));
  }

  int module_load(void** module, const std::string& code, std::string*) const override {
    return load_(module, code.data());
  }

  int graph_add_kernel(void** node, void* graph, const std::vector<void*>& after,
                       const StreamLaunch& launch) const override {
    const void* row = launch.row;
    void* parameters[] = {&row};
    const HipKernelNode kernel = {{launch.invocations, 1, 1}, nullptr,    launch.function,
                                  {launch.groups, 1, 1},      parameters, 0};
    return add_kernel_(node, graph, after.data(), after.size(), &kernel);
  }

  absl::Status describe(int ordinal, StreamDeviceInfo& info) const override {
    std::array<char, 16384> properties = {};  // of the largest release so far: 1,472 bytes
    int version = 0;
    int error = driver_version(&version);
    if (error == 0) error = properties_(properties.data(), ordinal);
    if (error != 0) {
      return absl::Status(code_of_stream_error(error), str_cat("hipGetDeviceProperties: ", error_name(error)));
    }
    info.driver = "AMD";
    info.api_version = str_cat(version / 10'000'000, ".", version / 100'000 % 100);
    info.shares_memory = version >= kMemoryFiles;
    info.target.set_arch(arch_in(properties.data(), properties.size()));
    if (info.target.arch().empty()) info.unusable = "the library does not say what kind of GPU it is";
    return absl::OkStatus();
  }

  // A generic one's code runs on all of its family.
  bool runs(std::string_view arch, std::string_view own) const override {
    if (arch == own) return true;
    for (const std::string_view family : {"gfx11", "gfx12"}) {
      if (arch == str_cat(family, "-generic")) return own.starts_with(family);
    }
    return false;
  }

 private:
  static constexpr int kNoDevice = 100, kInvalidDevice = 101;
  // HIP releases: memory's properties had another shape in the first, and descriptors were passed by address.
  static constexpr int kMemoryFiles = 60'000'000, kFilesByValue = 70'100'000;

  int (*properties_)(void* properties, int device) = nullptr;
  int (*set_device_)(int device) = nullptr;
  int (*get_device_)(int* device) = nullptr;
  int (*load_)(void** module, const void* image) = nullptr;
  int (*add_kernel_)(void** node, void* graph, void* const* after, std::size_t num_after,
                     const HipKernelNode* kernel) = nullptr;
  const char* (*error_name_)(int error) = nullptr;
};

}  // namespace

absl::StatusOr<const StreamApi*> hip_api() {
  static HipApi& api = *new HipApi;
  static const absl::Status& opened = *new absl::Status(api.open());
  HEARTH_RETURN_IF_ERROR(opened);
  return &api;
}

}  // namespace hearth::runtime
