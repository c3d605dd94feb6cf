#include "compiler/schedule/search.h"

#include <algorithm>
#include <optional>
#include <set>

#include "compiler/schedule/kernel_facts.h"
#include "compiler/schedule/opts_proto.h"

namespace hearth::schedule {
namespace {

using ir::UOpRef;
using Kind = Opt::Kind;
using Opts = std::vector<Opt>;

constexpr std::int64_t kMaxTriedCopies = 256, kMaxUnrolled = 16, kMinBlock = 4, kMaxBlock = 65'536;

class NeighbourGenerator {
 public:
  NeighbourGenerator(UOpRef flat, const target::Target& target, const Neighbourhood& of)
      : flat_(flat),
        slots_(of.slots),
        may_pack_(of.may_pack),
        opts_(of.opts),
        most_copies_(std::max(kMaxTriedCopies, num_copies(flat, of.opts))) {
    for (UOpRef store : flat->sources) facts_.emplace_back(flat, store, target);
    seen_.insert(key(of.opts));
  }

  std::vector<Opts> run() {
    if (facts_.size() == 1) tile_moves();
    amount_moves();
    packing_moves();
    order_moves();
    mask_moves();
    unroll_moves();
    if (facts_.size() == 1) axis_moves();
    return std::move(out_);
  }

 private:
  static std::uint32_t id(UOpRef range) { return range->as<ir::RangeInfo>().axis; }
  static std::int64_t size(UOpRef range) { return KernelFacts::size(range); }
  static bool is_vector(const Opt& o) { return o.kind == Kind::Lanes || o.kind == Kind::Masked; }

  // Opts are applied in order, so the order is part of what they are.
  static std::vector<std::int64_t> key(const Opts& opts) {
    std::vector<std::int64_t> key;
    for (const Opt& o : opts) key.insert(key.end(), {static_cast<std::int64_t>(o.kind), o.axis, o.amount});
    return key;
  }

  void propose(Opts opts) {
    if (num_copies(flat_, opts) > most_copies_) return;  // slow to compile, and spills
    if (seen_.insert(key(opts)).second) out_.push_back(std::move(opts));
  }

  const KernelFacts& only() const { return facts_.front(); }
  UOpRef output(std::uint32_t axis) const {
    for (const KernelFacts& f : facts_) {
      for (UOpRef r : f.outputs) {
        if (id(r) == axis) return r;
      }
    }
    return nullptr;
  }
  std::int64_t amount_of(Kind kind, UOpRef axis) const {
    for (const Opt& o : opts_) {
      if (axis && o.kind == kind && o.axis == id(axis)) return o.amount;
    }
    return 1;
  }

  // ---- register tiles: `columns` vectors of one output axis times `rows` of another ----

  struct Tile {
    UOpRef axis = nullptr, rows_axis = nullptr;
    std::int64_t lanes = 1, columns = 1, rows = 1;
  };

  std::optional<Tile> tile() const {
    Tile t;
    for (const Opt& o : opts_) {
      if (!is_vector(o)) continue;
      if (t.axis) return std::nullopt;
      t.axis = output(o.axis);
      t.lanes = o.amount;
      if (!t.axis) return std::nullopt;  // vectors of a reduction
    }
    if (!t.axis) return std::nullopt;
    t.columns = amount_of(Kind::Unroll, t.axis);
    for (const Opt& o : opts_) {
      UOpRef axis = o.kind == Kind::Unroll ? output(o.axis) : nullptr;
      if (axis && axis != t.axis) t.rows_axis = axis, t.rows = o.amount;
    }
    if (!t.rows_axis) {
      for (UOpRef r : only().outputs) {
        if (r != t.axis && r->source(0)->bounds.max > 1) t.rows_axis = r;  // the innermost
      }
    }
    return t;
  }

