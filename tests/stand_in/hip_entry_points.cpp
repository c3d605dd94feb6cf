// The stand-in's libamdhip64.so: HIP's names and arguments, as hip_runtime_api.h has them.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/stand_in/stand_in.h"

using namespace hearth::stand_in;  // NOLINT: this file is a list of entry points

namespace {

thread_local int current = 0;

int driver() {
  const char* const text = std::getenv("HEARTH_STAND_IN_DRIVER");
  return text == nullptr ? 60'342'131 : std::atoi(text);
}

// hipKernelNodeParams, whose dimensions are dim3's.
struct KernelNodeParams {
  unsigned block_x, block_y, block_z;
  void** extra;
  void* function;
  unsigned grid_x, grid_y, grid_z;
  void** parameters;
  unsigned shared_bytes;
};

}  // namespace

#define HEARTH_EXPORT extern "C" __attribute__((visibility("default"))) int

HEARTH_EXPORT hipInit(unsigned flags) {
  return call("hipInit", [&] {
    if (flags != 0) return kInvalidValue;
    if (num_devices() == 0) return kNoDevice;
    set_current_device([] { return current; });
    set_has_device([] { return true; });  // 0, where none was chosen
    set_initialized();
    return kSuccess;
  });
}
HEARTH_EXPORT hipDriverGetVersion(int* version) {
  return call("hipDriverGetVersion", [&] {
    *version = driver();
    return kSuccess;
  });
}
HEARTH_EXPORT hipGetDeviceCount(int* count) {
  return call("hipGetDeviceCount", [&] {
    *count = num_devices();
    return kSuccess;
  });
}
HEARTH_EXPORT hipDeviceGet(int* device, int ordinal) {
  return call("hipDeviceGet", [&] {
    *device = ordinal;
    return ordinal >= 0 && ordinal < num_devices() ? kSuccess : kInvalidDevice;
  });
}
HEARTH_EXPORT hipDeviceGetName(char* name, int size, int device) {
  return call("hipDeviceGetName", [&] {
    std::snprintf(name, static_cast<std::size_t>(size), "stand-in of an AMD GPU %d", device);
    return kSuccess;
  });
}
HEARTH_EXPORT hipDeviceGetUuid(char* uuid, int device) {
  return call("hipDeviceGetUuid", [&] {
    std::memset(uuid, 0x40 + device, 16);
    return kSuccess;
  });
}
HEARTH_EXPORT hipDeviceTotalMem(std::size_t* bytes, int) {
  return call("hipDeviceTotalMem", [&] {
    *bytes = std::size_t{16} << 30;
    return kSuccess;
  });
}
HEARTH_EXPORT hipSetDevice(int device) {
  return call("hipSetDevice", [&] {
    if (device < 0 || device >= num_devices()) return kInvalidDevice;
    current = device;
    return kSuccess;
  });
}
HEARTH_EXPORT hipGetDevice(int* device) {
  return call("hipGetDevice", [&] {
    *device = current;
    return kSuccess;
  });
}
// The structure of ROCm 6, whose layout but for the product's name the runtime is not to know.
HEARTH_EXPORT hipGetDevicePropertiesR0600(void* properties, int device) {
  return call("hipGetDevicePropertiesR0600", [&] {
    char* const bytes = static_cast<char*>(properties);
    std::memset(bytes, 0, 1472);
    std::snprintf(bytes, 256, "gfx9 %d", device);
    std::snprintf(bytes + 1160, 256, "%s:sramecc+:xnack-", arch("gfx90a"));
    return kSuccess;
  });
}
HEARTH_EXPORT hipMalloc(void** address, std::size_t bytes) {
  return call("hipMalloc", [&] { return allocate(address, bytes); });
}
HEARTH_EXPORT hipMallocManaged(void** address, std::size_t bytes, unsigned flags) {
  return call("hipMallocManaged", [&] { return flags == 1 ? allocate_managed(address, bytes) : kInvalidValue; });
}
HEARTH_EXPORT hipFree(void* address) {
  return call("hipFree", [&] { return hearth::stand_in::free(address); });
}
HEARTH_EXPORT hipMemGetAddressRange(void** begin, std::size_t* bytes, void* address) {
  return call("hipMemGetAddressRange", [&] { return address_range(begin, bytes, address); });
}
HEARTH_EXPORT hipMemGetAllocationGranularity(std::size_t* bytes, const MemoryProperties* properties, int) {
  return call("hipMemGetAllocationGranularity", [&] { return memory_granularity(bytes, properties); });
}
HEARTH_EXPORT hipMemCreate(void** handle, std::size_t bytes, const MemoryProperties* properties, unsigned long long) {
  return call("hipMemCreate", [&] { return memory_create(handle, bytes, properties); });
}
HEARTH_EXPORT hipMemExportToShareableHandle(void* file, void* handle, int kind, unsigned long long) {
  return call("hipMemExportToShareableHandle",
              [&] { return kind == 1 ? memory_export(static_cast<int*>(file), handle) : kInvalidValue; });
}
HEARTH_EXPORT hipMemImportFromShareableHandle(void** handle, void* file, int kind) {
  return call("hipMemImportFromShareableHandle", [&] {
    if (kind != 1) return kInvalidValue;
    const bool is_by_address = driver() < 70'100'000;
    return memory_import(
        handle, is_by_address ? *static_cast<int*>(file) : static_cast<int>(reinterpret_cast<std::intptr_t>(file)));
  });
}
HEARTH_EXPORT hipMemRelease(void* handle) {
  return call("hipMemRelease", [&] { return memory_release(handle); });
}
HEARTH_EXPORT hipMemAddressReserve(void** address, std::size_t bytes, std::size_t, void*, unsigned long long) {
  return call("hipMemAddressReserve", [&] { return address_reserve(address, bytes); });
}
HEARTH_EXPORT hipMemAddressFree(void* address, std::size_t bytes) {
  return call("hipMemAddressFree", [&] { return address_free(address, bytes); });
}
HEARTH_EXPORT hipMemMap(void* address, std::size_t bytes, std::size_t offset, void* handle, unsigned long long) {
  return call("hipMemMap", [&] { return memory_map(address, bytes, offset, handle); });
}
HEARTH_EXPORT hipMemSetAccess(void* address, std::size_t bytes, const MemoryAccess* access, std::size_t count) {
  return call("hipMemSetAccess", [&] { return memory_access(address, bytes, access, count); });
}
HEARTH_EXPORT hipMemUnmap(void* address, std::size_t bytes) {
  return call("hipMemUnmap", [&] { return memory_unmap(address, bytes); });
}
HEARTH_EXPORT hipPointerGetAttribute(void* value, int attribute, void* address) {
  return call("hipPointerGetAttribute",
              [&] { return attribute == 9 ? device_of(static_cast<int*>(value), address) : kInvalidValue; });
}
HEARTH_EXPORT hipHostMalloc(void** data, std::size_t bytes, unsigned flags) {
  return call("hipHostMalloc", [&] { return allocate_host(data, bytes, flags); });
}
HEARTH_EXPORT hipHostFree(void* data) {
  return call("hipHostFree", [&] { return free_host(data); });
}
HEARTH_EXPORT hipHostGetDevicePointer(void** address, void* data, unsigned) {
  return call("hipHostGetDevicePointer", [&] { return host_address(address, data); });
}
HEARTH_EXPORT hipMemcpyHtoDAsync(void* to, const void* from, std::size_t bytes, void* stream) {
  return call("hipMemcpyHtoDAsync", [&] { return copy(to, from, bytes, stream, true); });
}
HEARTH_EXPORT hipMemcpyDtoHAsync(void* to, const void* from, std::size_t bytes, void* stream) {
  return call("hipMemcpyDtoHAsync", [&] { return copy(to, from, bytes, stream, false); });
}
HEARTH_EXPORT hipMemsetD8Async(void* to, unsigned char value, std::size_t count, void* stream) {
  return call("hipMemsetD8Async", [&] { return fill(to, value, count, stream); });
}
HEARTH_EXPORT hipStreamCreateWithFlags(void** stream, unsigned flags) {
  return call("hipStreamCreateWithFlags", [&] { return stream_create(stream, flags); });
}
HEARTH_EXPORT hipStreamQuery(void* stream) {
  return call("hipStreamQuery", [&] { return stream_query(stream); });
}
HEARTH_EXPORT hipStreamSynchronize(void* stream) {
  return call("hipStreamSynchronize", [&] { return stream_synchronize(stream); });
}
HEARTH_EXPORT hipStreamWaitEvent(void* stream, void* event, unsigned flags) {
  return call("hipStreamWaitEvent", [&] { return flags == 0 ? stream_wait_event(stream, event) : kInvalidValue; });
}
HEARTH_EXPORT hipStreamDestroy(void* stream) {
  return call("hipStreamDestroy", [&] { return stream_destroy(stream); });
}
HEARTH_EXPORT hipEventCreateWithFlags(void** event, unsigned) {
  return call("hipEventCreateWithFlags", [&] { return event_create(event); });
}
HEARTH_EXPORT hipEventRecord(void* event, void* stream) {
  return call("hipEventRecord", [&] { return event_record(event, stream); });
}
HEARTH_EXPORT hipEventQuery(void* event) {
  return call("hipEventQuery", [&] { return event_query(event); });
}
HEARTH_EXPORT hipEventElapsedTime(float* ms, void* start, void* end) {
  return call("hipEventElapsedTime", [&] { return event_elapsed(ms, start, end); });
}
HEARTH_EXPORT hipEventDestroy(void* event) {
  return call("hipEventDestroy", [&] { return event_destroy(event); });
}
HEARTH_EXPORT hipModuleLoadData(void** module, const void* image) {
  return call("hipModuleLoadData", [&] { return module_load(module, image); });
}
HEARTH_EXPORT hipModuleGetFunction(void** function, void* module, const char* name) {
  return call("hipModuleGetFunction", [&] { return module_function(function, module, name); });
}
HEARTH_EXPORT hipModuleUnload(void* module) {
  return call("hipModuleUnload", [&] { return module_unload(module); });
}
HEARTH_EXPORT hipModuleLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                    unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream,
                                    void** parameters, void** extra) {
  return call("hipModuleLaunchKernel", [&] {
    if (shared_bytes != 0 || extra != nullptr) return kInvalidValue;
    return launch(function, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}}, parameters, stream);
  });
}
HEARTH_EXPORT hipGraphCreate(void** graph, unsigned flags) {
  return call("hipGraphCreate", [&] { return flags == 0 ? graph_create(graph) : kInvalidValue; });
}
HEARTH_EXPORT hipGraphAddEmptyNode(void** node, void* graph, void* const* after, std::size_t num_after) {
  return call("hipGraphAddEmptyNode", [&] { return graph_add(node, graph, after, num_after, nullptr, {}, nullptr); });
}
HEARTH_EXPORT hipGraphAddKernelNode(void** node, void* graph, void* const* after, std::size_t num_after,
                                    const KernelNodeParams* kernel) {
  return call("hipGraphAddKernelNode", [&] {
    if (kernel->shared_bytes != 0 || kernel->extra != nullptr) return kInvalidValue;
    return graph_add(
        node, graph, after, num_after, kernel->function,
        {{kernel->grid_x, kernel->grid_y, kernel->grid_z}, {kernel->block_x, kernel->block_y, kernel->block_z}},
        kernel->parameters);
  });
}
HEARTH_EXPORT hipGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long flags) {
  return call("hipGraphInstantiateWithFlags",
              [&] { return flags == 0 ? graph_instantiate(executable, graph) : kInvalidValue; });
}
HEARTH_EXPORT hipGraphDestroy(void* graph) {
  return call("hipGraphDestroy", [&] { return graph_destroy(graph); });
}
HEARTH_EXPORT hipGraphLaunch(void* executable, void* stream) {
  return call("hipGraphLaunch", [&] { return graph_launch(executable, stream); });
}
HEARTH_EXPORT hipGraphExecDestroy(void* executable) {
  return call("hipGraphExecDestroy", [&] { return graph_executable_destroy(executable); });
}
extern "C" __attribute__((visibility("default"))) const char* hipGetErrorName(int error) {
  return error_name("hipError", error);
}
