#include "hearth/ops/attention.h"

#include <cmath>
#include <limits>

#include "base/text.h"
#include "client/ops/support.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::client {
namespace {

void check_float(const Tensor& x, std::string_view argument, std::int64_t min_rank, std::string_view form) {
  if (require(x, argument).rank() >= min_rank && is_float(x.dtype())) return;
  fail_op(str_cat("argument '", argument, "' is ", describe(x), "; expected floats ", form));
}

// Whether query t sees key s, [T, S].
Tensor causal_mask(const Dim& queries, const Dim& keys, const Dim& past) {
  const Shape shape = {queries, keys};
  const Tensor query = iota(shape, 0, DType::kI32);
  return less_equal(iota(shape, 1, DType::kI32),
                    past.is_const() ? query + past.value() : query + dim_value(past, DType::kI32));
}

void add_to_mask(AttentionConfig& config, const Tensor& visible) {
  if (config.mask.empty()) {
    config.mask = visible;
  } else if (config.mask.dtype() == DType::kBool) {
    config.mask = bit_and(visible, config.mask);
  } else {
    config.mask = where(visible, config.mask, -std::numeric_limits<double>::infinity());
  }
}

// A past of any length as part of the mask.
AttentionConfig with_past_in_mask(AttentionConfig config, const Tensor& q, const Tensor& k) {
  add_to_mask(config, causal_mask(q.dim(-2), k.dim(-2), config.past));
  config.causal = false;
  config.past = 0;
  return config;
}

// Windows as part of the mask.
AttentionConfig with_windows_in_mask(AttentionConfig config, const Tensor& q, const Tensor& k) {
  const Shape shape = {q.dim(-2), k.dim(-2)};
  const Tensor place = iota(shape, 0, DType::kI64) + dim_value(config.past, DType::kI64),
               key = iota(shape, 1, DType::kI64);
  for (const auto& [window, name] : {std::pair(config.left_window, "left"), std::pair(config.right_window, "right")}) {
    if (window && *window < 0) fail_op(str_cat(name, "_window is ", *window, "; expected a number from 0 on, or none"));
  }
  if (config.left_window) add_to_mask(config, less_equal(place - *config.left_window, key));
  if (config.right_window) add_to_mask(config, less_equal(key, place + *config.right_window));
  config.left_window = config.right_window = std::nullopt;
  return config;
}

struct Heads {
  Tensor k, v;  // of as many heads as q
  DType full;   // that scores and weights are computed in
  double scale;
};

Heads heads_of(const Tensor& q, const Tensor& k, const Tensor& v, const std::optional<double>& scale) {
  const std::int64_t heads = const_length(q, -3, "since it counts heads");
  const std::int64_t key_heads = const_length(k, -3, "since it counts heads");
  const bool fit = key_heads >= 1 && heads % key_heads == 0 && v.dim(-3) == k.dim(-3) && v.dim(-2) == k.dim(-2) &&
                   q.dim(-1) == k.dim(-1) && q.rank() == k.rank() && q.rank() == v.rank();
  if (!fit) {
    fail_op(str_cat("'q' is ", describe(q), ", 'k' is ", describe(k), ", 'v' is ", describe(v),
                    "; expected [.., H, T, D], [.., K, S, D], [.., K, S, Dv] with K a divisor of H"));
  }
  const auto shared = [&](const Tensor& x) {
    return key_heads == heads ? x : repeat_interleave(x, heads / key_heads, -3);
  };
  const std::int64_t size = const_length(q, -1, "since it scales the scores");
  return {shared(k), shared(v), wide(promote(promote(q.dtype(), k.dtype()), v.dtype())),
          scale.value_or(1.0 / std::sqrt(static_cast<double>(size)))};
}

}  // namespace

Tensor embedding(const Tensor& table, const Tensor& indices, Loc loc) {
  OpScope scope("embedding", loc);
  if (require(table, "table").rank() != 2)
    fail_op(str_cat("argument 'table' is ", describe(table), "; expected [V, E]"));
  return gather(table, require_integer(indices, "indices"), 0);
}

