#include "compiler/schedule/windows.h"

#include <algorithm>

namespace hearth::schedule {
namespace {

using ir::Op;
using ir::UOpRef;

constexpr std::int64_t kMaxElements = 64;       // of a window
constexpr std::int64_t kMaxWindowCopies = 256;  // of what is done for an element of a window
constexpr std::int64_t kMaxRows = 8, kRowsOfOddLengths = 4;

std::uint32_t slot(const Access& a) { return a.index->source(0)->as<ir::ParamInfo>().slot; }

class Windows {
 public:
  Windows(const KernelFacts& facts, const std::vector<SlotFacts>& slots)
      : f_(facts), slots_(slots), reduce_(facts.reduces.front()), axis_(facts.contiguous_output()) {}

  std::optional<std::vector<Opt>> run() {
    if (axis_ == nullptr || !is_small_window()) return std::nullopt;
    for (const Access& a : f_.accesses) {
      if (!a.in_reduction) continue;
      ++num_read_;
      if (!a.index->source(0)->is(Op::Param) || slot(a) >= slots_.size()) return std::nullopt;
      const bool packs = slots_[slot(a)].once && slots_[slot(a)].constant_shape;
      if (!f_.is_unit_or_zero_stride(a, axis_) && packs) {
        packed_.push_back(slot(a));
      } else if (!f_.is_unit_or_zero_stride(a, axis_) || !(packs || moves_with_all(a))) {
        return std::nullopt;
      }
    }
    UOpRef row = rows_axis();
    if (row == nullptr && num_read_ > 1) return std::nullopt;  // nothing is shared
    if (!add_vectors()) return std::nullopt;
    if (row != nullptr) add_rows(row);
    for (std::size_t i = 1; i < reduce_->sources.size(); ++i) add(Opt::Kind::Unroll, reduce_->source(i), size(i));
    for (std::uint32_t s : packed_) {
      if (std::ranges::none_of(opts_, [&](const Opt& o) { return o.kind == Opt::Kind::Pack && o.axis == s; }))
        opts_.push_back({Opt::Kind::Pack, s, 1});
    }
    return opts_;
  }

 private:
  std::int64_t size(std::size_t i) const { return KernelFacts::size(reduce_->source(i)); }

  void add(Opt::Kind kind, UOpRef range, std::int64_t amount) {
    if (amount > 1) opts_.push_back({kind, range->as<ir::RangeInfo>().axis, amount});
  }

  bool is_small_window() {
    for (std::size_t i = 1; i < reduce_->sources.size() && elements_ <= kMaxElements; ++i)
      elements_ *= size(i) > 0 ? size(i) : kMaxElements + 1;
    return elements_ > 1 && elements_ <= kMaxElements && f_.depends_on(reduce_, axis_);
  }

  // No element serves results that have nothing to do with its place, as an image's serve all channels of a
  // convolution.
  bool moves_with_all(const Access& a) const {
    return std::ranges::all_of(f_.outputs, [&](UOpRef r) { return f_.depends_on(a.index, r); });
  }

  bool add_vectors() {
    const std::int64_t n = KernelFacts::size(axis_), lanes = f_.lanes;
    if (n * 5 < lanes * 2) return false;  // or symbolic
    if (f_.has_masks && n % lanes != 0) {
      if (n < lanes) add(Opt::Kind::PadTo, axis_, lanes);
      add(n < lanes ? Opt::Kind::Lanes : Opt::Kind::Masked, axis_, lanes);
      return true;
    }
    std::int64_t width = lanes;
    while (width > 2 && n % width != 0) width /= 2;
    if (n % width != 0) return false;
    add(Opt::Kind::Lanes, axis_, width);
    return true;
  }

  // Neighbours along `row` read some element of `a` both.
  bool overlaps(const Access& a, UOpRef row) const {
    const std::int64_t step = a.affine.coefficient_of(row);
    for (std::size_t i = 1; i < reduce_->sources.size(); ++i) {
      const std::int64_t inner = a.affine.coefficient_of(reduce_->source(i));
      if (inner != 0 && step % inner == 0 && step / inner < size(i)) return true;
    }
    return false;
  }

  // The innermost loop whose neighbours share something of their windows.
  UOpRef rows_axis() const {
    for (auto row = f_.outputs.rbegin(); row != f_.outputs.rend(); ++row) {
      if (*row == axis_ || KernelFacts::size(*row) < 2) continue;
      const bool shares = std::ranges::any_of(f_.accesses, [&](const Access& a) {
        return a.in_reduction && (!f_.depends_on(a.index, *row) || overlaps(a, *row));
      });
      if (shares) return *row;
    }
    return nullptr;
  }

  void add_rows(UOpRef row) {
    const std::int64_t n = KernelFacts::size(row), most = std::min({n, kMaxRows, kMaxWindowCopies / elements_});
    std::int64_t rows = most;
    while (rows > 2 && n % rows != 0) --rows;
    add(Opt::Kind::Unroll, row, n % rows == 0 && rows > 2 ? rows : std::min(most, kRowsOfOddLengths));
  }

  const KernelFacts& f_;
  const std::vector<SlotFacts>& slots_;
  UOpRef reduce_;
  UOpRef axis_;                // of vectors
  std::int64_t elements_ = 1;  // of a window
  int num_read_ = 0;           // accesses of a window's element
  std::vector<std::uint32_t> packed_;
  std::vector<Opt> opts_;
};

}  // namespace

std::optional<std::vector<Opt>> tile_windows(const KernelFacts& facts, const std::vector<SlotFacts>& slots) {
  if (facts.reduces.size() != 1 || facts.outputs.size() < 2 || facts.lanes < 4) return std::nullopt;
  return Windows(facts, slots).run();
}

}  // namespace hearth::schedule
