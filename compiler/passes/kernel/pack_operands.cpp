#include "compiler/passes/kernel/pack_operands.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "base/status_macros.h"
#include "compiler/ir/affine.h"
#include "compiler/ir/rebuild.h"
#include "compiler/ir/shape.h"
#include "compiler/rules/rules.h"
#include "compiler/schedule/opts.h"
#include "compiler/target/core_model.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::RangeKind;
using ir::UOpRef;

constexpr std::int64_t kRegionAlignment = target::kCore.line_bytes / 4;  // elements of f32

bool same_affine(UOpRef a, UOpRef b) {
  const ir::Affine left = ir::to_affine(a), right = ir::to_affine(b);
  return left.constant == right.constant && left.terms.size() == right.terms.size() &&
         std::ranges::all_of(left.terms,
                             [&](const ir::AffineTerm& t) { return right.coefficient_of(t.atom) == t.coefficient; });
}

class Packer {
 public:
  Packer(ir::Graph& g, UOpRef kernel) : g_(g), kernel_(kernel), order_(toposort(kernel)) {
    for (UOpRef x : order_) {
      const std::size_t first = x->is(Op::Store) ? 2 : x->is(Op::Reduce) ? 1 : x->sources.size();
      for (std::size_t i = first; i < x->sources.size(); ++i) {
        rank(x->source(i), i);
        if (!x->source(i)->source(0)->is_const()) find_conditions(x, x->source(i)->source(0));
      }
      if (x->is(Op::Load) && x->sources.size() > 1) has_alternative_.insert(x->source(0));
    }
  }

  absl::StatusOr<PackResult> run(const std::vector<std::uint32_t>& slots, std::uint32_t next_slot) {
    PackResult result;
    for (std::uint32_t slot : slots) {
      PackedOperand packed{slot, next_slot, 0, {}};
      Positions positions;
      if (!plan(packed, positions, Accesses::All) && !plan(packed, positions, Accesses::OfLanes)) continue;
      for (auto& [index, position] : positions) {
        UOpRef param = g_.make(Op::Param, index->source(0)->dtype, {}, ir::ParamInfo{next_slot});
        map_[index] = g_.make(Op::Index, ir::Scalar::Void, {param, position, g_.boolean(true)});
      }
      for (UOpRef& kernel : packed.kernels) {
        HEARTH_ASSIGN_OR_RETURN(auto simple, rules::simplify(g_, kernel));
        kernel = simple;
      }
      result.packed.push_back(std::move(packed));
      ++next_slot;
    }
    HEARTH_ASSIGN_OR_RETURN(auto simple, rules::simplify(g_, replaced()));
    result.kernel = simple;
    return result;
  }

 private:
  using Positions = std::unordered_map<UOpRef, UOpRef>;  // access -> its position in the copy
  enum class Accesses { All, OfLanes };

  // Where a range stands in the order of the copy.
  using Rank = std::tuple<int, std::size_t, std::uint32_t>;

  void rank(UOpRef range, std::size_t position) {
    const auto& info = range->as<ir::RangeInfo>();
    int group = 0;
    switch (info.kind) {
      case RangeKind::Loop:
      case RangeKind::Grid:
        group = 0;
        break;
      case RangeKind::Reduce:
        group = 1;
        break;
      case RangeKind::Unroll:
        group = 2;
        break;
      case RangeKind::Rows:
        group = 3;
        break;
      case RangeKind::Depth:
        group = 4;
        break;
      case RangeKind::Lanes:
        group = 5;
        break;
      case RangeKind::Dot:
        group = 6;
        break;
      case RangeKind::Invocation:
        group = 7;
        break;
    }
    ranks_.emplace(range, Rank{group, position, info.axis});
  }

  // What `x` accesses is accessed for those values of the ranges only that leave a loop of `length` something to do.
  void find_conditions(UOpRef x, UOpRef length) {
    std::vector<UOpRef> ranges = toposort(length);
    std::erase_if(ranges, [](UOpRef r) { return !r->is(Op::Range); });
    if (ranges.empty()) return;
    for (UOpRef index : toposort(x)) {
      if (index->is(Op::Index)) conditions_[index].insert(ranges.begin(), ranges.end());
    }
  }

  struct Region {
    std::vector<UOpRef> ranges;  // in order, of the copy's own
    UOpRef position = nullptr, gate = nullptr;
    std::int64_t offset = 0, elements = 1;
  };

  // Fills in `packed` and the new position of each access; false when the slot stays as it is. Of a buffer that is both
  // operands of a product a copy may be too large that holds those read one by one, too: they stay where they are.
  bool plan(PackedOperand& packed, Positions& positions, Accesses which) {
    packed = {packed.source_slot, packed.slot, 0, {}};
    positions.clear();
    std::vector<Region> regions;
    ir::DType dtype;
    std::int64_t largest = 0;
    for (UOpRef index : order_) {
      if (!index->is(Op::Index) || !index->source(0)->is(Op::Param)) continue;
      if (index->source(0)->as<ir::ParamInfo>().slot != packed.source_slot) continue;
      dtype = index->source(0)->dtype;
      std::optional<std::vector<UOpRef>> ranges = ranges_of(index);
      if (!ranges || has_alternative_.contains(index)) return false;
      if (which == Accesses::OfLanes && !moves_with_lanes(*ranges)) continue;
      largest = std::max(largest, index->source(1)->bounds.max + 1);
      Region region = region_of(index, *ranges);
      auto same = std::ranges::find_if(regions, [&](const Region& r) {
        return r.ranges == region.ranges && r.gate == region.gate && same_affine(r.position, region.position);
      });
      if (same == regions.end()) {
        region.offset = (packed.elements + kRegionAlignment - 1) / kRegionAlignment * kRegionAlignment;
        packed.elements = region.offset + region.elements;
        regions.push_back(region);
        same = regions.end() - 1;
      }
      positions[index] = packed_position(*ranges, same->offset);
      if (!schedule::is_small_copy(static_cast<double>(packed.elements), static_cast<double>(largest))) return false;
    }
    if (regions.empty()) return false;
    bool in_order = std::ranges::all_of(positions, [](const auto& p) {
      return p.first->source(2)->is_const() && same_affine(p.second, p.first->source(1));
    });
    if (in_order) return false;
    for (const Region& region : regions) packed.kernels.push_back(copy_kernel(region, dtype));
    return true;
  }

