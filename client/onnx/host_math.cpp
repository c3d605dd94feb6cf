#include "client/onnx/host_math.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/text.h"
#include "client/onnx/reject.h"

namespace hearth::onnx {
namespace {

constexpr std::int64_t kMaxFoldedElements = std::int64_t{1} << 20;

std::int64_t wrap(std::uint64_t value) { return static_cast<std::int64_t>(value); }

std::int64_t on_integers(HostBinary op, std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a);
  const auto y = static_cast<std::uint64_t>(b);
  const bool divides = op == HostBinary::kDiv || op == HostBinary::kFloorMod || op == HostBinary::kTruncMod;
  if (divides && b == 0) return 0;  // as in a kernel
  if (divides && b == -1) return op == HostBinary::kDiv ? wrap(0 - x) : 0;
  switch (op) {
    case HostBinary::kAdd:
      return wrap(x + y);
    case HostBinary::kSub:
      return wrap(x - y);
    case HostBinary::kMul:
      return wrap(x * y);
    case HostBinary::kDiv:
      return a / b;
    case HostBinary::kTruncMod:
      return a % b;
    case HostBinary::kFloorMod:
      return (a % b != 0 && (a < 0) != (b < 0)) ? a % b + b : a % b;
    case HostBinary::kMin:
      return std::min(a, b);
    case HostBinary::kMax:
      return std::max(a, b);
    case HostBinary::kPow: {
      if (b < 0) return a == 1 ? 1 : a == -1 ? (y & 1 ? -1 : 1) : 0;  // towards zero
      std::uint64_t result = 1;
      for (std::uint64_t base = x, power = y; power != 0; power >>= 1, base *= base) {
        if (power & 1) result *= base;
      }
      return wrap(result);
    }
    case HostBinary::kEqual:
      return a == b;
    case HostBinary::kLess:
      return a < b;
    case HostBinary::kLessEqual:
      return a <= b;
    case HostBinary::kGreater:
      return a > b;
    case HostBinary::kGreaterEqual:
      return a >= b;
    case HostBinary::kAnd:
      return a & b;
    case HostBinary::kOr:
      return a | b;
    case HostBinary::kXor:
      return a ^ b;
  }
  return 0;
}

double on_reals(HostBinary op, double a, double b) {
  switch (op) {
    case HostBinary::kAdd:
      return a + b;
    case HostBinary::kSub:
      return a - b;
    case HostBinary::kMul:
      return a * b;
    case HostBinary::kDiv:
      return a / b;
    case HostBinary::kTruncMod:
      return std::fmod(a, b);
    case HostBinary::kFloorMod: {
      const double rest = std::fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    case HostBinary::kMin:
      return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b);
    case HostBinary::kMax:
      return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b);
    case HostBinary::kPow:
      return std::pow(a, b);
    case HostBinary::kEqual:
      return a == b;
    case HostBinary::kLess:
      return a < b;
    case HostBinary::kLessEqual:
      return a <= b;
    case HostBinary::kGreater:
      return a > b;
    case HostBinary::kGreaterEqual:
      return a >= b;
    default:
      reject("a bitwise operator on floats");
  }
}

bool compares(HostBinary op) {
  return op == HostBinary::kEqual || op == HostBinary::kLess || op == HostBinary::kLessEqual ||
         op == HostBinary::kGreater || op == HostBinary::kGreaterEqual;
}

// Unsigned 64-bit order and division differ from signed; shapes never need them.
void check_u64(const HostTensor& x) {
  if (x.dtype() == DType::kU64) reject_unsupported("folding u64 arithmetic while importing");
}

std::string zeros(const Ints& shape, DType dtype) {
  return std::string(static_cast<std::size_t>(count(shape)) * dtype_bytes(dtype), '\0');
}

Ints expanded_strides(const Ints& from, const Ints& to) {
  const Ints packed = row_major_strides(from);
  Ints strides(to.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::size_t at = to.size() - from.size() + i;
    strides[at] = from[i] == 1 ? 0 : packed[i];
  }
  return strides;
}

}  // namespace

bool can_fold(const HostTensor& x) { return x.computable() && x.size() <= kMaxFoldedElements; }

bool can_fold(const HostTensor& x, HostUnary op) {
  if (op == HostUnary::kNot) return can_fold(x) && x.dtype() == DType::kBool;
  return can_fold(x) && x.dtype() != DType::kU64 && (is_float(x.dtype()) || op != HostUnary::kSqrt);
}

