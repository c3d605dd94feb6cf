// Random movement ops, gathers and scatters.
#include "tests/conformance/ops/random_generator.h"

namespace hearth::conformance {

bool Generator::reshape(const Value& x) {
  // Merge two neighbours of fixed length, split one, or insert a 1.
  std::vector<Length> shape = x.shape;
  const std::int64_t kind = random_.in(0, 2), rank = static_cast<std::int64_t>(shape.size());
  if (kind == 0 && rank >= 2) {
    const std::int64_t axis = random_.in(0, rank - 2);
    if (!shape[axis].is_fixed || !shape[axis + 1].is_fixed) return false;
    shape[axis] = fixed(shape[axis].at[0] * shape[axis + 1].at[0]);
    shape.erase(shape.begin() + axis + 1);
  } else if (kind == 1 && rank >= 1) {
    const std::int64_t axis = random_.in(0, rank - 1), factor = random_.in(2, 3);
    if (!shape[axis].is_fixed || shape[axis].at[0] % factor != 0) return false;
    shape[axis] = fixed(shape[axis].at[0] / factor);
    shape.insert(shape.begin() + axis + random_.in(0, 1), fixed(factor));
  } else if (rank < 5) {
    shape.insert(shape.begin() + random_.in(0, rank), fixed(1));
  } else {
    return false;
  }
  return moved(x, builder_.reshape(x.node, exprs(shape)), shape);
}

bool Generator::expand(const Value& x) {
  std::vector<Length> shape = x.shape;
  bool grown = false;
  for (Length& length : shape) {
    if (length.key != "1") continue;
    length = !variables_.empty() && random_.one_in(2) ? random_.pick(variables_) : fixed(random_.in(0, 5));
    grown = true;
  }
  Value probe = x;
  probe.shape = shape;
  if (!grown || probe.elements() > kMaxElements) return false;
  return moved(x, builder_.expand(x.node, exprs(shape)), shape);
}

bool Generator::permute(const Value& x) {
  std::vector<std::int64_t> axes;
  std::vector<Length> shape;
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis)
    axes.insert(axes.begin() + random_.in(0, static_cast<std::int64_t>(axis)), static_cast<std::int64_t>(axis));
  for (const std::int64_t axis : axes) shape.push_back(x.shape[axis]);
  return moved(x, builder_.permute(x.node, axes), shape);
}

bool Generator::pad(const Value& x) {
  Dims pairs;
  Value result = x;
  for (Length& length : result.shape) {
    const std::int64_t before = random_.in(0, 2), after = random_.in(0, 2);
    pairs.emplace_back(before);
    pairs.emplace_back(after);
    if (before + after > 0) length = shifted(length, before + after);
  }
  if (result.elements() > kMaxElements) return false;
  const std::int64_t fill = x.dtype == Scalar::Bool ? random_.in(0, 1) : random_.in(0, 7);
  const Node node = builder_.pad(x.node, pairs, {fill, static_cast<double>(fill)});
  return add(node, x.dtype, result.shape, std::max(x.bound, 7.0), x.error);
}

bool Generator::shrink(const Value& x) {
  Dims pairs;
  std::vector<Length> shape = x.shape;
  for (Length& length : shape) {
    const std::int64_t begin = random_.in(0, std::min<std::int64_t>(length.least(), 2));
    const std::int64_t end = length.is_fixed ? random_.in(begin, length.at[0]) : 0;
    pairs.emplace_back(begin);
    pairs.push_back(length.is_fixed ? Dim(end) : length.expr);
    if (length.is_fixed) {
      length = fixed(end - begin);
    } else if (begin > 0) {
      length = shifted(length, -begin);
    }
  }
  return moved(x, builder_.shrink(x.node, pairs), shape);
}

bool Generator::flip(const Value& x) {
  std::vector<std::int64_t> axes;
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    if (random_.one_in(2)) axes.push_back(static_cast<std::int64_t>(axis));
  }
  return moved(x, builder_.flip(x.node, axes), x.shape);
}

