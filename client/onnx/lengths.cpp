#include "client/onnx/lengths.h"

#include <algorithm>
#include <cmath>
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

// Elements of `from` by their positions, in the shape of `at`.
Lengths picked(const Lengths& from, const HostTensor& at) {
  Lengths result{from.dtype, at.shape(), {}, {}};
  for (const std::int64_t position : at.integers()) {
    result.elements.push_back(from.elements[static_cast<std::size_t>(position)]);
    if (!from.divisors.empty()) result.divisors.push_back(from.divisors[static_cast<std::size_t>(position)]);
  }
  return result;
}

Lengths one_after_the_other(Lengths a, const Lengths& b) {
  a.elements.insert(a.elements.end(), b.elements.begin(), b.elements.end());
  a.divisors.insert(a.divisors.end(), b.divisors.begin(), b.divisors.end());
  return a;
}

// Whole numbers up to it are exact.
std::int64_t exact_numbers(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return std::int64_t{1} << 11;
    case DType::kBF16:
      return std::int64_t{1} << 8;
    case DType::kF32:
      return std::int64_t{1} << 24;
    default:
      return std::int64_t{1} << 53;
  }
}

bool is_power_of_two(std::int64_t x) { return x > 0 && (x & (x - 1)) == 0; }

struct Fraction {
  Dim number = 0;
  std::int64_t divisor = 1;
};

// With as many digits as a float of the dtype has; nothing where it may have more, or be negative.
std::optional<Fraction> exact(Fraction x, DType dtype) {
  while (x.divisor % 2 == 0 && x.number.is_const() && x.number.value() % 2 == 0) {
    x.number = x.number.value() / 2;
    x.divisor /= 2;
  }
  if (x.number.min() < 0 || x.number.max() > exact_numbers(dtype) || x.divisor > exact_numbers(dtype))
    return std::nullopt;
  return x;
}

// A quotient by no power of two is rounded; rounding down or up is that of the exact one, since no rounded quotient of
// such numbers reaches the next integer. Nothing else is computed with it.
std::optional<Fraction> on_fractions(HostBinary op, const Fraction& a, const Fraction& b, DType dtype) {
  if (!is_power_of_two(a.divisor) || !is_power_of_two(b.divisor)) return std::nullopt;
  const std::int64_t common = std::max(a.divisor, b.divisor);
  switch (op) {
    case HostBinary::kAdd:
      return exact({a.number * (common / a.divisor) + b.number * (common / b.divisor), common}, dtype);
    case HostBinary::kSub:
      return exact({a.number * (common / a.divisor) - b.number * (common / b.divisor), common}, dtype);
    case HostBinary::kMul:
      if (a.divisor > exact_numbers(dtype) / b.divisor) return std::nullopt;
      return exact({a.number * b.number, a.divisor * b.divisor}, dtype);
    case HostBinary::kDiv:
      if (!b.number.is_const() || b.number.value() < 1) return std::nullopt;
      if (a.divisor > exact_numbers(dtype) / b.number.value()) return std::nullopt;
      return exact({a.number * b.divisor, a.divisor * b.number.value()}, dtype);
    default:
      return std::nullopt;
  }
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
  if (is_float(dtype)) return true;
  return std::all_of(elements.begin(), elements.end(), [&](const Dim& element) {
    return client::fits(element.min(), dtype) && client::fits(element.max(), dtype);
  });
}

std::optional<Lengths> lengths_of(const HostTensor& x) {
  if (x.size() > kMaxLengths || !x.computable() || x.dtype() == DType::kU64) return std::nullopt;
  if (is_integer(x.dtype())) {
    const Ints values = x.integers();
    return Lengths{x.dtype(), x.shape(), {values.begin(), values.end()}, {}};
  }
  if (!is_float(x.dtype())) return std::nullopt;
  Lengths fractions{x.dtype(), x.shape(), {}, {}};
  constexpr int kDigits = 20;  // behind the point
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const double scaled = std::ldexp(x.real(i), kDigits);
    if (!(scaled >= 0) || scaled > 0x1p52 || scaled != std::floor(scaled)) return std::nullopt;
    const auto fraction = exact({static_cast<std::int64_t>(scaled), std::int64_t{1} << kDigits}, DType::kF64);
    if (!fraction) return std::nullopt;
    fractions.elements.push_back(fraction->number);
    fractions.divisors.push_back(fraction->divisor);
  }
  return fractions;
}

HostTensor host_of(const Lengths& x) {
  std::string bytes(x.elements.size() * dtype_bytes(x.dtype), '\0');
  for (std::size_t i = 0; i < x.elements.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t value = x.elements[i].value();
    if (x.divisors.empty()) {
      put_integer(bytes, x.dtype, at, value);
    } else {
      put_real(bytes, x.dtype, at, static_cast<double>(value) / static_cast<double>(x.divisors[i]));
    }
  }
  return HostTensor(x.dtype, x.shape, std::move(bytes));
}

