// The entry points that the runtime calls of CUDA's driver, beside cuda.h.
#define __CUDA_API_VERSION_INTERNAL  // every version of an entry point by its own name
#include <cuda.h>

#include <catch2/catch.hpp>
#include <cstddef>

#include "runtime/hal/cuda/cuda_api.h"
#include "tests/unit/stream/same_abi.h"

namespace hearth::runtime {

#define HEARTH_SAME(ours, theirs)                                                            \
  static_assert(testing::kSameAbi<decltype(StreamApi::ours), decltype(&::theirs)>, #theirs); \
  const testing::CheckedEntry checked_##ours(#ours, #theirs);
HEARTH_SAME(init, cuInit)
HEARTH_SAME(driver_version, cuDriverGetVersion)
HEARTH_SAME(device_count, cuDeviceGetCount)
HEARTH_SAME(device, cuDeviceGet)
HEARTH_SAME(device_name, cuDeviceGetName)
HEARTH_SAME(device_uuid, cuDeviceGetUuid_v2)
HEARTH_SAME(device_memory, cuDeviceTotalMem_v2)
HEARTH_SAME(allocate, cuMemAlloc_v2)
HEARTH_SAME(allocate_managed, cuMemAllocManaged)
HEARTH_SAME(free, cuMemFree_v2)
HEARTH_SAME(allocate_host, cuMemHostAlloc)
HEARTH_SAME(address_range, cuMemGetAddressRange_v2)
HEARTH_SAME(pointer_attribute, cuPointerGetAttribute)
HEARTH_SAME(free_host, cuMemFreeHost)
HEARTH_SAME(memory_granularity, cuMemGetAllocationGranularity)
HEARTH_SAME(memory_create, cuMemCreate)
HEARTH_SAME(memory_export, cuMemExportToShareableHandle)
HEARTH_SAME(memory_import, cuMemImportFromShareableHandle)
HEARTH_SAME(memory_release, cuMemRelease)
HEARTH_SAME(address_reserve, cuMemAddressReserve)
HEARTH_SAME(address_free, cuMemAddressFree)
HEARTH_SAME(memory_map, cuMemMap)
HEARTH_SAME(memory_access, cuMemSetAccess)
HEARTH_SAME(memory_unmap, cuMemUnmap)
HEARTH_SAME(host_address, cuMemHostGetDevicePointer_v2)
HEARTH_SAME(copy_in, cuMemcpyHtoDAsync_v2)
HEARTH_SAME(copy_out, cuMemcpyDtoHAsync_v2)
HEARTH_SAME(fill, cuMemsetD8Async)
HEARTH_SAME(stream_create, cuStreamCreate)
HEARTH_SAME(stream_query, cuStreamQuery)
HEARTH_SAME(stream_synchronize, cuStreamSynchronize)
HEARTH_SAME(stream_wait_event, cuStreamWaitEvent)
HEARTH_SAME(stream_destroy, cuStreamDestroy_v2)
HEARTH_SAME(event_create, cuEventCreate)
HEARTH_SAME(event_record, cuEventRecord)
HEARTH_SAME(event_query, cuEventQuery)
HEARTH_SAME(event_elapsed_ms, cuEventElapsedTime)
HEARTH_SAME(event_destroy, cuEventDestroy_v2)
HEARTH_SAME(module_function, cuModuleGetFunction)
HEARTH_SAME(module_unload, cuModuleUnload)
HEARTH_SAME(launch, cuLaunchKernel)
HEARTH_SAME(graph_create, cuGraphCreate)
HEARTH_SAME(graph_add_empty, cuGraphAddEmptyNode)
HEARTH_SAME(graph_instantiate, cuGraphInstantiateWithFlags)
HEARTH_SAME(graph_destroy, cuGraphDestroy)
HEARTH_SAME(graph_launch, cuGraphLaunch)
HEARTH_SAME(graph_executable_destroy, cuGraphExecDestroy)

static_assert(sizeof(CudaKernelNode) == sizeof(CUDA_KERNEL_NODE_PARAMS_v2));
static_assert(offsetof(CudaKernelNode, kernel) == sizeof(CUDA_KERNEL_NODE_PARAMS_v1));
static_assert(offsetof(CudaKernelNode, context) == offsetof(CUDA_KERNEL_NODE_PARAMS_v2, ctx));
static_assert(offsetof(CudaKernelNode, grid) == offsetof(CUDA_KERNEL_NODE_PARAMS_v1, gridDimX));
static_assert(offsetof(CudaKernelNode, block) == offsetof(CUDA_KERNEL_NODE_PARAMS_v1, blockDimX));
static_assert(offsetof(CudaKernelNode, parameters) == offsetof(CUDA_KERNEL_NODE_PARAMS_v1, kernelParams));
static_assert(kStreamNonBlocking == CU_STREAM_NON_BLOCKING && kEventWithTime == CU_EVENT_DEFAULT);
static_assert(kEventWithoutTime == CU_EVENT_DISABLE_TIMING);
static_assert(kPointerDevice == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
static_assert(kManagedGlobal == CU_MEM_ATTACH_GLOBAL);
static_assert(kHostPortableMapped == (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
static_assert(sizeof(StreamMemoryProperties) == sizeof(CUmemAllocationProp));
static_assert(offsetof(StreamMemoryProperties, handle_type) == offsetof(CUmemAllocationProp, requestedHandleTypes));
static_assert(offsetof(StreamMemoryProperties, place) == offsetof(CUmemAllocationProp, location));
static_assert(offsetof(StreamMemoryProperties, flags) == offsetof(CUmemAllocationProp, allocFlags));
static_assert(offsetof(StreamMemoryPlace, device) == offsetof(CUmemLocation, id));
static_assert(sizeof(StreamMemoryAccess) == sizeof(CUmemAccessDesc));
static_assert(offsetof(StreamMemoryAccess, flags) == offsetof(CUmemAccessDesc, flags));
static_assert(CU_MEM_ALLOCATION_TYPE_PINNED == 1 && CU_MEM_LOCATION_TYPE_DEVICE == 1);
static_assert(kHandleIsFile == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
static_assert(kLeastGranularity == CU_MEM_ALLOC_GRANULARITY_MINIMUM);
static_assert(kMayRead == CU_MEM_ACCESS_FLAGS_PROT_READ && kMayReadAndWrite == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
static_assert(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED == 102);
static_assert(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED == 103);
static_assert(CUDA_ERROR_NOT_READY == 600 && CUDA_ERROR_LAUNCH_FAILED == 719 && CUDA_ERROR_OUT_OF_MEMORY == 2);
static_assert(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR == 75 && CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR == 76);
static_assert(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE == 20 && CU_COMPUTEMODE_PROHIBITED == 2);
static_assert(CU_DEVICE_ATTRIBUTE_INTEGRATED == 18 && CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT == 17);
static_assert(CU_JIT_ERROR_LOG_BUFFER == 5 && CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES == 6);

TEST_CASE("the entry points that are called of CUDA's driver are those that its header declares, and all of them") {
#define HEARTH_ENTRY_POINT(name, cuda, hip, ...) CHECK(testing::CheckedEntry::declared(#name) == (cuda));
#include "runtime/hal/stream/entry_points.def"
#undef HEARTH_ENTRY_POINT
}

}  // namespace hearth::runtime
