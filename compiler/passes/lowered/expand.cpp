#include "compiler/passes/lowered/expand.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/status_macros.h"
#include "compiler/ir/affine.h"
#include "compiler/ir/rebuild.h"
#include "compiler/ir/text.h"
#include "compiler/passes/lowered/contract.h"
#include "compiler/passes/lowered/reduce_kind.h"
#include "compiler/rules/rules.h"
#include "fmt/format.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::RangeKind;
using ir::UOpRef;

std::optional<std::size_t> find_range(UOpRef x, std::size_t from, RangeKind kind) {
  for (std::size_t i = from; i < x->sources.size(); ++i) {
    if (is_range(x->source(i), kind)) return i;
  }
  return std::nullopt;
}

std::vector<UOpRef> without(UOpRef x, std::size_t position) {
  std::vector<UOpRef> sources(x->sources.begin(), x->sources.end());
  sources.erase(sources.begin() + static_cast<std::ptrdiff_t>(position));
  return sources;
}

// A reduction whose ranges are all gone is its value.
UOpRef reduce_of(ir::Graph& g, UOpRef reduce, const std::vector<UOpRef>& sources) {
  if (sources.size() == 1) return sources[0];
  return g.make(Op::Reduce, sources[0]->dtype, sources, reduce->payload);
}

UOpRef at_value(ir::Graph& g, UOpRef root, UOpRef range, std::int64_t value) {
  std::pair<UOpRef, UOpRef> map[] = {{range, g.index(value)}};
  return substitute(g, root, map);
}

// A reduction's unrolled range; the rest of groups that no matrix unit sums is one, too.
std::optional<std::size_t> find_unrolled(UOpRef reduce) {
  auto at = find_range(reduce, 1, RangeKind::Unroll);
  return at ? at : find_range(reduce, 1, RangeKind::Dot);
}

bool is_product(UOpRef x) { return x->is(Op::Mul) && is_float(x->dtype); }

// Copies for Unroll ranges of reductions, innermost first.
UOpRef unroll_reductions(ir::Graph& g, UOpRef root) {
  return rebuild(g, root, [&](UOpRef x, ir::Sources& sources) {
    UOpRef copy = g.with_sources(x, sources);
    if (copy->is(Op::Reduce)) {
      std::vector<UOpRef> parts = {copy};
      while (auto at = find_unrolled(parts[0])) {
        std::vector<UOpRef> more;
        for (UOpRef part : parts) {
          UOpRef range = part->source(*at);
          for (std::int64_t i = 0; i < range->source(0)->int_value(); ++i) {
            std::vector<UOpRef> piece = without(part, *at);
            piece[0] = at_value(g, piece[0], range, i);
            more.push_back(reduce_of(g, part, piece));
          }
        }
        parts = std::move(more);
        if (!parts[0]->is(Op::Reduce)) break;
      }
      // A chain where each step is one multiply-add; else a balanced tree, which keeps the way to the result short.
      if (std::ranges::all_of(parts, is_product) && x->as<ir::ReduceInfo>().kind == ir::ReduceKind::Sum) {
        for (std::size_t i = 1; i < parts.size(); ++i)
          parts[0] = combine(g, x->as<ir::ReduceInfo>().kind, parts[0], parts[i]);
        parts.resize(1);
      }
      while (parts.size() > 1) {
        std::vector<UOpRef> paired;
        for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
          paired.push_back(combine(g, copy->as<ir::ReduceInfo>().kind, parts[i], parts[i + 1]));
        }
        if (parts.size() % 2) paired.push_back(parts.back());
        parts = std::move(paired);
      }
      copy = parts[0];
    }
    return copy;
  });
}

