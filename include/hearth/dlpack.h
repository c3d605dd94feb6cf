// DLPack (dmlc.github.io/dlpack): arrays to and from other libraries of this process without copying, as tensors of ABI
// version 0.x (DLManagedTensor) and of 1.x (DLManagedTensorVersioned, which says whether it may be written to). The
// structs below are the ABI's; where its own dlpack.h is included first, that one is used. Dense and row-major, one lane;
// CPU memory, but for the functions that say device. Errors: absl::Status naming what is not; a refused tensor stays the
// caller's.
//
//   absl::StatusOr<ImportedArray> x = from_dlpack(capsule);        // owns it now, calls its deleter in the end
//   Tensor w = parameter("w", shape, x->view.dtype, {x->view.data, x->view.size_bytes, x->owner});
//   absl::StatusOr<DLManagedTensor*> y = to_dlpack(*std::move(result));   // freed by y->deleter(y)
#pragma once
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "hearth/array.h"

#ifndef DLPACK_DLPACK_H_
extern "C" {
typedef enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLROCM = 10, kDLROCMHost = 11 } DLDeviceType;
typedef struct {
  DLDeviceType device_type;
  std::int32_t device_id;
} DLDevice;
typedef enum { kDLInt = 0U, kDLUInt = 1U, kDLFloat = 2U, kDLBfloat = 4U, kDLComplex = 5U, kDLBool = 6U } DLDataTypeCode;
typedef struct {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
} DLDataType;
typedef struct {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: row-major
  std::uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensor* self);
} DLManagedTensor;
}
#endif

// What a dlpack.h of version 0.x lacks.
#ifndef DLPACK_MAJOR_VERSION
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)
extern "C" {
typedef struct {
  std::uint32_t major;
  std::uint32_t minor;
} DLPackVersion;
typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned* self);
  std::uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;
}
#endif

#pragma GCC visibility push(default)
namespace hearth::client {

struct ImportedArray {
  ArrayView view;
  std::shared_ptr<const void> owner;  // keeps the view's memory alive
  bool is_read_only = false;          // nothing may be written to it; tensors of 0.x do not say
};

// The element type, and back. Unimplemented for those that the other side has not. float8 has a name from version 1.1
// on.
absl::StatusOr<DType> dtype_of_dlpack(const DLDataType& type);
DLDataType dlpack_type(DType dtype);

// What it shows, without taking it over: valid as long as the tensor is. Errors as from_dlpack's.
absl::StatusOr<ArrayView> view_of_dlpack(const DLTensor& tensor);
absl::StatusOr<ArrayView> view_of_dlpack(const DLManagedTensor* tensor);
absl::StatusOr<ArrayView> view_of_dlpack(const DLManagedTensorVersioned* tensor);
// Takes the tensor over when it is accepted. InvalidArgument for a major version that is not 1.
absl::StatusOr<ImportedArray> from_dlpack(DLManagedTensor* tensor);
absl::StatusOr<ImportedArray> from_dlpack(DLManagedTensorVersioned* tensor);
// From an array that the result owns, or memory that `owner` keeps alive. Unimplemented for float8, which version 0.x
// has no name for.
absl::StatusOr<DLManagedTensor*> to_dlpack(Array array);
absl::StatusOr<DLManagedTensor*> to_dlpack(const ArrayView& view, std::shared_ptr<const void> owner);
// The same in version 1.1; `flags` are DLPACK_FLAG_BITMASK_*.
absl::StatusOr<DLManagedTensorVersioned*> to_dlpack_versioned(Array array, std::uint64_t flags = 0);
absl::StatusOr<DLManagedTensorVersioned*> to_dlpack_versioned(const ArrayView& view, std::shared_ptr<const void> owner,
                                                              std::uint64_t flags = 0);

// A tensor in memory of a CUDA or ROCm device: its view's `data` is an address there, for Instance::bind_device_input()
// and bind_device_output(). Nothing is read or written; who gives it says when it may be (a stream). Valid as long as the
// tensor is. InvalidArgument for memory of another kind of device.
struct DeviceArray {
  ArrayView view;
  DLDevice device;
};
absl::StatusOr<DeviceArray> device_array_of_dlpack(const DLTensor& tensor);
// Memory of a device, which `owner` keeps alive, for other libraries.
absl::StatusOr<DLManagedTensorVersioned*> device_to_dlpack(const DeviceArray& array, std::shared_ptr<const void> owner);

}  // namespace hearth::client
#pragma GCC visibility pop
