#include <algorithm>
#include <map>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include "compiler/schedule/contraction.h"
#include "compiler/schedule/kernel_facts.h"
#include "compiler/schedule/op_cost.h"
#include "compiler/schedule/opts.h"
#include "compiler/schedule/windows.h"
#include "compiler/target/core_model.h"

namespace hearth::schedule {
namespace {

using target::kCore;

using ir::Op;
using ir::UOpRef;

constexpr std::int64_t kMaxUnrolled = 16;  // elements of a reduction
constexpr std::int64_t kBlock = 1024;      // elements of a one-dimensional block: a multiple of every vector length
constexpr std::int64_t kMaxChoices = 36;   // of a loop that only chooses
constexpr double kOpsOfParts = 64;         // in units of op_cost: of all values that are concatenated
constexpr std::size_t kManyParts = 3;      // places where one ends
constexpr std::size_t kMaxPieces = 40;     // of a store that is split where its conditions change

class Heuristic {
 public:
  Heuristic(const KernelFacts& facts, double work)
      : f_(facts),
        work_(work),
        lanes_(facts.lanes),
        registers_(facts.registers),
        store_(facts.store),
        outputs_(facts.outputs),
        reduces_(facts.reduces),
        accesses_(facts.accesses),
        depends_(facts.depends) {}

  std::vector<Opt> run() {
    if (lanes_ < 2 || outputs_.empty()) {
      if (outputs_.empty()) vectorize_reductions();
      return opts_;
    }
    UOpRef store_axis = f_.contiguous_output();
    if (reduces_.empty()) {
      const bool is_tile = unroll_choices();
      bool divided = f_.is_only_store && outputs_.size() == 1 && work_ >= kCore.work_worth_dividing &&
                     size(outputs_[0]) >= 2 * kBlock;
      if (divided) add(Opt::Kind::Tile, outputs_[0], kBlock);
      if (UOpRef rows = store_axis ? rows_of_parts(store_axis) : nullptr) {
        vectorize(rows);
        split_at_conditions(rows);
        return opts_;
      }
      if (store_axis && (mostly_contiguous(store_axis) || computes_more_than_it_gathers(store_axis))) {
        vectorize_row(store_axis);
        unroll_transposed(store_axis);
        if (!is_tile) split_at_conditions(store_axis);  // a tile's conditions are little beside its arithmetic
      }
      return opts_;
    }
    if (UOpRef axis = reduction_output(store_axis)) {
      std::int64_t w = vectorize(axis);
      if (w > 1 && reduces_.size() == 1) tile(axis, w);
      if (w > 1 && reduces_.size() > 1 && jumps_pages(axis)) unroll_columns(axis, w);
      return opts_;
    }
    vectorize_reductions();
    if (opts_.empty() && store_axis && affine_along(store_axis)) {
      vectorize(store_axis);  // windows: lanes some elements apart
      unroll_small_reductions();
      return opts_;
    }
    bool row_kernel =
        store_axis && std::ranges::none_of(reduces_, [&](UOpRef r) { return depends_.at(r).contains(store_axis); });
    if (row_kernel && contiguous(store_axis)) vectorize_row(store_axis);
    return opts_;
  }

 private:
  static std::int64_t size(UOpRef range) { return KernelFacts::size(range); }

  void add(Opt::Kind kind, UOpRef range, std::int64_t amount) {
    opts_.push_back({kind, range->as<ir::RangeInfo>().axis, amount});
  }

  // Every access stays put or moves by one element with `range`.
  bool contiguous(UOpRef range) const {
    return std::ranges::all_of(accesses_, [&](const Access& a) { return f_.is_unit_or_zero_stride(a, range); });
  }

  // An output axis along which everything a reduction reads stays put or runs: the one the store runs along, else any
  // (the store then scatters, and what is read besides is gathered, once for a whole reduction).
  UOpRef reduction_output(UOpRef store_axis) const {
    auto good = [&](UOpRef axis) {
      bool in_reduction = std::ranges::any_of(reduces_, [&](UOpRef r) { return depends_.at(r).contains(axis); });
      return in_reduction && vector_length(axis) > 1 && std::ranges::all_of(accesses_, [&](const Access& a) {
               return !a.in_reduction || f_.is_unit_or_zero_stride(a, axis);
             });
    };
    if (store_axis && good(store_axis)) return store_axis;
    auto found = std::find_if(outputs_.rbegin(), outputs_.rend(), good);
    return found == outputs_.rend() ? nullptr : *found;
  }

