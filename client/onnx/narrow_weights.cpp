#include "client/onnx/narrow_weights.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "base/mapped_file.h"
#include "base/text.h"
#include "client/onnx/reject.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/movement.h"

namespace hearth::onnx {
namespace {

using client::Tensor;

constexpr float kLargestInt8 = 127;

// A double of this size has no bits below 1: adding and taking it away rounds to nearest, ties to even.
constexpr double kRounder = 0x1.8p52;

float f32_of_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::vector<float> values_of(const HostTensor& x) {
  std::vector<float> values(static_cast<std::size_t>(x.size()));
  const absl::Status read = runtime::copy_mapped(x.address(), x.bytes(), values.data());
  if (!read.ok()) reject(str_cat("external data: ", read.message()));
  return values;
}

// The error of what is computed with in place of finite values, the largest in parts of the largest |value|.
class ErrorOf {
 public:
  void add(float value, double stored) {
    largest_ = std::max(largest_, std::fabs(value));
    error_ = std::max(error_, std::fabs(static_cast<double>(value) - stored));
  }
  double relative() const { return largest_ > 0 ? error_ / static_cast<double>(largest_) : 0; }

 private:
  float largest_ = 0;
  double error_ = 0;
};

// The bytes as bf16; nothing when a finite value would become infinite.
std::optional<std::string> to_bf16(std::span<const float> values, ErrorOf& error) {
  std::string bytes(values.size() * sizeof(std::uint16_t), '\0');
  bool fits = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t bits = bf16_bits(values[i]);
    std::memcpy(bytes.data() + i * sizeof bits, &bits, sizeof bits);
    if (!std::isfinite(values[i])) continue;
    const float stored = f32_of_bf16(bits);
    fits = fits && std::isfinite(stored);
    error.add(values[i], static_cast<double>(stored));
  }
  return fits ? std::optional(std::move(bytes)) : std::nullopt;
}

Tensor parameter(const std::string& name, const Ints& shape, DType dtype, std::string bytes) {
  const auto owned = std::make_shared<const std::string>(std::move(bytes));
  return client::parameter(name, {shape.begin(), shape.end()}, dtype, {owned->data(), owned->size(), owned});
}

}  // namespace

std::uint16_t bf16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

Int8Values to_int8(std::span<const float> values, std::int64_t channels, std::int64_t inner) {
  Int8Values result;
  result.bytes.resize(values.size());
  result.scales.resize(static_cast<std::size_t>(channels));
  const auto c = static_cast<std::size_t>(channels), n = static_cast<std::size_t>(inner);
  const auto for_each_run = [&](const auto& run) {
    for (std::size_t at = 0, channel = 0; at < values.size(); at += n, channel = channel + 1 == c ? 0 : channel + 1) {
      run(at, channel);
    }
  };
  for_each_run([&](std::size_t at, std::size_t channel) {
    float& largest = result.scales[channel];
    for (std::size_t i = at; i < at + n; ++i) largest = std::max(largest, std::fabs(values[i]));
  });
  for (float& scale : result.scales) {
    scale /= kLargestInt8;
    if (scale < std::numeric_limits<float>::min()) scale = 0;  // too small to divide by: all of the channel is 0
  }
  ErrorOf error;
  for_each_run([&](std::size_t at, std::size_t channel) {
    const float scale = result.scales[channel];
    for (std::size_t i = at; i < at + n; ++i) {
      const double units = scale > 0 ? static_cast<double>(values[i]) / static_cast<double>(scale) : 0;
      const double rounded = std::clamp<double>(units + kRounder - kRounder, -kLargestInt8, kLargestInt8);
      result.bytes[i] = static_cast<char>(static_cast<std::int8_t>(rounded));
      error.add(values[i], rounded * static_cast<double>(scale));
    }
  });
  result.error = error.relative();
  return result;
}

bool NarrowWeights::applies_to(const Value& x) const {
  if (form_ == Weights::kF32) return false;
  if (x.permuted_from() != nullptr) return applies_to(*x.permuted_from());
  return x.is_host() && x.host().dtype() == DType::kF32 && x.host().rank() >= 2 &&
         x.host().size() >= kMinNarrowElements;
}

StoredWeight NarrowWeights::store(const Value& x, std::int64_t channel_axis, const MakeName& make_name) {
  if (!applies_to(x)) return {x.tensor(), x.tensor(), {}};
  return stored(x, form_, channel_axis, make_name);
}

StoredWeight NarrowWeights::store_unscaled(const Value& x, const MakeName& make_name) {
  if (!applies_to(x)) return {x.tensor(), x.tensor(), {}};
  return stored(x, Weights::kBf16, 0, make_name);
}

StoredWeight NarrowWeights::stored(const Value& x, Weights form, std::int64_t channel_axis, const MakeName& make_name) {
  if (const Value* base = x.permuted_from(); base != nullptr) {
    const Ints& order = x.order();
    StoredWeight weight = stored(*base, form, order[static_cast<std::size_t>(channel_axis)], make_name);
    weight.tensor = client::permute(weight.tensor, order);
    weight.stored = client::permute(weight.stored, order);
    return weight;
  }
  const HostTensor& host = x.host();
  const Key key(host.address(), host.shape(), form, form == Weights::kInt8 ? channel_axis : 0);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second.weight;
  return known_.emplace(key, Known{host, make(x, form, channel_axis, make_name)}).first->second.weight;
}

StoredWeight NarrowWeights::make(const Value& x, Weights form, std::int64_t channel_axis, const MakeName& make_name) {
  const HostTensor& host = x.host();
  const std::vector<float> values = values_of(host);
  if (form == Weights::kBf16) {
    ErrorOf error;
    std::optional<std::string> bytes = to_bf16(values, error);
    if (!bytes) return keep(x);
    record(x.name(), host.bytes(), bytes->size(), error.relative());
    const Tensor narrow =
        parameter(make_name(str_cat(x.name(), "/bf16")), host.shape(), DType::kBF16, *std::move(bytes));
    return {client::cast(narrow, DType::kF32), narrow, {}};
  }
  if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) return keep(x);
  const auto axis = static_cast<std::size_t>(channel_axis);
  const std::int64_t channels = host.shape()[axis], inner = row_major_strides(host.shape())[axis];
  Int8Values narrow = to_int8(values, channels, inner);
  const std::size_t scale_bytes = narrow.scales.size() * sizeof(float);
  record(x.name(), host.bytes(), narrow.bytes.size() + scale_bytes, narrow.error);
  std::string scales(reinterpret_cast<const char*>(narrow.scales.data()), scale_bytes);
  const Tensor units =
      parameter(make_name(str_cat(x.name(), "/int8")), host.shape(), DType::kI8, std::move(narrow.bytes));
  const Tensor scale = parameter(make_name(str_cat(x.name(), "/scale")), {channels}, DType::kF32, std::move(scales));
  return {client::cast(units, DType::kF32), units, scale};
}

StoredWeight NarrowWeights::keep(const Value& x) {
  const std::string& name = x.name();
  if (std::find(report_.kept.begin(), report_.kept.end(), name) == report_.kept.end()) report_.kept.push_back(name);
  return {x.tensor(), x.tensor(), {}};
}

void NarrowWeights::record(const std::string& name, std::size_t f32_bytes, std::size_t bytes, double error) {
  ++report_.tensors;
  report_.f32_bytes += f32_bytes;
  report_.stored_bytes += bytes;
  if (report_.worst.empty() || error > report_.worst_error) {
    report_.worst = name;
    report_.worst_error = error;
  }
}

}  // namespace hearth::onnx
