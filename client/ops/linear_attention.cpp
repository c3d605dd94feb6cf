#include "hearth/ops/linear_attention.h"

#include <cmath>

#include "base/text.h"
#include "client/ops/support.h"
#include "hearth/ops/conv.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/loop.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::client {
namespace {

void check_shape(const Tensor& x, std::string_view argument, const std::vector<Shape>& expected) {
  if (x.empty()) return;
  std::string forms;
  for (const Shape& shape : expected) {
    if (require_float(x, argument).shape() == shape) return;
    str_append(&forms, forms.empty() ? "" : " or ", to_string(shape));
  }
  fail_op(str_cat("argument '", argument, "' is ", describe(x), "; expected floats ", forms));
}

// [N, K, T, ...] -> [T, N, K, ...], of which a step has its share.
Tensor by_time(const Tensor& x, DType full) { return permute(cast_to(x, full), {2, 0, 1, 3}); }

// [N, K, D] times [N, K, D, Dv] -> [N, K, Dv].
Tensor read_state(const Tensor& by, const Tensor& state) { return squeeze(matmul(unsqueeze(by, {-2}), state), {-2}); }

}  // namespace

LinearAttentionResult linear_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                       const LinearAttentionConfig& config, Loc loc) {
  OpScope scope("linear_attention", loc);
  for (const auto& [x, argument] : {std::pair(&q, "q"), std::pair(&k, "k"), std::pair(&v, "v")}) {
    if (require_float(*x, argument).rank() != 4)
      fail_op(str_cat("argument '", argument, "' is ", describe(*x), "; expected floats of four axes"));
  }
  const std::int64_t heads = const_length(q, 1, "since it counts heads"),
                     states = const_length(k, 1, "since it counts heads");
  const bool fit = states >= 1 && heads % states == 0 && q.dim(0) == k.dim(0) && q.dim(0) == v.dim(0) &&
                   v.dim(1) == k.dim(1) && q.dim(2) == k.dim(2) && q.dim(2) == v.dim(2) && q.dim(3) == k.dim(3);
  if (!fit) {
    fail_op(str_cat("'q' is ", describe(q), ", 'k' is ", describe(k), ", 'v' is ", describe(v),
                    "; expected [N, H, T, D], [N, K, T, D], [N, K, T, Dv] with K a divisor of H"));
  }
  const Dim items = q.dim(0), steps = q.dim(2), size = q.dim(3), wide_size = v.dim(3);
  if (steps.min() < 1) fail_op(str_cat("there are ", steps.to_string(), " steps, which may be none"));
  const Shape state_shape = {items, states, size, wide_size};
  check_shape(config.past, "past", {state_shape});
  check_shape(config.decay, "decay", {{items, states, steps, size}, {items, states, steps, 1}});
  check_shape(config.beta, "beta", {{items, states, steps, 1}, {items, 1, steps, 1}});
  const double scale = config.scale
                           ? *config.scale
                           : 1.0 / std::sqrt(static_cast<double>(const_length(q, 3, "since it scales the result")));
  const DType full = wide(promote(promote(q.dtype(), k.dtype()), v.dtype()));

  std::vector<Tensor> sliced = {by_time(q, full), by_time(k, full), by_time(v, full)};
  const bool has_decay = !config.decay.empty(), has_beta = !config.beta.empty();
  if (has_decay) sliced.push_back(exp(by_time(config.decay, full)));
  if (has_beta) sliced.push_back(by_time(config.beta, full));
  const std::int64_t shared = heads / states;
  const auto step = [&](LoopStep now) -> LoopValues {
    const Tensor key = now.sliced[1];
    Tensor state = now.carried[0], value = now.sliced[2];
    if (has_decay) state = state * unsqueeze(now.sliced[3], {-1});
    if (has_beta) value = now.sliced[has_decay ? 4 : 3] * (value - read_state(key, state));
    state = state + unsqueeze(key, {-1}) * unsqueeze(value, {-2});
    // Each state is read by the queries that share it: [N, K, shared, D] times [N, K, D, Dv].
    const Tensor queries = reshape(now.sliced[0], {items, states, shared, size});
    const Tensor read = reshape(matmul(queries, state), {items, heads, wide_size}) * scale;
    return {.carried = {state}, .stacked = {read}};
  };
  const Tensor first = config.past.empty() ? filled(state_shape, 0.0, full) : cast_to(config.past, full);
  const LoopResult result = loop(steps, {first}, sliced, step);
  return {cast_to(permute(result.stacked[0], {1, 2, 0, 3}), q.dtype()),
          cast_to(result.last[0], config.past.empty() ? q.dtype() : config.past.dtype())};
}

CausalConvResult causal_conv(const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& past, Loc loc) {
  OpScope scope("causal_conv", loc);
  if (require_float(x, "x").rank() != 3 || require_float(w, "w").rank() != 3 || !(w.dim(0) == x.dim(1)) ||
      !(w.dim(1) == Dim(1))) {
    fail_op(str_cat("'x' is ", describe(x), ", 'w' is ", describe(w), "; expected [N, C, T] and [C, 1, k]"));
  }
  const std::int64_t channels = const_length(x, 1, "since it counts windows"),
                     window = const_length(w, 2, "since it is a window");
  if (window < 1) fail_op(str_cat("argument 'w' is ", describe(w), "; expected at least one element a window"));
  check_shape(past, "past", {{x.dim(0), channels, window - 1}});
  check_shape(bias, "bias", {{channels}});
  const Shape none(3, Dim(0));
  const Tensor all = past.empty() ? pad(x, {0, 0, window - 1}, none) : cat({cast_to(past, x.dtype()), x}, 2);
  const Tensor y = conv(all, w, bias, {.groups = channels});
  const Dim length = all.dim(2);
  return {y, shrink(all, {0, 0, length - (window - 1)}, all.shape())};
}

}  // namespace hearth::client
