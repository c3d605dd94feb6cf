// The stand-in's libcuda.so.1: CUDA's names and arguments, as cuda.h has them.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/stand_in/stand_in.h"

using namespace hearth::stand_in;  // NOLINT: this file is a list of entry points

namespace {

constexpr int kMaxDepth = 16;
thread_local void* contexts[kMaxDepth];
thread_local int depth = 0;

struct Context {
  int device;
};
Context all_contexts[8] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};

// "sm_90a" has compute capability 9.0.
int capability() { return std::atoi(arch("sm_90a") + 3); }

struct KernelNodeParams {
  void* function;
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  void** parameters;
  void** extra;
  void* kernel;
  void* context;
};

}  // namespace

#define HEARTH_EXPORT extern "C" __attribute__((visibility("default"))) int

HEARTH_EXPORT cuInit(unsigned flags) {
  return call("cuInit", [&] {
    if (flags != 0) return kInvalidValue;
    if (num_devices() == 0) return kNoDevice;
    set_has_device([] { return depth > 0; });
    set_current_device([] { return static_cast<Context*>(contexts[depth - 1])->device; });
    set_initialized();
    return kSuccess;
  });
}
HEARTH_EXPORT cuDriverGetVersion(int* version) {
  return call("cuDriverGetVersion", [&] {
    const char* const text = std::getenv("HEARTH_STAND_IN_DRIVER");
    *version = text == nullptr ? 12040 : std::atoi(text);
    return kSuccess;
  });
}
HEARTH_EXPORT cuDeviceGetCount(int* count) {
  return call("cuDeviceGetCount", [&] {
    *count = num_devices();
    return kSuccess;
  });
}
HEARTH_EXPORT cuDeviceGet(int* device, int ordinal) {
  return call("cuDeviceGet", [&] {
    *device = ordinal;
    return ordinal >= 0 && ordinal < num_devices() ? kSuccess : kInvalidDevice;
  });
}
HEARTH_EXPORT cuDeviceGetName(char* name, int size, int device) {
  return call("cuDeviceGetName", [&] {
    std::snprintf(name, static_cast<std::size_t>(size), "stand-in of an NVIDIA GPU %d", device);
    return kSuccess;
  });
}
HEARTH_EXPORT cuDeviceGetUuid_v2(char* uuid, int device) {
  return call("cuDeviceGetUuid_v2", [&] {
    std::memset(uuid, 0x40 + device, 16);
    return kSuccess;
  });
}
HEARTH_EXPORT cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  return call("cuDeviceTotalMem_v2", [&] {
    *bytes = std::size_t{16} << 30;
    return kSuccess;
  });
}
HEARTH_EXPORT cuDeviceGetAttribute(int* value, int attribute, int) {
  return call("cuDeviceGetAttribute", [&] {
    const char* const mode = std::getenv("HEARTH_STAND_IN_COMPUTE_MODE");
    switch (attribute) {
      case 75:
        *value = capability() / 10;
        return kSuccess;
      case 76:
        *value = capability() % 10;
        return kSuccess;
      case 20:
        *value = mode == nullptr ? 0 : std::atoi(mode);
        return kSuccess;
      case 102:
      case 103:
        *value = std::getenv("HEARTH_STAND_IN_SHARES_NOTHING") == nullptr ? 1 : 0;
        return kSuccess;
      case 17:
      case 18:
        *value = 0;
        return kSuccess;
      default:
        return kInvalidValue;
    }
  });
}
HEARTH_EXPORT cuDevicePrimaryCtxRetain(void** context, int device) {
  return call("cuDevicePrimaryCtxRetain", [&] {
    if (device < 0 || device >= num_devices()) return kInvalidDevice;
    *context = &all_contexts[device];
    return kSuccess;
  });
}
HEARTH_EXPORT cuCtxPushCurrent_v2(void* context) {
  return call("cuCtxPushCurrent_v2", [&] {
    if (context < all_contexts || context >= all_contexts + 8) broken("cuCtxPushCurrent", "that is no context");
    if (depth == kMaxDepth) broken("cuCtxPushCurrent", "contexts are pushed and not popped");
    contexts[depth++] = context;
    return kSuccess;
  });
}
HEARTH_EXPORT cuCtxPopCurrent_v2(void** context) {
  if (depth == 0) broken("cuCtxPopCurrent", "no context was pushed");
  *context = contexts[--depth];
  return kSuccess;
}
HEARTH_EXPORT cuMemAlloc_v2(void** address, std::size_t bytes) {
  return call("cuMemAlloc_v2", [&] { return allocate(address, bytes); });
}
HEARTH_EXPORT cuMemAllocManaged(void** address, std::size_t bytes, unsigned flags) {
  return call("cuMemAllocManaged", [&] { return flags == 1 ? allocate_managed(address, bytes) : kInvalidValue; });
}
HEARTH_EXPORT cuMemFree_v2(void* address) {
  return call("cuMemFree_v2", [&] { return hearth::stand_in::free(address); });
}
HEARTH_EXPORT cuMemGetAddressRange_v2(void** begin, std::size_t* bytes, void* address) {
  return call("cuMemGetAddressRange_v2", [&] { return address_range(begin, bytes, address); });
}
HEARTH_EXPORT cuMemGetAllocationGranularity(std::size_t* bytes, const MemoryProperties* properties, int) {
  return call("cuMemGetAllocationGranularity", [&] { return memory_granularity(bytes, properties); });
}
HEARTH_EXPORT cuMemCreate(void** handle, std::size_t bytes, const MemoryProperties* properties, unsigned long long) {
  return call("cuMemCreate", [&] { return memory_create(handle, bytes, properties); });
}
HEARTH_EXPORT cuMemExportToShareableHandle(void* file, void* handle, int kind, unsigned long long) {
  return call("cuMemExportToShareableHandle",
              [&] { return kind == 1 ? memory_export(static_cast<int*>(file), handle) : kInvalidValue; });
}
HEARTH_EXPORT cuMemImportFromShareableHandle(void** handle, void* file, int kind) {
  return call("cuMemImportFromShareableHandle", [&] {
    return kind == 1 ? memory_import(handle, static_cast<int>(reinterpret_cast<std::intptr_t>(file))) : kInvalidValue;
  });
}
HEARTH_EXPORT cuMemRelease(void* handle) {
  return call("cuMemRelease", [&] { return memory_release(handle); });
}
HEARTH_EXPORT cuMemAddressReserve(void** address, std::size_t bytes, std::size_t, void*, unsigned long long) {
  return call("cuMemAddressReserve", [&] { return address_reserve(address, bytes); });
}
HEARTH_EXPORT cuMemAddressFree(void* address, std::size_t bytes) {
  return call("cuMemAddressFree", [&] { return address_free(address, bytes); });
}
HEARTH_EXPORT cuMemMap(void* address, std::size_t bytes, std::size_t offset, void* handle, unsigned long long) {
  return call("cuMemMap", [&] { return memory_map(address, bytes, offset, handle); });
}
HEARTH_EXPORT cuMemSetAccess(void* address, std::size_t bytes, const MemoryAccess* access, std::size_t count) {
  return call("cuMemSetAccess", [&] { return memory_access(address, bytes, access, count); });
}
HEARTH_EXPORT cuMemUnmap(void* address, std::size_t bytes) {
  return call("cuMemUnmap", [&] { return memory_unmap(address, bytes); });
}
HEARTH_EXPORT cuPointerGetAttribute(void* value, int attribute, void* address) {
  return call("cuPointerGetAttribute",
              [&] { return attribute == 9 ? device_of(static_cast<int*>(value), address) : kInvalidValue; });
}
HEARTH_EXPORT cuMemHostAlloc(void** data, std::size_t bytes, unsigned flags) {
  return call("cuMemHostAlloc", [&] { return allocate_host(data, bytes, flags); });
}
HEARTH_EXPORT cuMemFreeHost(void* data) {
  return call("cuMemFreeHost", [&] { return free_host(data); });
}
HEARTH_EXPORT cuMemHostGetDevicePointer_v2(void** address, void* data, unsigned) {
  return call("cuMemHostGetDevicePointer_v2", [&] { return host_address(address, data); });
}
HEARTH_EXPORT cuMemcpyHtoDAsync_v2(void* to, const void* from, std::size_t bytes, void* stream) {
  return call("cuMemcpyHtoDAsync_v2", [&] { return copy(to, from, bytes, stream, true); });
}
HEARTH_EXPORT cuMemcpyDtoHAsync_v2(void* to, const void* from, std::size_t bytes, void* stream) {
  return call("cuMemcpyDtoHAsync_v2", [&] { return copy(to, from, bytes, stream, false); });
}
HEARTH_EXPORT cuMemsetD8Async(void* to, unsigned char value, std::size_t count, void* stream) {
  return call("cuMemsetD8Async", [&] { return fill(to, value, count, stream); });
}
HEARTH_EXPORT cuStreamCreate(void** stream, unsigned flags) {
  return call("cuStreamCreate", [&] { return stream_create(stream, flags); });
}
HEARTH_EXPORT cuStreamQuery(void* stream) {
  return call("cuStreamQuery", [&] { return stream_query(stream); });
}
HEARTH_EXPORT cuStreamSynchronize(void* stream) {
  return call("cuStreamSynchronize", [&] { return stream_synchronize(stream); });
}
HEARTH_EXPORT cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
  return call("cuStreamWaitEvent", [&] { return flags == 0 ? stream_wait_event(stream, event) : kInvalidValue; });
}
HEARTH_EXPORT cuStreamDestroy_v2(void* stream) {
  return call("cuStreamDestroy_v2", [&] { return stream_destroy(stream); });
}
HEARTH_EXPORT cuEventCreate(void** event, unsigned) {
  return call("cuEventCreate", [&] { return event_create(event); });
}
HEARTH_EXPORT cuEventRecord(void* event, void* stream) {
  return call("cuEventRecord", [&] { return event_record(event, stream); });
}
HEARTH_EXPORT cuEventQuery(void* event) {
  return call("cuEventQuery", [&] { return event_query(event); });
}
HEARTH_EXPORT cuEventElapsedTime(float* ms, void* start, void* end) {
  return call("cuEventElapsedTime", [&] { return event_elapsed(ms, start, end); });
}
HEARTH_EXPORT cuEventDestroy_v2(void* event) {
  return call("cuEventDestroy_v2", [&] { return event_destroy(event); });
}
HEARTH_EXPORT cuModuleLoadDataEx(void** module, const void* image, unsigned num_options, int* options, void** values) {
  return call("cuModuleLoadDataEx", [&] {
    const int error = module_load(module, image);
    for (unsigned i = 0; error != kSuccess && i < num_options; ++i) {
      if (options[i] == 5) std::strcpy(static_cast<char*>(values[i]), "ptxas: \033[31mfatal\033[0m");  // NOLINT
    }
    return error;
  });
}
HEARTH_EXPORT cuModuleGetFunction(void** function, void* module, const char* name) {
  return call("cuModuleGetFunction", [&] { return module_function(function, module, name); });
}
HEARTH_EXPORT cuModuleUnload(void* module) {
  return call("cuModuleUnload", [&] { return module_unload(module); });
}
HEARTH_EXPORT cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                             unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream, void** parameters,
                             void** extra) {
  return call("cuLaunchKernel", [&] {
    if (shared_bytes != 0 || extra != nullptr) return kInvalidValue;
    return launch(function, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}}, parameters, stream);
  });
}
HEARTH_EXPORT cuGraphCreate(void** graph, unsigned flags) {
  return call("cuGraphCreate", [&] { return flags == 0 ? graph_create(graph) : kInvalidValue; });
}
HEARTH_EXPORT cuGraphAddEmptyNode(void** node, void* graph, void* const* after, std::size_t num_after) {
  return call("cuGraphAddEmptyNode", [&] { return graph_add(node, graph, after, num_after, nullptr, {}, nullptr); });
}
HEARTH_EXPORT cuGraphAddKernelNode_v2(void** node, void* graph, void* const* after, std::size_t num_after,
                                      const KernelNodeParams* kernel) {
  return call("cuGraphAddKernelNode", [&] {
    if (kernel->shared_bytes != 0 || kernel->extra != nullptr || kernel->kernel != nullptr) return kInvalidValue;
    return graph_add(
        node, graph, after, num_after, kernel->function,
        {{kernel->grid_x, kernel->grid_y, kernel->grid_z}, {kernel->block_x, kernel->block_y, kernel->block_z}},
        kernel->parameters);
  });
}
HEARTH_EXPORT cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long flags) {
  return call("cuGraphInstantiateWithFlags",
              [&] { return flags == 0 ? graph_instantiate(executable, graph) : kInvalidValue; });
}
HEARTH_EXPORT cuGraphDestroy(void* graph) {
  return call("cuGraphDestroy", [&] { return graph_destroy(graph); });
}
HEARTH_EXPORT cuGraphLaunch(void* executable, void* stream) {
  return call("cuGraphLaunch", [&] { return graph_launch(executable, stream); });
}
HEARTH_EXPORT cuGraphExecDestroy(void* executable) {
  return call("cuGraphExecDestroy", [&] { return graph_executable_destroy(executable); });
}
HEARTH_EXPORT cuGetErrorName(int error, const char** name) {
  *name = error_name("CUDA_ERROR", error);
  return kSuccess;
}
