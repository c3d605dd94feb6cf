// StoredRows: how a buffer lies in the larger memory that it begins (PlanBuffer::storage), for some values of the
// variables: in rows whose elements are side by side.
//
//   StoredRows(buffer, values).each([&](std::size_t packed, std::size_t stored, std::size_t bytes) { ... });
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/plan/plan.h"

namespace hearth::runtime {

class StoredRows {
 public:
  StoredRows(const PlanBuffer& buffer, const std::vector<std::int64_t>& values);

  bool are_side_by_side() const { return num_rows_ <= 1; }

  // Visits each row: where it begins in the buffer without gaps, where in its memory, and its size; all in bytes.
  template <class Visit>
  void each(const Visit& visit) const {
    std::vector<std::int64_t> at(shape_.size(), 0);
    for (std::size_t row = 0; row < num_rows_; ++row) {
      std::size_t stored = 0;
      for (std::size_t axis = 0; axis + 1 < at.size(); ++axis)
        stored = (stored + static_cast<std::size_t>(at[axis])) * static_cast<std::size_t>(storage_[axis + 1]);
      visit(row * row_bytes_, stored * element_bytes_, row_bytes_);
      for (std::size_t axis = at.size() - 1; axis-- > 0;) {
        if (++at[axis] < shape_[axis]) break;
        at[axis] = 0;
      }
    }
  }

 private:
  std::vector<std::int64_t> shape_, storage_;  // at least one axis; the last one's elements are side by side
  std::size_t element_bytes_, row_bytes_, num_rows_ = 1;
};

}  // namespace hearth::runtime
