#include "compiler/schedule/workgroup_rows.h"

#include <algorithm>

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
    if (std::vector<Opt> opts = columns_by_shares(); !opts.empty()) return opts;
    for (UOpRef reduce : f_.reduces) {
      UOpRef divided = divided_range(reduce);
      if (divided == nullptr) return {};
      if (std::ranges::find(divided_, divided) == divided_.end()) divided_.push_back(divided);
    }
    if (has_reductions_of_an_element()) return {};
    find_columns();
    double units = 1;
    for (UOpRef loop : f_.loops) units *= loop == columns_ ? 1.0 : static_cast<double>(assumed_length(loop));
    std::int64_t length = 0;
    for (UOpRef range : divided_) length = std::max(length, assumed_length(range));
    std::int64_t size = target_.subgroup_size();
    if (size < 2 || size > target_.max_workgroup() || size * kLeastElements > length) return {};
    if (units * 2 > static_cast<double>(target_.wanted_invocations())) return {};
    while (size * 2 <= target_.max_workgroup() && size * 2 * kLeastElements <= length &&
           units * static_cast<double>(size) < static_cast<double>(target_.wanted_invocations()))
      size *= 2;
    if (size * shared_bytes_of_an_invocation() > target_.shared_bytes()) return {};
    return opts_for(size);
  }

 private:
  // Of one reduction, most of which is read in pieces along the results (a vector times a matrix): neighbours make
  // neighbouring results, and each has a share of its sum.
  std::vector<Opt> columns_by_shares() const {
    UOpRef columns = f_.contiguous_output(), reduce = f_.reduces.front();
    if (f_.reduces.size() != 1 || columns == nullptr || reduce->sources.size() != 2) return {};
    if (byte_size(reduce->dtype) < 4 || reduce->dtype.lanes > 1) return {};
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
    if (!runs || across < 2 || across > assumed_length(columns)) return {};
    double results = 1;
    for (UOpRef loop : f_.loops) results *= static_cast<double>(assumed_length(loop));
    std::int64_t shares = 1;
    while (across * shares * 2 <= target_.max_workgroup() && shares * 2 * kLeastElements <= assumed_length(range) &&
           results * static_cast<double>(shares) < static_cast<double>(target_.wanted_invocations()))
      shares *= 2;
    if (shares == 1 || across * shares * byte_size(reduce->dtype) > target_.shared_bytes()) return {};
    std::vector<Opt> opts;
    const std::uint32_t axis = columns->as<ir::RangeInfo>().axis;
    if (!KernelFacts::is_multiple(columns, across)) opts.push_back({Opt::Kind::PadTo, axis, across});
    opts.push_back({Opt::Kind::Workgroup, axis, across});
    opts.push_back({Opt::Kind::Workgroup, range->as<ir::RangeInfo>().axis, shares});
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

}  // namespace hearth::schedule