Tensor rotary_embedding(const Tensor& x, const Tensor& cos, const Tensor& sin, bool interleaved, Loc loc) {
  OpScope scope("rotary_embedding", loc);
  check_float(x, "x", 2, "[.., T, D]");
  check_float(cos, "cos", 1, "[.., T, R/2]");
  check_float(sin, "sin", 1, "[.., T, R/2]");
  const std::int64_t size = const_length(x, -1, "since pairs of it are turned");
  const std::int64_t pairs = const_length(cos, -1, "since it counts pairs");
  if (!(sin.shape() == cos.shape()) || pairs < 1 || 2 * pairs > size) {
    fail_op(str_cat("'cos' is ", describe(cos), ", 'sin' is ", describe(sin),
                    "; expected equal shapes whose last length is at most half of ", size));
  }
  const auto part = [&](std::int64_t begin, std::int64_t end, std::int64_t step) {
    return slice(x, {{.axis = -1, .begin = begin, .end = end, .step = step}});
  };
  const Tensor a = interleaved ? part(0, 2 * pairs, 2) : part(0, pairs, 1);
  const Tensor b = interleaved ? part(1, 2 * pairs, 2) : part(pairs, 2 * pairs, 1);
  const DType full = wide(promote(x.dtype(), promote(cos.dtype(), sin.dtype())));
  const auto turned = [&](const Tensor& y) { return cast_to(y, x.dtype()); };
  const Tensor wide_a = cast_to(a, full), wide_b = cast_to(b, full);
  const Tensor turned_a = turned(wide_a * cos - wide_b * sin), turned_b = turned(wide_b * cos + wide_a * sin);
  if (!(turned_a.shape() == a.shape())) {
    fail_op(str_cat("'cos' is ", describe(cos), "; expected a shape that broadcasts to ", to_string(a.shape())));
  }
  std::vector<Tensor> parts = {turned_a, turned_b};
  if (interleaved) {
    Shape shape = x.shape();
    shape.back() = Dim(2 * pairs);
    parts = {reshape_to(stack(parts, -1), shape)};
  }
  if (2 * pairs < size) parts.push_back(part(2 * pairs, size, 1));
  return parts.size() == 1 ? parts[0] : cat(parts, -1);
}

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k_given, const Tensor& v_given,
                                    const AttentionConfig& given, Loc loc) {
  OpScope scope("scaled_dot_product_attention", loc);
  check_float(q, "q", 3, "[.., H, T, D]");
  check_float(k_given, "k", 3, "[.., K, S, D]");
  check_float(v_given, "v", 3, "[.., K, S, Dv]");
  AttentionConfig config = given;
  if (config.left_window || config.right_window) config = with_windows_in_mask(std::move(config), q, k_given);
  if (config.causal && !config.past.is_const()) {
    config.causal = !(q.dim(-2) == Dim(1) && config.past + 1 == k_given.dim(-2));  // the last query sees all
    if (config.causal) config = with_past_in_mask(config, q, k_given);
  }
  const auto [k, v, full, scale] = heads_of(q, k_given, v_given, config.scale);
  Tensor scores = matmul(cast_to(q, full), transpose(cast_to(k, full))) * scale;
  if (config.softcap != 0) scores = tanh(scores / config.softcap) * config.softcap;
  Tensor visible;
  bool has_added_mask = false;
  if (config.causal) visible = causal_mask(q.dim(-2), k.dim(-2), config.past);
  if (!config.mask.empty()) {
    const Shape masked = broadcast_shapes(scores.shape(), config.mask.shape(), "scaled_dot_product_attention", loc);
    if (!(masked == scores.shape())) {
      fail_op(str_cat("argument 'mask' is ", describe(config.mask), "; expected a shape that broadcasts to ",
                      to_string(scores.shape())));
    }
    if (config.mask.dtype() == DType::kBool) {
      visible = visible.empty() ? config.mask : bit_and(visible, config.mask);
    } else if (is_float(config.mask.dtype())) {
      scores = scores + cast_to(config.mask, full);
      has_added_mask = true;
    } else {
      fail_op(str_cat("argument 'mask' is ", describe(config.mask), "; expected bool or floats"));
    }
  }
  const double never = -std::numeric_limits<double>::infinity();
  if (!visible.empty()) scores = where(visible, scores, never);
  Tensor weights = softmax(scores, -1);
  // The softmax of nothing but minus infinity is NaN; such a query sees nothing.
  if (!visible.empty()) weights = where(visible, weights, 0.0);
  if (has_added_mask) weights = where(equal(reduce_max(scores, {-1}, true), never), 0.0, weights);
  const Tensor composed = cast_to(matmul(weights, cast_to(v, full)), q.dtype());
  if (config.softcap != 0) return composed;                       // no kernel of a library knows it
  if (config.causal && config.past.value() < 0) return composed;  // whole rows see nothing: no kernel is made for that
  Node node;
  node.op = v1::ATTENTION;
  node.dtype = q.dtype();
  node.shape = composed.shape();
  node.inputs = {q, k_given, v_given, composed};
  if (!config.mask.empty()) node.inputs.push_back(config.mask);
  node.axes = {config.causal ? 1 : 0, config.causal ? config.past.value() : 0};
  node.data.assign(reinterpret_cast<const char*>(&scale), sizeof scale);
  return make_node(std::move(node), OpScope::outermost()->loc());
}

Tensor flex_attention(const Tensor& q, const Tensor& k_given, const Tensor& v_given, const FlexAttentionConfig& config,
                      Loc loc) {
  OpScope scope("flex_attention", loc);
  check_float(q, "q", 3, "[.., H, T, D]");
  check_float(k_given, "k", 3, "[.., K, S, D]");
  check_float(v_given, "v", 3, "[.., K, S, Dv]");
  const auto [k, v, full, scale] = heads_of(q, k_given, v_given, config.scale);
  const auto changed = [](const Activation& change, const Tensor& x, std::string_view name) {
    if (!change) return x;
    Tensor made = change(x);
    if (made.empty() || !(made.shape() == x.shape()) || made.dtype() != x.dtype()) {
      fail_op(str_cat("argument '", name, "' made ", made.empty() ? "nothing" : describe(made), " of ", describe(x),
                      "; expected the same dtype and shape"));
    }
    return made;
  };
  const Tensor scores = changed(config.scores, matmul(cast_to(q, full), transpose(cast_to(k, full))) * scale, "scores");
  // A query whose scores are all minus infinity sees nothing.
  const double never = -std::numeric_limits<double>::infinity();
  Tensor weights = softmax(scores, -1);
  if (config.scores) weights = where(equal(reduce_max(scores, {-1}, true), never), 0.0, weights);
  weights = changed(config.weights, weights, "weights");
  return cast_to(matmul(weights, cast_to(v, full)), q.dtype());
}

}  // namespace hearth::client
