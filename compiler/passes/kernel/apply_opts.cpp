#include "compiler/passes/kernel/apply_opts.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/status_macros.h"
#include "compiler/ir/rebuild.h"
#include "compiler/ir/shape.h"
#include "compiler/passes/kernel/axis_pieces.h"
#include "compiler/passes/lowered/reduce_kind.h"
#include "compiler/rules/rules.h"
#include "compiler/schedule/matrix_units.h"
#include "fmt/format.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::RangeKind;
using ir::UOpRef;
using schedule::Opt;

class Applier {
 public:
  Applier(ir::Graph& g, UOpRef root) : g_(g), root_(root), axes_(g, root) {}

  absl::StatusOr<UOpRef> run(const std::vector<Opt>& opts) {
    for (const Opt& opt : opts) {
      if (opt.kind == Opt::Kind::Pack || opt.kind == Opt::Kind::Shared || opt.kind == Opt::Kind::Matrix)
        continue;  // passes of their own, after all others
      if (opt.kind == Opt::Kind::Before) {
        move_before(opt);
        continue;
      }
      if (opt.amount < (opt.kind == Opt::Kind::Split ? 1 : 2))
        return absl::InvalidArgumentError(fmt::format("opt {}: the amount is too small", to_string(opt)));
      apply(opt);
      HEARTH_ASSIGN_OR_RETURN(auto simple, rules::simplify(g_, root_));
      root_ = simple;
    }
    store_once(opts);
    return root_;
  }

 private:
  // A range of its own with the length of `range`, which may depend on loops that `renamed` replaces.
  UOpRef copy_of(UOpRef range, const std::vector<std::pair<UOpRef, UOpRef>>& renamed) {
    return axes_.range(substitute(g_, range->source(0), renamed), range->as<ir::RangeInfo>().kind);
  }

  void apply(const Opt& opt) {
    std::vector<UOpRef> stores;
    for (UOpRef store : root_->sources) {
      UOpRef range = nullptr;
      for (std::size_t i = 2; i < store->sources.size(); ++i) {
        if (is_for(opt, store->source(i))) range = store->source(i);
      }
      if (!range) {
        stores.push_back(store);
      } else if (opt.kind == Opt::Kind::PadTo) {
        stores.push_back(padded(store, range, opt.amount));
      } else if (opt.kind == Opt::Kind::Tile) {
        stores.push_back(block(store, range, opt.amount));
      } else {
        append(&stores, split_store(store, range, opt));
      }
    }
    root_ = g_.make(Op::Sink, root_->dtype, stores, root_->payload);
    if (opt.kind == Opt::Kind::Workgroup) {
      divide_reductions(opt);
    } else if (opt.kind != Opt::Kind::PadTo) {
      split_reductions(opt);
    }
  }

  // In a kernel of workgroups a value that all invocations know is stored by the first one alone.
  void store_once(const std::vector<Opt>& opts) {
    const auto divides = std::ranges::find(opts, Opt::Kind::Workgroup, &Opt::kind);
    if (divides == opts.end()) return;
    std::vector<UOpRef> stores;
    for (UOpRef store : root_->sources) {
      const bool is_divided = std::any_of(store->sources.begin() + 2, store->sources.end(),
                                          [](UOpRef r) { return ir::is_range(r, RangeKind::Invocation); });
      if (!is_divided) {
        UOpRef invocation = axes_.range(g_.index(divides->amount), RangeKind::Invocation);
        UOpRef index = store->source(0), is_first = ir::fold_lt(g_, invocation, g_.index(1));
        std::vector<UOpRef> sources(store->sources.begin(), store->sources.end()),
            place(index->sources.begin(), index->sources.end());
        place.back() = ir::fold_and(g_, place.back(), is_first);
        sources[0] = g_.with_sources(index, place);
        sources.push_back(invocation);
        store = g_.with_sources(store, sources);
      }
      stores.push_back(store);
    }
    root_ = g_.make(Op::Sink, root_->dtype, stores, root_->payload);
  }

