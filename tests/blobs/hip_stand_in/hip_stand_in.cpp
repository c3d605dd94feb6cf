// A stand-in for the HIP runtime, to be preloaded (LD_PRELOAD) where there is no AMD GPU: host code of HIP programs
// runs, launches are recorded instead of done, device memory is host memory. See event_log.h for where it records.
//
// HIP_STAND_IN_ARCH is the device it plays (default gfx942): a kernel without code for it is refused, as on a device.
// Launches are checked as the runtime checks them and their arguments are copied by the sizes in the kernel's metadata.
// Thread-safe. Events: fat_binary (entries), function (name), launch (kernel, grid, block, shared_bytes, stream,
// arguments in hexadecimal; or refused with the error), malloc, free, memcpy, memset.
#include <hip/hip_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <vector>

#include "code_object.h"
#include "event_log.h"

namespace hip_stand_in {
namespace {

using nlohmann::json;

constexpr unsigned kFatBinaryMagic = 0x48495046;  // "HIPF"
constexpr unsigned kMostThreads = 1024;
// A registered binary does not say its length; this bounds what a broken one makes us read.
constexpr std::size_t kMostBytes = std::size_t{1} << 31;

struct FatBinaryWrapper {
  unsigned magic;
  unsigned version;
  const void* binary;
  void* unused;
};

struct Module {
  bool has_code = false;  // for the device that is played
  KernelArguments kernels;
};

struct Function {
  std::string name;
  const Module* module = nullptr;
};

struct CallConfiguration {
  dim3 grid, block;
  std::size_t shared_bytes;
  hipStream_t stream;
};

struct State {
  std::mutex mutex;
  std::unordered_map<const void*, Function> functions;
  std::unordered_map<void*, std::size_t> allocations;
};
// Never destroyed: programs unregister their binaries after static objects are gone.
State& state() {
  static State* const state = new State;
  return *state;
}
thread_local std::vector<CallConfiguration> configurations;
thread_local hipError_t last_error = hipSuccess;

hipError_t result(hipError_t error) {
  if (error != hipSuccess) last_error = error;
  return error;
}

std::string arch() {
  const char* name = std::getenv("HIP_STAND_IN_ARCH");
  return name == nullptr || *name == '\0' ? "gfx942" : name;
}

// Whether code for `target` ("gfx90a:xnack-") runs on the device: same processor, and no feature that differs.
bool runs_here(const std::string& target) { return target.substr(0, target.find(':')) == arch(); }

std::string hexadecimal(const void* bytes, std::size_t size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < size; ++i) {
    const unsigned char byte = static_cast<const unsigned char*>(bytes)[i];
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

json sizes(dim3 size) { return {size.x, size.y, size.z}; }

hipError_t check_launch(const Function* function, dim3 grid, dim3 block) {
  if (function == nullptr) return hipErrorInvalidDeviceFunction;
  if (!function->module->has_code) return hipErrorNoBinaryForGpu;
  if (!function->module->kernels.contains(function->name)) return hipErrorInvalidDeviceFunction;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0)
    return hipErrorInvalidConfiguration;
  if (static_cast<unsigned long>(block.x) * block.y * block.z > kMostThreads) return hipErrorInvalidConfiguration;
  return hipSuccess;
}

hipError_t launch(const void* host_function, dim3 grid, dim3 block, void** arguments, std::size_t shared_bytes,
                  hipStream_t stream) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().functions.find(host_function);
  const Function* function = found == state().functions.end() ? nullptr : &found->second;
  const hipError_t error = check_launch(function, grid, block);
  json event = {{"event", "launch"},
                {"kernel", function != nullptr ? function->name : ""},
                {"grid", sizes(grid)},
                {"block", sizes(block)},
                {"shared_bytes", shared_bytes},
                {"stream", reinterpret_cast<std::uintptr_t>(stream)}};
  if (error != hipSuccess) {
    event["refused"] = hipGetErrorName(error);
  } else {
    json bytes = json::array();
    for (const std::size_t size : function->module->kernels.at(function->name)) {
      bytes.push_back(hexadecimal(arguments[bytes.size()], size));
    }
    event["arguments"] = bytes;
  }
  log_event(event);
  return result(error);
}

Module* registered(const FatBinaryWrapper& wrapper) {
  auto* module = new Module;  // lives as long as the program, like its code
  std::string error;
  json targets = json::array();
  std::size_t bytes = 0;
  const bool known = wrapper.magic == kFatBinaryMagic && wrapper.binary != nullptr;
  if (!known) error = "the wrapper of a fat binary has no HIPF magic";
  for (const BundleEntry& entry :
       known ? read_bundle(wrapper.binary, kMostBytes, &error) : std::vector<BundleEntry>{}) {
    targets.push_back(entry.id);
    const auto end =
        static_cast<std::size_t>(entry.data - static_cast<const unsigned char*>(wrapper.binary)) + entry.size;
    bytes = end > bytes ? end : bytes;
    if (entry.size == 0 || !runs_here(target_of(entry.id))) continue;
    module->has_code = true;
    module->kernels = read_kernels(entry.data, entry.size, &error);
  }
  json event = {{"event", "fat_binary"}, {"size", bytes}, {"entries", targets}};
  if (!error.empty()) event["error"] = error;
  log_event(event);
  return module;
}

// Whether `size` bytes from `pointer` are inside one allocation, or in memory that is none of ours.
bool inside(const void* pointer, std::size_t size) {
  const std::lock_guard lock(state().mutex);
  const auto at = reinterpret_cast<std::uintptr_t>(pointer);
  for (const auto& [start, length] : state().allocations) {
    const auto begin = reinterpret_cast<std::uintptr_t>(start);
    if (at >= begin && at < begin + length) return size <= begin + length - at;
  }
  return true;
}

hipError_t copy(void* to, const void* from, std::size_t size, hipMemcpyKind kind) {
  if (size != 0 && (to == nullptr || from == nullptr)) return result(hipErrorInvalidValue);
  if (!inside(to, size) || !inside(from, size)) return result(hipErrorInvalidValue);
  log_event({{"event", "memcpy"}, {"size", size}, {"kind", static_cast<int>(kind)}});
  if (size != 0) std::memmove(to, from, size);
  return hipSuccess;
}

hipError_t fill(void* to, int value, std::size_t size) {
  if (size != 0 && (to == nullptr || !inside(to, size))) return result(hipErrorInvalidValue);
  log_event({{"event", "memset"}, {"size", size}, {"value", value}});
  if (size != 0) std::memset(to, value, size);
  return hipSuccess;
}

}  // namespace
}  // namespace hip_stand_in

