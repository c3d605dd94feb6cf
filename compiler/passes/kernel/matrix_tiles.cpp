#include "compiler/passes/kernel/matrix_tiles.h"

#include <algorithm>
#include <functional>

#include "compiler/ir/rebuild.h"
#include "compiler/passes/kernel/workgroup_reduction.h"
#include "compiler/rules/rules.h"
#include "compiler/schedule/matrix_units.h"

namespace hearth::passes {
namespace {

using ir::MatrixOperand;
using ir::Op;
using ir::RangeKind;
using ir::UOpRef;
using schedule::Opt;

// A row and a column of the unit's matrix.
struct Place {
  UOpRef row, column;
};

class MatrixTiler {
 public:
  MatrixTiler(ir::Graph& g, UOpRef kernel, const ir::WmmaInfo& unit)
      : g_(g), kernel_(kernel), unit_(unit), shape_(ir::shape_of(unit)), axes_(g, kernel) {}

  absl::StatusOr<UOpRef> run(const Opt& opt) {
    std::optional<WorkgroupReduction> found = divided_reduction(axes_, kernel_, opt.axis, opt.amount, true);
    if (!found || !found->within || opt.amount % shape_.k != 0) return kernel_;
    const std::optional<schedule::Product> product = schedule::matrix_product(found->divided);
    if (!product) return kernel_;
    lane_ = axes_.range(g_.index(shape_.subgroup), RangeKind::Invocation);
    found->tile.invocations *= shape_.subgroup;
    OperandCopies copies(axes_, found->tile);
    UOpRef a = product->a, b = product->b;
    auto of_a = copies.ranges_of(a), of_b = copies.ranges_of(b);
    if (!of_a || !of_b) return kernel_;
    rows_ = matrix_range(*of_a), columns_ = matrix_range(*of_b);
    if (!fit(*of_a, *of_b)) {
      std::swap(a, b), std::swap(of_a, of_b), std::swap(rows_, columns_);
      if (!fit(*of_a, *of_b)) return kernel_;
    }
    // Each of the unit's products along the tile.
    UOpRef step = axes_.range(g_.index(opt.amount / shape_.k), RangeKind::Reduce);
    const auto whole = [&](UOpRef load, const std::vector<UOpRef>& ranges, MatrixOperand operand) {
      const OperandCopy copy = copies.add(load, ranges, OperandCopies::Order::DepthLast, found->within);
      const bool is_a = operand == MatrixOperand::A;
      Coordinates at;
      for (UOpRef range : ranges) at[range] = range;
      at[is_a ? rows_ : columns_] = g_.index(0);
      at[found->within] = ir::fold_mul(g_, step, g_.index(shape_.k));
      return matrix_load(copy, at, operand, is_a ? rows_ : found->within, is_a ? found->within : columns_);
    };
    const auto fragment = [&](UOpRef load, const std::vector<UOpRef>& ranges, MatrixOperand operand) {
      if (is_cooperative()) return whole(load, ranges, operand);
      const OperandCopy copy = copies.add(load, ranges, OperandCopies::Order::DepthLast);
      const bool is_a = operand == MatrixOperand::A;
      // Neighbours along a row of the copy are loaded at once.
      const std::uint16_t wide = copy.ranges.back() == found->within ? neighbours_along(operand, copy.dtype) : 1;
      std::vector<UOpRef> elements;
      for (std::uint32_t e = 0; e < shape_.fragment(operand).elements; e += wide) {
        const Place place = place_of(operand, e);
        Coordinates at;
        for (UOpRef range : ranges) at[range] = range;
        at[is_a ? rows_ : columns_] = is_a ? place.row : place.column;
        at[found->within] =
            ir::fold_add(g_, ir::fold_mul(g_, step, g_.index(shape_.k)), is_a ? place.column : place.row);
        UOpRef loaded = copy.load(g_, at, wide);
        for (std::uint32_t i = 0; i < wide; ++i)
          elements.push_back(wide == 1 ? loaded : g_.make(Op::Extract, load->dtype, {loaded}, ir::LaneInfo{i}));
      }
      return g_.make(Op::Stack, load->dtype.with_lanes(static_cast<std::uint16_t>(elements.size())), elements);
    };
    UOpRef left = fragment(a, *of_a, MatrixOperand::A), right = fragment(b, *of_b, MatrixOperand::B);
    const ir::DType sums = found->reduce->dtype.with_lanes(shape_.sum.elements);
    std::vector<UOpRef> sources(found->divided->sources.begin(), found->divided->sources.end());
    sources[0] = g_.make(Op::Wmma, sums, {left, right}, unit_);
    std::ranges::replace(sources, found->within, step);
    std::vector<UOpRef> stores = copies.stores();
    UOpRef result = g_.make(Op::Reduce, sums, sources, found->reduce->payload);
    if (is_cooperative()) {
      add_results(stored_whole(result, copies, found->tile, stores), found->reduce, stores);
    } else {
      add_results(
          [&](std::uint32_t e) { return g_.make(Op::Extract, found->reduce->dtype, {result}, ir::LaneInfo{e}); },
          found->reduce, stores);
    }
    return rules::simplify(g_, g_.make(Op::Sink, kernel_->dtype, stores, kernel_->payload));
  }

