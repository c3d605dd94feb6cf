#include "compiler/passes/kernel/operand_copies.h"

#include <algorithm>
#include <limits>

#include "compiler/ir/affine.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::RangeKind;
using ir::UOpRef;

constexpr std::int64_t kMostRounds = 16;  // of copying that are made one after the other, so that their loads overlap
constexpr std::int64_t kRowBytes = 16;    // that an invocation loads at once

std::int64_t length_of(UOpRef range) { return range->source(0)->int_value(); }
bool is_depth(UOpRef range) { return ir::is_range(range, RangeKind::Reduce); }

// The range along which neighbours in memory lie last.
std::vector<UOpRef> by_stride(std::vector<UOpRef> ranges, UOpRef position) {
  const ir::Affine affine = ir::to_affine(position);
  const auto stride = [&](UOpRef range) {
    const std::int64_t coefficient = std::abs(affine.coefficient_of(range));
    return coefficient == 0 ? std::numeric_limits<std::int64_t>::max() : coefficient;
  };
  std::ranges::stable_sort(ranges, std::ranges::greater(), stride);
  return ranges;
}

bool has(const std::vector<UOpRef>& ranges, UOpRef range) { return std::ranges::find(ranges, range) != ranges.end(); }

}  // namespace

std::int64_t elements_of(const std::vector<UOpRef>& ranges) {
  std::int64_t elements = 1;
  for (UOpRef range : ranges) elements *= length_of(range);
  return elements;
}

std::int64_t OperandCopy::stride(UOpRef range) const {
  return strides[static_cast<std::size_t>(std::ranges::find(ranges, range) - ranges.begin())];
}

UOpRef OperandCopy::position(ir::Graph& g, const Coordinates& at) const {
  UOpRef position = g.index(0);
  for (std::size_t i = ranges.size(); i-- > 0;)
    position = ir::fold_add(g, ir::fold_mul(g, at.at(ranges[i]), g.index(strides[i])), position);
  return position;
}

UOpRef OperandCopy::load(ir::Graph& g, const Coordinates& at, std::uint16_t neighbours) const {
  return g.make(Op::Load, dtype.with_lanes(neighbours),
                {g.make(Op::Index, ir::Scalar::Void, {memory, position(g, at), g.boolean(true)})});
}

std::optional<std::vector<UOpRef>> OperandCopies::ranges_of(UOpRef load) const {
  if (!load->is(Op::Load) || !load->source(0)->source(0)->is(Op::Param) || load->sources.size() > 1)
    return std::nullopt;
  std::vector<UOpRef> ranges;
  for (UOpRef x : toposort(load)) {
    if (x->is(Op::Reduce) || x->is(Op::Allocate)) return std::nullopt;
    if (!x->is(Op::Range) || has(tile_.loops, x) || has(tile_.tiles, x)) continue;
    if (!has(tile_.within, x) || !x->source(0)->is_const()) return std::nullopt;
    ranges.push_back(x);
  }
  return ranges;
}

UOpRef OperandCopies::allocate(ir::DType dtype, const std::vector<UOpRef>& around, std::int64_t elements) {
  const std::uint32_t id = next_allocation_++;
  return g_.make(Op::Allocate, dtype, around, ir::AllocationInfo{id, elements, id});
}

OperandCopy OperandCopies::room_for(ir::DType dtype, const std::vector<UOpRef>& ranges, std::int64_t pitch) {
  OperandCopy room{.dtype = dtype, .ranges = ranges, .strides = std::vector<std::int64_t>(ranges.size(), 1)};
  std::int64_t stride = pitch;
  for (std::size_t i = ranges.size() - 1; i-- > 0;) {
    room.strides[i] = stride;
    stride *= length_of(ranges[i]);
  }
  room.memory = allocate(dtype, tile_.loops, stride);
  return room;
}

