#include "compiler/schedule/workgroup_rows.h"

#include <algorithm>
#include <optional>

#include "compiler/schedule/lengths.h"

namespace hearth::schedule {
namespace {

using ir::Op;
using ir::UOpRef;

constexpr std::int64_t kLeastElements = 2;  // of an invocation, along each reduction

class RowChooser {
 public:
  RowChooser(const KernelFacts& facts, const target::Target& target) : f_(facts), target_(target) {}

  std::vector<Opt> run() {
    if (f_.reduces.empty()) return {};
    if (const std::optional<Shares> found = columns_by_shares()) {
      std::int64_t shares = 1;
      while (is_possible(*found, 2 * shares) && found->results * static_cast<double>(shares) < wanted()) shares *= 2;
      if (shares > 1) return opts_for(*found, shares);
    }
    if (!find_rows()) return {};
    double units = 1;
    for (UOpRef loop : f_.loops) units *= loop == columns_ ? 1.0 : static_cast<double>(assumed_length(loop));
    std::int64_t size = target_.subgroup_size();
    if (!is_long_enough(size) || units * 2 > wanted()) return {};
    while (is_long_enough(size * 2) && units * static_cast<double>(size) < wanted()) size *= 2;
    if (!fits(size)) return {};
    return opts_for(size);
  }

  std::vector<std::vector<Opt>> all() {
    std::vector<std::vector<Opt>> found;
    if (f_.reduces.empty()) return found;
    if (const std::optional<Shares> columns = columns_by_shares()) {
      for (std::int64_t shares = 2; is_possible(*columns, shares); shares *= 2)
        found.push_back(opts_for(*columns, shares));
    }
    if (!find_rows()) return found;
    for (std::int64_t size = target_.subgroup_size(); is_long_enough(size) && fits(size); size *= 2)
      found.push_back(opts_for(size));
    return found;
  }

 private:
  // Results side by side, each the sum of several invocations' shares.
  struct Shares {
    UOpRef columns, range;
    std::int64_t across, value_bytes;
    double results;
  };

  double wanted() const { return static_cast<double>(target_.wanted_invocations()); }
  bool is_possible(const Shares& of, std::int64_t shares) const {
    return of.across * shares <= target_.max_workgroup() && shares * kLeastElements <= assumed_length(of.range) &&
           of.across * shares * of.value_bytes <= target_.shared_bytes();
  }
  bool is_long_enough(std::int64_t size) const {
    std::int64_t length = 0;
    for (UOpRef range : divided_) length = std::max(length, assumed_length(range));
    return size > 1 && size <= target_.max_workgroup() && size * kLeastElements <= length;
  }
  bool fits(std::int64_t size) const { return size * shared_bytes_of_an_invocation() <= target_.shared_bytes(); }

  // What each reduction is divided along; false: one cannot be.
  bool find_rows() {
    for (UOpRef reduce : f_.reduces) {
      UOpRef divided = divided_range(reduce);
      if (divided == nullptr) return false;
      if (std::ranges::find(divided_, divided) == divided_.end()) divided_.push_back(divided);
    }
    if (has_reductions_of_an_element()) return false;
    find_columns();
    return true;
  }

  // For one reduction most of whose operands are read in pieces along the results (a vector times a matrix): neighbours
  // make neighbouring results, and each has a share of its sum.
  std::optional<Shares> columns_by_shares() const {
    UOpRef columns = f_.contiguous_output(), reduce = f_.reduces.front();
    if (f_.reduces.size() != 1 || columns == nullptr || reduce->sources.size() != 2) return std::nullopt;
    if (byte_size(reduce->dtype) < 4 || reduce->dtype.lanes > 1) return std::nullopt;
    UOpRef range = reduce->source(1);
    const Access* largest = nullptr;
    double most = 0;
    for (const Access& a : f_.accesses) {
      if (!a.in_reduction) continue;
      double elements = f_.depends_on(a.index, range) ? static_cast<double>(assumed_length(range)) : 1;
      for (UOpRef loop : f_.loops)
        elements *= f_.depends_on(a.index, loop) ? static_cast<double>(assumed_length(loop)) : 1;
      if (elements > most) most = elements, largest = &a;
    }
    const bool runs = largest != nullptr && largest->affine.coefficient_of(columns) == 1 &&
                      f_.is_unit_or_zero_stride(*largest, columns) && largest->affine.coefficient_of(range) > 1;
    const std::int64_t across = target_.subgroup_size();
    if (!runs || across < 2 || across > assumed_length(columns)) return std::nullopt;
    double results = 1;
    for (UOpRef loop : f_.loops) results *= static_cast<double>(assumed_length(loop));
    return Shares{columns, range, across, byte_size(reduce->dtype), results};
  }

