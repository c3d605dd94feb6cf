#include "runtime/hal/cuda/cuda_api.h"

#include <array>
#include <mutex>

#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/hal/stream/stream_error.h"

namespace hearth::runtime {
namespace {

// cuda.h: CUdevice_attribute, CUjit_option.
constexpr int kKernelTimeout = 17, kIntegrated = 18, kComputeMode = 20, kMajor = 75, kMinor = 76, kVirtualMemory = 102,
              kMemoryFiles = 103;
constexpr int kProhibited = 2;
// The driver ends what runs for longer than about two to five seconds on a GPU that draws a screen: half of the least.
constexpr std::uint32_t kScreenInvocationMs = 1000;
constexpr int kJitErrorLog = 5, kJitErrorLogBytes = 6;

// The GPUs that kernels are compiled for, and the version of the driver that takes the PTX which LLVM makes for each
// (PTX ISA, release notes: 6.0, 6.3, 7.0, 7.1, 7.8, 7.8, 8.0).
struct CudaArch {
  const char* name;
  int capability, driver_version;
};
constexpr CudaArch kArchs[] = {{"sm_70", 70, 9000},  {"sm_75", 75, 10000}, {"sm_80", 80, 11000}, {"sm_86", 86, 11010},
                               {"sm_89", 89, 11080}, {"sm_90", 90, 11080}, {"sm_90a", 90, 12000}};

// sm_90a is of that GPU alone.
bool is_of_one_gpu(std::string_view arch) { return arch.ends_with('a'); }

int capability_of(std::string_view arch) {
  for (const CudaArch& known : kArchs) {
    if (arch == known.name) return known.capability;
  }
  return 0;
}

class CudaApi final : public StreamApi {
 public:
  std::string_view title() const override { return "CUDA"; }
  std::string_view name() const override { return "cuda"; }

  absl::Status open() {
    HEARTH_RETURN_IF_ERROR(StreamApi::open({"libcuda.so.1"}, "install the driver of an NVIDIA GPU", "CUDA 11.4 (470)"));
    // A node's structure is the newer entry point's, of which the older one reads what it knows.
    if (!take(attribute_, {"cuDeviceGetAttribute"}) || !take(retain_, {"cuDevicePrimaryCtxRetain"}) ||
        !take(push_, {"cuCtxPushCurrent_v2"}) || !take(pop_, {"cuCtxPopCurrent_v2"}) ||
        !take(load_, {"cuModuleLoadDataEx"}) ||
        !take(add_kernel_, {"cuGraphAddKernelNode_v2", "cuGraphAddKernelNode"}) ||
        !take(error_name_, {"cuGetErrorName"})) {
      return absl::FailedPreconditionError("CUDA's driver lacks entry points of CUDA 11.4, which is needed (470)");
    }
    if (const int error = init(0)) {
      return absl::Status(error == kNoDevice ? absl::StatusCode::kNotFound : code_of_stream_error(error),
                          str_cat("cuInit: ", error_name(error), remedy_of(error)));
    }
    return absl::OkStatus();
  }

  std::string_view entry_name(Entry entry) const override {
    static constexpr const char* kNames[] = {
#define HEARTH_ENTRY_POINT(name, cuda, hip, parameters) cuda,
#include "runtime/hal/stream/entry_points.def"
#undef HEARTH_ENTRY_POINT
        "cuCtxPushCurrent", "cuModuleLoadDataEx", "cuGraphAddKernelNode", "cuDeviceGetAttribute"};
    return kNames[static_cast<std::size_t>(entry)];
  }

  const char* error_name(int error) const override {
    const char* name = nullptr;
    return error_name_(error, &name) == 0 && name != nullptr ? name : "an error that the driver has no name for";
  }

  int enter(int ordinal, void** previous) const override {
    *previous = nullptr;
    void* context = nullptr;
    if (const int error = context_of(ordinal, &context)) return error;
    return push_(context);
  }

  void leave(void* context) const override { pop_(&context); }

  int module_load(void** module, const std::string& code, std::string* log) const override {
    std::array<char, 4096> text = {};
    int options[] = {kJitErrorLog, kJitErrorLogBytes};
    void* values[] = {text.data(), reinterpret_cast<void*>(text.size() - 1)};
    const int error = load_(module, code.c_str(), 2, options, values);
    if (error != 0) *log = text.data();
    return error;
  }

