// Appends new keys and values to a cache, and rotates new keys and the queries by their positions where asked:
// grid = (tiles of rows, heads, batch).
#pragma once
#include "ck_tile/ops/fmha.hpp"
#include "ck_tile/ops/fmha/pipeline/kv_cache.hpp"

namespace ck_tile {

template <typename TypeConfig_, index_t kTileSizeS_, index_t kTileSizeSk_, index_t kTileSizeD_, index_t kTileSizeDv_,
          bool kIsVLayoutRowMajor_, RotaryEmbeddingEnum RotaryEnum_, bool kIsPagedKV_>
struct BlockFmhaFwdAppendKVPipelineProblem {
  using Types = TypeConfig_;
  static constexpr index_t kM0 = kTileSizeS_;
  static constexpr index_t kN0 = kTileSizeSk_;
  static constexpr index_t kD = kTileSizeD_;
  static constexpr bool kIsVLayoutRowMajor = kIsVLayoutRowMajor_;
  static constexpr auto RotaryEnum = RotaryEnum_;
  static constexpr bool kIsPagedKV = kIsPagedKV_;
};

struct fmha_fwd_appendkv_kargs {
  void *q, *k, *v;
  const void *k_new, *v_new, *rotary_cos, *rotary_sin;
  const std::int32_t *seqlen_k_of, *block_table, *cache_batch_idx;
  index_t rotary_dim, pages_of_batch, page_rows, seqlen_q, seqlen_new, hdim_q, hdim_v, nhead_q, nhead_k;
  index_t stride_q, stride_k, stride_k_new, stride_v, stride_v_new;
  index_t head_q, head_k, head_k_new, head_v, head_v_new;
  index_t batch_q, batch_k, batch_k_new, batch_v, batch_v_new;
  bool has_mask;  // queries are at the positions of the new keys; else all at the first of them
};

template <typename Problem_>
struct FmhaFwdAppendKVKernel {
  using Problem = Problem_;
  using T = typename Problem::Types::KDataType;
  using Kargs = fmha_fwd_appendkv_kargs;
  static constexpr index_t kBlockPerCu = 2;
  static constexpr index_t kBlockSize = 256;
  static constexpr index_t kThreads = threads_of_block<kBlockSize>;

  static std::string GetName() { return "fmha_fwd_appendkv_d" + std::to_string(Problem::kD); }
  static constexpr dim3 BlockSize() { return dim3(kBlockSize); }
  static dim3 GridSize(index_t batch, index_t nhead_q, index_t nhead_k, index_t seqlen_q, index_t seqlen_new) {
    const index_t tiles =
        max(integer_divide_ceil(seqlen_q, Problem::kM0), integer_divide_ceil(seqlen_new, Problem::kN0));
    return dim3(tiles, max(nhead_q, nhead_k), batch);
  }

  // to[...] = from[...] rotated for `position`; in place when they are the same.
  CK_TILE_DEVICE static void rotate(T* to, const T* from, index_t hdim, index_t position, const Kargs& a) {
    const index_t pairs = Problem::RotaryEnum == RotaryEmbeddingEnum::NONE ? 0 : a.rotary_dim / 2;
    const T* cosines = static_cast<const T*>(a.rotary_cos) + static_cast<long_index_t>(position) * pairs;
    const T* sines = static_cast<const T*>(a.rotary_sin) + static_cast<long_index_t>(position) * pairs;
    constexpr bool kInterleaved = Problem::RotaryEnum == RotaryEmbeddingEnum::INTERLEAVED;
    for (index_t p = 0; p < pairs; ++p) {
      const index_t left = kInterleaved ? 2 * p : p, right = kInterleaved ? 2 * p + 1 : p + pairs;
      const float x = to_float(from[left]), y = to_float(from[right]);
      const float c = to_float(cosines[p]), s = to_float(sines[p]);
      to[left] = from_float<T>(x * c - y * s);
      to[right] = from_float<T>(x * s + y * c);
    }
    for (index_t d = 2 * pairs; d < hdim && to != from; ++d) to[d] = from[d];
  }

  CK_TILE_DEVICE void operator()(const block_context& block, const Kargs& a) const {
    const long_index_t batch = block.z;
    const index_t head = static_cast<index_t>(block.y);
    const index_t filled = a.seqlen_k_of[batch];
    if (head < a.nhead_q && Problem::RotaryEnum != RotaryEmbeddingEnum::NONE) {
      T* q = static_cast<T*>(a.q) + batch * a.batch_q + static_cast<long_index_t>(head) * a.head_q;
      const index_t first = static_cast<index_t>(block.x) * Problem::kM0;
      for (index_t i = first + block.thread; i < min(first + Problem::kM0, a.seqlen_q); i += kThreads) {
        T* row = q + static_cast<long_index_t>(i) * a.stride_q;
        rotate(row, row, a.hdim_q, filled + (a.has_mask ? i : 0), a);
      }
    }
    if (head >= a.nhead_k) return;

    constexpr bool kPaged = Problem::kIsPagedKV, kRowMajor = Problem::kIsVLayoutRowMajor;
    const long_index_t at = kPaged ? 0 : (a.cache_batch_idx != nullptr ? a.cache_batch_idx[batch] : batch);
    const std::int32_t* pages = kPaged ? a.block_table + batch * a.pages_of_batch : nullptr;
    const long_index_t h = head;
    const cache_rows<T, kPaged> k_row{static_cast<T*>(a.k) + at * a.batch_k + h * a.head_k, pages, a.page_rows,
                                      a.batch_k, a.stride_k};
    const cache_rows<T, kPaged> v_row{static_cast<T*>(a.v) + at * a.batch_v + h * a.head_v, pages, a.page_rows,
                                      a.batch_v, kRowMajor ? a.stride_v : 1};
    const T* k_new = static_cast<const T*>(a.k_new) + batch * a.batch_k_new + h * a.head_k_new;
    const T* v_new = static_cast<const T*>(a.v_new) + batch * a.batch_v_new + h * a.head_v_new;
    const index_t first = static_cast<index_t>(block.x) * Problem::kN0;
    for (index_t i = first + block.thread; i < min(first + Problem::kN0, a.seqlen_new); i += kThreads) {
      rotate(k_row(filled + i), k_new + static_cast<long_index_t>(i) * a.stride_k_new, a.hdim_q, filled + i, a);
      T* to = v_row(filled + i);
      for (index_t c = 0; c < a.hdim_v; ++c) {
        const long_index_t step = kRowMajor ? 1 : a.stride_v, step_new = kRowMajor ? 1 : a.stride_v_new;
        to[c * step] = v_new[(kRowMajor ? static_cast<long_index_t>(i) * a.stride_v_new : i) + c * step_new];
      }
    }
  }
};

}  // namespace ck_tile
