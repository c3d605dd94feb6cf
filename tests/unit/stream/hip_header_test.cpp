// The entry points that the runtime calls of HIP's driver, beside hip_runtime_api.h.
#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime_api.h>

#include <catch2/catch.hpp>
#include <cstddef>

#include "runtime/hal/hip/hip_api.h"
#include "tests/unit/stream/same_abi.h"

namespace hearth::runtime {

#define HEARTH_SAME(ours, theirs)                                                            \
  static_assert(testing::kSameAbi<decltype(StreamApi::ours), decltype(&::theirs)>, #theirs); \
  const testing::CheckedEntry checked_##ours(#ours, #theirs);
HEARTH_SAME(init, hipInit)
HEARTH_SAME(driver_version, hipDriverGetVersion)
HEARTH_SAME(device_count, hipGetDeviceCount)
HEARTH_SAME(device, hipDeviceGet)
HEARTH_SAME(device_name, hipDeviceGetName)
HEARTH_SAME(device_uuid, hipDeviceGetUuid)
HEARTH_SAME(device_memory, hipDeviceTotalMem)
// Of those that C++ has overloads of, the C one.
static_assert(testing::kSameAbi<decltype(StreamApi::allocate),
                                decltype(static_cast<hipError_t (*)(void**, std::size_t)>(&::hipMalloc))>);
const testing::CheckedEntry checked_allocate("allocate", "hipMalloc");
static_assert(
    testing::kSameAbi<decltype(StreamApi::allocate_host),
                      decltype(static_cast<hipError_t (*)(void**, std::size_t, unsigned)>(&::hipHostMalloc))>);
const testing::CheckedEntry checked_allocate_host("allocate_host", "hipHostMalloc");
static_assert(
    testing::kSameAbi<decltype(StreamApi::allocate_managed),
                      decltype(static_cast<hipError_t (*)(void**, std::size_t, unsigned)>(&::hipMallocManaged))>);
const testing::CheckedEntry checked_allocate_managed("allocate_managed", "hipMallocManaged");
HEARTH_SAME(free, hipFree)
HEARTH_SAME(address_range, hipMemGetAddressRange)
HEARTH_SAME(pointer_attribute, hipPointerGetAttribute)
HEARTH_SAME(free_host, hipHostFree)
HEARTH_SAME(memory_granularity, hipMemGetAllocationGranularity)
HEARTH_SAME(memory_create, hipMemCreate)
HEARTH_SAME(memory_export, hipMemExportToShareableHandle)
HEARTH_SAME(memory_import, hipMemImportFromShareableHandle)
HEARTH_SAME(memory_release, hipMemRelease)
HEARTH_SAME(address_reserve, hipMemAddressReserve)
HEARTH_SAME(address_free, hipMemAddressFree)
HEARTH_SAME(memory_map, hipMemMap)
HEARTH_SAME(memory_access, hipMemSetAccess)
HEARTH_SAME(memory_unmap, hipMemUnmap)
HEARTH_SAME(host_address, hipHostGetDevicePointer)
HEARTH_SAME(copy_in, hipMemcpyHtoDAsync)
HEARTH_SAME(copy_out, hipMemcpyDtoHAsync)
HEARTH_SAME(fill, hipMemsetD8Async)
HEARTH_SAME(stream_create, hipStreamCreateWithFlags)
HEARTH_SAME(stream_query, hipStreamQuery)
HEARTH_SAME(stream_synchronize, hipStreamSynchronize)
HEARTH_SAME(stream_wait_event, hipStreamWaitEvent)
HEARTH_SAME(stream_destroy, hipStreamDestroy)
HEARTH_SAME(event_create, hipEventCreateWithFlags)
HEARTH_SAME(event_record, hipEventRecord)
HEARTH_SAME(event_query, hipEventQuery)
HEARTH_SAME(event_elapsed_ms, hipEventElapsedTime)
HEARTH_SAME(event_destroy, hipEventDestroy)
HEARTH_SAME(module_function, hipModuleGetFunction)
HEARTH_SAME(module_unload, hipModuleUnload)
HEARTH_SAME(launch, hipModuleLaunchKernel)
HEARTH_SAME(graph_create, hipGraphCreate)
HEARTH_SAME(graph_add_empty, hipGraphAddEmptyNode)
HEARTH_SAME(graph_instantiate, hipGraphInstantiateWithFlags)
HEARTH_SAME(graph_destroy, hipGraphDestroy)
HEARTH_SAME(graph_launch, hipGraphLaunch)
HEARTH_SAME(graph_executable_destroy, hipGraphExecDestroy)

static_assert(sizeof(HipKernelNode) == sizeof(hipKernelNodeParams));
static_assert(offsetof(HipKernelNode, extra) == offsetof(hipKernelNodeParams, extra));
static_assert(offsetof(HipKernelNode, function) == offsetof(hipKernelNodeParams, func));
static_assert(offsetof(HipKernelNode, grid) == offsetof(hipKernelNodeParams, gridDim));
static_assert(offsetof(HipKernelNode, parameters) == offsetof(hipKernelNodeParams, kernelParams));
static_assert(offsetof(HipKernelNode, shared_bytes) == offsetof(hipKernelNodeParams, sharedMemBytes));
static_assert(kStreamNonBlocking == hipStreamNonBlocking && kEventWithTime == hipEventDefault);
static_assert(kEventWithoutTime == hipEventDisableTiming);
static_assert(kPointerDevice == HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
static_assert(kManagedGlobal == hipMemAttachGlobal);
static_assert(kHostPortableMapped == (hipHostMallocPortable | hipHostMallocMapped));
static_assert(hipErrorNotReady == 600 && hipErrorIllegalAddress == 700 && hipErrorOutOfMemory == 2);

// Its properties of memory are those before 6.0, for which none is shared (hip_api).
static_assert(sizeof(StreamMemoryAccess) == sizeof(hipMemAccessDesc));
static_assert(offsetof(StreamMemoryAccess, flags) == offsetof(hipMemAccessDesc, flags));
static_assert(kHandleIsFile == hipMemHandleTypePosixFileDescriptor);
static_assert(kMayRead == hipMemAccessFlagsProtRead && kMayReadAndWrite == hipMemAccessFlagsProtReadWrite);

TEST_CASE("the entry points that are called of HIP's driver are those that its header declares, and all of them") {
#define HEARTH_ENTRY_POINT(name, cuda, hip, ...) CHECK(testing::CheckedEntry::declared(#name) == (hip));
#include "runtime/hal/stream/entry_points.def"
#undef HEARTH_ENTRY_POINT
}

}  // namespace hearth::runtime
