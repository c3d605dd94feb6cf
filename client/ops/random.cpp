#include "hearth/ops/random.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "client/ops/support.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::client {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 33;  // one counter word for two elements each
constexpr double kPi = 3.14159265358979323846;

using Words = std::pair<Tensor, Tensor>;

Tensor rotate_left(const Tensor& x, int bits) { return bit_or(shift_left(x, bits), shift_right(x, 32 - bits)); }

// Threefish reduced to two 32-bit words: add, rotate, xor; the key is injected every four rounds.
Words threefry(const Tensor& key, Words x) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  constexpr std::int64_t kParity = 0x1BD11BDA;
  const Tensor first = select(key, 0, 0), second = select(key, 0, 1);
  const Tensor schedule[3] = {first, second, bit_xor(bit_xor(first, second), kParity)};
  x = {x.first + schedule[0], x.second + schedule[1]};
  for (int group = 1; group <= 5; ++group) {
    for (int bits : kRotations[(group - 1) % 2]) {
      x.first = x.first + x.second;
      x.second = bit_xor(rotate_left(x.second, bits), x.first);
    }
    x = {x.first + schedule[group % 3], x.second + schedule[(group + 1) % 3] + group};
  }
  return x;
}

const Tensor& require_key(const Tensor& key) {
  if (require(key, "key").dtype() != DType::kU32 || key.rank() != 1 || !(key.dim(0) == Dim(2))) {
    fail_op(str_cat("argument 'key' is ", describe(key), "; expected u32 [2]"));
  }
  return key;
}

void require_float(DType dtype) {
  if (!is_float(dtype)) fail_op(str_cat("the dtype is ", dtype_name(dtype), "; expected a float dtype"));
}

std::int64_t const_count(const Shape& shape) {
  const Dim size = num_elements(shape);
  if (!size.is_const() || size.value() > kMaxElements) {
    fail_op(str_cat("the shape is ", to_string(shape), "; expected constant lengths and at most 2^33 elements"));
  }
  return size.value();
}

// Both words of as many counters as `count` elements need.
Words words_for(std::int64_t count, const Tensor& key) {
  const Shape half = {Dim((count + 1) / 2)};
  return threefry(key, {iota(half, 0, DType::kU32), filled(half, std::int64_t{0}, DType::kU32)});
}

// The first `count` elements of the two halves, in `shape`.
Tensor joined(const Words& halves, std::int64_t count, const Shape& shape) {
  const Tensor all = cat({halves.first, halves.second}, 0);
  return reshape_to(count % 2 == 0 ? all : slice(all, {{.axis = 0, .end = count}}), shape);
}

// Numbers of as many digits as the dtype's mantissa has.
Tensor unit_interval(const Tensor& bits, DType dtype) {
  int digits = 24;
  if (dtype == DType::kF64) digits = 32;
  if (dtype == DType::kF16) digits = 11;
  if (dtype == DType::kBF16) digits = 8;
  if (dtype_bytes(dtype) == 1) digits = 3;
  const Tensor kept = digits == 32 ? bits : shift_right(bits, 32 - digits);
  return cast_to(kept, dtype) * std::ldexp(1.0, -digits);
}

}  // namespace

Tensor random_key(std::uint64_t seed, Loc loc) {
  const std::uint32_t words[2] = {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  std::string bytes(sizeof(words), '\0');
  std::memcpy(bytes.data(), words, sizeof(words));
  return constant({2}, DType::kU32, std::move(bytes), loc);
}

Tensor threefry2x32(const Tensor& key, const Tensor& counters, Loc loc) {
  OpScope scope("threefry2x32", loc);
  require_key(key);
  if (require(counters, "counters").dtype() != DType::kU32 || counters.rank() < 1 || !(counters.dim(-1) == Dim(2))) {
    fail_op(str_cat("argument 'counters' is ", describe(counters), "; expected u32 [.., 2]"));
  }
  const Words words = threefry(key, {select(counters, -1, 0), select(counters, -1, 1)});
  return stack({words.first, words.second}, -1);
}

Tensor random_bits(Shape shape, const Tensor& key, Loc loc) {
  OpScope scope("random_bits", loc);
  require_key(key);
  const std::int64_t count = const_count(shape);
  if (count == 0) return filled(shape, std::int64_t{0}, DType::kU32);
  return joined(words_for(count, key), count, shape);
}

Tensor random_uniform(Shape shape, const Tensor& key, double low, double high, DType dtype, Loc loc) {
  OpScope scope("random_uniform", loc);
  require_float(dtype);
  if (!(low <= high)) fail_op(str_cat("low is ", low, " and high is ", high, "; expected low <= high"));
  const Tensor unit = unit_interval(random_bits(shape, key), dtype);
  return low == 0 && high == 1 ? unit : unit * (high - low) + low;
}

Tensor random_normal(Shape shape, const Tensor& key, double mean, double deviation, DType dtype, Loc loc) {
  OpScope scope("random_normal", loc);
  require_float(dtype);
  require_key(key);
  if (!(deviation >= 0)) fail_op(str_cat("deviation is ", deviation, "; expected >= 0"));
  const std::int64_t count = const_count(shape);
  if (count == 0) return filled(shape, 0.0, dtype);
  const DType width = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  const Words words = words_for(count, key);
  // In (0, 1]: the logarithm of 0 never occurs.
  const Tensor radius = sqrt(log((cast_to(words.first, width) + 0.5) * 0x1p-32) * -2.0);
  const Tensor angle = cast_to(words.second, width) * (2 * kPi * 0x1p-32);
  const Tensor standard = joined({radius * cos(angle), radius * sin(angle)}, count, shape);
  return cast_to(standard * deviation + mean, dtype);
}

Tensor random_bernoulli(const Tensor& probability, const Tensor& key, Loc loc) {
  OpScope scope("random_bernoulli", loc);
  require_float(require(probability, "probability").dtype());
  const bool wide = probability.dtype() == DType::kF64;
  return less(random_uniform(probability.shape(), key), wide ? probability : cast_to(probability, DType::kF32));
}

Tensor random_multinomial(const Tensor& log_weights, std::int64_t num_samples, const Tensor& key, Loc loc) {
  OpScope scope("random_multinomial", loc);
  require_float(require(log_weights, "log_weights").dtype());
  if (log_weights.rank() != 2) {
    fail_op(str_cat("argument 'log_weights' is ", describe(log_weights), "; expected [batch, classes]"));
  }
  if (num_samples < 0) fail_op(str_cat("num_samples is ", num_samples, "; expected >= 0"));
  const std::int64_t classes = const_length(log_weights, 1, "since every class is looked at");
  const DType width = log_weights.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  const Tensor limits = cumsum(softmax(cast_to(log_weights, width), 1), 1);
  // The class whose share of [0, 1) the number falls into; the sum of all may round to less than 1.
  const Tensor drawn = random_uniform({log_weights.dim(0), Dim(num_samples)}, key, 0, 1, width);
  const Tensor passed = less_equal(unsqueeze(limits, {1}), unsqueeze(drawn, {2}));
  return minimum(cast_to(reduce_sum(cast_to(passed, DType::kI32), {2}), DType::kI64), classes - 1);
}

}  // namespace hearth::client
