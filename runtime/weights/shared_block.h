// Whether processes of this node share a plan's weight block, and what another one has of it. Inside runtime/ only.
//
//   WeightOffer offer = offer_of(source, {sharing, /*device=*/""});
#pragma once
#include <string_view>

#include "runtime/weights/weight_place.h"
#include "runtime/weights/weight_sharing.h"

namespace hearth::runtime {

struct SharedBlock {
  WeightSharing* sharing = nullptr;  // null: with nobody
  std::string_view device;           // Device::weights_device(); empty: in the host's memory
};

// kAlone for blocks that are not worth asking anybody for.
WeightOffer offer_of(const WeightSource& source, const SharedBlock& block);

}  // namespace hearth::runtime