  // Elements of a reduced axis among the invocations of a workgroup: those beyond its end add nothing.
  void divide_reductions(const Opt& opt) {
    std::map<UOpRef, Place> place_of;  // of the divided range: those that share it share its loops
    root_ = rebuild(g_, root_, [&](UOpRef x, ir::Sources& sources) {
      UOpRef copy = g_.with_sources(x, sources);
      if (!copy->is(Op::Reduce)) return copy;
      UOpRef range = nullptr;
      for (std::size_t i = 1; i < copy->sources.size(); ++i) {
        if (is_axis(copy->source(i), opt.axis)) range = copy->source(i);
      }
      if (!range) return copy;
      UOpRef size = range->source(0), amount = g_.index(opt.amount);
      if (!place_of.contains(range)) {
        const auto& info = range->as<ir::RangeInfo>();
        UOpRef count =
            simplified_length(g_, ir::fold_floordiv(g_, ir::fold_add(g_, size, g_.index(opt.amount - 1)), amount));
        UOpRef outer = count == g_.index(1) ? nullptr : g_.range(count, info.axis, info.kind);
        UOpRef inner = axes_.range(amount, RangeKind::Invocation);
        UOpRef position = outer ? ir::fold_add(g_, ir::fold_mul(g_, outer, amount), inner) : inner;
        place_of.emplace(range, Place{position, outer, inner});
      }
      const Place& place = place_of.at(range);
      UOpRef reduce = reduce_piece(copy, range, place, nullptr);
      if (is_multiple(size, opt.amount)) return reduce;
      UOpRef is_inside = ir::fold_lt(g_, place.position, size);
      UOpRef value = gated(g_, reduce->source(0), place.inner, is_inside);
      UOpRef nothing = reduce_identity(g_, copy->as<ir::ReduceInfo>().kind, copy->dtype);
      std::vector<UOpRef> parts(reduce->sources.begin(), reduce->sources.end());
      parts[0] = g_.where(is_inside, value, nothing);
      return g_.with_sources(reduce, parts);
    });
  }

  static bool is_axis(UOpRef x, std::uint32_t axis) { return ir::is_loop(x) && x->as<ir::RangeInfo>().axis == axis; }

  // A loop of at most one iteration, whose place is always 0, stays as it is: nothing else says whether it has the one.
  static bool is_for(const Opt& opt, UOpRef x) {
    return is_axis(x, opt.axis) && (x->source(0)->bounds.max > 1 || opt.kind == Opt::Kind::Workgroup);
  }

  // Within each store that has both, the loop of axis opt.axis moves to just outside of axis opt.amount.
  void move_before(const Opt& opt) {
    std::vector<UOpRef> stores;
    std::unordered_set<UOpRef> inner;  // loops that now stand inside of the moved one
    auto find = [](std::vector<UOpRef>& sources, std::int64_t axis) {
      return std::find_if(sources.begin() + 2, sources.end(),
                          [&](UOpRef r) { return is_axis(r, static_cast<std::uint32_t>(axis)); });
    };
    for (UOpRef store : root_->sources) {
      std::vector<UOpRef> sources(store->sources.begin(), store->sources.end());
      auto moved = find(sources, opt.axis), place = find(sources, opt.amount);
      // A length may only depend on loops outside of it.
      if (moved != sources.end() && place < moved && (*moved)->source(0)->is_const()) {
        inner.insert(place, moved);
        std::rotate(place, moved, moved + 1);
      }
      stores.push_back(g_.with_sources(store, sources));
    }
    // A store without the moved loop (a remainder's) cannot share them any longer.
    for (UOpRef& store : stores) {
      std::vector<UOpRef> sources(store->sources.begin(), store->sources.end());
      auto shared = std::find_if(sources.begin() + 2, sources.end(), [&](UOpRef r) { return inner.contains(r); });
      if (shared == sources.end() || find(sources, opt.axis) != sources.end()) continue;
      UOpRef own = copy_of(*shared, {});
      store = rename_inner_loops(replace(store, *shared, own), own);
    }
    root_ = g_.make(Op::Sink, root_->dtype, stores, root_->payload);
  }

  UOpRef replace(UOpRef root, UOpRef from, UOpRef to) {
    std::pair<UOpRef, UOpRef> map[] = {{from, to}};
    return substitute(g_, root, map);
  }

  // A later unrolled axis goes outside of an earlier one: what the earlier one's copies share stays in few registers.
  static std::vector<UOpRef>::iterator place_of(std::vector<UOpRef>& sources, UOpRef inner) {
    auto kind = [](UOpRef r) { return r->as<ir::RangeInfo>().kind; };
    if (kind(inner) != RangeKind::Unroll) return sources.end();
    return std::find_if(sources.begin() + 2, sources.end(), [&](UOpRef r) { return kind(r) == RangeKind::Unroll; });
  }

  // A loop that has been split: groups of `amount` have left a rest of `size`, which is split now.
  struct Whole {
    UOpRef size;
    std::int64_t amount;
  };

  // The part of `size` that whole groups of `amount` cover.
  UOpRef grouped(UOpRef size, std::int64_t amount) {
    return ir::fold_mul(g_, simplified_length(g_, ir::fold_floordiv(g_, size, g_.index(amount))), g_.index(amount));
  }

