// One block's attention by online softmax (Milakov and Gimelshein, 2018): kM0 query rows against tiles of kN0 keys.
// Each thread owns every kThreads-th row; on a host one thread owns them all.
#pragma once
#include "ck_tile/core/tile.hpp"
#include "ck_tile/ops/fmha.hpp"

namespace ck_tile {

template <typename Problem_, index_t kStages>
struct block_attention {
  using Problem = Problem_;
  using Shape = typename Problem::Shape;
  using QDataType = typename Problem::Types::QDataType;
  using KDataType = typename Problem::Types::KDataType;
  using VDataType = typename Problem::Types::VDataType;

  static constexpr index_t kM0 = Shape::kM0;
  static constexpr index_t kN0 = Shape::kN0;
  static constexpr index_t kD = Shape::kQKHeaddim;
  static constexpr index_t kDv = Shape::kN1;
  static constexpr index_t kBlockSize = Shape::kBlockSize;
  static constexpr index_t kThreads = threads_of_block<kBlockSize>;
  static constexpr index_t kRows = (kM0 + kThreads - 1) / kThreads;

  struct state {
    float o[kRows][kDv];
    float max[kRows];
    float sum[kRows];
  };

  // The row of the block that this thread keeps at `slot`.
  CK_TILE_DEVICE static index_t row_of(const block_context& block, index_t slot) {
    return slot * kThreads + block.thread;
  }

  // q_row(i): row i of the block; k_row(n), v_row(n): rows of the whole sequence; score(i, n, dot): the score of row i
  // and key n, minus infinity where it is hidden. v's elements lie v_step apart.
  template <typename QRow, typename KRow, typename VRow, typename Score>
  CK_TILE_DEVICE static void run(const block_context& block, index_t rows, index_t hdim_q, index_t hdim_v,
                                 index_t begin, index_t end, index_t v_step, QRow q_row, KRow k_row, VRow v_row,
                                 Score score, state& out) {
    float q[kRows][kD];
    for (index_t r = 0; r < kRows; ++r) {
      const index_t i = row_of(block, r);
      const QDataType* source = i < rows ? q_row(i) : nullptr;
      for (index_t d = 0; d < kD; ++d) q[r][d] = source != nullptr && d < hdim_q ? to_float(source[d]) : 0.f;
      for (index_t c = 0; c < kDv; ++c) out.o[r][c] = 0.f;
      out.max[r] = negative_infinity();
      out.sum[r] = 0.f;
    }

    key_tile<KDataType, kN0, kD> keys[kStages];
    value_tile<VDataType, kN0, kDv> values;
    if (begin < end) keys[0].load(k_row, begin, min(end - begin, kN0), hdim_q);
    index_t stage = 0;
    for (index_t n0 = begin; n0 < end; n0 += kN0) {
      const index_t count = min(end - n0, kN0);
      if constexpr (kStages > 1) {  // the next keys are on their way while these are used
        if (n0 + kN0 < end) keys[(stage + 1) % kStages].load(k_row, n0 + kN0, min(end - n0 - kN0, kN0), hdim_q);
      } else if (n0 != begin) {
        keys[0].load(k_row, n0, count, hdim_q);
      }
      values.load(v_row, n0, count, hdim_v, v_step);
      for (index_t r = 0; r < kRows && row_of(block, r) < rows; ++r) {
        float p[kN0];
        keys[stage].dot(q[r], p);
        float top = out.max[r];
        for (index_t n = 0; n < count; ++n) {
          p[n] = score(row_of(block, r), n0 + n, p[n]);
          top = p[n] > top ? p[n] : top;
        }
        if (top == negative_infinity()) continue;  // nothing of this row is visible yet
        const float shrink = expf(out.max[r] - top);
        float sum = 0.f;
        for (index_t n = 0; n < count; ++n) {
          p[n] = expf(p[n] - top);
          sum += p[n];
        }
        for (index_t c = 0; c < kDv; ++c) out.o[r][c] *= shrink;
        values.accumulate(p, count, out.o[r]);
        out.sum[r] = out.sum[r] * shrink + sum;
        out.max[r] = top;
      }
      stage = (stage + 1) % kStages;
    }
  }
};

}  // namespace ck_tile
