#include "compiler/target/cpu_capabilities.h"

#include <algorithm>

namespace hearth::target {
namespace {

// Cycles are of a core with two multiply-adds a cycle: Intel's from Golden Cove on, as measured (docs/performance.md),
// AMD's from Zen 4 on, as its optimisation guides say.
constexpr MatrixUnit kBf16Dot = {"bf16 dot", 2, 0.5, 6, 0, 1};
constexpr MatrixUnit kBf16Pairs = {"bf16 pairs", 2, 1, 8, 1, 2};  // shift, mask and two multiply-adds
constexpr MatrixUnit kVnni = {"vnni", 4, 0.5, 5, 0, 1};
constexpr MatrixUnit kVnniOffset = {"vnni with an offset", 4, 1, 6, 0.5, 2};  // operands of one signedness

// Bytes: callers may have small stacks (base/kernel_abi.h).
constexpr std::int64_t kMaxAllocationBytes = 128 << 10;

bool has_feature(const v1::Target& record, std::string_view name) {
  return std::ranges::any_of(record.features(), [&](const std::string& feature) { return feature == name; });
}

}  // namespace

bool has_fast_bf16_dot(const v1::Target& record) {
  // On Intel's cores with AMX it takes the time of 2.4 multiply-adds, and products by it 1.2 to 1.45 times as long as by
  // kBf16Pairs (docs/performance.md).
  return has_feature(record, "avx512bf16") && !has_feature(record, "amx-bf16") && !has_feature(record, "avx512fp16");
}

Capabilities cpu_capabilities(const v1::Target& record) {
  const std::string arch = record.triple().substr(0, record.triple().find('-'));
  const bool has_masks = record.vector_bits() >= 512;  // AVX-512
  const bool has_vnni = (has_feature(record, "avx512vnni") && has_feature(record, "avx512vl")) ||
                        (has_feature(record, "avxvnni") && record.vector_bits() <= 256);
  Capabilities can;
  can.vector_bytes = record.vector_bits() / 8;
  can.has_masks = has_masks;
  can.vector_registers = has_masks || arch.starts_with("aarch64") ? 32 : 16;
  can.has_scaleb = has_masks && has_feature(record, "avx512f");
  can.bf16_unit = has_fast_bf16_dot(record) ? kBf16Dot : kBf16Pairs;
  if (has_vnni) {
    can.byte_unit = kVnni;
    can.same_byte_unit = kVnniOffset;
  }
  can.allocation_bytes = kMaxAllocationBytes;
  can.blob_toolchain = "c++";
  can.arch = arch;
  can.is_tuned = true;
  return can;
}

}  // namespace hearth::target
