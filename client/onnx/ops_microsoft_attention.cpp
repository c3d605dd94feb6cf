// Attention of the domain com.microsoft. Heads: query, key and value are [B, S, heads * size] and become [B, heads, S,
// size]. Keys and values of earlier calls come in as `past` and go out, with the new ones, as `present`.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "client/onnx/kv_cache.h"
#include "client/onnx/operators.h"
#include "client/onnx/quantized_products.h"
#include "client/onnx/reject.h"
#include "hearth/ops/attention.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/quantize.h"

namespace hearth::onnx {
namespace {

using client::Tensor;

std::int64_t length_of(const Tensor& x, std::int64_t axis) {
  if (!x.dim(axis).is_const()) reject_unsupported("a symbolic length in attention");
  return x.dim(axis).value();
}

std::int64_t required_heads(NodeContext& node, std::string_view attribute) {
  const std::int64_t heads = node.required_integer(attribute);
  if (heads < 1) reject(str_cat("attribute ", attribute, " is ", heads, "; it must be positive"));
  return heads;
}

// Turns the heads x [B, heads, S, size] at positions [B, S] or [S] by rows of the caches [positions, R / 2].
Tensor rotated(const Tensor& x, const Tensor& positions, const Tensor& cos_cache, const Tensor& sin_cache,
               bool interleaved) {
  const auto rows = [&](const Tensor& cache) {
    const Tensor taken = client::embedding(cache, positions);
    return taken.rank() == 3 ? client::unsqueeze(taken, {1}) : taken;
  };
  return client::rotary_embedding(x, rows(cos_cache), rows(sin_cache), interleaved);
}

Values rotary_embedding(NodeContext& node) {
  node.expect_integer("is_packed_batching", 0);
  if (node.real("scale", 1.0) != 1.0) reject_unsupported("attribute scale other than 1");
  const bool interleaved = node.integer("interleaved", 0) != 0;
  const std::int64_t turned = node.integer("rotary_embedding_dim", 0);
  std::int64_t heads = node.integer("num_heads", 0);
  const Tensor& x = node.tensor(0);
  const std::int64_t pairs = length_of(node.tensor(2), -1);
  if (turned != 0 && turned != 2 * pairs) reject("cos_cache does not have rotary_embedding_dim / 2 columns");
  const bool joined = x.rank() == 3;
  if (joined && heads == 0) heads = length_of(x, 2) / (2 * pairs);
  const Tensor split = joined ? split_heads(x, std::max<std::int64_t>(heads, 1)) : x;
  if (split.rank() != 4) reject("the input must have three or four axes");
  Tensor positions = node.tensor(1);
  if (positions.rank() == 1) positions = positions + client::arange(split.dim(2), positions.dtype());
  const Tensor y = rotated(split, positions, node.tensor(2), node.tensor(3), interleaved);
  return {Value(joined ? join_heads(y) : y)};
}

// A mask of what is a key and what is padding: [B] lengths, [B, L] or [B, S, L], as scores added [.., S, L].
Tensor padding_scores(const Value& given, const Tensor& keys, double filter) {
  const Tensor& mask = given.tensor();
  const client::Dim batch = keys.dim(0), length = keys.dim(2);
  Tensor visible;
  if (mask.rank() == 1 && mask.dim(0) == batch) {
    const Tensor position = client::arange(length, mask.dtype());
    visible = client::unsqueeze(client::less(position, client::unsqueeze(mask, {1})), {1, 2});
  } else if (mask.rank() == 2 && mask.dim(1) == length) {
    visible = client::unsqueeze(client::not_equal(mask, 0), {1, 2});
  } else if (mask.rank() == 3 && mask.dim(2) == length) {
    visible = client::unsqueeze(client::not_equal(mask, 0), {1});
  } else {
    reject_unsupported(str_cat("a mask of shape ", to_string(given.shape()), " for ",
                               to_string(client::const_shape(keys.shape())), " keys"));
  }
  return client::where(visible, client::full({}, 0.0, DType::kF32), filter);
}

struct Heads {
  Tensor q, k, v;  // [B, heads, .., size]
  client::Dim past = 0;
};

// Puts what earlier calls left before the new keys and values.
void prepend(Heads& heads, const Tensor& past_k, const Tensor& past_v) {
  heads.past = past_k.dim(2);
  if (heads.past == client::Dim(0)) return;
  heads.k = client::cat({past_k, heads.k}, 2);
  heads.v = client::cat({past_v, heads.v}, 2);
}

// Reads scale, mask_filter_value and unidirectional; masks and biases are inputs `padding` and `bias`.
Tensor attend(NodeContext& node, const Heads& heads, std::size_t padding, std::size_t bias) {
  client::AttentionConfig config;
  const double scale = node.real("scale", 0);
  if (scale != 0) config.scale = scale;
  config.causal = node.integer("unidirectional", 0) != 0;
  config.past = heads.past;
  const double filter = node.real("mask_filter_value", -10000.0);
  if (node.has_input(padding)) config.mask = padding_scores(node.input(padding), heads.k, filter);
  if (node.has_input(bias)) {
    const Tensor& added = node.tensor(bias);
    config.mask = config.mask.empty() ? added : config.mask + widened(added);
  }
  return join_heads(client::scaled_dot_product_attention(heads.q, heads.k, heads.v, config));
}

// Queries, keys and values as `sizes` columns of `projected`; a mask and a past are inputs `padding` and `past`.
Values attention_of(NodeContext& node, const Tensor& projected, const Ints& sizes, std::size_t padding,
                    std::size_t past, std::size_t bias) {
  const std::int64_t num_heads = required_heads(node, "num_heads");
  const std::vector<Tensor> parts = client::split(projected, sizes, -1);
  Heads heads{split_heads(parts[0], num_heads), split_heads(parts[1], num_heads), split_heads(parts[2], num_heads)};
  if (node.has_input(past))
    prepend(heads, client::select(node.tensor(past), 0, 0), client::select(node.tensor(past), 0, 1));
  Values outputs = {Value(attend(node, heads, padding, bias))};
  if (node.wants_output(1)) outputs.emplace_back(client::stack({heads.k, heads.v}, 0));
  return outputs;
}

// Projections by bytes: input 0 times input 1, with a scale each (3, 4) and zero points (6, 7).
Values quantized_attention(NodeContext& node) {
  node.expect_integer("do_rotary", 0);
  node.expect_integer("past_present_share_buffer", 0);
  const Tensor sum =
      client::matmul_integer(node.tensor(0), node.tensor(1), scalar_or_empty(node, 6), node.tensor_or_empty(7));
  const Tensor projected =
      client::cast(sum, DType::kF32) * (scalar_scale(node, 3, "input_scale") * node.tensor(4)) + node.tensor(2);
  const std::int64_t width = length_of(projected, -1);
  if (width % 3 != 0) reject(str_cat("the weights have ", width, " columns, no multiple of 3"));
  constexpr std::size_t kNone = 64;
  return attention_of(node, projected, Ints(3, width / 3), 5, 8, kNone);
}

Values attention(NodeContext& node) {
  node.expect_integer("do_rotary", 0);
  node.expect_integer("past_present_share_buffer", 0);
  if (node.has_input(6)) reject_unsupported("past_sequence_length (input 6)");
  node.expect_integer("rotary_embedding_dim", 0);
  // The projections are edges of the graph in ONNX Runtime, too: rounded.
  Tensor projected = client::matmul(node.wide(0), node.wide(1));
  if (node.has_input(2)) projected = projected + node.wide(2);
  projected = node.rounded(projected);
  const std::int64_t width = length_of(projected, -1);
  const Ints sizes = node.integers("qkv_hidden_sizes").value_or(Ints(3, width / 3));
  if (sizes.size() != 3 || sizes[0] + sizes[1] + sizes[2] != width) {
    reject(str_cat("hidden sizes ", to_string(sizes), " do not add up to ", width, ", the columns of the weights"));
  }
  return attention_of(node, projected, sizes, 3, 4, 5);
}

Values multi_head_attention(NodeContext& node) {
  const std::int64_t num_heads = required_heads(node, "num_heads");
  if (!node.has_input(1) || !node.has_input(2)) reject_unsupported("packed query, key and value");
  std::vector<Tensor> parts = {node.tensor(0), node.tensor(1), node.tensor(2)};
  if (node.has_input(3)) {  // one vector for all three
    Ints sizes;
    for (const Tensor& part : parts) {
      if (part.rank() != 3) reject_unsupported("a bias for keys that are split into heads already");
      sizes.push_back(length_of(part, 2));
    }
    const std::vector<Tensor> biases = client::split(node.tensor(3), sizes, 0);
    for (std::size_t i = 0; i < 3; ++i) parts[i] = parts[i] + biases[i];
  }
  const auto in_heads = [&](const Tensor& x) { return x.rank() == 4 ? x : split_heads(x, num_heads); };
  Heads heads{in_heads(parts[0]), in_heads(parts[1]), in_heads(parts[2])};
  if (node.has_input(6)) prepend(heads, node.tensor(6), node.tensor(7));
  Values outputs = {Value(attend(node, heads, 4, 5))};
  outputs.emplace_back(heads.k);
  outputs.emplace_back(heads.v);
  return outputs;
}

// Queries, keys and values of grouped heads, joined along the last axis of input 0 where 1 and 2 are left out.
Heads grouped_heads(NodeContext& node, std::int64_t num_heads, std::int64_t num_key_heads) {
  if (node.has_input(1) != node.has_input(2)) reject("key and value come together");
  Tensor q = node.tensor(0), k = node.tensor_or_empty(1), v = node.tensor_or_empty(2);
  if (k.empty()) {
    const std::int64_t width = length_of(q, -1), all = num_heads + 2 * num_key_heads;
    if (width % all != 0)
      reject(str_cat("packed query, key and value have ", width, " columns, no multiple of ", all, " heads"));
    const std::int64_t size = width / all;
    const std::vector<Tensor> parts =
        client::split(q, {num_heads * size, num_key_heads * size, num_key_heads * size}, -1);
    q = parts[0], k = parts[1], v = parts[2];
  }
  return {split_heads(q, num_heads), split_heads(k, num_key_heads), split_heads(v, num_key_heads)};
}

// How long `present` is: that of a cache which has room for all, or the past and what is new.
client::Dim present_length(NodeContext& node, const client::Dim& past, const client::Dim& fresh) {
  const std::optional<Lengths> known = node.has_input(6) ? node.input(6).lengths() : std::nullopt;
  if (!known || known->elements.size() != 1) return past + fresh;
  const client::Dim& total = known->elements[0];
  return is_at_least(past, total) ? past : total == past + fresh ? total : max(past, total);
}

// Keys and values are written behind those of the past, at each item's own place; query t of an item sees those up to
// its own. seqlens_k (input 5) holds the place of each item's last key.
Values group_query_attention(NodeContext& node) {
  const std::int64_t num_heads = required_heads(node, "num_heads");
  const std::int64_t num_key_heads = required_heads(node, "kv_num_heads");
  const std::int64_t window = node.integer("local_window_size", -1);
  // Many exporters write what is not asked for.
  if (const std::int64_t smooth = node.integer("smooth_softmax", -1); smooth > 0)
    reject_unsupported(str_cat("attribute smooth_softmax = ", smooth));
  node.expect_integer("qk_output", 0);
  node.expect_integer("kv_cache_bit_width", 0);
  for (const std::string_view name : {"k_quant_type", "v_quant_type"}) {
    const std::string type = node.text(name, "NONE");
    if (type != "NONE" && !type.empty()) reject_unsupported(str_cat("attribute ", name, " = '", type, "'"));
  }
  for (std::size_t i = 11; i < node.num_inputs(); ++i) {
    if (node.has_input(i)) reject_unsupported(str_cat("input ", i));
  }
  Heads heads = grouped_heads(node, num_heads, num_key_heads);
  const client::Dim batch = heads.q.dim(0), fresh = heads.q.dim(2);
  if (node.has_input(3) != node.has_input(4)) reject("past_key and past_value come together");
  const client::Dim past = node.has_input(3) ? node.tensor(3).dim(2) : client::Dim(0);
  const bool has_past = !(past == client::Dim(0));
  const Tensor last = client::cast(client::reshape(node.tensor(5), {batch}), DType::kI64);
  // Shorter items of a prompt have no past, either.
  const Tensor begin =
      has_past ? client::maximum(last + 1 - client::dim_value(fresh), 0) : client::full_i64({batch}, 0, DType::kI64);
  const Tensor own_place = client::unsqueeze(begin, {1}) + client::arange(fresh, DType::kI64);  // [B, S]
  const bool interleaved = node.integer("rotary_interleaved", 0) != 0;
  if (node.integer("do_rotary", 0) != 0) {
    const Tensor positions = node.has_input(9) ? node.tensor(9)
                             : has_past        ? own_place
                                               : client::arange(fresh, DType::kI64);
    heads.q = rotated(heads.q, positions, node.tensor(7), node.tensor(8), interleaved);
    heads.k = rotated(heads.k, positions, node.tensor(7), node.tensor(8), interleaved);
  }
  if (has_past) {
    const client::Dim length = present_length(node, past, fresh);
    // One item that follows its past at once, which is all that the operator has without room to spare.
    const bool follows = batch == client::Dim(1) && length == past + fresh;
    if (!fresh.is_const() && !follows)
      reject_unsupported(str_cat("a past and ", fresh.to_string(), " new positions of ", batch.to_string(),
                                 " items (give ", "one length, or one item whose cache has no room to spare)"));
    const auto present = [&](const Tensor& cache, const Tensor& more) {
      if (follows) return client::cat({cache, more}, 2);
      const Tensor roomy = length == past ? cache : client::pad(cache, {0, 0, 0, 0}, {0, 0, length - past, 0});
      return written(roomy, more, begin, 2, /*circular=*/false);
    };
    heads.k = present(node.tensor(3), heads.k);
    heads.v = present(node.tensor(4), heads.v);
  }
  client::AttentionConfig config{.causal = !has_past, .softcap = node.real("softcap", 0)};
  const double scale = node.real("scale", 0);
  if (scale != 0) config.scale = scale;
  const Tensor key = client::arange(heads.k.dim(2), DType::kI64);
  const Tensor query = client::reshape(own_place, {batch, 1, fresh, 1});
  config.mask =
      has_past ? client::less_equal(key, query) : client::less_equal(key, client::reshape(last, {batch, 1, 1, 1}));
  if (window > 0) config.mask = client::bit_and(config.mask, client::greater(key, query - window));
  if (node.has_input(10)) config.mask = client::where(config.mask, node.wide(10), -INFINITY);
  const Tensor y = client::scaled_dot_product_attention(heads.q, heads.k, heads.v, config);
  return {Value(join_heads(y)), Value(heads.k), Value(heads.v)};
}

constexpr OperatorEntry kOperators[] = {
    {"Attention", attention},
    {"QAttention", quantized_attention},
    {"MultiHeadAttention", multi_head_attention},
    {"GroupQueryAttention", group_query_attention},
    {"RotaryEmbedding", rotary_embedding},
};

}  // namespace

std::span<const OperatorEntry> microsoft_attention_operators() { return kOperators; }

}  // namespace hearth::onnx
