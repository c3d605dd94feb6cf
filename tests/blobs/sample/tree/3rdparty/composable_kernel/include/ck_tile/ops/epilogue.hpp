// How an accumulated value leaves a kernel.
#pragma once
#include "ck_tile/core.hpp"

namespace ck_tile {

template <typename AccDataType_, typename ODataType_, bool kPadM_, bool kPadN_>
struct Default2DEpilogueProblem {
  using AccDataType = AccDataType_;
  using ODataType = ODataType_;
  static constexpr bool kPadM = kPadM_;
  static constexpr bool kPadN = kPadN_;
};

template <typename Problem_>
struct Default2DEpilogue {
  using Problem = Problem_;
  using ODataType = typename Problem::ODataType;

  CK_TILE_DEVICE static void store(ODataType* row, const typename Problem::AccDataType* values, index_t count) {
    for (index_t c = 0; c < count; ++c) row[c] = from_float<ODataType>(values[c]);
  }
};

}  // namespace ck_tile
