#include "hearth/ops/signal.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/text.h"
#include "client/ops/support.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::client {
namespace {

constexpr std::int64_t kLongestProduct = 64;
constexpr std::int64_t kLongest = std::int64_t{1} << 24;  // a table of this length travels with the graph

// What multiplies a complex number by exp(-+2 pi i j / length), as a matrix of its parts: [length, 2, 2].
Tensor root_table(std::int64_t length, bool inverse, DType dtype) {
  std::vector<double> values;
  for (std::int64_t j = 0; j < length; ++j) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(length);
    const double real = std::cos(angle), imaginary = inverse ? std::sin(angle) : -std::sin(angle);
    values.insert(values.end(), {real, imaginary, -imaginary, real});
  }
  return real_constant({length, 2, 2}, values, dtype);
}

// The roots to the powers of row times column: [rows, columns, 2, 2], once, since nothing in it is an input.
Tensor root_powers(const Tensor& table, std::int64_t rows, std::int64_t columns) {
  const Shape shape = {rows, columns};
  const Tensor power = floor_mod(iota(shape, 0, DType::kI64) * iota(shape, 1, DType::kI64), table.dim(0).value());
  return contiguous(gather(table, power, 0));
}

struct Transform {
  bool inverse;
  DType dtype;
};

// x [rows, length, parts], of one part (real) or two -> [rows, bins, 2], by a matrix product.
Tensor by_matrix(const Tensor& x, std::int64_t bins, const Transform& how) {
  const std::int64_t length = x.dim(1).value(), parts = x.dim(2).value();
  const Tensor powers = root_powers(root_table(length, how.inverse, how.dtype), length, bins);
  const Tensor used = slice(permute(powers, {0, 2, 1, 3}), {{.axis = 1, .begin = 0, .end = parts}});
  const Tensor matrix = contiguous(reshape(used, {length * parts, 2 * bins}));
  return reshape(matmul(reshape(x, {x.dim(0), length * parts}), matrix), {x.dim(0), bins, 2});
}

// The greatest divisor up to the root; 1 for primes.
std::int64_t divisor_near_root(std::int64_t length) {
  auto divisor = static_cast<std::int64_t>(std::sqrt(static_cast<double>(length)));
  while (length % divisor != 0) --divisor;
  return divisor;
}

// x [rows, length, parts] -> [rows, length, 2]. With place = i * b + j and bin = k + a * m, the sum over i is a
// transform of length a; its results times exp(j k / length) are transformed along j, length b. (Cooley and Tukey.)
Tensor transform(const Tensor& x, const Transform& how) {
  const std::int64_t length = x.dim(1).value(), parts = x.dim(2).value(), a = divisor_near_root(length);
  if (length <= kLongestProduct || a == 1) return by_matrix(x, length, how);
  const std::int64_t b = length / a;
  const Dim rows = x.dim(0);
  const Tensor by_j = permute(reshape(x, {rows, a, b, parts}), {0, 2, 1, 3});
  const Tensor inner = reshape(transform(reshape(by_j, {rows * b, a, parts}), how), {rows, b, a, 2});
  const Tensor turns = root_powers(root_table(length, how.inverse, how.dtype), b, a);
  const Tensor turned = reduce_sum(unsqueeze(inner, {-1}) * turns, {-2});
  const Tensor by_k = reshape(permute(turned, {0, 2, 1, 3}), {rows * a, b, 2});
  const Tensor outer = reshape(transform(by_k, how), {rows, a, b, 2});
  return reshape(permute(outer, {0, 2, 1, 3}), {rows, length, 2});
}

void check_parts(const Tensor& x, bool onesided) {
  if (!is_float(require(x, "x").dtype()) || x.rank() < 2 || !(x.dim(-1) == Dim(1) || x.dim(-1) == Dim(2))) {
    fail_op(str_cat("argument 'x' is ", describe(x), "; expected floats [..., 1] (real) or [..., 2] (complex)"));
  }
  if (onesided && x.dim(-1) == Dim(2)) {
    fail_op(str_cat("argument 'x' is ", describe(x), "; expected a real one for a onesided result"));
  }
}

