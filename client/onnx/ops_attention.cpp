// Attention and rotary embeddings of ONNX's own operators (since opset 23). Operands have four axes, [B, heads, S,
// size], or three, [B, S, heads * size]; keys and values of earlier calls come in as `past` and go out as `present`.
#include <cmath>
#include <optional>

#include "base/text.h"
#include "client/onnx/model_file.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "hearth/ops/activation.h"
#include "hearth/ops/attention.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/linear_attention.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::onnx {

using client::Tensor;

namespace {

std::int64_t length_of(const Tensor& x, std::int64_t axis) {
  if (!x.dim(axis).is_const()) reject_unsupported("a symbolic length in attention");
  return x.dim(axis).value();
}

}  // namespace

Tensor split_heads(const Tensor& x, std::int64_t heads) {
  if (x.rank() != 3) reject(str_cat("an operand has ", x.rank(), " axes; [batch, sequence, hidden] is needed"));
  if (heads < 1) reject("an operand of three axes needs the number of heads");
  if (length_of(x, 2) % heads != 0)
    reject(str_cat("hidden size ", length_of(x, 2), " is no multiple of ", heads, " heads"));
  return client::permute(client::reshape(x, {x.dim(0), x.dim(1), heads, -1}), {0, 2, 1, 3});
}

Tensor join_heads(const Tensor& x) {
  return client::reshape(client::permute(x, {0, 2, 1, 3}), {x.dim(0), x.dim(2), -1});
}

