// HIP flavour: a tile is where its rows are; a thread reads what it needs. Simple rather than fast: the sample is there
// to be compiled, loaded and launched.
#pragma once
#include "ck_tile/core.hpp"

namespace ck_tile {

template <typename T, index_t kN, index_t kD>
class key_tile {
 public:
  template <typename Row>
  CK_TILE_DEVICE void load(Row row, index_t first, index_t count, index_t hdim) {
    hdim_ = hdim;
    count_ = count;
    base_ = row(first);
    step_ = count > 1 ? row(first + 1) - base_ : 0;
  }
  CK_TILE_DEVICE void dot(const float* q, float* out) const {
    for (index_t n = 0; n < kN; ++n) {
      float sum = 0.f;
      for (index_t d = 0; d < hdim_ && n < count_; ++d) sum += q[d] * to_float(base_[n * step_ + d]);
      out[n] = sum;
    }
  }

 private:
  const T* base_;
  long_index_t step_;
  index_t hdim_;
  index_t count_;
};

template <typename T, index_t kN, index_t kDv>
class value_tile {
 public:
  template <typename Row>
  CK_TILE_DEVICE void load(Row row, index_t first, index_t count, index_t hdim, index_t step) {
    hdim_ = hdim;
    column_step_ = step;
    base_ = row(first);
    row_step_ = count > 1 ? row(first + 1) - base_ : 0;
  }
  CK_TILE_DEVICE void accumulate(const float* p, index_t count, float* out) const {
    for (index_t n = 0; n < count; ++n) {
      for (index_t c = 0; c < hdim_; ++c) out[c] += p[n] * to_float(base_[n * row_step_ + c * column_step_]);
    }
  }

 private:
  const T* base_;
  long_index_t row_step_;
  long_index_t column_step_;
  index_t hdim_;
};

}  // namespace ck_tile