  int graph_add_kernel(void** node, void* graph, const std::vector<void*>& after,
                       const StreamLaunch& launch) const override {
    const void* row = launch.row;
    void* parameters[] = {&row};
    const CudaKernelNode kernel = {
        launch.function, {launch.groups, 1, 1}, {launch.invocations, 1, 1}, 0, parameters, nullptr, nullptr, nullptr};
    return add_kernel_(node, graph, after.data(), after.size(), &kernel);
  }

  absl::Status describe(int ordinal, StreamDeviceInfo& info) const override {
    int device_number = 0, version = 0, major = 0, minor = 0, mode = 0, integrated = 0, timeout = 0;
    int virtual_memory = 0, memory_files = 0;
    int error = device(&device_number, ordinal);
    if (error == 0) error = driver_version(&version);
    for (const auto& [value, number] : {std::pair{&major, kMajor},
                                        {&minor, kMinor},
                                        {&mode, kComputeMode},
                                        {&integrated, kIntegrated},
                                        {&timeout, kKernelTimeout},
                                        {&virtual_memory, kVirtualMemory},
                                        {&memory_files, kMemoryFiles}}) {
      if (error == 0) error = attribute_(value, number, device_number);
    }
    if (error != 0) {
      return absl::Status(code_of_stream_error(error), str_cat("cuDeviceGetAttribute: ", error_name(error)));
    }
    info.driver = "NVIDIA";
    info.api_version = str_cat(version / 1000, ".", version % 1000 / 10);
    if (integrated != 0) info.type = "integrated";
    info.has_host_visible_memory = integrated != 0;
    info.shares_memory = virtual_memory != 0 && memory_files != 0;
    if (timeout != 0) info.target.mutable_gpu()->set_max_invocation_ms(kScreenInvocationMs);
    const int capability = major * 10 + minor;
    for (const CudaArch& arch : kArchs) {
      const bool takes = is_of_one_gpu(arch.name) ? capability == arch.capability : capability >= arch.capability;
      if (takes && version >= arch.driver_version) info.target.set_arch(arch.name);
    }
    if (info.target.arch().empty()) {
      info.unusable = str_cat("it has compute capability ", major, ".", minor, " and a driver for CUDA ",
                              version / 1000, ".", version % 1000 / 10, "; 7.0 and CUDA 11.4 are needed");
    }
    if (mode == kProhibited) info.unusable = "its compute mode prohibits any use (nvidia-smi -c 0)";
    return absl::OkStatus();
  }

  bool runs(std::string_view arch, std::string_view own) const override {
    return arch == own ||
           (!is_of_one_gpu(arch) && capability_of(arch) != 0 && capability_of(arch) <= capability_of(own));
  }

 private:
  static constexpr int kNoDevice = 100;

  // The device's primary context, kept until the process ends.
  int context_of(int ordinal, void** context) const {
    const std::lock_guard lock(mutex_);
    if (contexts_.size() <= static_cast<std::size_t>(ordinal)) contexts_.resize(static_cast<std::size_t>(ordinal) + 1);
    void*& kept = contexts_[static_cast<std::size_t>(ordinal)];
    int device_number = 0, error = 0;
    if (kept == nullptr) error = device(&device_number, ordinal);
    if (kept == nullptr && error == 0) error = retain_(&kept, device_number);
    *context = kept;
    return error;
  }

  int (*attribute_)(int* value, int attribute, int device) = nullptr;
  int (*retain_)(void** context, int device) = nullptr;
  int (*push_)(void* context) = nullptr;
  int (*pop_)(void** context) = nullptr;
  int (*load_)(void** module, const void* image, unsigned num_options, int* options, void** values) = nullptr;
  int (*add_kernel_)(void** node, void* graph, void* const* after, std::size_t num_after,
                     const CudaKernelNode* kernel) = nullptr;
  int (*error_name_)(int error, const char** name) = nullptr;
  mutable std::mutex mutex_;
  mutable std::vector<void*> contexts_;  // by device
};

}  // namespace

absl::StatusOr<const StreamApi*> cuda_api() {
  static CudaApi& api = *new CudaApi;
  static const absl::Status& opened = *new absl::Status(api.open());
  HEARTH_RETURN_IF_ERROR(opened);
  return &api;
}

}  // namespace hearth::runtime