  // The same opts with another tile; padding follows the tile, the rest stays.
  Opts with_tile(const Tile& from, const Tile& to) const {
    Opts head, unrolled, rest;
    const std::int64_t n = size(to.axis), whole = to.lanes * to.columns;
    const bool divides = n > 0 && n % whole == 0;
    bool masked = false, padded = false;
    for (const Opt& o : opts_) {
      const bool of_axis = o.kind != Kind::Pack && (o.axis == id(from.axis) || o.axis == id(to.axis));
      const bool of_rows = o.kind == Kind::Unroll && ((from.rows_axis && o.axis == id(from.rows_axis)) ||
                                                      (to.rows_axis && o.axis == id(to.rows_axis)));
      masked |= o.kind == Kind::Masked;
      padded |= o.kind == Kind::PadTo;
      if (o.kind == Kind::PadTo || is_vector(o) || (of_axis && o.kind == Kind::Unroll) || of_rows) continue;
      (o.kind == Kind::Tile ? head : rest).push_back(o);
    }
    // Without a remainder there is nothing to pad or to mask; a tile that leaves one is padded where masks are cheap.
    if (!divides && n > 0 && only().has_masks && (padded || !masked)) head.push_back({Kind::PadTo, id(to.axis), whole});
    const bool pads = !head.empty() && head.back().kind == Kind::PadTo;
    head.push_back({masked && !pads && !divides ? Kind::Masked : Kind::Lanes, id(to.axis), to.lanes});
    if (to.columns > 1) head.push_back({Kind::Unroll, id(to.axis), to.columns});
    Opts orders;
    std::erase_if(rest, [&](const Opt& o) {
      if (o.kind == Kind::Before) orders.push_back(o);
      return o.kind == Kind::Before;
    });
    head.insert(head.end(), orders.begin(), orders.end());
    if (to.rows > 1 && to.rows_axis) head.push_back({Kind::Unroll, id(to.rows_axis), to.rows});
    head.insert(head.end(), rest.begin(), rest.end());
    return head;
  }

  void tile_moves() {
    const std::optional<Tile> t = tile();
    if (!t) return;
    const std::int64_t vectors = std::max<std::int64_t>(1, (t->axis->source(0)->bounds.max + t->lanes - 1) / t->lanes);
    auto move = [&](std::int64_t rows, std::int64_t columns) {
      Tile to = *t;
      to.rows = t->rows_axis ? std::clamp<std::int64_t>(rows, 1, t->rows_axis->source(0)->bounds.max) : 1;
      to.columns = std::clamp<std::int64_t>(columns, 1, std::min(vectors, kMaxUnrolled));
      if (to.rows * to.columns <= only().registers + 8) propose(with_tile(*t, to));
    };
    // Rows that fill the registers beside `columns` vectors and one broadcast.
    auto filling = [&](std::int64_t columns) {
      return (only().registers - columns - 1) / std::max<std::int64_t>(1, columns);
    };
    for (const std::int64_t step : {1, -1, 2, -2}) {
      move(t->rows + step, t->columns);
      move(t->rows, t->columns + step);
    }
    for (std::int64_t columns = 1; columns <= 6; ++columns) {
      move(std::min<std::int64_t>(filling(columns), 14), columns);
      move(filling(columns) / 2, columns);
    }
    for (const std::int64_t lanes : {t->lanes * 2, t->lanes / 2}) {
      Tile to = *t;
      to.lanes = lanes;
      if (lanes >= 2 && lanes <= 2 * only().lanes) propose(with_tile(*t, to));
    }
  }

  // The tile turned: vectors along another output axis, rows along the one that had them.
  void axis_moves() {
    const std::optional<Tile> from = tile();
    for (UOpRef axis : only().outputs) {
      if (from && axis == from->axis) continue;
      if (axis->source(0)->bounds.max < only().lanes) continue;
      Tile to{axis, from ? from->axis : nullptr, only().lanes, 1, 1};
      for (const std::int64_t rows : {1, 4, 8}) {
        if (rows > 1 && (!to.rows_axis || to.rows_axis->source(0)->bounds.max < rows)) continue;
        to.rows = rows;
        Opts turned = from ? with_tile(*from, to) : plain(to);
        propose(turned);
        // What does not run along the axis would be gathered.
        for (const Access& a : only().accesses) {
          if (a.is_store || !may_pack(a) || !only().depends_on(a.index, axis)) continue;
          if (only().is_unit_or_zero_stride(a, axis)) continue;
          const Opt pack{Kind::Pack, slot(a), 1};
          if (!has(turned, pack)) turned.push_back(pack);
        }
        propose(turned);
      }
    }
  }

  Opts plain(const Tile& t) const {
    Opts opts;
    std::ranges::copy_if(opts_, std::back_inserter(opts), [](const Opt& o) { return !is_vector(o); });
    opts.push_back({Kind::Lanes, id(t.axis), t.lanes});
    return opts;
  }

  // ---- single opts ----

  void amount_moves() {
    for (std::size_t i = 0; i < opts_.size(); ++i) {
      const Opt& o = opts_[i];
      auto with = [&](std::int64_t amount) {
        Opts changed = opts_;
        changed[i].amount = amount;
        propose(std::move(changed));
      };
      auto without = [&] {
        Opts changed = opts_;
        changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(i));
        propose(std::move(changed));
      };
      if (o.kind == Kind::Unroll) {
        for (const std::int64_t amount : {o.amount * 2, o.amount / 2, o.amount + 1, o.amount - 1}) {
          if (amount >= 2 && amount <= kMaxUnrolled) with(amount);
        }
        without();
      } else if (o.kind == Kind::Tile) {
        for (const std::int64_t amount : {o.amount * 2, o.amount / 2, o.amount * 4, o.amount / 4}) {
          if (amount >= kMinBlock && amount <= kMaxBlock) with(amount);
        }
        without();
      } else if (is_vector(o) && !has_padding()) {
        for (const std::int64_t amount : {o.amount * 2, o.amount / 2}) {
          if (amount >= 2 && amount <= 2 * facts_.front().lanes) with(amount);
        }
      } else if (o.kind == Kind::Before) {
        without();
      }
    }
  }

