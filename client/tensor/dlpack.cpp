#include "hearth/dlpack.h"

#include "base/status_macros.h"
#include "base/text.h"

namespace hearth::client {
namespace {

constexpr std::int32_t kMaxAxes = 32;

// Their codes from version 1.1 on, whichever dlpack.h is included.
constexpr std::uint8_t kFloat8E4M3FN = 10, kFloat8E5M2 = 12;

struct TypeRow {
  std::uint8_t code;
  std::uint8_t bits;
  DType dtype;
};
constexpr TypeRow kTypes[] = {{kDLBool, 8, DType::kBool},      {kDLInt, 8, DType::kI8},
                              {kDLInt, 16, DType::kI16},       {kDLInt, 32, DType::kI32},
                              {kDLInt, 64, DType::kI64},       {kDLUInt, 8, DType::kU8},
                              {kDLUInt, 16, DType::kU16},      {kDLUInt, 32, DType::kU32},
                              {kDLUInt, 64, DType::kU64},      {kDLFloat, 16, DType::kF16},
                              {kDLBfloat, 16, DType::kBF16},   {kDLFloat, 32, DType::kF32},
                              {kDLFloat, 64, DType::kF64},     {kFloat8E4M3FN, 8, DType::kF8E4M3},
                              {kFloat8E5M2, 8, DType::kF8E5M2}};

absl::Status wrong(std::string_view message) { return absl::InvalidArgumentError(str_cat("DLPack tensor: ", message)); }

absl::Status check_strides(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return absl::OkStatus();
  std::int64_t expected = 1;
  for (std::int32_t axis = tensor.ndim - 1; axis >= 0; --axis) {
    // The stride of an axis of one element means nothing.
    if (tensor.shape[axis] > 1 && tensor.strides[axis] != expected) {
      return wrong(str_cat("stride ", tensor.strides[axis], " along axis ", axis, "; expected ", expected,
                           " (dense, row-major)"));
    }
    expected *= tensor.shape[axis];
  }
  return absl::OkStatus();
}

// Wherever its memory is.
absl::StatusOr<ArrayView> view_anywhere(const DLTensor& tensor) {
  HEARTH_ASSIGN_OR_RETURN(const DType dtype, dtype_of_dlpack(tensor.dtype));
  if (tensor.ndim < 0 || tensor.ndim > kMaxAxes)
    return wrong(str_cat("has ", tensor.ndim, " axes; expected 0 to ", kMaxAxes));
  if (tensor.ndim > 0 && tensor.shape == nullptr) return wrong("has no shape");
  std::vector<std::int64_t> shape(tensor.shape, tensor.shape + tensor.ndim);
  std::size_t size = dtype_bytes(dtype);
  for (std::int64_t length : shape) {
    if (length < 0 || __builtin_mul_overflow(size, static_cast<std::size_t>(length), &size)) {
      return wrong(str_cat("has the length ", length));
    }
  }
  HEARTH_RETURN_IF_ERROR(check_strides(tensor));
  if (tensor.data == nullptr && size > 0) return wrong("points to null");
  const void* data = tensor.data == nullptr ? nullptr : static_cast<const char*>(tensor.data) + tensor.byte_offset;
  return ArrayView(data, size, dtype, std::move(shape));
}

// What an exported tensor of either version points to.
template <typename Tensor>
struct Exported {
  Tensor tensor = {};
  std::vector<std::int64_t> shape;
  std::shared_ptr<const void> owner;
};

template <typename Tensor>
absl::StatusOr<Tensor*> to_managed(const ArrayView& view, std::shared_ptr<const void> owner,
                                   DLDevice device = {kDLCPU, 0}) {
  HEARTH_RETURN_IF_ERROR(check_array(view, "the array"));
  auto* exported = new Exported<Tensor>;  // owned by the tensor's deleter
  exported->shape = view.shape;
  exported->owner = std::move(owner);
  exported->tensor.dl_tensor = {const_cast<void*>(view.data),
                                device,
                                static_cast<std::int32_t>(view.shape.size()),
                                dlpack_type(view.dtype),
                                exported->shape.data(),
                                nullptr,
                                0};
  exported->tensor.manager_ctx = exported;
  exported->tensor.deleter = [](Tensor* self) { delete static_cast<Exported<Tensor>*>(self->manager_ctx); };
  return &exported->tensor;
}

template <typename Tensor>
ImportedArray take_over(Tensor* managed, ArrayView view) {
  const std::shared_ptr<const void> owner(static_cast<const void*>(managed), [managed](const void*) {
    if (managed->deleter != nullptr) managed->deleter(managed);
  });
  return {std::move(view), owner};
}

}  // namespace

absl::StatusOr<DType> dtype_of_dlpack(const DLDataType& type) {
  for (const TypeRow& row : kTypes) {
    if (type.code == row.code && type.bits == row.bits && type.lanes == 1) return row.dtype;
  }
  return absl::UnimplementedError(str_cat("DLPack tensor: type code ", type.code, " of ", type.bits, " bits and ",
                                          type.lanes, " lanes is not supported"));
}

DLDataType dlpack_type(DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return {row.code, row.bits, 1};
  }
  return {};  // every dtype is in the table
}