OperandCopy OperandCopies::add(UOpRef load, const std::vector<UOpRef>& ranges, Order order, UOpRef last) {
  const std::vector<UOpRef> in_memory = by_stride(ranges, load->source(0)->source(1));
  OperandCopy copy;
  copy.dtype = load->dtype;
  // A row is in the order of memory, in which an invocation and its neighbours read neighbours.
  copy.ranges = in_memory;
  const bool depth_first = order == Order::DepthFirst;
  const auto row = std::ranges::stable_partition(copy.ranges, [&](UOpRef r) { return is_depth(r) == depth_first; });
  if (last) std::ranges::stable_partition(copy.ranges, [&](UOpRef r) { return r != last; });
  const std::int64_t in_row = elements_of({row.begin(), row.end()}), rows = elements_of(ranges) / in_row;
  // Where rows are written across, or read so, one begins in another bank than the next.
  const std::int64_t wide = std::max<std::int64_t>(1, kRowBytes / byte_size(copy.dtype));
  const bool is_across = !depth_first || in_memory.back() != copy.ranges.back();
  const std::int64_t pitch = rows == 1 ? in_row : (in_row + wide - 1) / wide * wide + (is_across ? wide : 0);
  copy.strides.resize(copy.ranges.size());
  std::int64_t stride = 1;
  for (std::size_t i = copy.ranges.size(); i-- > 0;) {
    if (i + 1 == static_cast<std::size_t>(row.begin() - copy.ranges.begin())) stride = pitch;
    copy.strides[i] = stride;
    stride *= length_of(copy.ranges[i]);
  }
  std::vector<UOpRef> around = tile_.loops;
  around.insert(around.end(), tile_.tiles.begin(), tile_.tiles.end());
  copy.memory = allocate(copy.dtype, around, rows * pitch);
  fill(copy, load, in_memory);
  return copy;
}

// Element `e`, in the order of memory, by invocation e % invocations in round e / invocations.
void OperandCopies::fill(const OperandCopy& copy, UOpRef load, const std::vector<UOpRef>& in_memory) {
  const std::int64_t elements = elements_of(in_memory), invocations = tile_.invocations;
  const std::int64_t rounds = (elements + invocations - 1) / invocations;
  UOpRef invocation = axes_.range(g_.index(invocations), RangeKind::Invocation), e = invocation, round = nullptr;
  if (rounds > 1) {
    round = axes_.range(g_.index(rounds), rounds <= kMostRounds ? RangeKind::Unroll : RangeKind::Loop);
    e = ir::fold_add(g_, ir::fold_mul(g_, round, g_.index(invocations)), invocation);
  }
  UOpRef is_element = elements % invocations == 0 ? g_.boolean(true) : ir::fold_lt(g_, e, g_.index(elements));
  Coordinates written;
  std::vector<std::pair<UOpRef, UOpRef>> map;
  std::int64_t stride = 1;
  for (auto range = in_memory.rbegin(); range != in_memory.rend(); ++range) {
    UOpRef digit = stride == 1 ? e : ir::fold_floordiv(g_, e, g_.index(stride));
    stride *= length_of(*range);
    if (stride < rounds * invocations) digit = ir::fold_floormod(g_, digit, g_.index(length_of(*range)));
    written[*range] = digit;
    map.emplace_back(*range, digit);
  }
  UOpRef from = substitute(g_, load->source(0), map);
  std::vector<UOpRef> gated_from(from->sources.begin(), from->sources.end());
  gated_from.back() = ir::fold_and(g_, gated_from.back(), is_element);
  UOpRef to = g_.make(Op::Index, ir::Scalar::Void, {copy.memory, copy.position(g_, written), is_element});
  std::vector<UOpRef> store = {to, g_.make(Op::Load, load->dtype, {g_.with_sources(from, gated_from)})};
  store.insert(store.end(), copy.memory->sources.begin(), copy.memory->sources.end());
  if (round) store.push_back(round);
  store.push_back(invocation);
  stores_.push_back(g_.make(Op::Store, ir::Scalar::Void, store));
}

}  // namespace hearth::passes