// All `length` bins of what has a real signal, of the first half along axis 1 of x [rows, length / 2 + 1, 1 or 2]: those
// behind are the conjugates of those before.
Tensor all_bins(const Tensor& x, std::int64_t length) {
  const std::int64_t half = length / 2 + 1;
  const Tensor mirrored = flip(slice(x, {{.axis = 1, .begin = 1, .end = length - half + 1}}), {1});
  if (x.dim(2) == Dim(1)) return cat({x, mirrored}, 1);
  return cat({x, mirrored * real_constant({2}, {1, -1}, x.dtype())}, 1);
}

void check_length(std::int64_t length, std::int64_t lowest) {
  if (length < lowest || length > kLongest) {
    fail_op(str_cat("the length is ", length, "; expected ", lowest, " to 2^24"));
  }
}

// sum of (-1)^i coefficients[i] cos(i * angle) over one turn.
Tensor cosine_window(std::int64_t length, bool periodic, DType dtype, const std::vector<double>& coefficients) {
  check_length(length, 1);
  if (!is_float(dtype)) fail_op(str_cat("the dtype is ", dtype_name(dtype), "; expected a float"));
  const std::int64_t turn = periodic ? length : length - 1;
  std::vector<double> values;
  for (std::int64_t at = 0; at < length; ++at) {
    double value = 0, sign = 1;
    for (std::size_t i = 0; i < coefficients.size(); ++i, sign = -sign) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i) * static_cast<double>(at);
      value += sign * coefficients[i] * std::cos(angle / static_cast<double>(std::max<std::int64_t>(turn, 1)));
    }
    values.push_back(length == 1 ? 1 : value);
  }
  return real_constant({length}, values, dtype);
}

}  // namespace

Tensor dft(const Tensor& x, const DftConfig& config, Loc loc) {
  OpScope scope("dft", loc);
  const bool of_half = config.onesided && config.inverse;  // of a spectrum's half, whose signal is real
  check_parts(x, config.onesided && !of_half);
  const std::int64_t axis = normal_axis(config.axis, x.rank());
  if (axis == x.rank() - 1) fail_op("the last axis holds the parts of complex numbers; expected another one");
  const std::int64_t given = const_length(x, axis, "since it is transformed");
  const std::int64_t length = config.length != 0 ? config.length : of_half ? 2 * (given - 1) : given;
  check_length(length, 1);
  const Transform how = {config.inverse, wide(x.dtype())};
  const std::int64_t used = of_half ? length / 2 + 1 : length;
  // [rows, length, parts]
  Shape none(x.shape().size(), Dim(0)), more = none;
  more[static_cast<std::size_t>(axis)] = used - given;
  const Tensor rows = transpose(pad(cast_to(x, how.dtype), none, more), axis, -2);
  const std::int64_t bins = config.onesided && !of_half ? length / 2 + 1 : length;
  const Tensor taken = reshape(rows, {-1, used, x.dim(-1)}), flat = of_half ? all_bins(taken, length) : taken;
  Tensor result = length <= kLongestProduct ? by_matrix(flat, bins, how)
                                            : slice(transform(flat, how), {{.axis = 1, .begin = 0, .end = bins}});
  if (config.inverse) result = result / static_cast<double>(length);
  Shape shape = rows.shape();
  shape[shape.size() - 2] = bins;
  shape.back() = of_half ? 1 : 2;
  if (of_half) result = slice(result, {{.axis = 2, .begin = 0, .end = 1}});
  return cast_to(transpose(reshape(result, shape), axis, -2), x.dtype());
}