absl::StatusOr<ArrayView> view_of_dlpack(const DLTensor& tensor) {
  if (tensor.device.device_type != kDLCPU) {
    return wrong(str_cat("is on device type ", static_cast<int>(tensor.device.device_type), "; expected the CPU (1)"));
  }
  return view_anywhere(tensor);
}

absl::StatusOr<DeviceArray> device_array_of_dlpack(const DLTensor& tensor) {
  if (tensor.device.device_type != kDLCUDA && tensor.device.device_type != kDLROCM) {
    return wrong(
        str_cat("is on device type ", static_cast<int>(tensor.device.device_type), "; expected CUDA (2) or ROCm (10)"));
  }
  HEARTH_ASSIGN_OR_RETURN(ArrayView view, view_anywhere(tensor));
  return DeviceArray{std::move(view), tensor.device};
}

absl::StatusOr<DLManagedTensorVersioned*> device_to_dlpack(const DeviceArray& array,
                                                           std::shared_ptr<const void> owner) {
  HEARTH_ASSIGN_OR_RETURN(DLManagedTensorVersioned* const made,
                          to_managed<DLManagedTensorVersioned>(array.view, std::move(owner), array.device));
  made->version = {1, 1};
  return made;
}

absl::StatusOr<ArrayView> view_of_dlpack(const DLManagedTensor* managed) {
  if (managed == nullptr) return wrong("is a null pointer");
  return view_of_dlpack(managed->dl_tensor);
}

absl::StatusOr<ArrayView> view_of_dlpack(const DLManagedTensorVersioned* managed) {
  if (managed == nullptr) return wrong("is a null pointer");
  if (managed->version.major != 1) {  // nothing else in it means what it did
    return wrong(
        str_cat("is of DLPack version ", managed->version.major, ".", managed->version.minor, "; expected 1.x"));
  }
  return view_of_dlpack(managed->dl_tensor);
}

absl::StatusOr<ImportedArray> from_dlpack(DLManagedTensor* managed) {
  HEARTH_ASSIGN_OR_RETURN(ArrayView view, view_of_dlpack(managed));
  return take_over(managed, std::move(view));
}

absl::StatusOr<ImportedArray> from_dlpack(DLManagedTensorVersioned* managed) {
  HEARTH_ASSIGN_OR_RETURN(ArrayView view, view_of_dlpack(managed));
  ImportedArray array = take_over(managed, std::move(view));
  array.is_read_only = (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  return array;
}

absl::StatusOr<DLManagedTensor*> to_dlpack(const ArrayView& view, std::shared_ptr<const void> owner) {
  if (view.dtype == DType::kF8E4M3 || view.dtype == DType::kF8E5M2) {
    return absl::UnimplementedError(
        str_cat("DLPack of version 0.x has no name for arrays of ", dtype_name(view.dtype), "; version 1.1 has"));
  }
  return to_managed<DLManagedTensor>(view, std::move(owner));
}

absl::StatusOr<DLManagedTensorVersioned*> to_dlpack_versioned(const ArrayView& view, std::shared_ptr<const void> owner,
                                                              std::uint64_t flags) {
  const absl::StatusOr<DLManagedTensorVersioned*> made = to_managed<DLManagedTensorVersioned>(view, std::move(owner));
  if (!made.ok()) return made;
  (*made)->version = {1, 1};
  (*made)->flags = flags;
  return made;
}

absl::StatusOr<DLManagedTensor*> to_dlpack(Array array) {
  const auto kept = std::make_shared<const Array>(std::move(array));
  return to_dlpack(*kept, kept);
}

absl::StatusOr<DLManagedTensorVersioned*> to_dlpack_versioned(Array array, std::uint64_t flags) {
  const auto kept = std::make_shared<const Array>(std::move(array));
  return to_dlpack_versioned(*kept, kept, flags);
}

}  // namespace hearth::client