namespace {

Values rotary_embedding(NodeContext& node) {
  const bool interleaved = node.integer("interleaved", 0) != 0;
  const std::int64_t turned = node.integer("rotary_embedding_dim", 0);
  const std::int64_t heads = node.integer("num_heads", 0);
  const Tensor& x = node.tensor(0);
  const bool joined = x.rank() == 3;
  const Tensor split = joined ? split_heads(x, heads) : x;
  if (split.rank() != 4) reject("the input must have three or four axes");
  // Caches of every position, of which those of the ids are taken, or one row for each item and place.
  const auto rows = [&](std::size_t index) {
    Tensor cache = node.tensor(index);
    if (node.has_input(3)) cache = client::embedding(cache, node.tensor(3));
    if (cache.rank() != 3)
      reject("the caches must be [positions, size / 2], or [batch, sequence, size / 2] without ids");
    return client::unsqueeze(cache, {1});
  };
  const Tensor cos = rows(1), sin = rows(2);
  if (turned != 0 && turned != 2 * length_of(cos, -1)) reject("cos_cache has not rotary_embedding_dim / 2 columns");
  const Tensor y = client::rotary_embedding(split, cos, sin, interleaved);
  return {Value(joined ? join_heads(y) : y)};
}

struct Scores {
  Tensor products, capped, masked, weights;  // as qk_matmul_output_mode 0 to 3 counts them
};

// How far a query sees to both sides of its own place; nothing: without bound (onnx's text of operator 25).
struct Windows {
  std::optional<std::int64_t> left, right;
};

constexpr int kWindows = 25;  // first opset of Attention's windows

Windows windows_of(NodeContext& node) {
  if (node.opset() < kWindows) return {};
  const auto read = [&](std::string_view name) -> std::optional<std::int64_t> {
    const std::int64_t window = node.integer(name, -1);
    if (window < -1) reject(str_cat(name, " is ", window, "; expected a number from 0 on, or -1 for no bound"));
    if (window < 0) return std::nullopt;
    return window;
  };
  return {read("left_window_size"), read("right_window_size")};
}

// Which of `key`s a query at `place` sees, both of one integer type.
Tensor within(const Windows& windows, const Tensor& place, const Tensor& key) {
  Tensor seen;
  if (windows.left) seen = client::less_equal(place - *windows.left, key);
  if (windows.right) {
    const Tensor before = client::less_equal(key, place + *windows.right);
    seen = seen.empty() ? before : client::bit_and(seen, before);
  }
  return seen;
}

// What is added to scores: 0 or -inf for what may be seen, or numbers. Empty: nothing.
Tensor added_scores(const Tensor& mask, const Tensor& q, const Tensor& k, const client::Dim& past, bool causal) {
  const DType dtype = widened(q).dtype();
  const Tensor none = client::full({}, 0.0, dtype), never = client::full({}, -INFINITY, dtype);
  Tensor added;
  if (!mask.empty())
    added = mask.dtype() == DType::kBool ? client::where(mask, none, never) : client::cast(mask, dtype);
  if (causal) {
    const Tensor place = client::arange(q.dim(2), DType::kI64) + client::dim_value(past),
                 key = client::arange(k.dim(2), DType::kI64);
    const Tensor seen = client::less_equal(key, client::unsqueeze(place, {1}));
    added = added.empty() ? client::where(seen, none, never) : added + client::where(seen, none, never);
  }
  return added;
}

// Step by step, for who wants to see a step or caps scores. In f32 or f64.
Scores scores_of(const Tensor& q, const Tensor& k, const Tensor& added, double scale, double softcap) {
  const std::int64_t shared = length_of(q, 1) / length_of(k, 1);
  const Tensor keys = client::repeat_interleave(widened(k), shared, 1);
  const double root = std::sqrt(scale);
  Scores scores;
  scores.products = client::matmul(widened(q) * root, client::permute(keys, {0, 1, 3, 2}) * root);
  // Before the mask: what is masked stays out however small the cap is (version 2 of onnx's text of operators 23, 24).
  scores.capped = softcap == 0 ? scores.products : client::tanh(scores.products / softcap) * softcap;
  scores.masked = added.empty() ? scores.capped : scores.capped + added;
  // A row that sees nothing has no weights.
  const Tensor greatest = client::reduce_max(scores.masked, {-1}, true);
  scores.weights = client::where(client::equal(greatest, -INFINITY), 0.0, client::softmax(scores.masked, -1));
  return scores;
}

// The mask with minus infinity, or false, wherever `seen` is false.
Tensor narrowed(const Tensor& mask, const Tensor& seen) {
  if (mask.empty()) return seen;
  return mask.dtype() == DType::kBool ? client::bit_and(mask, seen) : client::where(seen, mask, -INFINITY);
}

struct Seen {
  bool causal;
  Windows windows;
  client::Dim past;
};

// What the operator says of which keys are seen, bool or scores, or nothing: its mask, which may end before the keys do
// (those are not seen), its windows, and how many keys of each item are no padding. With that number, a query's place is
// counted from the end: the queries are the last ones before the padding (onnx's text of operators 24 and 25). What is
// causal by places from the begin is not in it.
Tensor mask_of(const NodeContext& node, const Tensor& q, const Tensor& k, const Seen& how) {
  const client::Dim keys = k.dim(2);
  Tensor mask = node.tensor_or_empty(3);
  if (!mask.empty() && mask.rank() > 0 && !(mask.dim(-1) == keys) && !(mask.dim(-1) == client::Dim(1))) {
    const client::Dim missing = keys - mask.dim(-1);
    if (missing.min() < 0) reject(str_cat("the mask is ", to_string(mask.shape()), " for ", keys.to_string(), " keys"));
    client::Shape before(static_cast<std::size_t>(mask.rank()), client::Dim(0)), after = before;
    after.back() = missing;
    mask = client::pad(mask, before, after, mask.dtype() == DType::kBool ? 0.0 : -INFINITY);
  }
  const bool has_windows = how.windows.left || how.windows.right;
  if (!node.has_input(6)) {
    if (!has_windows) return mask;
    const Tensor place = client::arange(q.dim(2), DType::kI64) + client::dim_value(how.past);
    return narrowed(mask, within(how.windows, client::unsqueeze(place, {1}), client::arange(keys, DType::kI64)));
  }
  const Tensor count = client::reshape(node.tensor(6), {k.dim(0), 1, 1, 1});
  const Tensor key = client::arange(keys, count.dtype());
  Tensor is_key = client::less(key, count);  // [B, 1, 1, keys]
  const Tensor place = client::unsqueeze(client::arange(q.dim(2), count.dtype()), {1}) + count -
                       client::dim_value(q.dim(2), count.dtype());  // [B, 1, queries, 1]
  if (how.causal) is_key = client::bit_and(is_key, client::less_equal(key, place));
  if (has_windows) is_key = client::bit_and(is_key, within(how.windows, place, key));
  return narrowed(mask, is_key);
}

Values attention(NodeContext& node) {
  const std::int64_t heads = node.integer("q_num_heads", 0), key_heads = node.integer("kv_num_heads", 0);
  const bool causal = node.integer("is_causal", 0) != 0;
  const double softcap = node.real("softcap", 0), given_scale = node.real("scale", 0);
  const std::int64_t shown = node.integer("qk_matmul_output_mode", 0);
  const std::int64_t precision = node.integer("softmax_precision", 0);
  const Windows windows = windows_of(node);
  if (precision != 0 && !is_float(dtype_from_onnx(precision))) reject("softmax_precision is no floating-point type");
  const bool joined = node.input(0).rank() == 3;
  const auto in_heads = [&](std::size_t i, std::int64_t number) {
    return node.input(i).rank() == 3 ? split_heads(node.tensor(i), number) : node.tensor(i);
  };
  const Tensor q = in_heads(0, heads);
  Tensor k = in_heads(1, key_heads), v = in_heads(2, key_heads);
  if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4) reject("query, key and value must have three or four axes");
  client::Dim past = 0;
  if (node.has_input(4) != node.has_input(5)) reject("past_key and past_value come together");
  if (node.has_input(4) && node.has_input(6)) reject("past_key and nonpad_kv_seqlen exclude each other");
  if (node.has_input(4)) {
    past = node.tensor(4).dim(2);
    k = client::cat({node.tensor(4), k}, 2);
    v = client::cat({node.tensor(5), v}, 2);
  }
  const Tensor mask = mask_of(node, q, k, {causal, windows, past});
  const bool causal_by_place = causal && !node.has_input(6);
  const double scale = given_scale != 0 ? given_scale : 1 / std::sqrt(static_cast<double>(length_of(q, 3)));
  Tensor y, seen;
  if (softcap != 0 || node.wants_output(3)) {
    const Scores scores = scores_of(q, k, added_scores(mask, q, k, past, causal_by_place), scale, softcap);
    const Tensor* const steps[] = {&scores.products, &scores.capped, &scores.masked, &scores.weights};
    if (shown < 0 || shown > 3) reject(str_cat("qk_matmul_output_mode is ", shown, "; expected 0 to 3"));
    seen = client::cast(*steps[shown], q.dtype());
    const Tensor values = client::repeat_interleave(widened(v), length_of(q, 1) / length_of(v, 1), 1);
    y = client::cast(client::matmul(scores.weights, values), q.dtype());
  } else {
    client::AttentionConfig config{.causal = causal_by_place, .past = past, .scale = scale};
    config.mask = mask;
    y = client::scaled_dot_product_attention(q, k, v, config);
  }
  return {Value(joined ? join_heads(y) : y), Value(k), Value(v), seen.empty() ? Value() : Value(seen)};
}

