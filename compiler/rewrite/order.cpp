#include "compiler/rewrite/order.h"

#include <array>
#include <bit>
#include <compare>
#include <tuple>
#include <utility>

namespace hearth::rewrite {

using ir::Op;
using ir::UOpRef;

namespace {

template <class T>
int three_way(const T& a, const T& b) {
  const auto order = a <=> b;
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

auto parts_of(const ir::WmmaInfo& info) {
  return std::tuple(info.m, info.n, info.k, info.group, info.layout, info.subgroup);
}

struct ComparePayload {
  const ir::Payload& other;
  template <class T>
  const T& same() const {
    return std::get<T>(other);
  }
  int operator()(const std::monostate&) const { return 0; }
  int operator()(const ir::ConstValue& a) const {
    const auto& b = same<ir::ConstValue>();
    if (int c = three_way(a.i, b.i)) return c;
    return three_way(std::bit_cast<std::int64_t>(a.f), std::bit_cast<std::int64_t>(b.f));
  }
  int operator()(const ir::VarInfo& a) const {
    const auto& b = same<ir::VarInfo>();
    if (int c = a.name.compare(b.name)) return c;
    return three_way(std::array<std::int64_t, 3>{a.min, a.max, a.slot},
                     std::array<std::int64_t, 3>{b.min, b.max, b.slot});
  }
  int operator()(const ir::BufferInfo& a) const {
    const auto& b = same<ir::BufferInfo>();
    return three_way(std::pair(a.id, a.kind), std::pair(b.id, b.kind));
  }
  int operator()(const ir::ParamInfo& a) const { return three_way(a.slot, same<ir::ParamInfo>().slot); }
  int operator()(const ir::AllocationInfo& a) const {
    const auto& b = same<ir::AllocationInfo>();
    return three_way(std::tuple(a.id, a.elements, a.memory), std::tuple(b.id, b.elements, b.memory));
  }
  int operator()(const ir::RangeInfo& a) const {
    const auto& b = same<ir::RangeInfo>();
    return three_way(std::pair(a.axis, a.kind), std::pair(b.axis, b.kind));
  }
  int operator()(const ir::Axes& a) const { return three_way(a.axes, same<ir::Axes>().axes); }
  int operator()(const ir::ReduceInfo& a) const {
    const auto& b = same<ir::ReduceInfo>();
    if (int c = three_way(a.kind, b.kind)) return c;
    return three_way(a.axes, b.axes);
  }
  int operator()(const ir::StageInfo& a) const {
    const auto& b = same<ir::StageInfo>();
    return three_way(std::tuple(a.id, a.forced, a.kept, a.choice), std::tuple(b.id, b.forced, b.kept, b.choice));
  }
  int operator()(const ir::AccInfo& a) const { return three_way(a.id, same<ir::AccInfo>().id); }
  int operator()(const ir::BarrierInfo& a) const { return three_way(a.id, same<ir::BarrierInfo>().id); }
  int operator()(const ir::LaneInfo& a) const { return three_way(a.lane, same<ir::LaneInfo>().lane); }
  int operator()(const ir::WmmaInfo& a) const {
    const auto& b = same<ir::WmmaInfo>();
    return three_way(parts_of(a), parts_of(b));
  }
  int operator()(const ir::MatrixAccess& a) const {
    const auto& b = same<ir::MatrixAccess>();
    return three_way(std::tuple(parts_of(a.unit), a.operand, a.row_stride, a.column_stride),
                     std::tuple(parts_of(b.unit), b.operand, b.row_stride, b.column_stride));
  }
  int operator()(const ir::AttentionInfo& a) const {
    const auto& b = same<ir::AttentionInfo>();
    return three_way(std::tuple(a.causal, a.past, std::bit_cast<std::int64_t>(a.scale)),
                     std::tuple(b.causal, b.past, std::bit_cast<std::int64_t>(b.scale)));
  }
  int operator()(const ir::BlobInfo& a) const {
    const auto& b = same<ir::BlobInfo>();
    return three_way(std::pair(a.id, a.num_values), std::pair(b.id, b.num_values));
  }
  int operator()(const ir::LoopInfo& a) const {
    const auto& b = same<ir::LoopInfo>();
    return three_way(std::tuple(a.id, a.result, a.num_values), std::tuple(b.id, b.result, b.num_values));
  }
  int operator()(const ir::ScatterInfo& a) const {
    const auto& b = same<ir::ScatterInfo>();
    return three_way(std::pair(a.combines, a.row_axes), std::pair(b.combines, b.row_axes));
  }
  int operator()(const ir::KernelInfo& a) const { return a.symbol.compare(same<ir::KernelInfo>().symbol); }
};

int compare_shallow(UOpRef a, UOpRef b) {
  if (int c = three_way(a->op, b->op)) return c;
  if (int c = three_way(std::pair(a->dtype.scalar, a->dtype.lanes), std::pair(b->dtype.scalar, b->dtype.lanes)))
    return c;
  if (int c = three_way(a->sources.size(), b->sources.size())) return c;
  if (int c = three_way(a->payload.index(), b->payload.index())) return c;
  return std::visit(ComparePayload{b->payload}, a->payload);
}

bool is_constant(UOpRef x) { return x->is_const() || (x->is(Op::Broadcast) && x->source(0)->is_const()); }

}  // namespace

int compare_nodes(UOpRef a, UOpRef b) {
  if (a == b) return 0;
  if (is_constant(a) != is_constant(b)) return is_constant(a) ? 1 : -1;
  // Lockstep walk to the first difference.
  std::array<std::pair<UOpRef, UOpRef>, 64> stack;
  int depth = 0;
  stack[depth++] = {a, b};
  for (int steps = 0; depth > 0 && steps < 256; ++steps) {
    auto [m, n] = stack[--depth];
    if (int c = compare_shallow(m, n)) return c;
    for (std::size_t s = m->sources.size(); s-- > 0;) {
      if (m->source(s) == n->source(s)) continue;
      if (depth == static_cast<int>(stack.size())) return three_way(a->id, b->id);
      stack[depth++] = {m->source(s), n->source(s)};
    }
  }
  return three_way(a->id, b->id);
}

}  // namespace hearth::rewrite