UOpRef unroll_stores(ir::Graph& g, UOpRef root) {
  std::vector<UOpRef> work(root->sources.rbegin(), root->sources.rend()), stores;
  while (!work.empty()) {
    UOpRef store = work.back();
    work.pop_back();
    auto at = find_range(store, 2, RangeKind::Unroll);
    if (!at) {
      stores.push_back(store);
      continue;
    }
    UOpRef range = store->source(*at);
    for (std::int64_t i = range->source(0)->int_value(); i-- > 0;)
      work.push_back(at_value(g, g.with_sources(store, without(store, *at)), range, i));
  }
  return g.make(Op::Sink, root->dtype, stores, root->payload);
}

// Values that depend on a Lanes range become vectors.
class Vectorizer {
 public:
  Vectorizer(ir::Graph& g, UOpRef root) : g_(g), root_(root) {}

  absl::StatusOr<UOpRef> run() {
    if (auto status = contract_reductions(); !status.ok()) return status;
    for (UOpRef x : toposort(root_)) {
      if (done_.contains(x)) continue;
      UOpRef lanes = nullptr;
      for (UOpRef s : x->sources) {
        if (UOpRef l = lanes_of_.at(s)) {
          if (lanes && lanes != l)
            return absl::InternalError(fmt::format("expand: {} depends on two lane axes", ir::describe(x)));
          lanes = l;
        }
      }
      if (is_range(x, RangeKind::Lanes)) lanes = x;
      HEARTH_ASSIGN_OR_RETURN(auto value, lanes ? vectorize(x, lanes) : rebuild(x));
      done_[x] = value;
      bool closes = x->is(Op::Store) || (x->is(Op::Reduce) && find_range(x, 1, RangeKind::Lanes));
      lanes_of_[x] = closes ? nullptr : lanes;
    }
    return done_.at(root_);
  }

 private:
  // The values of reductions that a wmma computes, before everything else.
  absl::Status contract_reductions() {
    std::uint32_t next_axis = ir::next_axis(root_);
    for (UOpRef x : toposort(root_)) {
      if (!x->is(Op::Reduce)) continue;
      HEARTH_ASSIGN_OR_RETURN(auto found, contract(g_, x, next_axis));
      if (!found) continue;
      const Contraction& c = *found;
      auto a = vector_of(c.a, c.a_lanes), b = vector_of(c.b, c.b_lanes);
      HEARTH_RETURN_IF_ERROR(a.status());
      HEARTH_RETURN_IF_ERROR(b.status());
      UOpRef value = x->source(0);
      done_[value] = g_.make(Op::Wmma, value->dtype.with_lanes(count(c.lanes)), {*a, *b}, c.info);
      lanes_of_[value] = c.lanes;
      next_axis += 2;
    }
    return absl::OkStatus();
  }

  // `x` with a lane for every value of `lanes`.
  absl::StatusOr<UOpRef> vector_of(UOpRef x, UOpRef lanes) {
    Vectorizer inner(g_, x);
    HEARTH_RETURN_IF_ERROR(inner.run().status());
    return inner.widened(x, count(lanes));
  }

  absl::StatusOr<UOpRef> rebuild(UOpRef x) {
    std::vector<UOpRef> sources;
    for (UOpRef s : x->sources) sources.push_back(done_.at(s));
    return g_.with_sources(x, sources);
  }

  static std::uint16_t count(UOpRef lanes) { return static_cast<std::uint16_t>(lanes->source(0)->int_value()); }

  UOpRef widened(UOpRef x, std::uint16_t n) {
    UOpRef value = done_.at(x);
    return value->dtype.lanes == n ? value : g_.make(Op::Broadcast, value->dtype.with_lanes(n), {value});
  }

  // position with the lane set to 0, if each lane is one element further than the one before.
  absl::StatusOr<UOpRef> contiguous_base(UOpRef position, UOpRef lanes) {
    ir::Affine a = ir::to_affine(position);
    if (a.coefficient_of(lanes) != 1) return nullptr;
    // What a position gathers by may hold lanes of its own, e.g. of a reduction over them.
    std::vector<std::pair<UOpRef, UOpRef>> map = {{lanes, g_.constant(lanes->dtype, 0)}};
    for (const ir::AffineTerm& t : a.terms) {
      if (t.atom == lanes) continue;
      if (lanes_of_.at(t.atom) == lanes) return nullptr;
      map.emplace_back(t.atom, done_.at(t.atom));
    }
    return rules::simplify(g_, substitute(g_, position, map));
  }