 private:
  bool is_cooperative() const { return unit_.layout == ir::MatrixLayout::Cooperative; }

  UOpRef index_of(const OperandCopy& copy, const Coordinates& at) {
    return g_.make(Op::Index, ir::Scalar::Void, {copy.memory, copy.position(g_, at), g_.boolean(true)});
  }
  ir::MatrixAccess access_of(const OperandCopy& copy, MatrixOperand operand, UOpRef rows, UOpRef columns) const {
    return {unit_, operand, static_cast<std::uint32_t>(copy.stride(rows)),
            static_cast<std::uint32_t>(copy.stride(columns))};
  }
  UOpRef matrix_load(const OperandCopy& copy, const Coordinates& at, MatrixOperand operand, UOpRef rows,
                     UOpRef columns) {
    return g_.make(Op::Load, copy.dtype.with_lanes(shape_.fragment(operand).elements), {index_of(copy, at)},
                   access_of(copy, operand, rows, columns));
  }

  // Adds a store of the subgroup's sums to shared memory; an invocation's elements of them from there.
  std::function<UOpRef(std::uint32_t)> stored_whole(UOpRef sums, OperandCopies& copies, const OperandCopies::Tile& tile,
                                                    std::vector<UOpRef>& stores) {
    std::vector<UOpRef> ranges;
    Coordinates at;
    for (UOpRef range : tile.within) {
      if (ir::is_range(range, RangeKind::Reduce) || range == rows_ || range == columns_) continue;
      ranges.push_back(range);
      at[range] = range;
    }
    std::vector<UOpRef> around = tile.loops;
    around.insert(around.end(), ranges.begin(), ranges.end());
    ranges.push_back(rows_), ranges.push_back(columns_);
    const OperandCopy room = copies.room_for(sums->dtype.with_lanes(1), ranges, ir::padded_row(shape_.n));
    at[rows_] = at[columns_] = g_.index(0);
    std::vector<UOpRef> store = {index_of(room, at), sums};
    store.insert(store.end(), around.begin(), around.end());
    store.push_back(lane_);
    stores.push_back(g_.make(Op::Store, ir::Scalar::Void, store, access_of(room, MatrixOperand::Sum, rows_, columns_)));
    return [this, room, at](std::uint32_t e) {
      Coordinates own = at;
      const Place place = place_of(MatrixOperand::Sum, e);
      own[rows_] = place.row, own[columns_] = place.column;
      return room.load(g_, own);
    };
  }

  // The unit's own, which was unrolled first.
  static UOpRef matrix_range(const std::vector<UOpRef>& ranges) {
    UOpRef found = nullptr;
    for (UOpRef range : ranges) {
      if (!ir::is_range(range, RangeKind::Unroll)) continue;
      if (!found || range->as<ir::RangeInfo>().axis < found->as<ir::RangeInfo>().axis) found = range;
    }
    return found;
  }

  // Elements of a fragment that are neighbours along the reduction, at most 16 bytes.
  std::uint16_t neighbours_along(MatrixOperand operand, ir::DType dtype) const {
    const int most = 16 / byte_size(dtype);
    const auto part = operand == MatrixOperand::A ? &ir::MatrixStep::column : &ir::MatrixStep::row;
    std::uint16_t along = 1;
    for (const ir::MatrixStep& step : shape_.fragment(operand).of_element) {
      if (along == most || step.*part != along) break;
      along = static_cast<std::uint16_t>(2 * along);
    }
    return along;
  }

