#include "client/onnx/lengths.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "client/onnx/reject.h"
#include "client/tensor/elements.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/movement.h"

namespace hearth::onnx {
namespace {

using client::Dim;
using client::Shape;

constexpr std::int64_t kMaxLengths = 4096;

// Position of every element in a list that starts with `first`.
HostTensor positions(const Ints& shape, std::int64_t first) {
  Ints values(static_cast<std::size_t>(count(shape)));
  std::iota(values.begin(), values.end(), first);
  return HostTensor::of_i64(shape, values);
}

Lengths picked(DType dtype, const Shape& from, const HostTensor& at) {
  Lengths result{dtype, at.shape(), {}};
  for (const std::int64_t position : at.integers()) {
    result.elements.push_back(from[static_cast<std::size_t>(position)]);
  }
  return result;
}

// Whether difference REL 0 for every value of the variables; nothing when it depends on them.
std::optional<bool> decided(HostBinary op, const Dim& difference) {
  const std::int64_t low = difference.min(), high = difference.max();
  const auto known = [](bool always, bool never) { return always || never ? std::optional(always) : std::nullopt; };
  switch (op) {
    case HostBinary::kEqual:
      return known(low == 0 && high == 0, low > 0 || high < 0);
    case HostBinary::kLess:
      return known(high < 0, low >= 0);
    case HostBinary::kLessEqual:
      return known(high <= 0, low > 0);
    case HostBinary::kGreater:
      return known(low > 0, high <= 0);
    case HostBinary::kGreaterEqual:
      return known(low >= 0, high < 0);
    default:
      return std::nullopt;
  }
}

std::optional<Dim> on_dims(HostBinary op, const Dim& a, const Dim& b) {
  switch (op) {
    case HostBinary::kAdd:
      return a + b;
    case HostBinary::kSub:
      return a - b;
    case HostBinary::kMul:
      return a * b;
    case HostBinary::kDiv:  // truncates, which is the floor where nothing is negative
    case HostBinary::kTruncMod:
      if (a.min() < 0 || b.min() < 1) return std::nullopt;
      return op == HostBinary::kDiv ? a / b : a % b;
    case HostBinary::kFloorMod:
      if (b.min() < 1) return std::nullopt;
      return a % b;
    case HostBinary::kMin:
      return min(a, b);
    case HostBinary::kMax:
      return max(a, b);
    default:
      if (const auto truth = decided(op, a - b)) return Dim(*truth ? 1 : 0);
      return std::nullopt;
  }
}

bool compares(HostBinary op) {
  return op == HostBinary::kEqual || op == HostBinary::kLess || op == HostBinary::kLessEqual ||
         op == HostBinary::kGreater || op == HostBinary::kGreaterEqual;
}

}  // namespace

bool Lengths::fit() const {
  return std::all_of(elements.begin(), elements.end(), [&](const Dim& element) {
    return client::fits(element.min(), dtype) && client::fits(element.max(), dtype);
  });
}

std::optional<Lengths> lengths_of(const HostTensor& x) {
  if (!is_integer(x.dtype()) || x.dtype() == DType::kU64 || x.size() > kMaxLengths) return std::nullopt;
  const Ints values = x.integers();
  return Lengths{x.dtype(), x.shape(), {values.begin(), values.end()}};
}

HostTensor host_of(const Lengths& x) {
  std::string bytes(x.elements.size() * dtype_bytes(x.dtype), '\0');
  for (std::size_t i = 0; i < x.elements.size(); ++i) {
    put_integer(bytes, x.dtype, static_cast<std::int64_t>(i), x.elements[i].value());
  }
  return HostTensor(x.dtype, x.shape, std::move(bytes));
}

client::Tensor tensor_of(const Lengths& x) {
  std::vector<client::Tensor> values;
  for (const Dim& element : x.elements) values.push_back(client::dim_value(element, x.dtype));
  return client::reshape(client::stack(values, 0), {x.shape.begin(), x.shape.end()});
}

Lengths moved(const Lengths& x, const std::function<HostTensor(const HostTensor&)>& move) {
  return picked(x.dtype, x.elements, move(positions(x.shape, 0)));
}

Lengths lengths_cat(const std::vector<Lengths>& xs, std::int64_t axis) {
  Shape all;
  std::vector<HostTensor> at;
  for (const Lengths& x : xs) {
    at.push_back(positions(x.shape, static_cast<std::int64_t>(all.size())));
    all.insert(all.end(), x.elements.begin(), x.elements.end());
  }
  return picked(xs.front().dtype, all, host_cat(at, axis));
}

Lengths lengths_where(const HostTensor& condition, const Lengths& a, const Lengths& b) {
  Shape all = a.elements;
  all.insert(all.end(), b.elements.begin(), b.elements.end());
  const auto first_of_b = static_cast<std::int64_t>(a.elements.size());
  return picked(a.dtype, all, host_where(condition, positions(a.shape, 0), positions(b.shape, first_of_b)));
}

std::optional<Lengths> lengths_binary(HostBinary op, const Lengths& a, const Lengths& b) {
  const Ints shape = broadcast(a.shape, b.shape);
  const Ints at_a = host_expand(positions(a.shape, 0), shape).integers();
  const Ints at_b = host_expand(positions(b.shape, 0), shape).integers();
  Lengths result{compares(op) ? DType::kBool : a.dtype, shape, {}};
  for (std::size_t i = 0; i < at_a.size(); ++i) {
    const auto value =
        on_dims(op, a.elements[static_cast<std::size_t>(at_a[i])], b.elements[static_cast<std::size_t>(at_b[i])]);
    if (!value) return std::nullopt;
    result.elements.push_back(*value);
  }
  return result.fit() ? std::optional(result) : std::nullopt;  // what wraps at replay is no length
}

std::optional<Lengths> lengths_reduce(HostReduce op, const Lengths& x) {
  const bool extreme = op == HostReduce::kMax || op == HostReduce::kMin;
  if (extreme && x.elements.empty()) reject("a maximum over no elements");
  Dim result = extreme ? x.elements[0] : Dim(op == HostReduce::kProd ? 1 : 0);
  for (const Dim& element : x.elements) {
    result = op == HostReduce::kSum    ? result + element
             : op == HostReduce::kProd ? result * element
             : op == HostReduce::kMax  ? max(result, element)
                                       : min(result, element);
  }
  const Lengths reduced = {x.dtype, {}, {result}};
  return reduced.fit() ? std::optional(reduced) : std::nullopt;
}

}  // namespace hearth::onnx