  static void append(std::vector<UOpRef>* to, const std::vector<UOpRef>& more) {
    to->insert(to->end(), more.begin(), more.end());
  }

  std::vector<UOpRef> split_store(UOpRef store, UOpRef range, const Opt& opt,
                                  std::optional<Whole> whole = std::nullopt) {
    std::vector<UOpRef> out;
    AxisPieces p = pieces_of(axes_, range, opt);
    // Begins behind all groups of the whole, so that it is plainly a multiple.
    if (whole && p.tail_position && whole->amount % opt.amount == 0) {
      UOpRef begin = ir::fold_sub(g_, grouped(whole->size, opt.amount), grouped(whole->size, whole->amount));
      p.tail_position = p.tail_range ? ir::fold_add(g_, begin, p.tail_range) : begin;
    }
    auto piece = [&](UOpRef source, UOpRef position, UOpRef outer, UOpRef inner) {
      std::vector<UOpRef> sources = {replace(source->source(0), range, position),
                                     replace(source->source(1), range, position)};
      for (std::size_t i = 2; i < source->sources.size(); ++i) {
        UOpRef r = source->source(i);
        if (r == range) {
          if (outer) sources.push_back(outer);
        } else {
          sources.push_back(replace(r, range, position));
        }
      }
      if (inner) sources.insert(place_of(sources, inner), inner);
      out.push_back(g_.with_sources(source, sources));
    };
    if (p.main_position) piece(store, p.main_position, p.main_range, p.inner);
    if (!p.tail_position) return out;
    // Copies in a row, of the remainder too: one pass over the other loops makes all of them, as long as no sums
    // compete for registers.
    const bool share_loops =
        opt.kind == Opt::Kind::Unroll && !p.main_range && !p.tail_range && !contains_op(store, Op::Reduce);
    piece(p.main_position && !share_loops ? rename_inner_loops(store, range) : store, p.tail_position, p.tail_range,
          p.tail_inner);
    if (p.tail_gate) out.back() = gated(g_, out.back(), p.tail_inner, p.tail_gate);
    if (p.tail_range && contains_op(p.tail_range->source(0), Op::Var))
      split_remainder(out, p.tail_range, opt, whole ? whole->size : range->source(0));
    return out;
  }

  // Copies of a sum read less than one copy does: what an unknown length leaves over is unrolled too, by half as many
  // and so on, down to single ones. `out`'s last store is the remainder's, `range` its loop, `size` all there is.
  void split_remainder(std::vector<UOpRef>& out, UOpRef range, const Opt& opt, UOpRef size) {
    if (opt.kind != Opt::Kind::Unroll || opt.amount < 4 || !contains_op(out.back(), Op::Reduce)) return;
    const UOpRef store = out.back();
    out.pop_back();
    const Opt half{Opt::Kind::Unroll, opt.axis, opt.amount % 4 == 0 ? opt.amount / 2 : 2};
    append(&out, split_store(store, range, half, Whole{size, opt.amount}));
  }

  UOpRef padded(UOpRef store, UOpRef range, std::int64_t amount) {
    UOpRef size = range->source(0), n = g_.index(amount);
    UOpRef count = ir::fold_floordiv(g_, ir::fold_add(g_, size, g_.index(amount - 1)), n);
    const auto& info = range->as<ir::RangeInfo>();
    UOpRef longer = g_.range(ir::fold_mul(g_, count, n), info.axis, info.kind);
    return gated(g_, replace(store, range, longer), longer, ir::fold_lt(g_, longer, size));
  }

  // A copy for another loop than `range`: what stands inside of it (the store's further loops, reductions that depend
  // on it) runs over ranges of its own.
  UOpRef rename_inner_loops(UOpRef store, UOpRef range) {
    std::unordered_map<UOpRef, bool> depends;
    std::vector<std::pair<UOpRef, UOpRef>> map;
    std::unordered_set<UOpRef> renamed;
    auto at = std::find(store->sources.begin() + 2, store->sources.end(), range);
    for (auto inner = at + 1; inner < store->sources.end(); ++inner) {
      map.emplace_back(*inner, copy_of(*inner, map));
    }
    for (UOpRef x : toposort(store)) {
      bool d = x == range;
      for (UOpRef s : x->sources) d |= depends.at(s);
      depends[x] = d;
      if (!d || !x->is(Op::Reduce)) continue;
      for (std::size_t i = 1; i < x->sources.size(); ++i) {
        UOpRef r = x->source(i);
        if (renamed.insert(r).second) map.emplace_back(r, copy_of(r, map));
      }
    }
    return substitute(g_, store, map);
  }

