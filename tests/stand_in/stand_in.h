// A stand-in of a GPU's driver: it has the entry points of CUDA's or HIP's (cuda_entry_points.cpp,
// hip_entry_points.cpp), checks every call, and runs launches on this host. Modules are this host's code, compiled for a
// GPU's record with this host's triple (hearth_simt_fn of base/kernel_abi.h).
//
// It is as lazy as a driver may be: what is queued in a stream runs when somebody waits for it, and the first look says
// that it is not done. Launches of a graph run in any order that its edges allow, invocations of a launch in several.
// Memory of the device has a page behind it that nobody may touch; with HEARTH_STAND_IN_PROTECT=1 it may be touched while
// something runs only. What a driver's manual forbids ends the process with a sentence: a handle that was destroyed or is
// of another kind, a call without a device, a copy beyond a block, pinned memory freed under a copy, an argument that is
// none. Errors that a driver may give are given where control.h says so.
#pragma once
#include <cstddef>
#include <functional>
#include <vector>

namespace hearth::stand_in {

inline constexpr int kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3, kNoDevice = 100,
                     kInvalidDevice = 101, kInvalidImage = 200, kNotFound = 500, kNotReady = 600;

// Runs `body` as call of `entry`, unless that is to fail.
int call(const char* entry, const std::function<int()>& body);
[[noreturn]] void broken(const char* entry, const char* what);

// "CUDA_ERROR_719"; lives as long as the process.
const char* error_name(const char* prefix, int error);

// HEARTH_STAND_IN_DEVICES, else 1; HEARTH_STAND_IN_ARCH, else `usual`.
int num_devices();
const char* arch(const char* usual);

// What `call` asks for before anything else: init() was called, and this thread has a device.
void set_initialized();
void set_has_device(bool (*has_device)());
// Which one, of those that memory is allocated on.
void set_current_device(int (*current_device)());

int allocate(void** address, std::size_t size_bytes);
int allocate_managed(void** address, std::size_t size_bytes);  // as much as the host has
int free(void* address);
int allocate_host(void** data, std::size_t size_bytes, unsigned flags);
int free_host(void* data);
// CUmemAllocationProp and hipMemAllocationProp; CUmemAccessDesc and hipMemAccessDesc.
struct MemoryProperties {
  int type, handle_type, location_type, location;
  void* metadata;
  unsigned char flags[8];
};
struct MemoryAccess {
  int location_type, location, flags;
};
int memory_granularity(std::size_t* size_bytes, const MemoryProperties* properties);
int memory_create(void** handle, std::size_t size_bytes, const MemoryProperties* properties);
int memory_export(int* file, void* handle);
int memory_import(void** handle, int file);
int memory_release(void* handle);
int address_reserve(void** address, std::size_t size_bytes);
int address_free(void* address, std::size_t size_bytes);
int memory_map(void* address, std::size_t size_bytes, std::size_t offset, void* handle);
int memory_access(void* address, std::size_t size_bytes, const MemoryAccess* access, std::size_t count);
int memory_unmap(void* address, std::size_t size_bytes);
int address_range(void** begin, std::size_t* size_bytes, void* address);
int device_of(int* device, void* address);
int host_address(void** address, void* data);
int copy(void* to, const void* from, std::size_t size_bytes, void* stream, bool to_device);
int fill(void* to, unsigned char value, std::size_t count, void* stream);
int stream_create(void** stream, unsigned flags);
int stream_query(void* stream);
int stream_synchronize(void* stream);
int stream_destroy(void* stream);
int event_create(void** event);
int event_query(void* event);
int stream_wait_event(void* stream, void* event);
int event_record(void* event, void* stream);
int event_elapsed(float* ms, void* start, void* end);
int event_destroy(void* event);
int module_load(void** module, const void* image);
int module_function(void** function, void* module, const char* name);
int module_unload(void* module);

struct Dimensions {
  unsigned groups[3], invocations[3];
};
int launch(void* function, const Dimensions& dimensions, void* const* parameters, void* stream);
int graph_create(void** graph);
int graph_add(void** node, void* graph, void* const* after, std::size_t num_after, void* function,
              const Dimensions& dimensions, void* const* parameters);  // function null: an empty node
int graph_instantiate(void** executable, void* graph);
int graph_destroy(void* graph);
int graph_launch(void* executable, void* stream);
int graph_executable_destroy(void* executable);

}  // namespace hearth::stand_in