  static std::vector<Opt> opts_for(const Shares& of, std::int64_t shares) {
    std::vector<Opt> opts;
    const std::uint32_t axis = of.columns->as<ir::RangeInfo>().axis;
    if (!KernelFacts::is_multiple(of.columns, of.across)) opts.push_back({Opt::Kind::PadTo, axis, of.across});
    opts.push_back({Opt::Kind::Workgroup, axis, of.across});
    opts.push_back({Opt::Kind::Workgroup, of.range->as<ir::RangeInfo>().axis, shares});
    return opts;
  }

  // Along which an access of the reduction reads in one piece; null where none does, or its values cannot be shared.
  UOpRef divided_range(UOpRef reduce) const {
    if (byte_size(reduce->dtype) < 4 || reduce->dtype.lanes > 1) return nullptr;
    UOpRef best = nullptr;
    const std::vector<UOpRef> below = ir::toposort(reduce->source(0));
    for (std::size_t i = 1; i < reduce->sources.size(); ++i) {
      UOpRef range = reduce->source(i);
      const bool runs = std::ranges::any_of(f_.accesses, [&](const Access& a) {
        return std::ranges::find(below, a.index) != below.end() && a.affine.coefficient_of(range) == 1 &&
               f_.is_unit_or_zero_stride(a, range);
      });
      if (runs && (best == nullptr || assumed_length(range) > assumed_length(best))) best = range;
    }
    return best;
  }

  // A reduction for each element of a divided one has another value in each invocation.
  bool has_reductions_of_an_element() const {
    return std::ranges::any_of(f_.reduces, [&](UOpRef reduce) {
      return std::ranges::any_of(divided_, [&](UOpRef range) { return f_.depends_on(reduce, range); });
    });
  }

  // The output axis along which results are stored, if no reduction is one of its elements'.
  void find_columns() {
    UOpRef axis = f_.contiguous_output();
    if (axis == nullptr) return;
    if (std::ranges::none_of(f_.reduces, [&](UOpRef reduce) { return f_.depends_on(reduce, axis); })) columns_ = axis;
  }

  std::int64_t shared_bytes_of_an_invocation() const {
    std::int64_t bytes = 0;
    for (UOpRef reduce : f_.reduces) bytes += byte_size(reduce->dtype);
    return bytes;
  }

  std::vector<Opt> opts_for(std::int64_t size) const {
    std::vector<Opt> opts;
    const auto axis_of = [](UOpRef range) { return range->as<ir::RangeInfo>().axis; };
    if (columns_ != nullptr) {
      if (!KernelFacts::is_multiple(columns_, size)) opts.push_back({Opt::Kind::PadTo, axis_of(columns_), size});
      opts.push_back({Opt::Kind::Workgroup, axis_of(columns_), size});
    }
    for (UOpRef range : divided_) opts.push_back({Opt::Kind::Workgroup, axis_of(range), size});
    return opts;
  }

  const KernelFacts& f_;
  const target::Target& target_;
  std::vector<UOpRef> divided_;  // a range of each reduction, each once
  UOpRef columns_ = nullptr;
};

}  // namespace

std::vector<Opt> rows_of_workgroup(const KernelFacts& facts, const target::Target& target) {
  return RowChooser(facts, target).run();
}

std::vector<std::vector<Opt>> all_rows_of_workgroup(const KernelFacts& facts, const target::Target& target) {
  return RowChooser(facts, target).all();
}

}  // namespace hearth::schedule