bool Generator::unfold(const Value& x) {
  if (x.shape.empty() || x.shape.size() > 4) return false;
  const std::int64_t axis = random_.in(0, static_cast<std::int64_t>(x.shape.size()) - 1);
  const std::int64_t size = random_.in(1, 3), step = random_.in(1, 3), dilation = random_.in(1, 2),
                     span = (size - 1) * dilation + 1;
  if (x.shape[axis].least() < span) return false;
  Value result = x;
  Length& length = result.shape[axis];
  for (std::int64_t& value : length.at) value = (value - span) / step + 1;
  length.expr = length.is_fixed ? Dim(length.at[0]) : (length.expr - Dim(span)) / Dim(step) + Dim(1);
  length.key =
      length.is_fixed ? std::to_string(length.at[0]) : absl::StrCat("(", length.key, "-", span, ")/", step, "+1");
  result.shape.push_back(fixed(size));
  if (result.elements() > kMaxElements) return false;
  return moved(x, builder_.unfold(x.node, axis, size, step, dilation), result.shape);
}

bool Generator::cat(const Value& x) {
  if (x.shape.empty()) return false;
  const std::size_t axis = static_cast<std::size_t>(random_.in(0, static_cast<std::int64_t>(x.shape.size()) - 1));
  std::vector<Node> parts = {x.node};
  Value result = x;
  for (std::int64_t k = random_.in(1, 2); k > 0; --k) {
    const Value y = partner(x, x.dtype);
    parts.push_back(y.node);
    Length& length = result.shape[axis];
    const Length& more = y.shape[axis];
    if (length.is_fixed && more.is_fixed) {
      length = fixed(length.at[0] + more.at[0]);
    } else {
      for (int f = 0; f < kFeeds; ++f) length.at[f] += more.at[f];
      length.expr = length.expr + more.expr;
      length.key = absl::StrCat("(", length.key, ")+(", more.key, ")");
      length.is_fixed = false;
    }
    result.bound = std::max(result.bound, y.bound);
    result.error = std::max(result.error, y.error);
  }
  if (result.elements() > kMaxElements) return false;
  return moved(result, builder_.cat(parts, static_cast<std::int64_t>(axis)), result.shape);
}

bool Generator::gather(const Value& x) {
  if (x.shape.empty()) return false;
  const std::size_t axis = static_cast<std::size_t>(random_.in(0, static_cast<std::int64_t>(x.shape.size()) - 1));
  if (x.shape[axis].least() < 1) return false;
  std::vector<Value> indices;
  for (const Value& value : values_) {
    if (ir::is_int(value.dtype) && value.shape.size() + x.shape.size() <= 6) indices.push_back(value);
  }
  if (indices.empty()) return false;
  const Value i = random_.pick(indices);
  Value result = x;
  result.shape.erase(result.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  result.shape.insert(result.shape.begin() + static_cast<std::ptrdiff_t>(axis), i.shape.begin(), i.shape.end());
  if (result.elements() > kMaxElements) return false;
  return moved(x, builder_.gather(x.node, i.node, static_cast<std::int64_t>(axis)), result.shape);
}

bool Generator::scatter(const Value& x) {
  if (x.shape.empty() || x.shape[0].least() < 1) return false;
  std::vector<Value> indices;
  for (const Value& value : values_) {
    if (ir::is_int(value.dtype) && value.shape.size() + x.shape.size() <= 6) indices.push_back(value);
  }
  if (indices.empty()) return false;
  const Value i = random_.pick(indices);
  const std::int64_t how = random_.in(0, x.dtype == Scalar::Bool ? 0 : ir::is_float(x.dtype) ? 1 : 4);
  const Value y = partner(x, x.dtype);
  if (i.elements() * x.elements() > kMaxElements) return false;
  Value result = x;
  if (how == 1) {
    const auto count = static_cast<double>(i.elements());
    result.bound += count * y.bound;
    result.error += count * y.error;
    if (ir::is_float(x.dtype)) {
      if (result.bound > exact_limit(x.dtype) / 4) return false;
      if (result.error > 0) result.error += count * result.bound * epsilon(x.dtype);
    } else {
      result.bound = exact_limit(x.dtype) + 1;
    }
  } else {
    result.bound = how == 0 ? std::max(x.bound, y.bound) : exact_limit(x.dtype) + 1;
    result.error = std::max(x.error, y.error);
  }
  const Node updates = builder_.gather(y.node, i.node, 0);
  return add(builder_.scatter(x.node, i.node, updates, how), x.dtype, x.shape, result.bound, result.error);
}

}  // namespace hearth::conformance