  // Lanes that leave the least work: n/w vectors and n%w single elements.
  std::int64_t vector_length(UOpRef range) const {
    std::int64_t n = size(range) ? size(range) : KernelFacts::largest_size(range);
    std::int64_t best = 1, least = n;
    for (std::int64_t w = lanes_; w >= std::min<std::int64_t>(4, lanes_); w /= 2) {
      if (n / w > 0 && n / w + n % w < least) {
        best = w;
        least = n / w + n % w;
      }
    }
    return best;
  }

  std::int64_t vectorize(UOpRef range) {
    // Whole vectors and one with its last lanes off, where masks cost nothing and everything runs along the axis.
    const std::int64_t n = size(range);
    const bool output = range->as<ir::RangeInfo>().kind != ir::RangeKind::Reduce;
    if (f_.has_masks && output && n > lanes_ && n % lanes_ != 0 && contiguous(range)) {
      add(Opt::Kind::Masked, range, lanes_);
      return lanes_;
    }
    std::int64_t w = vector_length(range);
    if (w > 1) add(Opt::Kind::Lanes, range, w);
    return w;
  }

  // Elementwise kernels may gather some operands, if at least half of them are contiguous.
  bool mostly_contiguous(UOpRef range) const {
    std::size_t good = 0;
    for (const Access& a : accesses_) {
      good += f_.is_unit_or_zero_stride(a, range);
    }
    return 2 * good >= accesses_.size();
  }

  // Arithmetic of one element, in units of op_cost.
  double arithmetic() const {
    double all = 0;
    for (UOpRef x : toposort(store_->source(1))) {
      if (ir::is_elementwise(x->op) && is_float(x->dtype)) all += op_cost(x);
    }
    return all;
  }

  // Or they compute so much that vectors pay whatever is gathered: one element after the other is loaded either way.
  bool computes_more_than_it_gathers(UOpRef range) const {
    const auto gathers =
        std::ranges::count_if(accesses_, [&](const Access& a) { return !f_.is_unit_or_zero_stride(a, range); });
    return f_.is_unit_or_zero_stride({store_->source(0), ir::to_affine(store_->source(0)->source(1))}, range) &&
           arithmetic() >= kCore.gather_ops * static_cast<double>(gathers);
  }

  void vectorize_reductions() {
    std::unordered_set<UOpRef> chosen;
    for (UOpRef reduce : reduces_) {
      for (std::size_t i = 1; i < reduce->sources.size(); ++i) {
        UOpRef r = reduce->source(i);
        bool runs = std::ranges::any_of(accesses_, [&](const Access& a) { return a.affine.coefficient_of(r) == 1; });
        if (!runs || !contiguous(r) || chosen.contains(r)) continue;
        std::int64_t w = vector_length(r);
        if (w < 2) continue;
        chosen.insert(r);
        add(Opt::Kind::Lanes, r, w);
        std::int64_t vectors = size(r) / w;
        int tiled = reduces_.size() == 1 ? tile_rows(reduce, r) : 0;
        if (tiled == 2) break;
        for (std::int64_t u : tiled ? std::vector<std::int64_t>{2} : std::vector<std::int64_t>{4, 2}) {
          if (vectors > 0 && vectors % u == 0) {
            add(Opt::Kind::Unroll, r, u);
            break;
          }
        }
        break;
      }
    }
  }

  // What is kept of a row is written several vectors at a time: their long chains of arithmetic overlap.
  void vectorize_row(UOpRef axis) {
    const std::int64_t w = vectorize(axis);
    const bool kept = store_->source(0)->source(0)->is(Op::Allocate);
    if (kept && w > 1 && size(axis) / w >= 4) add(Opt::Kind::Unroll, axis, 4);
  }

  // What is gathered along `axis` and runs along another one is read in square blocks (codegen/llvm/transposed_blocks).
  void unroll_transposed(UOpRef axis) {
    if (opts_.empty() || opts_.back().kind != Opt::Kind::Lanes || opts_.back().amount < 8) return;
    const std::int64_t lanes = opts_.back().amount;
    for (const Access& a : accesses_) {
      if (f_.hidden(a.affine, axis) || a.affine.coefficient_of(axis) < lanes || !a.index->source(2)->is_const())
        continue;
      for (UOpRef row : outputs_) {
        if (row == axis || !f_.is_unit_or_zero_stride(a, row) || a.affine.coefficient_of(row) != 1 || size(row) < lanes)
          continue;
        add(Opt::Kind::Unroll, row, lanes);
        return;
      }
    }
  }