  bool fit(const std::vector<UOpRef>& of_a, const std::vector<UOpRef>& of_b) const {
    const auto is_of_length = [](UOpRef range, std::int64_t length) {
      return range && range->source(0)->int_value() == length;
    };
    const auto has = [](const std::vector<UOpRef>& ranges, UOpRef range) {
      return std::ranges::find(ranges, range) != ranges.end();
    };
    return is_of_length(rows_, shape_.m) && is_of_length(columns_, shape_.n) && !has(of_b, rows_) &&
           !has(of_a, columns_);
  }

  // What bits of the invocation's number add to a row or a column; those that go on where the ones before end are one
  // number.
  UOpRef of_invocation(const ir::Fragment& fragment, std::uint8_t ir::MatrixStep::* part) {
    UOpRef sum = g_.index(0);
    std::size_t bits = 0;
    while (std::size_t{1} << bits < shape_.subgroup) ++bits;
    for (std::size_t first = 0; first < bits;) {
      const std::int64_t step = fragment.of_invocation[first].*part;
      std::size_t end = first + 1;
      while (end < bits && step > 0 && fragment.of_invocation[end].*part == step << (end - first)) ++end;
      UOpRef digit = ir::fold_floordiv(g_, lane_, g_.index(std::int64_t{1} << first));
      if (end < bits) digit = ir::fold_floormod(g_, digit, g_.index(std::int64_t{1} << (end - first)));
      if (step > 0) sum = ir::fold_add(g_, sum, ir::fold_mul(g_, digit, g_.index(step)));
      first = end;
    }
    return sum;
  }

  Place place_of(MatrixOperand operand, std::uint32_t element) {
    const ir::Fragment& fragment = shape_.fragment(operand);
    const ir::MatrixStep own = fragment.at(0, element);
    return {ir::fold_add(g_, of_invocation(fragment, &ir::MatrixStep::row), g_.index(own.row)),
            ir::fold_add(g_, of_invocation(fragment, &ir::MatrixStep::column), g_.index(own.column))};
  }

  // A store for each result that an invocation has of a matrix: `sum` of its number there.
  void add_results(const std::function<UOpRef(std::uint32_t)>& sum, UOpRef reduce, std::vector<UOpRef>& stores) {
    UOpRef store = kernel_->source(0);
    for (std::uint32_t e = 0; e < shape_.sum.elements; ++e) {
      const Place place = place_of(MatrixOperand::Sum, e);
      const std::pair<UOpRef, UOpRef> map[] = {{reduce, sum(e)}, {rows_, place.row}, {columns_, place.column}};
      std::vector<UOpRef> sources = {substitute(g_, store->source(0), map), substitute(g_, store->source(1), map)};
      for (std::size_t i = 2; i < store->sources.size(); ++i) {
        if (store->source(i) != rows_ && store->source(i) != columns_) sources.push_back(store->source(i));
      }
      sources.push_back(lane_);
      stores.push_back(g_.with_sources(store, sources));
    }
  }

  ir::Graph& g_;
  UOpRef kernel_;
  const ir::WmmaInfo unit_;
  const ir::MatrixShape shape_;
  FreshAxes axes_;
  UOpRef lane_ = nullptr, rows_ = nullptr, columns_ = nullptr;
};

}  // namespace

absl::StatusOr<UOpRef> matrix_tiles(ir::Graph& graph, UOpRef kernel, const std::vector<Opt>& opts,
                                    const target::Target& target) {
  const auto opt = std::ranges::find(opts, Opt::Kind::Matrix, &Opt::kind);
  if (opt == opts.end() || contains_op(kernel, Op::Allocate)) return kernel;
  for (UOpRef x : toposort(kernel)) {
    const std::optional<schedule::Product> product = x->is(Op::Reduce) ? schedule::matrix_product(x) : std::nullopt;
    if (!product) continue;
    const ir::WmmaInfo unit = target.matrix_unit(product->a->dtype.scalar, product->b->dtype.scalar);
    return unit.layout == ir::MatrixLayout::Whole ? kernel : MatrixTiler(graph, kernel, unit).run(*opt);
  }
  return kernel;
}

}  // namespace hearth::passes
