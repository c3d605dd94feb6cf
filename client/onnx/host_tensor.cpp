#include "client/onnx/host_tensor.h"

#include <cmath>
#include <cstring>
#include <mutex>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "client/onnx/reject.h"
#include "client/tensor/elements.h"

namespace hearth::onnx {
namespace {

template <typename T>
T load(const char* data, std::int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <typename T>
void store(std::string& bytes, std::int64_t index, T value) {
  std::memcpy(bytes.data() + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

// Towards zero; what the type does not hold becomes its nearest value, NaN 0, as where a kernel converts it. The bits
// of an unsigned 64-bit value.
std::int64_t saturated(double value, DType dtype) {
  if (std::isnan(value)) return 0;
  const int bits = static_cast<int>(8 * dtype_bytes(dtype));
  const double low = is_signed(dtype) ? -std::ldexp(1.0, bits - 1) : 0;
  const double beyond = std::ldexp(1.0, is_signed(dtype) ? bits - 1 : bits);
  if (value <= low) return static_cast<std::int64_t>(low);
  const std::uint64_t greatest = ~std::uint64_t{0} >> (64 - bits + (is_signed(dtype) ? 1 : 0));
  if (value >= beyond) return static_cast<std::int64_t>(greatest);
  return is_signed(dtype) ? static_cast<std::int64_t>(value)
                          : static_cast<std::int64_t>(static_cast<std::uint64_t>(value));
}

std::string_view element(const char* data, DType dtype, std::int64_t index) {
  return {data + index * static_cast<std::int64_t>(dtype_bytes(dtype)), dtype_bytes(dtype)};
}

}  // namespace

std::int64_t count(const Ints& shape) {
  std::int64_t total = 1;
  for (std::int64_t length : shape) {
    if (length < 0) reject(str_cat("shape ", to_string(shape), " has a negative length"));
    if (__builtin_mul_overflow(total, length, &total) || total > (std::int64_t{1} << 48)) {
      reject(str_cat("shape ", to_string(shape), " has too many elements"));
    }
  }
  return total;
}

Ints row_major_strides(const Ints& shape) {
  Ints strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::string to_string(const Ints& shape) { return str_cat("[", absl::StrJoin(shape, ", "), "]"); }

bool fits(const Ints& shape, DType dtype) {
  return count(shape) <= kMaxHostBytes / static_cast<std::int64_t>(dtype_bytes(dtype));
}

std::int64_t positive_axis(std::int64_t axis, std::int64_t rank) {
  if (axis < -rank || axis >= rank) reject(str_cat("axis ", axis, " is out of range for rank ", rank));
  return axis < 0 ? axis + rank : axis;
}

Ints broadcast(const Ints& a, const Ints& b) {
  Ints out(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      reject(str_cat("shapes ", to_string(a), " and ", to_string(b), " do not broadcast"));
    }
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

HostTensor::HostTensor(DType dtype, Ints shape, std::shared_ptr<const void> owner, const void* data)
    : dtype_(dtype),
      shape_(std::move(shape)),
      count_(count(shape_)),
      owner_(std::move(owner)),
      data_(static_cast<const char*>(data)) {}

HostTensor::HostTensor(DType dtype, Ints shape, std::string bytes)
    : dtype_(dtype), shape_(std::move(shape)), count_(count(shape_)) {
  auto owned = std::make_shared<const std::string>(std::move(bytes));
  data_ = owned->data();
  owner_ = std::move(owned);
}

// Made at first use, shared by all handles of the same bytes.
struct HostTensor::Copy {
  std::mutex mutex;
  bool is_made = false;
  std::string bytes;
};

HostTensor HostTensor::mapped(DType dtype, Ints shape, std::shared_ptr<const void> file, const void* data) {
  HostTensor tensor(dtype, std::move(shape), std::move(file), data);
  tensor.copy_ = std::make_shared<Copy>();
  return tensor;
}

const char* HostTensor::copied() const {
  const std::lock_guard lock(copy_->mutex);
  if (!copy_->is_made) {
    copy_->bytes.resize(bytes());
    const absl::Status read = runtime::copy_mapped(data_, bytes(), copy_->bytes.data());
    if (!read.ok()) reject(str_cat("external data: ", read.message()));
    copy_->is_made = true;
  }
  return copy_->bytes.data();
}

HostTensor HostTensor::of_i64(Ints shape, const Ints& values) {
  return HostTensor(DType::kI64, std::move(shape),
                    std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::int64_t)));
}

HostTensor HostTensor::of_bool(bool value) { return HostTensor(DType::kBool, {}, std::string(1, value ? '\1' : '\0')); }

bool HostTensor::computable() const { return !is_float(dtype_) || dtype_bytes(dtype_) > 1; }

std::int64_t HostTensor::integer(std::int64_t index) const {
  switch (dtype_) {
    case DType::kBool:
      return load<std::uint8_t>(data(), index) != 0;
    case DType::kI8:
      return load<std::int8_t>(data(), index);
    case DType::kI16:
      return load<std::int16_t>(data(), index);
    case DType::kI32:
      return load<std::int32_t>(data(), index);
    case DType::kI64:
      return load<std::int64_t>(data(), index);
    case DType::kU8:
      return load<std::uint8_t>(data(), index);
    case DType::kU16:
      return load<std::uint16_t>(data(), index);
    case DType::kU32:
      return load<std::uint32_t>(data(), index);
    case DType::kU64:
      return static_cast<std::int64_t>(load<std::uint64_t>(data(), index));
    default:
      return saturated(real(index), DType::kI64);
  }
}

double HostTensor::real(std::int64_t index) const {
  if (dtype_ == DType::kF32) return load<float>(data(), index);
  if (dtype_ == DType::kF64) return load<double>(data(), index);
  if (dtype_ == DType::kU64) return static_cast<double>(load<std::uint64_t>(data(), index));
  if (is_float(dtype_)) return client::decode_float(element(data(), dtype_, index), dtype_);
  return static_cast<double>(integer(index));
}

Ints HostTensor::integers() const {
  Ints values(static_cast<std::size_t>(count_));
  for (std::int64_t i = 0; i < count_; ++i) values[static_cast<std::size_t>(i)] = integer(i);
  return values;
}

HostTensor HostTensor::reshaped(Ints shape) const {
  if (count(shape) != count_) {
    reject(str_cat("cannot reshape ", to_string(shape_), " to ", to_string(shape)));
  }
  HostTensor out = *this;
  out.shape_ = std::move(shape);
  return out;
}

void put_integer(std::string& bytes, DType dtype, std::int64_t index, std::int64_t value) {
  switch (dtype) {
    case DType::kBool:
      return store<std::uint8_t>(bytes, index, value != 0);
    case DType::kI8:
    case DType::kU8:
      return store(bytes, index, static_cast<std::uint8_t>(value));
    case DType::kI16:
    case DType::kU16:
      return store(bytes, index, static_cast<std::uint16_t>(value));
    case DType::kI32:
    case DType::kU32:
      return store(bytes, index, static_cast<std::uint32_t>(value));
    case DType::kI64:
    case DType::kU64:
      return store(bytes, index, value);
    case DType::kF32:
      return store(bytes, index, static_cast<float>(value));
    case DType::kF64:
      return store(bytes, index, static_cast<double>(value));
    default:
      return put_real(bytes, dtype, index, static_cast<double>(value));
  }
}

void put_real(std::string& bytes, DType dtype, std::int64_t index, double value) {
  switch (dtype) {
    case DType::kF32:
      return store(bytes, index, static_cast<float>(value));
    case DType::kF64:
      return store(bytes, index, value);
    case DType::kBool:
      return store<std::uint8_t>(bytes, index, value != 0);
    default:
      break;
  }
  if (!is_float(dtype)) return put_integer(bytes, dtype, index, saturated(value, dtype));
  const std::string encoded = client::encode_float(value, dtype);
  std::memcpy(bytes.data() + index * static_cast<std::int64_t>(encoded.size()), encoded.data(), encoded.size());
}

HostTensor host_view(const HostTensor& x, const View& view) {
  const auto width = static_cast<std::int64_t>(dtype_bytes(x.dtype()));
  const std::int64_t total = count(view.shape);
  std::string bytes(static_cast<std::size_t>(total * width), '\0');
  const std::size_t rank = view.shape.size();
  Ints position(rank, 0);
  std::int64_t from = view.offset;
  // Rows along the innermost axis are copied whole when they are contiguous.
  const std::int64_t row = rank == 0 ? 1 : view.shape[rank - 1];
  const std::int64_t step = rank == 0 ? 1 : view.strides[rank - 1];
  for (std::int64_t done = 0; done < total; done += row) {
    char* to = bytes.data() + done * width;
    if (step == 1) {
      std::memcpy(to, x.data() + from * width, static_cast<std::size_t>(row * width));
    } else {
      for (std::int64_t i = 0; i < row; ++i) {
        std::memcpy(to + i * width, x.data() + (from + i * step) * width, static_cast<std::size_t>(width));
      }
    }
    for (std::size_t axis = rank; axis-- > 0;) {
      if (axis + 1 == rank) continue;
      from += view.strides[axis];
      if (++position[axis] < view.shape[axis]) break;
      from -= view.strides[axis] * view.shape[axis];
      position[axis] = 0;
    }
  }
  return HostTensor(x.dtype(), view.shape, std::move(bytes));
}

HostTensor host_cat(const std::vector<HostTensor>& xs, std::int64_t axis) {
  Ints shape = xs.front().shape();
  const auto at = static_cast<std::size_t>(axis);
  std::int64_t total = 0;
  for (const HostTensor& x : xs) total += x.shape()[at];
  shape[at] = total;
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < at; ++i) outer *= shape[i];
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(count(shape)) * dtype_bytes(xs.front().dtype()));
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const HostTensor& x : xs) {
      const std::size_t chunk = x.bytes() / static_cast<std::size_t>(outer);
      bytes.append(x.data() + static_cast<std::size_t>(o) * chunk, chunk);
    }
  }
  return HostTensor(xs.front().dtype(), std::move(shape), std::move(bytes));
}

HostTensor host_take(const HostTensor& x, const Ints& indices, const Ints& index_shape, std::int64_t axis) {
  const auto at = static_cast<std::size_t>(axis);
  Ints shape(x.shape().begin(), x.shape().begin() + axis);
  shape.insert(shape.end(), index_shape.begin(), index_shape.end());
  shape.insert(shape.end(), x.shape().begin() + axis + 1, x.shape().end());
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < at; ++i) outer *= x.shape()[i];
  std::size_t inner = dtype_bytes(x.dtype());
  for (std::size_t i = at + 1; i < x.shape().size(); ++i) inner *= static_cast<std::size_t>(x.shape()[i]);
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(count(shape)) * dtype_bytes(x.dtype()));
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t index : indices) {
      bytes.append(x.data() + static_cast<std::size_t>(o * x.shape()[at] + index) * inner, inner);
    }
  }
  return HostTensor(x.dtype(), std::move(shape), std::move(bytes));
}

}  // namespace hearth::onnx
