#include "hearth/ops/ngrams.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "client/ops/support.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::client {
namespace {

// x [N, length]; `flat` holds `count` n-grams of `size` tokens -> [N, count].
Tensor count_of_size(const Tensor& x, const std::vector<std::int64_t>& flat, std::int64_t size, std::int64_t max_skip) {
  const std::int64_t count = static_cast<std::int64_t>(flat.size()) / size, length = x.dim(1).value();
  const Tensor grams = constant_i64({1, 1, count, size}, flat);
  Tensor total = filled({x.dim(0), count}, std::int64_t{0}, DType::kI32);
  for (std::int64_t distance = 1; distance <= (size == 1 ? 1 : max_skip + 1); ++distance) {
    if ((size - 1) * distance >= length) break;
    const Tensor runs = unsqueeze(unfold(x, 1, size, 1, distance), {2});  // [N, windows, 1, size]
    total = total + reduce_sum(all(equal(runs, grams), {-1}), {1});
  }
  return total;
}

}  // namespace

Tensor count_ngrams(const Tensor& x, const std::vector<std::vector<std::int64_t>>& grams, std::int64_t max_skip,
                    Loc loc) {
  OpScope scope("count_ngrams", loc);
  const std::int64_t rank = require_integer(x, "x").rank();
  if (rank != 1 && rank != 2) fail_op(str_cat("argument 'x' is ", describe(x), "; expected [length] or [N, length]"));
  if (grams.empty()) fail_op("'grams' is empty; expected at least one");
  if (max_skip < 0) fail_op(str_cat("max_skip is ", max_skip, "; expected at least 0"));
  const_length(x, -1, "since runs along it are counted");
  // All of one length together; `column` is where each then stands.
  std::map<std::int64_t, std::vector<std::int64_t>> by_size;
  for (const auto& gram : grams) {
    if (gram.empty()) fail_op("an n-gram has no tokens; expected at least one");
    auto& flat = by_size[static_cast<std::int64_t>(gram.size())];
    flat.insert(flat.end(), gram.begin(), gram.end());
  }
  std::map<std::int64_t, std::int64_t> next;
  std::vector<Tensor> parts;
  const Tensor rows = cast_to(rank == 1 ? unsqueeze(x, {0}) : x, DType::kI64);
  std::int64_t columns = 0;
  for (const auto& [size, flat] : by_size) {
    parts.push_back(count_of_size(rows, flat, size, max_skip));
    next[size] = columns;
    columns += static_cast<std::int64_t>(flat.size()) / size;
  }
  std::vector<std::int64_t> column;
  for (const auto& gram : grams) column.push_back(next[static_cast<std::int64_t>(gram.size())]++);
  Tensor counts = cat(parts, 1);
  if (!std::is_sorted(column.begin(), column.end())) counts = gather(counts, constant_i64({columns}, column), 1);
  return rank == 1 ? squeeze(counts, {0}) : counts;
}

}  // namespace hearth::client