// Scores and weights are computed in f32, given to the graphs in the precision that they ask for.
Values flex_attention(NodeContext& node) {
  const std::int64_t precision = node.integer("softmax_precision", 0);
  if (precision != 0 && !is_float(dtype_from_onnx(precision))) reject("softmax_precision is no floating-point type");
  const DType given = node.tensor(0).dtype(), wanted = precision != 0 ? dtype_from_onnx(precision) : DType::kF32;
  const DType full = given == DType::kF64 || wanted == DType::kF64 ? DType::kF64 : DType::kF32;
  client::FlexAttentionConfig config;
  if (node.has("scale")) config.scale = node.real("scale", 0);
  const auto change = [&](std::string_view name) -> client::Activation {
    if (!node.has(name)) return {};
    const ::hearth_onnx::GraphProto& graph = node.graph(name);
    return [&node, &graph, name, precision, wanted](const Tensor& x) {
      const Tensor shown = precision != 0 ? client::cast(x, wanted) : x;
      const Values made = node.scope().run_nested(graph, {Value(shown)});
      if (made.size() != 1) reject(str_cat("'", name, "' has ", made.size(), " outputs; expected one"));
      return client::cast(made[0].tensor(), x.dtype());
    };
  };
  config.scores = change("score_mod");
  config.weights = change("prob_mod");
  const Tensor y = client::flex_attention(client::cast(node.tensor(0), full), client::cast(node.tensor(1), full),
                                          client::cast(node.tensor(2), full), config);
  return {Value(client::cast(y, node.tensor(2).dtype()))};
}

