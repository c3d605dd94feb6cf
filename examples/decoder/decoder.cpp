#include "examples/decoder/decoder.h"

#include <cmath>

namespace hearth::examples {

using namespace hearth::client;

Shape Decoder::cache_shape() const {
  return {config_.layers, config_.heads, config_.max_length, config_.width / config_.heads};
}

Tensor Decoder::norm(const Tensor& x, const std::string& name) const {
  // Weights around zero, as they are seeded: a norm's scale is around one.
  return layer_norm(x, weight(name + ".weight", {config_.width}) + 1.0, weight(name + ".bias", {config_.width}));
}

Tensor Decoder::project(const Tensor& x, const std::string& name, std::int64_t width) const {
  return matmul(x, weight(name + ".weight", {x.dim(-1), width})) + weight(name + ".bias", {width});
}

Tensor Decoder::heads_of(const Tensor& x, const std::string& name) const {
  const Tensor projected = project(x, name, config_.width);
  return permute(reshape(projected, {x.dim(0), config_.heads, config_.width / config_.heads}), {1, 0, 2});
}

Tensor Decoder::attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& seen,
                       const std::string& name) const {
  const double scale = 1 / std::sqrt(static_cast<double>(config_.width / config_.heads));
  const Tensor scores = where(seen, matmul(q, transpose(k)) * scale, -1e9);
  const Tensor mixed = permute(matmul(softmax(scores), v), {1, 0, 2});
  return project(reshape(mixed, {mixed.dim(0), config_.width}), name + ".o", config_.width);
}

Tensor Decoder::feed_forward(const Tensor& x, const std::string& name) const {
  return project(gelu(project(x, name + ".up", 4 * config_.width)), name + ".down", config_.width);
}

Tensor Decoder::embed(const Tensor& tokens, const Tensor& positions) const {
  return gather(weight("embed", {config_.vocabulary, config_.width}), tokens, 0) +
         gather(weight("positions", {config_.max_length, config_.width}), positions, 0);
}

Tensor Decoder::logits(const Tensor& x) const {
  return matmul(norm(x, "end"), weight("head", {config_.width, config_.vocabulary}));
}

NamedTensors Decoder::step(const Tensor& token, const Tensor& position, const Tensor& keys,
                           const Tensor& values) const {
  const Tensor places = iota({1, config_.max_length, 1}, 1, DType::kI64);
  const Tensor here = equal(places, reshape(position, {1, 1, 1}));
  const Tensor seen = transpose(less_equal(places, reshape(position, {1, 1, 1})));
  Tensor x = embed(token, position);
  std::vector<Tensor> next_keys;
  std::vector<Tensor> next_values;
  for (std::int64_t i = 0; i < config_.layers; ++i) {
    const std::string name = "layers." + std::to_string(i);
    const Tensor y = norm(x, name + ".norm1");
    next_keys.push_back(where(here, heads_of(y, name + ".k"), select(keys, 0, i)));
    next_values.push_back(where(here, heads_of(y, name + ".v"), select(values, 0, i)));
    x = x + attend(heads_of(y, name + ".q"), next_keys.back(), next_values.back(), seen, name);
    x = x + feed_forward(norm(x, name + ".norm2"), name);
  }
  const Tensor scores = logits(x);
  return {{"logits", scores},
          {"next_token", argmax(scores, -1)},
          {"next_position", position + 1},
          {"next_keys", stack(next_keys, 0)},
          {"next_values", stack(next_values, 0)}};
}

Tensor Decoder::forward(const Tensor& tokens) const {
  const Dim length = tokens.dim(0);
  const Tensor seen = less_equal(iota({length, length}, 1, DType::kI64), iota({length, length}, 0, DType::kI64));
  Tensor x = embed(tokens, arange(length));
  for (std::int64_t i = 0; i < config_.layers; ++i) {
    const std::string name = "layers." + std::to_string(i);
    const Tensor y = norm(x, name + ".norm1");
    x = x + attend(heads_of(y, name + ".q"), heads_of(y, name + ".k"), heads_of(y, name + ".v"), seen, name);
    x = x + feed_forward(norm(x, name + ".norm2"), name);
  }
  return logits(x);
}

absl::StatusOr<Generator> Generator::make(const DecoderConfig& config, const Weights& weights,
                                          const PrepareConfig& prepare) {
  const DecoderJit wrapper(Decoder(config, weights));
  const InputSpec one = InputSpec::i64({1});
  const InputSpec cache = InputSpec::f32(wrapper.model().cache_shape());
  auto jit = wrapper.prepare_with_config(one, one, cache, cache, prepare);
  if (!jit.ok()) return jit.status();
  for (const auto& [output, input] : {std::pair("next_token", "token"), std::pair("next_position", "position"),
                                      std::pair("next_keys", "keys"), std::pair("next_values", "values")}) {
    if (absl::Status carried = jit->carry(output, input); !carried.ok()) return carried;
  }
  return Generator(config, *std::move(jit));
}

absl::StatusOr<std::vector<std::int64_t>> Generator::generate(const std::vector<std::int64_t>& prompt,
                                                              std::size_t count) {
  if (prompt.empty()) return absl::InvalidArgumentError("the prompt is empty");
  if (prompt.size() + count > static_cast<std::size_t>(config_.max_length) + 1) {
    return absl::InvalidArgumentError("prompt and count are longer than the cache of " +
                                      std::to_string(config_.max_length));
  }
  for (std::int64_t token : prompt) {
    if (token >= 0 && token < config_.vocabulary) continue;
    return absl::InvalidArgumentError("token " + std::to_string(token) + " is outside the vocabulary of " +
                                      std::to_string(config_.vocabulary));
  }
  for (const char* state : {"position", "keys", "values"}) {
    if (absl::Status reset = jit_.set_carried(state); !reset.ok()) return reset;
  }
  std::vector<std::int64_t> tokens;
  for (std::size_t at = 0; tokens.size() < count; ++at) {
    if (at < prompt.size()) {
      const absl::Status given = jit_.set_carried("token", &prompt[at], sizeof(prompt[at]));
      if (!given.ok()) return given;
    }
    if (absl::Status ran = jit_.execute(); !ran.ok()) return ran;
    if (at + 1 < prompt.size()) continue;
    const auto next = jit_.output("next_token");
    if (!next.ok()) return next.status();
    tokens.push_back(*static_cast<const std::int64_t*>(next->data));
  }
  return tokens;
}

}  // namespace hearth::examples