client::Tensor tensor_of(const Lengths& x) {
  std::vector<client::Tensor> values;
  for (std::size_t i = 0; i < x.elements.size(); ++i) {
    values.push_back(client::dim_value(x.elements[i], x.dtype));
    if (!x.divisors.empty() && x.divisors[i] != 1) values.back() = values.back() / static_cast<double>(x.divisors[i]);
  }
  return client::reshape(client::stack(values, 0), {x.shape.begin(), x.shape.end()});
}

Lengths moved(const Lengths& x, const std::function<HostTensor(const HostTensor&)>& move) {
  return picked(x, move(positions(x.shape, 0)));
}

Lengths lengths_cat(const std::vector<Lengths>& xs, std::int64_t axis) {
  Lengths all{xs.front().dtype, {}, {}, {}};
  std::vector<HostTensor> at;
  for (const Lengths& x : xs) {
    at.push_back(positions(x.shape, static_cast<std::int64_t>(all.elements.size())));
    all = one_after_the_other(std::move(all), x);
  }
  return picked(all, host_cat(at, axis));
}

Lengths lengths_where(const HostTensor& condition, const Lengths& a, const Lengths& b) {
  const auto first_of_b = static_cast<std::int64_t>(a.elements.size());
  return picked(one_after_the_other(a, b),
                host_where(condition, positions(a.shape, 0), positions(b.shape, first_of_b)));
}

std::optional<Lengths> lengths_binary(HostBinary op, const Lengths& a, const Lengths& b) {
  const Ints shape = broadcast(a.shape, b.shape);
  const Ints at_a = host_expand(positions(a.shape, 0), shape).integers();
  const Ints at_b = host_expand(positions(b.shape, 0), shape).integers();
  Lengths result{compares(op) ? DType::kBool : a.dtype, shape, {}, {}};
  for (std::size_t i = 0; i < at_a.size(); ++i) {
    const auto from_a = static_cast<std::size_t>(at_a[i]), from_b = static_cast<std::size_t>(at_b[i]);
    if (is_float(a.dtype)) {
      const auto value =
          on_fractions(op, {a.elements[from_a], a.divisors[from_a]}, {b.elements[from_b], b.divisors[from_b]}, a.dtype);
      if (!value) return std::nullopt;
      result.elements.push_back(value->number);
      result.divisors.push_back(value->divisor);
      continue;
    }
    const auto value = on_dims(op, a.elements[from_a], b.elements[from_b]);
    if (!value) return std::nullopt;
    result.elements.push_back(*value);
  }
  return result.fit() ? std::optional(result) : std::nullopt;  // what wraps at replay is no length
}

std::optional<Lengths> lengths_as_floats(const Lengths& x, DType dtype) {
  Lengths floats = x;
  floats.dtype = dtype;
  if (!is_float(x.dtype)) floats.divisors.assign(x.elements.size(), 1);
  for (std::size_t i = 0; i < x.elements.size(); ++i) {
    if (!is_power_of_two(floats.divisors[i]) || !exact({floats.elements[i], floats.divisors[i]}, dtype))
      return std::nullopt;
  }
  return floats;
}

std::optional<Lengths> lengths_rounded(const Lengths& x, Rounding rounding) {
  Lengths whole = x;
  for (std::size_t i = 0; i < x.elements.size() && !x.divisors.empty(); ++i) {
    if (x.elements[i].min() < 0) return std::nullopt;
    const std::int64_t more = rounding == Rounding::kUp ? x.divisors[i] - 1 : 0;
    whole.elements[i] = (x.elements[i] + more) / x.divisors[i];
    whole.divisors[i] = 1;
  }
  return whole;
}

std::optional<Lengths> lengths_reduce(HostReduce op, const Lengths& x) {
  if (is_float(x.dtype)) return std::nullopt;
  const bool extreme = op == HostReduce::kMax || op == HostReduce::kMin;
  if (extreme && x.elements.empty()) reject("a maximum over no elements");
  Dim result = extreme ? x.elements[0] : Dim(op == HostReduce::kProd ? 1 : 0);
  for (const Dim& element : x.elements) {
    result = op == HostReduce::kSum    ? result + element
             : op == HostReduce::kProd ? result * element
             : op == HostReduce::kMax  ? max(result, element)
                                       : min(result, element);
  }
  const Lengths reduced = {x.dtype, {}, {result}, {}};
  return reduced.fit() ? std::optional(reduced) : std::nullopt;
}

}  // namespace hearth::onnx