using namespace hip_stand_in;  // what follows is the runtime's own interface

extern "C" {

void** __hipRegisterFatBinary(const void* data) {
  return reinterpret_cast<void**>(registered(*static_cast<const FatBinaryWrapper*>(data)));
}
void __hipUnregisterFatBinary(void**) {}

void __hipRegisterFunction(void** modules, const void* host_function, char*, const char* device_name, unsigned, void*,
                           void*, dim3*, dim3*, int*) {
  log_event({{"event", "function"}, {"name", device_name}});
  const std::lock_guard lock(state().mutex);
  state().functions[host_function] = {device_name, reinterpret_cast<const Module*>(modules)};
}
void __hipRegisterVar(void**, void*, char*, char*, int, std::size_t, int, int) {}
void __hipRegisterManagedVar(void*, void**, void*, const char*, std::size_t, unsigned) {}

hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes, hipStream_t stream) {
  configurations.push_back({grid, block, shared_bytes, stream});
  return hipSuccess;
}
hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes, hipStream_t* stream) {
  if (configurations.empty()) return result(hipErrorMissingConfiguration);
  const CallConfiguration& top = configurations.back();
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *stream = top.stream;
  configurations.pop_back();
  return hipSuccess;
}

hipError_t hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared_bytes,
                           hipStream_t stream) {
  return launch(function, grid, block, arguments, shared_bytes, stream);
}

hipError_t hipGetLastError() { return std::exchange(last_error, hipSuccess); }
hipError_t hipPeekAtLastError() { return last_error; }