  void packing_moves() {
    if (!may_pack_) return;
    for (const KernelFacts& f : facts_) {
      for (const Access& a : f.accesses) {
        if (a.is_store || !may_pack(a)) continue;
        const Opt pack{Kind::Pack, slot(a), 1};
        Opts changed = opts_;
        if (has(opts_, pack)) {
          std::erase_if(changed, [&](const Opt& o) { return o.kind == Kind::Pack && o.axis == pack.axis; });
        } else {
          changed.push_back(pack);
        }
        propose(std::move(changed));
      }
    }
  }

  void order_moves() {
    for (const KernelFacts& f : facts_) {
      for (std::size_t outer = 0; outer < f.outputs.size(); ++outer) {
        for (std::size_t inner = outer + 1; inner < f.outputs.size(); ++inner) {
          const Opt before{Kind::Before, id(f.outputs[inner]), id(f.outputs[outer])};
          if (std::ranges::any_of(opts_, [&](const Opt& o) { return o.kind == Kind::Before && o.axis == before.axis; }))
            continue;
          Opts changed = opts_;
          // Before the rows are unrolled, as the heuristic does.
          auto place = std::ranges::find_if(changed, [&](const Opt& o) {
            return o.kind == Kind::Pack || (o.kind == Kind::Unroll && o.axis == before.amount);
          });
          changed.insert(place, before);
          propose(std::move(changed));
        }
      }
    }
  }

  void mask_moves() {
    for (std::size_t i = 0; i < opts_.size(); ++i) {
      if (!is_vector(opts_[i]) || !output(opts_[i].axis) || has_padding()) continue;
      Opts changed = opts_;
      changed[i].kind = opts_[i].kind == Kind::Lanes ? Kind::Masked : Kind::Lanes;
      if (size(output(opts_[i].axis)) % opts_[i].amount != 0) propose(std::move(changed));
    }
  }

  // Axes that are not unrolled yet, reductions first.
  void unroll_moves() {
    std::vector<UOpRef> axes;
    for (const KernelFacts& f : facts_) {
      for (UOpRef reduce : f.reduces) axes.insert(axes.end(), reduce->sources.begin() + 1, reduce->sources.end());
    }
    for (const KernelFacts& f : facts_) axes.insert(axes.end(), f.outputs.rbegin(), f.outputs.rend());
    for (UOpRef axis : axes) {
      if (amount_of(Kind::Unroll, axis) > 1) continue;
      for (const std::int64_t amount : {4, 2, 8}) {
        if (axis->source(0)->bounds.max < amount) continue;
        Opts changed = opts_;
        auto place = std::ranges::find(changed, Kind::Pack, &Opt::kind);
        changed.insert(place, {Kind::Unroll, id(axis), amount});
        propose(std::move(changed));
      }
    }
  }

  bool has_padding() const { return std::ranges::find(opts_, Kind::PadTo, &Opt::kind) != opts_.end(); }
  static bool has(const Opts& opts, const Opt& opt) {
    return std::ranges::any_of(opts, [&](const Opt& o) { return o.kind == opt.kind && o.axis == opt.axis; });
  }
  static std::uint32_t slot(const Access& a) { return a.index->source(0)->as<ir::ParamInfo>().slot; }
  bool may_pack(const Access& a) const {
    return may_pack_ && a.index->source(0)->is(ir::Op::Param) && slot(a) < slots_.size() &&
           slots_[slot(a)].constant_shape;
  }

  UOpRef flat_;
  const std::vector<SlotFacts>& slots_;
  const bool may_pack_;
  const Opts& opts_;
  const std::int64_t most_copies_;
  std::vector<KernelFacts> facts_;  // one a store
  std::set<std::vector<std::int64_t>> seen_;
  std::vector<Opts> out_;
};

}  // namespace

std::vector<std::vector<Opt>> neighbours(UOpRef flat, const target::Target& target, const Neighbourhood& of) {
  std::vector<Opts> found = NeighbourGenerator(flat, target, of).run();
  std::erase_if(found, [&](const Opts& o) { return !check_opts(flat, o).ok(); });
  return found;
}

}  // namespace hearth::schedule