  // The loop that vectors run along where many values that cost much are concatenated along `axis`: a vector there
  // would compute all of them for each element; of a part at a time, its rows are stored to places apart. Null when
  // that is not so.
  UOpRef rows_of_parts(UOpRef axis) const {
    if (!is_range(axis, ir::RangeKind::Loop) || arithmetic() < kOpsOfParts) return nullptr;
    const std::size_t places = places_of_change(store_->source(1), axis).size();
    if (places < kManyParts || places >= kMaxPieces) return nullptr;
    for (UOpRef rows : std::views::reverse(outputs_)) {
      if (rows != axis && size(rows) % lanes_ == 0 && size(rows) > 0) return rows;
    }
    return nullptr;
  }

  // What is concatenated or padded along a loop outside of the vectors is stored a part at a time: no part evaluates
  // the others' conditions. Inner loops first, from the last place to the first: what is behind a place gets loops of
  // its own from there inwards.
  void split_at_conditions(UOpRef vector_axis) {
    std::size_t pieces = 1;
    for (UOpRef axis : std::views::reverse(outputs_)) {
      if (axis == vector_axis || !is_range(axis, ir::RangeKind::Loop) || size(axis) < 2 || is_unrolled(axis)) continue;
      const PlacesOfChange places = places_of_change(store_->source(1), axis);
      if (places.empty() || pieces * (places.size() + 1) > kMaxPieces) continue;
      pieces *= places.size() + 1;
      for (const std::int64_t place : places) add(Opt::Kind::Split, axis, place);
    }
  }

  // A loop that only chooses between expressions (those of a tile) is written out: no copy has a choice, and copies
  // share what the expressions have in common. Whether there are such loops.
  bool unroll_choices() {
    std::map<UOpRef, std::int64_t> amounts;
    for (UOpRef x : toposort(store_->source(1))) {
      if (!x->is(Op::Eq) || !x->source(1)->is_const()) continue;
      UOpRef counted = x->source(0);
      const bool is_digit = counted->is(Op::FloorMod) && counted->source(1)->is_const();
      UOpRef range = is_digit ? counted->source(0) : counted;
      if (!range->is(Op::Range)) continue;
      const std::int64_t n = is_digit ? counted->source(1)->int_value() : size(range);
      amounts[range] = std::max(amounts[range], n);
    }
    for (UOpRef axis : std::views::reverse(outputs_)) {
      const auto found = amounts.find(axis);
      if (found != amounts.end() && found->second > 1 && found->second <= kMaxChoices)
        add(Opt::Kind::Unroll, axis, found->second);
    }
    return !opts_.empty();
  }

  bool is_unrolled(UOpRef axis) const {
    return std::ranges::any_of(opts_, [&](const Opt& o) { return o.axis == axis->as<ir::RangeInfo>().axis; });
  }

  bool affine_along(UOpRef range) const {
    return std::ranges::all_of(accesses_, [&](const Access& a) {
      return !f_.hidden(a.affine, range) &&
             (a.index->source(2)->is_const() || !f_.depends_on(a.index->source(2), range));
    });
  }

  // A window of a few elements is written out.
  void unroll_small_reductions() {
    for (UOpRef reduce : reduces_) {
      std::int64_t elements = 1;
      for (std::size_t i = 1; i < reduce->sources.size(); ++i) {
        elements *= size(reduce->source(i)) ? size(reduce->source(i)) : kMaxUnrolled + 1;
      }
      if (elements > kMaxUnrolled) continue;
      for (std::size_t i = 1; i < reduce->sources.size(); ++i) {
        UOpRef r = reduce->source(i);
        if (size(r) > 1) add(Opt::Kind::Unroll, r, size(r));
      }
    }
  }

  // Dot products: up to two output axes are unrolled so that each vector loaded serves several of them. How many were.
  int tile_rows(UOpRef reduce, UOpRef lane_axis) {
    int tiled = 0;
    for (auto it = outputs_.rbegin(); it != outputs_.rend() && tiled < 2; ++it) {
      bool shares = f_.depends_on(reduce, *it) && std::ranges::any_of(accesses_, [&](const Access& a) {
                      return a.in_reduction && a.affine.coefficient_of(lane_axis) == 1 &&
                             !depends_.at(a.index->source(1)).contains(*it);
                    });
      if (!shares) continue;
      const bool is_known =
          size(*it) > 0;  // else of one axis: passes/kernel/apply_opts makes smaller ones for the rest
      for (std::int64_t u : {4, 3, 2}) {
        if (is_known ? size(*it) % u == 0 && (tiled == 0 || registers_ == 32 || u == 2) : tiled == 0) {
          add(Opt::Kind::Unroll, *it, u);
          ++tiled;
          break;
        }
      }
    }
    return tiled;
  }

