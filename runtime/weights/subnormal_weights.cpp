#include "runtime/weights/subnormal_weights.h"

#include <algorithm>
#include <array>
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

constexpr std::size_t kBlock = 4096;  // elements; their number fits 16 bits, so that it is counted in vectors of them

template <typename Bits>
std::size_t count_in_block(const Bits* data, std::size_t elements) {
  Bits found = 0;
  for (std::size_t i = 0; i < elements; ++i) found = static_cast<Bits>(found + is_subnormal(data[i]));
  return found;
}

template <typename Bits>
std::size_t count(const char* data, std::size_t size_bytes) {
  std::size_t found = 0;
  std::array<Bits, kBlock> block;
  for (std::size_t at = 0; at < size_bytes; at += sizeof block) {
    const std::size_t elements = std::min(kBlock, (size_bytes - at) / sizeof(Bits));
    std::memcpy(block.data(), data + at, elements * sizeof(Bits));  // at any address
    found += count_in_block(block.data(), elements);
  }
  return found;
}

template <typename Bits>
void zero(Bits* data, std::size_t elements) {
  std::size_t begin = 0;  // of the first block that has some; what has none is not written to
  while (begin < elements && count_in_block(data + begin, std::min(kBlock, elements - begin)) == 0) begin += kBlock;
  for (std::size_t i = begin; i < elements; ++i)
    data[i] = static_cast<Bits>(is_subnormal(data[i]) ? data[i] & Format<Bits>::kSign : data[i]);
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
  if (dtype == DType::kF32) zero(static_cast<std::uint32_t*>(data), size_bytes / sizeof(std::uint32_t));
  if (dtype == DType::kBF16) zero(static_cast<std::uint16_t*>(data), size_bytes / sizeof(std::uint16_t));
}

}  // namespace hearth::runtime