Values linear_attention(NodeContext& node) {
  const std::int64_t heads = node.required_integer("q_num_heads"), states = node.required_integer("kv_num_heads");
  const double scale = node.real("scale", 0);
  const std::string rule = node.text("update_rule", "gated_delta");
  node.integer("chunk_size", 64);  // of methods that take several steps at a time
  const bool is_gated = rule == "gated" || rule == "gated_delta", is_delta = rule == "delta" || rule == "gated_delta";
  if (!is_gated && !is_delta && rule != "linear") {
    reject(str_cat("update_rule is '", rule, "'; expected linear, gated, delta or gated_delta"));
  }
  const auto check = [&](std::size_t index, std::string_view name, bool needed) {
    if (node.has_input(index) == needed) return;
    reject(str_cat("update_rule '", rule, "' ", needed ? "needs" : "has no", " input '", name, "'"));
  };
  check(4, "decay", is_gated);
  check(5, "beta", is_delta);
  if (heads < 1 || states < 1 || heads % states != 0)
    reject(str_cat("q_num_heads is ", heads, ", kv_num_heads ", states, "; expected a multiple of it"));
  client::LinearAttentionConfig config;
  config.past = node.tensor_or_empty(3);
  if (scale != 0) config.scale = scale;
  const Tensor q = split_heads(node.tensor(0), heads), k = split_heads(node.tensor(1), states),
               v = split_heads(node.tensor(2), states);
  if (is_gated) config.decay = split_heads(node.tensor(4), states);
  if (is_delta) {
    const Tensor& beta = node.tensor(5);
    config.beta = split_heads(beta, beta.rank() == 3 && beta.dim(2) == client::Dim(1) ? 1 : states);
  }
  const client::LinearAttentionResult made = client::linear_attention(q, k, v, config);
  return {Value(join_heads(made.y)), Value(made.state)};
}

Values causal_conv(NodeContext& node) {
  const std::string activation = node.text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    reject(str_cat("activation is '", activation, "'; expected none, silu or swish"));
  const client::CausalConvResult made =
      client::causal_conv(node.tensor(0), node.tensor(1), node.tensor_or_empty(2), node.tensor_or_empty(3));
  return {Value(activation == "none" ? made.y : client::silu(made.y)), Value(made.state)};
}

constexpr OperatorEntry kOperators[] = {{"Attention", attention, 23, 25},
                                        {"RotaryEmbedding", rotary_embedding, 23},
                                        {"LinearAttention", linear_attention, 27},
                                        {"CausalConvWithState", causal_conv, 27}};
constexpr OperatorEntry kPreview[] = {{"FlexAttention", flex_attention}};

}  // namespace

std::span<const OperatorEntry> attention_operators() { return kOperators; }
std::span<const OperatorEntry> preview_operators() { return kPreview; }

}  // namespace hearth::onnx