Tensor stft(const Tensor& x, const Tensor& window, std::int64_t step, bool onesided, Loc loc) {
  OpScope scope("stft", loc);
  check_parts(x, onesided);
  if (x.rank() != 3) fail_op(str_cat("argument 'x' is ", describe(x), "; expected [N, samples, 1 or 2]"));
  if (require(window, "window").rank() != 1) {
    fail_op(str_cat("argument 'window' is ", describe(window), "; expected one axis"));
  }
  if (step < 1) fail_op(str_cat("step is ", step, "; expected at least 1"));
  const std::int64_t length = const_length(window, 0, "since it is a frame's length");
  check_length(length, 1);
  // [N, frames, parts, length] -> [N, frames, length, parts]
  const Tensor frames = transpose(unfold(x, 1, length, step));
  const DType full = wide(x.dtype());
  const Tensor weighted = cast_to(frames, full) * cast_to(reshape_to(window, {length, 1}), full);
  return cast_to(dft(weighted, {.axis = 2, .onesided = onesided}), x.dtype());
}

Tensor hann_window(std::int64_t length, bool periodic, DType dtype, Loc loc) {
  OpScope scope("hann_window", loc);
  return cosine_window(length, periodic, dtype, {0.5, 0.5});
}

Tensor hamming_window(std::int64_t length, bool periodic, DType dtype, double alpha, Loc loc) {
  OpScope scope("hamming_window", loc);
  return cosine_window(length, periodic, dtype, {alpha, 1 - alpha});
}

Tensor blackman_window(std::int64_t length, bool periodic, DType dtype, Loc loc) {
  OpScope scope("blackman_window", loc);
  return cosine_window(length, periodic, dtype, {0.42, 0.5, 0.08});
}

Tensor mel_weight_matrix(const MelConfig& config, DType dtype, Loc loc) {
  OpScope scope("mel_weight_matrix", loc);
  check_length(config.dft_length, 1);
  check_length(config.bins, 1);
  if (!is_float(dtype)) fail_op(str_cat("the dtype is ", dtype_name(dtype), "; expected a float"));
  const bool ordered = config.low_hertz >= 0 && config.low_hertz < config.high_hertz && config.sample_rate >= 1 &&
                       config.high_hertz * 2 <= static_cast<double>(config.sample_rate);
  if (!ordered) {
    fail_op(str_cat("low_hertz ", config.low_hertz, ", high_hertz ", config.high_hertz, ", sample_rate ",
                    config.sample_rate, "; expected 0 <= low < high <= half the sample rate"));
  }
  const auto to_mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = to_mel(config.low_hertz),
               step = (to_mel(config.high_hertz) - low) / static_cast<double>(config.bins + 2);
  const std::int64_t places = config.dft_length / 2 + 1;
  std::vector<std::int64_t> edges;
  for (std::int64_t i = 0; i < config.bins + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (low + static_cast<double>(i) * step) / 2595) - 1);
    const double place = static_cast<double>(config.dft_length + 1) * hertz / static_cast<double>(config.sample_rate);
    edges.push_back(std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(place)), 0, places - 1));
  }
  if (places * config.bins > kLongest) fail_op(str_cat(places, " x ", config.bins, " weights; expected up to 2^24"));
  std::vector<double> weights(static_cast<std::size_t>(places * config.bins), 0);
  for (std::int64_t i = 0; i < config.bins; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t begin = edges[at], middle = edges[at + 1], end = edges[at + 2];
    const auto weight = [&](std::int64_t place) -> double& {
      return weights[static_cast<std::size_t>(place * config.bins + i)];
    };
    const auto share = [](std::int64_t part, std::int64_t whole) {
      return static_cast<double>(part) / static_cast<double>(whole);
    };
    if (begin == middle) weight(middle) = 1;
    for (std::int64_t place = begin; begin != middle && place <= middle; ++place) {
      weight(place) = share(place - begin, middle - begin);
    }
    for (std::int64_t place = middle; place < end; ++place) weight(place) = share(end - place, end - middle);
  }
  return real_constant({places, config.bins}, weights, dtype);
}

}  // namespace hearth::client
