#include "runtime/weights/subnormal_weights.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/mapped_file.h"
#include "base/status_macros.h"
#include "runtime/plan/plan_loops.h"

namespace hearth::runtime {
namespace {

template <typename Bits>
struct Format;
template <>
struct Format<std::uint32_t> {  // f32
  static constexpr std::uint32_t kExponent = 0x7f800000, kSign = 0x80000000;
};
template <>
struct Format<std::uint16_t> {  // bf16
  static constexpr std::uint16_t kExponent = 0x7f80, kSign = 0x8000;
};

template <typename Bits>
bool is_subnormal(Bits bits) {
  constexpr Bits kMagnitude = static_cast<Bits>(~Format<Bits>::kSign);
  return (bits & Format<Bits>::kExponent) == 0 && (bits & kMagnitude) != 0;
}

template <typename Bits>
Bits element(const char* data, std::size_t i) {
  Bits bits;
  std::memcpy(&bits, data + i * sizeof bits, sizeof bits);
  return bits;
}

template <typename Bits>
std::size_t count(const char* data, std::size_t size_bytes) {
  std::size_t found = 0;
  constexpr std::size_t kBlock = 4096;  // elements, whose count fits the element's own bits: vectors of them
  const std::size_t elements = size_bytes / sizeof(Bits);
  for (std::size_t begin = 0; begin < elements; begin += kBlock) {
    const std::size_t end = std::min(elements, begin + kBlock);
    Bits in_block = 0;
    for (std::size_t i = begin; i < end; ++i)
      in_block = static_cast<Bits>(in_block + is_subnormal(element<Bits>(data, i)));
    found += in_block;
  }
  return found;
}

template <typename Bits>
void zero(char* data, std::size_t size_bytes) {
  for (std::size_t i = 0; i < size_bytes / sizeof(Bits); ++i) {
    const Bits bits = element<Bits>(data, i);
    const Bits kept = is_subnormal(bits) ? static_cast<Bits>(bits & Format<Bits>::kSign) : bits;
    std::memcpy(data + i * sizeof kept, &kept, sizeof kept);
  }
}

std::size_t count_in_memory(const char* data, std::size_t size_bytes, DType dtype) {
  if (dtype == DType::kF32) return count<std::uint32_t>(data, size_bytes);
  return dtype == DType::kBF16 ? count<std::uint16_t>(data, size_bytes) : 0;
}

}  // namespace

std::vector<bool> loses_subnormals(const Plan& plan, Subnormals subnormals) {
  std::vector<bool> summed(plan.buffers.size()), otherwise(plan.buffers.size());
  if (subnormals == Subnormals::kKeep) return summed;
  for (const PlanLaunch& launch : plan.launches) {
    if (launch.once) continue;
    const std::vector<std::uint32_t>& slots = plan.kernels[launch.kernel].summed_slots;
    for (std::uint32_t slot = 0; slot < launch.buffers.size(); ++slot) {
      const bool is_summed = std::ranges::binary_search(slots, slot);
      for (const std::uint32_t buffer : memory_of(plan, launch.buffers[slot]))
        (is_summed ? summed : otherwise)[buffer] = true;
    }
  }
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const v1::PlanBuffer::Kind kind = plan.buffers[i].kind;
    const bool is_weight =
        kind == v1::PlanBuffer::PARAMETER || kind == v1::PlanBuffer::CONSTANT || kind == v1::PlanBuffer::PERSISTENT;
    const bool is_float = plan.buffers[i].dtype == DType::kF32 || plan.buffers[i].dtype == DType::kBF16;
    summed[i] = summed[i] && !otherwise[i] && is_weight && is_float;
  }
  return summed;
}

absl::StatusOr<std::size_t> count_subnormals(std::string_view bytes, DType dtype) {
  if (dtype != DType::kF32 && dtype != DType::kBF16) return 0;
  if (!MappedFile::containing(bytes)) return count_in_memory(bytes.data(), bytes.size(), dtype);
  constexpr std::size_t kChunk = std::size_t{1} << 18;
  const auto chunk = std::make_unique_for_overwrite<char[]>(std::min(kChunk, bytes.size()));
  std::size_t found = 0;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(kChunk, bytes.size()))) {
    const std::size_t size = std::min(kChunk, bytes.size());
    HEARTH_RETURN_IF_ERROR(copy_mapped(bytes.data(), size, chunk.get()));
    found += count_in_memory(chunk.get(), size, dtype);
  }
  return found;
}

void zero_subnormals(void* data, std::size_t size_bytes, DType dtype) {
  char* const bytes = static_cast<char*>(data);
  // What has none is not written to: its pages may be the file's own.
  if (count_in_memory(bytes, size_bytes, dtype) == 0) return;
  if (dtype == DType::kF32) zero<std::uint32_t>(bytes, size_bytes);
  if (dtype == DType::kBF16) zero<std::uint16_t>(bytes, size_bytes);
}

}  // namespace hearth::runtime
