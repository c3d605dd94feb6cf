// What Emitter asks the caches for before it is read.
#include <algorithm>

#include "compiler/codegen/llvm/emitter.h"
#include "compiler/ir/affine.h"
#include "llvm/IR/Intrinsics.h"

namespace hearth::codegen {
namespace {

using ir::RangeKind;
using ir::UOpRef;

constexpr std::int64_t kRowsAhead = 2;         // a row and what is kept of it fill L1: into L2, early
constexpr int kIntoL1 = 3, kIntoL2 = 2;        // llvm.prefetch's locality
constexpr std::int64_t kCacheLine = 64;        // bytes
constexpr std::int64_t kMinStream = 32 << 10;  // bytes: less stays in L1
constexpr std::int64_t kIterationsAhead = 8;   // of about 10 cycles: L2's latency and more

// Up to kIterationsAhead; 1 when unknown.
std::int64_t trip_count(UOpRef range) {
  UOpRef size = range->source(0);
  return size->is_const() ? std::clamp<std::int64_t>(size->int_value(), 1, kIterationsAhead) : 1;
}

}  // namespace

// In `loops`, innermost last, the elements from a load of `lanes` to the one to fetch now; 0: none.
std::int64_t Emitter::reduced_ahead(const ir::Affine& position, std::uint16_t lanes, std::int64_t line) const {
  std::int64_t ahead = 0, iterations = 1;
  for (auto loop = loops_.rbegin(); loop != loops_.rend() && is_range(loop->range, RangeKind::Reduce); ++loop) {
    const std::int64_t step = position.coefficient_of(loop->range);
    if (step >= (lanes > 1 ? lanes : line)) {
      ahead = step * (kIterationsAhead / iterations);
    } else if (lanes > 1) {
      break;  // vectors that overlap come from L1
    }
    iterations = std::min(iterations * trip_count(loop->range), kIterationsAhead);
  }
  return ahead;
}

void Emitter::prefetch(UOpRef index, const Access& access, ir::DType dtype) {
  if (loops_.empty() || !index->source(0)->is(ir::Op::Param)) return;
  const ir::Affine position = ir::to_affine(index->source(1));
  const std::int64_t line = kCacheLine / byte_size(dtype.element());
  std::int64_t ahead = 0;
  int locality = kIntoL1;
  if (kept_.loops.contains(loops_.back().range)) {
    // It reads what an earlier loop brought into the cache and has arithmetic to hide memory behind: the place to fetch
    // the same part of a later row.
    const std::int64_t row = loops_.size() < 2 ? 0 : position.coefficient_of(loops_.front().range);
    if (row < kMinRow) return;
    ahead = row * kRowsAhead;
    locality = kIntoL2;
  } else {
    // What is reduced comes in jumps (the next channel of a convolution), which the hardware does not foresee, or as a
    // stream, where the hardware stops at every page and lags behind in L2.
    const bool is_small = index->source(1)->bounds.max < kMinStream / byte_size(dtype.element());
    const bool is_vector = dtype.lanes > 1;
    if ((is_vector && !traits_.prefetches_streams) || is_small || kept_.params_read.contains(index->source(0))) return;
    ahead = reduced_ahead(position, dtype.lanes, line);
    if (ahead == 0) return;
  }
  if (!is_new_line(index->source(0), position, position.constant / line)) return;
  Value* later = b_.CreateAdd(access.position, b_.getInt64(static_cast<std::uint64_t>(ahead)));
  emit_prefetch(*access.slot, later, /*to_write=*/false, locality);
}

// Each line is asked for once in an iteration.
bool Emitter::is_new_line(UOpRef param, const ir::Affine& position, std::int64_t line) {
  std::vector<std::pair<std::uint32_t, std::int64_t>> terms;
  for (const ir::AffineTerm& term : position.terms) terms.emplace_back(term.atom->id, term.coefficient);
  return prefetched_.insert({param, loops_.back().range, terms, line}).second;
}

void Emitter::emit_prefetch(const Slot& slot, Value* position, bool to_write, int locality) {
  constexpr int kData = 1;
  Value* address = b_.CreateGEP(arithmetic_.memory_type(slot.element), slot.pointer, position);
  b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                     {address, b_.getInt32(to_write ? 1 : 0), b_.getInt32(locality), b_.getInt32(kData)});
}

// Lines of a row that a later loop writes, asked for while there is arithmetic to hide that behind: with the store
// itself a core waits for memory, and with a streaming one too.
void Emitter::prefetch_written() {
  const auto found = kept_.written.find(loops_.back().range);
  if (traits_.streams_rows || found == kept_.written.end()) return;
  for (const KeptRows::Write& write : found->second) {
    UOpRef param = write.store->source(0)->source(0);
    const std::uint32_t number = param->as<ir::ParamInfo>().slot;
    if (number >= slots_.size() || !slots_[number].used) continue;  // malformed: the store itself will say so
    const Slot& slot = slots_[number];
    const ir::Affine position = ir::to_affine(write.store->source(0)->source(1));
    const std::int64_t line = kCacheLine / byte_size(slot.element);
    Value* base = b_.getInt64(static_cast<std::uint64_t>(position.constant));
    bool known = true;
    for (const ir::AffineTerm& term : position.terms) {
      const auto atom = values_.find(term.atom);
      if (term.atom == write.loop) continue;
      known &= atom != values_.end() && atom->second != nullptr;
      if (!known) break;
      base = b_.CreateAdd(base, b_.CreateMul(b_.CreateSExtOrTrunc(atom->second, b_.getInt64Ty()),
                                             b_.getInt64(static_cast<std::uint64_t>(term.coefficient))));
    }
    if (!known) continue;
    const std::int64_t step = position.coefficient_of(write.loop);
    for (std::int64_t i = 0; i < write.iterations; ++i) {
      if (!is_new_line(param, position, (position.constant + i * step) / line)) continue;
      Value* iteration =
          b_.CreateAdd(b_.CreateMul(loops_.back().counter, b_.getInt64(static_cast<std::uint64_t>(write.iterations))),
                       b_.getInt64(static_cast<std::uint64_t>(i)));
      Value* at = b_.CreateAdd(base, b_.CreateMul(iteration, b_.getInt64(static_cast<std::uint64_t>(step))));
      emit_prefetch(slot, at, /*to_write=*/true, kIntoL2);
    }
  }
}

}  // namespace hearth::codegen
