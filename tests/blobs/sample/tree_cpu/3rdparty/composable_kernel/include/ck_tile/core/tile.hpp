// CPU flavour: tiles are copied to float once for all rows of a block, keys transposed, so that the inner loops run
// along memory and vectorise without reordering a sum.
#pragma once
#include "ck_tile/core.hpp"

namespace ck_tile {

template <typename T, index_t kN, index_t kD>
class key_tile {
 public:
  template <typename Row>
  void load(Row row, index_t first, index_t count, index_t hdim) {
    hdim_ = hdim;
    for (index_t n = 0; n < count; ++n) {
      const T* source = row(first + n);
      for (index_t d = 0; d < hdim; ++d) values_[d][n] = to_float(source[d]);
    }
    for (index_t d = 0; d < hdim; ++d) {
      for (index_t n = count; n < kN; ++n) values_[d][n] = 0.f;
    }
  }
  void dot(const float* q, float* out) const {
    for (index_t n = 0; n < kN; ++n) out[n] = 0.f;
    for (index_t d = 0; d < hdim_; ++d) {
      for (index_t n = 0; n < kN; ++n) out[n] += q[d] * values_[d][n];
    }
  }

 private:
  index_t hdim_;
  float values_[kD][kN];
};

template <typename T, index_t kN, index_t kDv>
class value_tile {
 public:
  template <typename Row>
  void load(Row row, index_t first, index_t count, index_t hdim, index_t step) {
    for (index_t n = 0; n < count; ++n) {
      const T* source = row(first + n);
      for (index_t c = 0; c < kDv; ++c) {
        values_[n][c] = c < hdim ? to_float(source[static_cast<long_index_t>(c) * step]) : 0.f;
      }
    }
  }
  void accumulate(const float* p, index_t count, float* out) const {
    for (index_t n = 0; n < count; ++n) {
      for (index_t c = 0; c < kDv; ++c) out[c] += p[n] * values_[n][c];
    }
  }

 private:
  float values_[kN][kDv];
};

}  // namespace ck_tile