bool can_fold(std::initializer_list<const HostTensor*> operands) {
  Ints shape;
  for (const HostTensor* x : operands) {
    if (!can_fold(*x) || x->dtype() == DType::kU64) return false;
    shape = broadcast(shape, x->shape());
  }
  return count(shape) <= kMaxFoldedElements;
}

HostTensor host_expand(const HostTensor& x, const Ints& shape) {
  if (x.shape() == shape) return x;
  return host_view(x, {.shape = shape, .strides = expanded_strides(x.shape(), shape)});
}

HostTensor host_binary(HostBinary op, const HostTensor& a, const HostTensor& b) {
  if (a.dtype() != b.dtype()) {
    reject(str_cat("operands have types ", dtype_name(a.dtype()), " and ", dtype_name(b.dtype())));
  }
  check_u64(a);
  const Ints shape = broadcast(a.shape(), b.shape());
  if (count(shape) > kMaxFoldedElements) reject_unsupported("a constant of this size in a shape computation");
  const HostTensor x = host_expand(a, shape);
  const HostTensor y = host_expand(b, shape);
  const DType dtype = compares(op) ? DType::kBool : a.dtype();
  std::string bytes = zeros(shape, dtype);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (!is_float(a.dtype())) {
      put_integer(bytes, dtype, i, on_integers(op, x.integer(i), y.integer(i)));
    } else {
      put_real(bytes, dtype, i, on_reals(op, x.real(i), y.real(i)));
    }
  }
  return HostTensor(dtype, shape, std::move(bytes));
}

HostTensor host_unary(HostUnary op, const HostTensor& x) {
  check_u64(x);
  std::string bytes = zeros(x.shape(), x.dtype());
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (is_float(x.dtype())) {
      double v = x.real(i);
      switch (op) {
        case HostUnary::kNeg:
          v = -v;
          break;
        case HostUnary::kAbs:
          v = std::fabs(v);
          break;
        case HostUnary::kFloor:
          v = std::floor(v);
          break;
        case HostUnary::kCeil:
          v = std::ceil(v);
          break;
        case HostUnary::kSqrt:
          v = std::sqrt(v);
          break;
        case HostUnary::kSign:
          v = v > 0 ? 1 : v < 0 ? -1 : v;
          break;
        case HostUnary::kNot:
          reject("Not of a float");
      }
      put_real(bytes, x.dtype(), i, v);
    } else {
      std::int64_t v = x.integer(i);
      switch (op) {
        case HostUnary::kNeg:
          v = wrap(0 - static_cast<std::uint64_t>(v));
          break;
        case HostUnary::kAbs:
          v = v < 0 ? wrap(0 - static_cast<std::uint64_t>(v)) : v;
          break;
        case HostUnary::kNot:
          v = x.dtype() == DType::kBool ? !v : ~v;
          break;
        case HostUnary::kSign:
          v = v > 0 ? 1 : v < 0 ? -1 : 0;
          break;
        case HostUnary::kFloor:
        case HostUnary::kCeil:
          break;
        default:
          reject("a float function of integers");
      }
      put_integer(bytes, x.dtype(), i, v);
    }
  }
  return HostTensor(x.dtype(), x.shape(), std::move(bytes));
}

HostTensor host_cast(const HostTensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  std::string bytes = zeros(x.shape(), dtype);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (dtype == DType::kF32 && x.dtype() == DType::kU64) {  // rounded once
      put_real(bytes, dtype, i, static_cast<float>(static_cast<std::uint64_t>(x.integer(i))));
    } else if (is_float(x.dtype()) || (is_float(dtype) && x.dtype() == DType::kU64)) {
      put_real(bytes, dtype, i, x.real(i));
    } else {
      put_integer(bytes, dtype, i, x.integer(i));
    }
  }
  return HostTensor(dtype, x.shape(), std::move(bytes));
}