  UOpRef block(UOpRef store, UOpRef range, std::int64_t amount) {
    UOpRef size = range->source(0), n = g_.index(amount);
    UOpRef blocks = ir::fold_floordiv(g_, ir::fold_add(g_, size, g_.index(amount - 1)), n);
    UOpRef outer = axes_.range(blocks, range->as<ir::RangeInfo>().kind);
    UOpRef begin = ir::fold_mul(g_, outer, n);
    const bool exact = is_multiple(size, amount);
    UOpRef length = exact ? n : g_.binary(Op::Min, n, ir::fold_sub(g_, size, begin));
    UOpRef inner = g_.range(length, range->as<ir::RangeInfo>().axis, range->as<ir::RangeInfo>().kind);
    UOpRef position = ir::fold_add(g_, begin, inner);
    std::vector<UOpRef> sources = {replace(store->source(0), range, position),
                                   replace(store->source(1), range, position)};
    for (std::size_t i = 2; i < store->sources.size(); ++i) {
      if (store->source(i) == range) {
        sources.push_back(outer);
        sources.push_back(inner);
      } else {
        sources.push_back(store->source(i));
      }
    }
    return g_.with_sources(store, sources);
  }

  void split_reductions(const Opt& opt) {
    using Key = std::pair<UOpRef, bool>;  // the split range, and whether its last group is filled up
    std::map<Key, AxisPieces> split;      // the reductions of a group share their loops
    std::map<Key, std::vector<UOpRef>> tail_ranges;
    root_ = rebuild(g_, root_, [&](UOpRef x, ir::Sources& sources) {
      UOpRef copy = g_.with_sources(x, sources);
      if (!copy->is(Op::Reduce)) return copy;
      UOpRef range = nullptr;
      for (std::size_t i = 1; i < copy->sources.size(); ++i) {
        if (is_for(opt, copy->source(i))) range = copy->source(i);
      }
      if (!range) return copy;
      // What an earlier opt has shortened may have no such place any longer.
      if (opt.kind == Opt::Kind::Split &&
          (!range->source(0)->is_const() || range->source(0)->int_value() <= opt.amount))
        return copy;
      // Loads that are off give zeros, and the product of two of them adds nothing.
      const bool fills_up = opt.kind == Opt::Kind::Dot && schedule::is_product_along(copy, range);
      const auto key = std::make_pair(range, fills_up);
      if (!split.contains(key)) split.emplace(key, pieces_of(axes_, range, opt, fills_up));
      const AxisPieces& p = split.at(key);
      UOpRef main = nullptr, tail = nullptr;
      if (p.main_position) main = reduce_piece(copy, range, {p.main_position, p.main_range, p.inner}, nullptr);
      if (p.tail_position)
        tail = reduce_piece(copy, range, {p.tail_position, p.tail_range, p.tail_inner},
                            main ? &tail_ranges[key] : nullptr);
      if (p.tail_gate) tail = gated(g_, tail, p.tail_inner, p.tail_gate);
      return main && tail ? combine(g_, copy->as<ir::ReduceInfo>().kind, main, tail) : main ? main : tail;
    });
  }

  // Where in a range's place a piece of it is, and its own loops, if it has them.
  struct Place {
    UOpRef position, outer, inner;
  };

  // `others`: replace the remaining ranges by ranges of the piece's own (made on first use).
  UOpRef reduce_piece(UOpRef reduce, UOpRef range, const Place& place, std::vector<UOpRef>* others) {
    const auto [position, outer, inner] = place;
    std::vector<std::pair<UOpRef, UOpRef>> map = {{range, position}};
    std::vector<UOpRef> ranges;
    std::size_t made = 0;
    for (std::size_t i = 1; i < reduce->sources.size(); ++i) {
      UOpRef r = reduce->source(i);
      if (r == range) {
        if (outer) ranges.push_back(outer);
      } else if (others) {
        if (made == others->size()) others->push_back(copy_of(r, map));
        ranges.push_back((*others)[made++]);
        map.emplace_back(r, ranges.back());
      } else {
        ranges.push_back(r);
      }
    }
    if (inner) ranges.push_back(inner);
    std::vector<UOpRef> sources = {substitute(g_, reduce->source(0), map)};
    sources.insert(sources.end(), ranges.begin(), ranges.end());
    return sources.size() == 1 ? sources[0] : g_.with_sources(reduce, sources);
  }

  ir::Graph& g_;
  UOpRef root_;
  FreshAxes axes_;
};

}  // namespace

absl::StatusOr<UOpRef> apply_opts(ir::Graph& graph, UOpRef kernel, const std::vector<Opt>& opts) {
  return Applier(graph, kernel).run(opts);
}

}  // namespace hearth::passes
