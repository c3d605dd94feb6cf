#include "hearth/dlpack.h"

#include "base/text.h"

namespace hearth::client {
namespace {

constexpr std::int32_t kMaxAxes = 32;

struct TypeRow {
  DLDataTypeCode code;
  std::uint8_t bits;
  DType dtype;
};
constexpr TypeRow kTypes[] = {{kDLBool, 8, DType::kBool},  {kDLInt, 8, DType::kI8},       {kDLInt, 16, DType::kI16},
                              {kDLInt, 32, DType::kI32},   {kDLInt, 64, DType::kI64},     {kDLUInt, 8, DType::kU8},
                              {kDLUInt, 16, DType::kU16},  {kDLUInt, 32, DType::kU32},    {kDLUInt, 64, DType::kU64},
                              {kDLFloat, 16, DType::kF16}, {kDLBfloat, 16, DType::kBF16}, {kDLFloat, 32, DType::kF32},
                              {kDLFloat, 64, DType::kF64}};

const TypeRow* find_type(const DLDataType& type) {
  for (const TypeRow& row : kTypes) {
    if (type.code == row.code && type.bits == row.bits && type.lanes == 1) return &row;
  }
  return nullptr;
}

const TypeRow* find_type(DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return &row;
  }
  return nullptr;
}

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

// What an exported tensor points to.
struct Exported {
  DLManagedTensor tensor = {};
  std::vector<std::int64_t> shape;
  std::shared_ptr<const void> owner;
};

}  // namespace

absl::StatusOr<ArrayView> view_of_dlpack(const DLManagedTensor* managed) {
  if (managed == nullptr) return wrong("is a null pointer");
  const DLTensor& tensor = managed->dl_tensor;
  if (tensor.device.device_type != kDLCPU) {
    return wrong(str_cat("is on device type ", static_cast<int>(tensor.device.device_type), "; expected the CPU (1)"));
  }
  const TypeRow* type = find_type(tensor.dtype);
  if (type == nullptr) {
    return absl::UnimplementedError(str_cat("DLPack tensor: type code ", tensor.dtype.code, " of ", tensor.dtype.bits,
                                            " bits and ", tensor.dtype.lanes, " lanes is not supported"));
  }
  if (tensor.ndim < 0 || tensor.ndim > kMaxAxes)
    return wrong(str_cat("has ", tensor.ndim, " axes; expected 0 to ", kMaxAxes));
  if (tensor.ndim > 0 && tensor.shape == nullptr) return wrong("has no shape");
  std::vector<std::int64_t> shape(tensor.shape, tensor.shape + tensor.ndim);
  std::size_t size = dtype_bytes(type->dtype);
  for (std::int64_t length : shape) {
    if (length < 0 || __builtin_mul_overflow(size, static_cast<std::size_t>(length), &size)) {
      return wrong(str_cat("has the length ", length));
    }
  }
  if (absl::Status checked = check_strides(tensor); !checked.ok()) return checked;
  if (tensor.data == nullptr && size > 0) return wrong("points to null");
  const void* data = tensor.data == nullptr ? nullptr : static_cast<const char*>(tensor.data) + tensor.byte_offset;
  return ArrayView(data, size, type->dtype, std::move(shape));
}

absl::StatusOr<ImportedArray> from_dlpack(DLManagedTensor* managed) {
  absl::StatusOr<ArrayView> view = view_of_dlpack(managed);
  if (!view.ok()) return view.status();
  const std::shared_ptr<const void> owner(static_cast<const void*>(managed), [managed](const void*) {
    if (managed->deleter != nullptr) managed->deleter(managed);
  });
  return ImportedArray{*std::move(view), owner};
}

absl::StatusOr<DLManagedTensor*> to_dlpack(const ArrayView& view, std::shared_ptr<const void> owner) {
  if (absl::Status checked = check_array(view, "the array"); !checked.ok()) return checked;
  const TypeRow* type = find_type(view.dtype);
  if (type == nullptr) {
    return absl::UnimplementedError(str_cat("DLPack has no name for arrays of ", dtype_name(view.dtype)));
  }
  auto* exported = new Exported;  // owned by the tensor's deleter
  exported->shape = view.shape;
  exported->owner = std::move(owner);
  exported->tensor.dl_tensor = {const_cast<void*>(view.data),
                                {kDLCPU, 0},
                                static_cast<std::int32_t>(view.shape.size()),
                                {static_cast<std::uint8_t>(type->code), type->bits, 1},
                                exported->shape.data(),
                                nullptr,
                                0};
  exported->tensor.manager_ctx = exported;
  exported->tensor.deleter = [](DLManagedTensor* self) { delete static_cast<Exported*>(self->manager_ctx); };
  return &exported->tensor;
}

absl::StatusOr<DLManagedTensor*> to_dlpack(Array array) {
  const auto kept = std::make_shared<const Array>(std::move(array));
  return to_dlpack(*kept, kept);
}

}  // namespace hearth::client