HostTensor host_where(const HostTensor& condition, const HostTensor& a, const HostTensor& b) {
  const Ints shape = broadcast(condition.shape(), broadcast(a.shape(), b.shape()));
  if (count(shape) > kMaxFoldedElements) reject_unsupported("a constant of this size in a shape computation");
  const HostTensor c = host_expand(condition, shape);
  const HostTensor x = host_expand(a, shape);
  const HostTensor y = host_expand(b, shape);
  const std::size_t width = dtype_bytes(a.dtype());
  std::string bytes;
  for (std::int64_t i = 0; i < c.size(); ++i) {
    bytes.append((c.integer(i) != 0 ? x : y).data() + static_cast<std::size_t>(i) * width, width);
  }
  return HostTensor(a.dtype(), shape, std::move(bytes));
}

HostTensor host_reduce(HostReduce op, const HostTensor& x, const Ints& axes, bool keepdims) {
  check_u64(x);
  // Reduced axes last, then one run per result.
  std::vector<bool> reduced(x.shape().size(), axes.empty());
  for (std::int64_t axis : axes) reduced[static_cast<std::size_t>(positive_axis(axis, x.rank()))] = true;
  const Ints strides = row_major_strides(x.shape());
  View view;
  Ints shape;
  Ints tail;
  Ints tail_strides;
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    if (reduced[i]) {
      tail.push_back(x.shape()[i]);
      tail_strides.push_back(strides[i]);
      if (keepdims) shape.push_back(1);
    } else {
      view.shape.push_back(x.shape()[i]);
      view.strides.push_back(strides[i]);
      shape.push_back(x.shape()[i]);
    }
  }
  view.shape.insert(view.shape.end(), tail.begin(), tail.end());
  view.strides.insert(view.strides.end(), tail_strides.begin(), tail_strides.end());
  const HostTensor rows = host_view(x, view);
  const std::int64_t run = count(tail);
  if (run == 0 && (op == HostReduce::kMax || op == HostReduce::kMin)) reject("a maximum over no elements");
  std::string bytes = zeros(shape, x.dtype());
  const HostBinary step = op == HostReduce::kSum    ? HostBinary::kAdd
                          : op == HostReduce::kProd ? HostBinary::kMul
                          : op == HostReduce::kMax  ? HostBinary::kMax
                                                    : HostBinary::kMin;
  for (std::int64_t i = 0; i < count(shape); ++i) {
    if (is_float(x.dtype())) {
      double sum = run == 0 ? (op == HostReduce::kProd) : rows.real(i * run);
      for (std::int64_t k = 1; k < run; ++k) sum = on_reals(step, sum, rows.real(i * run + k));
      put_real(bytes, x.dtype(), i, sum);
    } else {
      std::int64_t sum = run == 0 ? (op == HostReduce::kProd) : rows.integer(i * run);
      for (std::int64_t k = 1; k < run; ++k) sum = on_integers(step, sum, rows.integer(i * run + k));
      put_integer(bytes, x.dtype(), i, sum);
    }
  }
  return HostTensor(x.dtype(), shape, std::move(bytes));
}

HostTensor host_range(const HostTensor& start, const HostTensor& limit, const HostTensor& delta) {
  for (const HostTensor* x : {&start, &limit, &delta}) {
    if (x->size() != 1 || x->dtype() != start.dtype()) reject("start, limit and delta must be scalars of one type");
  }
  check_u64(start);
  const double step = delta.real(0);
  if (step == 0 || std::isnan(step)) reject("delta must not be zero");
  double length = 0;
  if (is_float(start.dtype())) {
    length = std::max(0.0, std::ceil((limit.real(0) - start.real(0)) / step));
  } else {
    const __int128 span = static_cast<__int128>(limit.integer(0)) - start.integer(0), by = delta.integer(0);
    length = static_cast<double>((span > 0) == (by > 0) ? (span + by - (by > 0 ? 1 : -1)) / by : 0);
  }
  if (!(length <= static_cast<double>(kMaxFoldedElements)))
    reject(str_cat("a range of ", length, " elements (at most ", kMaxFoldedElements, ")"));
  const Ints shape = {static_cast<std::int64_t>(length)};
  std::string bytes = zeros(shape, start.dtype());
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    if (is_float(start.dtype())) {
      put_real(bytes, start.dtype(), i, start.real(0) + static_cast<double>(i) * step);
    } else {
      put_integer(bytes, start.dtype(), i,
                  wrap(static_cast<std::uint64_t>(start.integer(0)) +
                       static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(delta.integer(0))));
    }
  }
  return HostTensor(start.dtype(), shape, std::move(bytes));
}

}  // namespace hearth::onnx