  // index(param, position, gate) for a vector access: scalar position if contiguous.
  absl::StatusOr<UOpRef> vector_index(UOpRef index, UOpRef lanes) {
    std::uint16_t n = count(lanes);
    HEARTH_ASSIGN_OR_RETURN(auto base, contiguous_base(index->source(1), lanes));
    UOpRef position = base ? base : widened(index->source(1), n);
    return g_.make(Op::Index, ir::Scalar::Void, {done_.at(index->source(0)), position, done_.at(index->source(2))});
  }

  absl::StatusOr<UOpRef> vectorize(UOpRef x, UOpRef lanes) {
    std::uint16_t n = count(lanes);
    if (x == lanes) {
      std::vector<UOpRef> values;
      for (std::int64_t i = 0; i < n; ++i) values.push_back(g_.index(i));
      return g_.make(Op::Stack, ir::DType(ir::Scalar::Index, n), values);
    }
    switch (x->op) {
      case Op::Index:
        return x;  // made by its load or store
      case Op::Load: {
        HEARTH_ASSIGN_OR_RETURN(auto index, vector_index(x->source(0), lanes));
        std::vector<UOpRef> sources = {index};
        if (x->sources.size() > 1) sources.push_back(widened(x->source(1), n));
        return g_.make(Op::Load, x->dtype.with_lanes(n), sources);
      }
      case Op::Store: {
        HEARTH_ASSIGN_OR_RETURN(auto index, vector_index(x->source(0), lanes));
        std::vector<UOpRef> sources = {index, widened(x->source(1), n)};
        for (std::size_t i = 2; i < x->sources.size(); ++i) {
          if (x->source(i) != lanes) sources.push_back(done_.at(x->source(i)));
        }
        return g_.make(Op::Store, ir::Scalar::Void, sources);
      }
      case Op::Reduce: {
        std::vector<UOpRef> sources = {widened(x->source(0), n)};
        bool over_lanes = false;
        for (std::size_t i = 1; i < x->sources.size(); ++i) {
          if (x->source(i) == lanes) {
            over_lanes = true;
          } else if (!is_range(x->source(i), RangeKind::Dot) || !done_.at(x->source(0))->is(Op::Wmma)) {
            sources.push_back(done_.at(x->source(i)));
          }
        }
        UOpRef vector = reduce_of(g_, x, sources);
        return over_lanes ? g_.make(Op::Horizontal, x->dtype, {vector}, x->payload) : vector;
      }
      case Op::Range:
        return absl::InternalError(fmt::format("expand: the size of {} depends on a lane", ir::describe(x)));
      default:
        break;
    }
    if (!ir::is_elementwise(x->op))
      return absl::InternalError(fmt::format("expand: {} cannot have lanes", ir::describe(x)));
    std::vector<UOpRef> sources;
    for (UOpRef s : x->sources) sources.push_back(widened(s, n));
    return g_.make(x->op, x->dtype.with_lanes(n), sources, x->payload);
  }

  ir::Graph& g_;
  UOpRef root_;
  std::unordered_map<UOpRef, UOpRef> done_;
  std::unordered_map<UOpRef, UOpRef> lanes_of_;
};

}  // namespace

absl::StatusOr<UOpRef> expand(ir::Graph& g, UOpRef kernel) {
  // Lanes first: copies of a vector reduction are then combined as vectors, with one `horizontal` for all of them.
  auto vectors = Vectorizer(g, kernel).run();
  if (!vectors.ok()) return vectors;
  return rules::simplify(g, unroll_stores(g, unroll_reductions(g, *vectors)));
}

}  // namespace hearth::passes
