#include "runtime/replay/stored_rows.h"

namespace hearth::runtime {

StoredRows::StoredRows(const PlanBuffer& buffer, const std::vector<std::int64_t>& values)
    : shape_{1}, storage_{1}, element_bytes_(dtype_bytes(buffer.dtype)) {
  for (const Expr& length : buffer.shape) shape_.push_back(length.evaluate(values.data()));
  storage_.insert(storage_.end(), buffer.storage.begin(), buffer.storage.end());
  if (buffer.storage.empty()) storage_ = shape_;
  // An axis that fills its memory is a part of the rows of the one before it.
  while (shape_.size() > 1 && shape_.back() == storage_.back()) {
    shape_[shape_.size() - 2] *= shape_.back();
    storage_[storage_.size() - 2] *= storage_.back();
    shape_.pop_back();
    storage_.pop_back();
  }
  row_bytes_ = element_bytes_ * static_cast<std::size_t>(shape_.back());
  for (std::size_t axis = 0; axis + 1 < shape_.size(); ++axis) num_rows_ *= static_cast<std::size_t>(shape_[axis]);
}

}  // namespace hearth::runtime
