// WeightLayout: what of a plan lies in its weight block, where, and what it is made of; a function of the plan and of
// which parameters cannot be used where they are. Two plans whose `once` launches, their kernels, their offsets and the
// bytes they read are equal have equal blocks, whatever else is in them: weight_key is the digest of all that.
// Plain values; thread-safe; no errors. Inside runtime/ only.
//
//   WeightLayout layout = weight_layout(plan, fits);
//   Digest key = weight_key(plan, layout, digests);   // of layout.sources, in order
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/sha256.h"
#include "runtime/plan/plan.h"

namespace hearth::runtime {

// Whether kernels can read a parameter where the caller has it.
enum class ParameterFit {
  kFits,
  kUnusable,  // not aligned to its element, in memory that the device does not reach, or with subnormal values to lose
  kShort,     // less than its buffer's size
};

struct WeightLayout {
  static constexpr std::size_t kNone = SIZE_MAX;
  static constexpr std::size_t kMinBytes = std::size_t{1} << 16;  // where smaller constants have memory of their own

  std::size_t bytes = 0;
  std::vector<std::size_t> offsets;      // in the block, by buffer; kNone for what is elsewhere
  std::vector<std::uint32_t> sources;    // parameters from which the block is made, by id
  std::vector<bool> is_copied;           // constants, and parameters that cannot be used where they are, by buffer
  std::vector<std::size_t> last_reader;  // the last `once` launch that reads the buffer, or kNone
  std::vector<bool> used_by_replay;      // by buffer; what a loop's steps see is used
  std::vector<bool> loses_subnormals;    // by buffer (subnormal_weights.h)
};

// `fits`: by buffer, of parameters. A constant or copy of less than `least_bytes` is not in the block.
WeightLayout weight_layout(const Plan& plan, const std::vector<ParameterFit>& fits,
                           std::size_t least_bytes = WeightLayout::kMinBytes, std::vector<bool> loses_subnormals = {});

Digest weight_key(const Plan& plan, const WeightLayout& layout, const std::vector<Digest>& digests);

}  // namespace hearth::runtime