  // The ranges an access depends on, ordered; nothing when it cannot be packed.
  std::optional<std::vector<UOpRef>> ranges_of(UOpRef index) const {
    std::vector<UOpRef> ranges;
    for (const ir::AffineTerm& term : ir::to_affine(index->source(1)).terms) {
      if (!term.atom->is(Op::Range) || !term.atom->source(0)->is_const()) return std::nullopt;
      // Beyond a tile's end there may be no element to copy.
      const auto conditions = conditions_.find(index);
      if (conditions != conditions_.end() && conditions->second.contains(term.atom)) return std::nullopt;
      ranges.push_back(term.atom);
    }
    // The gate is evaluated when the copy is made.
    std::vector<UOpRef> work = {index->source(2)};
    while (!work.empty()) {
      UOpRef x = work.back();
      work.pop_back();
      if (x->is(Op::Load) || x->is(Op::Reduce) || x->is(Op::Var)) return std::nullopt;
      if (x->is(Op::Range)) {
        if (std::ranges::find(ranges, x) == ranges.end()) return std::nullopt;
      } else {
        work.insert(work.end(), x->sources.begin(), x->sources.end());
      }
    }
    std::ranges::sort(ranges, {}, [&](UOpRef r) { return ranks_.at(r); });
    return ranges;
  }

  static bool moves_with_lanes(const std::vector<UOpRef>& ranges) {
    return std::ranges::any_of(ranges, [](UOpRef r) {
      const RangeKind kind = r->as<ir::RangeInfo>().kind;
      return kind == RangeKind::Lanes || kind == RangeKind::Dot;
    });
  }

  Region region_of(UOpRef index, const std::vector<UOpRef>& ranges) {
    Region region;
    std::vector<std::pair<UOpRef, UOpRef>> map;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      region.ranges.push_back(g_.range(ranges[i]->source(0), static_cast<std::uint32_t>(i), RangeKind::Loop));
      region.elements *= ranges[i]->source(0)->int_value();
      map.emplace_back(ranges[i], region.ranges.back());
    }
    region.position = substitute(g_, index->source(1), map);
    region.gate = substitute(g_, index->source(2), map);
    return region;
  }

  UOpRef packed_position(const std::vector<UOpRef>& ranges, std::int64_t offset) {
    UOpRef position = g_.index(offset);
    std::int64_t stride = 1;
    std::vector<UOpRef> parts;
    for (auto r = ranges.rbegin(); r != ranges.rend(); ++r) {
      parts.push_back(ir::fold_mul(g_, *r, g_.index(stride)));
      stride *= (*r)->source(0)->int_value();
    }
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) position = ir::fold_add(g_, position, *part);
    return position;
  }

  UOpRef copy_kernel(const Region& region, ir::DType dtype) {
    auto param = [&](std::uint32_t slot) { return g_.make(Op::Param, dtype, {}, ir::ParamInfo{slot}); };
    UOpRef to = g_.make(Op::Index, ir::Scalar::Void,
                        {param(0), packed_position(region.ranges, region.offset), g_.boolean(true)});
    UOpRef from = g_.make(Op::Index, ir::Scalar::Void, {param(1), region.position, region.gate});
    std::vector<UOpRef> store = {to, g_.make(Op::Load, dtype, {from})};
    store.insert(store.end(), region.ranges.begin(), region.ranges.end());
    return g_.make(Op::Sink, ir::Scalar::Void, {g_.make(Op::Store, ir::Scalar::Void, store)});
  }

  UOpRef replaced() {
    return rebuild(g_, kernel_, [&](UOpRef x, ir::Sources&) -> UOpRef {
      const auto found = map_.find(x);
      return found == map_.end() ? nullptr : found->second;
    });
  }

  ir::Graph& g_;
  UOpRef kernel_;
  std::vector<UOpRef> order_;
  std::unordered_map<UOpRef, Rank> ranks_;
  std::unordered_set<UOpRef> has_alternative_;
  std::unordered_map<UOpRef, std::unordered_set<UOpRef>>
      conditions_;  // of an access: ranges that lengths around it use
  std::unordered_map<UOpRef, UOpRef> map_;
};

}  // namespace

absl::StatusOr<PackResult> pack_operands(ir::Graph& graph, UOpRef kernel, const std::vector<std::uint32_t>& slots,
                                         std::uint32_t first_slot) {
  return Packer(graph, kernel).run(slots, first_slot);
}

}  // namespace hearth::passes
