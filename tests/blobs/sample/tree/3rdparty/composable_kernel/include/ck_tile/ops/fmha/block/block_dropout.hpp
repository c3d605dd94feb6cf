// Dropout, of which this small ck_tile has the name only.
#pragma once

namespace ck_tile {

template <bool kIsDropout_, bool kIsWarp32_, bool kStoreRandVal_>
struct BlockDropoutBwd {
  static_assert(!kIsDropout_, "this small ck_tile has no dropout");
};

}  // namespace ck_tile
