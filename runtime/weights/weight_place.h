// Where a plan's weights lie for its kernels: in this process's memory, whose block other processes may map (host_weights.h),
// or in a device's of its own, whose blocks are those of all plans of this process (device_weights.h). One object a
// plan, used by one thread: take(), then give(). Inside runtime/ only.
//
//   const std::unique_ptr<WeightPlace> place = device.reaches_host_memory() ? host_weights(sharing) : device_weights(device, sharing);
//   absl::StatusOr<WeightPlace::Taken> taken = place->take(source);   // filled already, or to be filled
//   absl::StatusOr<std::shared_ptr<const void>> hold = place->give(taken->block, facts);
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan/plan.h"
#include "runtime/weights/weight_block.h"
#include "runtime/weights/weight_layout.h"

namespace hearth::runtime {

// How a plan came by what its instances share.
struct WeightFacts {
  std::size_t block_bytes = 0;      // what `once` launches make, large constants, copies of parameters
  bool shared = false;              // the block is in memory that other processes may map, too
  bool found = false;               // another process made it; on a device of its own memory, another plan of this one
  std::uint32_t once_launches = 0;  // run by this plan
};

// What a block is made of: parameters' bytes as the caller has them, by buffer.
struct WeightSource {
  const Plan& plan;
  const WeightLayout& layout;
  const std::vector<std::string_view>& given;
};

class WeightPlace {
 public:
  struct Taken {
    std::shared_ptr<WeightBlock> block;
    bool found = false;  // it has its bytes
  };
  virtual ~WeightPlace() = default;
  // Whether kernels can read parameters where the caller has them.
  virtual bool reads_in_place() const = 0;
  // Constants and copies of fewer bytes have memory of their own.
  virtual std::size_t least_bytes() const = 0;
  virtual absl::StatusOr<Taken> take(const WeightSource& source) = 0;
  // When the block has its bytes. What it returns, which may be null, keeps the block for others as long as it lives.
  // RESOURCE_EXHAUSTED: the block's memory is gone.
  virtual absl::StatusOr<std::shared_ptr<const void>> give(const std::shared_ptr<WeightBlock>& block,
                                                           WeightFacts& facts) = 0;
};

}  // namespace hearth::runtime