const char* hipGetErrorName(hipError_t error) {
  switch (error) {
    case hipSuccess:
      return "hipSuccess";
    case hipErrorInvalidValue:
      return "hipErrorInvalidValue";
    case hipErrorOutOfMemory:
      return "hipErrorOutOfMemory";
    case hipErrorInvalidConfiguration:
      return "hipErrorInvalidConfiguration";
    case hipErrorMissingConfiguration:
      return "hipErrorMissingConfiguration";
    case hipErrorInvalidDeviceFunction:
      return "hipErrorInvalidDeviceFunction";
    case hipErrorInvalidDevice:
      return "hipErrorInvalidDevice";
    case hipErrorNoBinaryForGpu:
      return "hipErrorNoBinaryForGpu";
    default:
      return "hipErrorUnknown";
  }
}
const char* hipGetErrorString(hipError_t error) { return hipGetErrorName(error); }

hipError_t hipGetDeviceCount(int* count) {
  if (count == nullptr) return result(hipErrorInvalidValue);
  *count = 1;
  return hipSuccess;
}
hipError_t hipGetDevice(int* device) {
  if (device == nullptr) return result(hipErrorInvalidValue);
  *device = 0;
  return hipSuccess;
}
hipError_t hipSetDevice(int device) { return result(device == 0 ? hipSuccess : hipErrorInvalidDevice); }
hipError_t hipInit(unsigned) { return hipSuccess; }

hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  if (properties == nullptr) return result(hipErrorInvalidValue);
  if (device != 0) return result(hipErrorInvalidDevice);
  *properties = {};
  const std::string name = arch();
  std::strncpy(properties->name, "HIP stand-in", sizeof properties->name - 1);
  std::strncpy(properties->gcnArchName, name.c_str(), sizeof properties->gcnArchName - 1);
  properties->multiProcessorCount = 304;
  properties->warpSize = 64;
  properties->maxThreadsPerBlock = kMostThreads;
  properties->sharedMemPerBlock = 65536;
  return hipSuccess;
}

hipError_t hipMalloc(void** pointer, std::size_t size) {
  if (pointer == nullptr) return result(hipErrorInvalidValue);
  *pointer = nullptr;
  if (size == 0) return hipSuccess;
  void* memory = nullptr;
  if (::posix_memalign(&memory, 256, size) != 0) return result(hipErrorOutOfMemory);
  log_event({{"event", "malloc"}, {"size", size}, {"pointer", reinterpret_cast<std::uintptr_t>(memory)}});
  const std::lock_guard lock(state().mutex);
  state().allocations[memory] = size;
  *pointer = memory;
  return hipSuccess;
}
hipError_t hipFree(void* pointer) {
  if (pointer == nullptr) return hipSuccess;
  {
    const std::lock_guard lock(state().mutex);
    if (state().allocations.erase(pointer) == 0) return result(hipErrorInvalidValue);
  }
  log_event({{"event", "free"}, {"pointer", reinterpret_cast<std::uintptr_t>(pointer)}});
  std::free(pointer);
  return hipSuccess;
}
hipError_t hipMemcpy(void* to, const void* from, std::size_t size, hipMemcpyKind kind) {
  return copy(to, from, size, kind);
}
hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t size, hipMemcpyKind kind, hipStream_t) {
  return copy(to, from, size, kind);
}
hipError_t hipMemset(void* to, int value, std::size_t size) { return fill(to, value, size); }
hipError_t hipMemsetAsync(void* to, int value, std::size_t size, hipStream_t) { return fill(to, value, size); }

hipError_t hipStreamCreate(hipStream_t* stream) {
  if (stream == nullptr) return result(hipErrorInvalidValue);
  *stream = reinterpret_cast<hipStream_t>(new char);
  return hipSuccess;
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  delete reinterpret_cast<char*>(stream);
  return hipSuccess;
}
hipError_t hipStreamSynchronize(hipStream_t) { return hipSuccess; }
hipError_t hipDeviceSynchronize() { return hipSuccess; }

}  // extern "C"