  // A register tile: `columns` vectors along the vector axis times `rows` of an axis whose rows share those vectors.
  void tile(UOpRef vector_axis, std::int64_t w) {
    std::int64_t vectors = size(vector_axis) / w;
    std::int64_t columns = 1;
    for (std::int64_t u : {4, 3, 2}) {
      if (vectors > 0 && vectors % u == 0) {
        columns = u;
        break;
      }
    }
    if (columns > 1) add(Opt::Kind::Unroll, vector_axis, columns);
    std::int64_t budget = (registers_ - columns - 2) / columns;
    for (auto it = outputs_.rbegin(); it != outputs_.rend(); ++it) {
      if (*it == vector_axis || !shares_vectors(*it, vector_axis)) continue;
      for (std::int64_t u : {8, 7, 6, 5, 4, 3, 2}) {
        if (u <= budget && size(*it) > 0 && size(*it) % u == 0) {
          add(Opt::Kind::Unroll, *it, u);
          return;
        }
      }
    }
  }

  // Several sums of one result that read a matrix down its columns, each row a page further: prefetchers end at pages,
  // so that a row should be worth more than the one line of a vector.
  bool jumps_pages(UOpRef vector_axis) const {
    const auto jumps = [&](const Access& a) {
      const std::int64_t bytes = byte_size(a.index->source(0)->dtype);
      return a.in_reduction && a.affine.coefficient_of(vector_axis) == 1 &&
             std::ranges::any_of(reduces_, [&](UOpRef reduce) {
               return std::ranges::any_of(reduce->sources.subspan(1), [&](UOpRef r) {
                 return size(r) > 1 && std::abs(a.affine.coefficient_of(r)) * bytes >= kCore.page_bytes;
               });
             });
    };
    return std::ranges::any_of(accesses_, jumps);
  }

  void unroll_columns(UOpRef vector_axis, std::int64_t w) {
    const std::int64_t vectors = size(vector_axis) / w;
    const std::int64_t sums =
        std::ranges::count_if(reduces_, [&](UOpRef reduce) { return depends_.at(reduce).contains(vector_axis); });
    for (const std::int64_t u : {8, 4, 2}) {
      if (vectors == 0 || vectors % u != 0 || u * sums > registers_ / 2) continue;
      add(Opt::Kind::Unroll, vector_axis, u);
      return;
    }
  }

  bool shares_vectors(UOpRef row, UOpRef vector_axis) const {
    bool any = false;
    for (const Access& a : accesses_) {
      if (!a.in_reduction || a.affine.coefficient_of(vector_axis) != 1) continue;
      if (depends_.at(a.index->source(1)).contains(row)) return false;
      any = true;
    }
    return any;
  }

  const KernelFacts& f_;
  double work_;
  std::int64_t lanes_, registers_;
  UOpRef store_;
  const std::vector<UOpRef>&outputs_, &reduces_;
  const std::vector<Access>& accesses_;
  const std::unordered_map<UOpRef, std::unordered_set<UOpRef>>& depends_;
  std::vector<Opt> opts_;
};

}  // namespace

std::vector<Opt> heuristic_cpu(UOpRef kernel, const target::Target& target, double work,
                               const std::vector<SlotFacts>& slots) {
  std::vector<Opt> opts;
  for (UOpRef store : kernel->sources) {
    const KernelFacts facts(kernel, store, target);
    std::optional<std::vector<Opt>> tiled = tile_windows(facts, slots);
    if (!tiled) tiled = tile_contraction(facts, slots);
    for (const Opt& opt : tiled ? *tiled : Heuristic(facts, work).run()) {
      // Stores may share reductions and packed operands.
      auto same = [&](const Opt& o) { return o.kind == opt.kind && o.axis == opt.axis; };
      if (facts.is_only_store || std::ranges::none_of(opts, same)) opts.push_back(opt);
    }
  }
  return opts;
}

}  // namespace hearth::schedule
