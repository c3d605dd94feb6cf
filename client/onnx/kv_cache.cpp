#include "client/onnx/kv_cache.h"

#include "base/text.h"
#include "client/onnx/reject.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"

namespace hearth::onnx {

using client::Dim;
using client::Tensor;

Tensor written(const Tensor& cache, const Tensor& update, const Tensor& at, std::int64_t axis, bool circular) {
  const std::int64_t rank = cache.rank();
  bool fits = update.rank() == rank && at.rank() == 1 && at.dim(0) == cache.dim(0);
  for (std::int64_t i = 0; fits && i < rank; ++i) fits = i == axis || update.dim(i) == cache.dim(i);
  if (!fits) {
    reject(str_cat("a cache of shape ", to_string(cache.shape()), " and what is written, ", to_string(update.shape()),
                   ", agree but for axis ", axis, ", and places are one an item, [", cache.dim(0).to_string(),
                   "], not ", to_string(at.shape())));
  }
  const Dim length = cache.dim(axis), count = update.dim(axis);
  if (length.max() < count.min())
    reject(str_cat("the cache holds ", length.to_string(), " places along axis ", axis, "; ", count.to_string(),
                   " are to be written"));
  client::Shape places(static_cast<std::size_t>(rank), Dim(1)), items = places;
  places[static_cast<std::size_t>(axis)] = length;
  items[0] = cache.dim(0);
  Tensor offset = client::iota(places, axis, DType::kI64) - client::reshape(client::cast(at, DType::kI64), items);
  if (circular) offset = client::floor_mod(offset, client::dim_value(length));
  const Tensor is_new =
      client::bit_and(client::greater_equal(offset, 0), client::less(offset, client::dim_value(count)));
  Tensor fresh;
  if (count == Dim(1)) {
    fresh = client::expand(update, cache.shape());
  } else {
    const Tensor taken = client::clip(offset, 0, client::dim_value(count) - 1);
    fresh = client::gather_elements(update, client::expand(taken, cache.shape()), axis);
  }
  return client::where(is_new, fresh, cache);
}

}  // namespace hearth::onnx
