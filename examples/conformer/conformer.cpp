#include "examples/conformer/conformer.h"

#include <cmath>

namespace hearth::examples {

using namespace hearth::client;

Dim Conformer::encoded_length(const Dim& t) { return (((t - 1) / 2 + 1) - 1) / 2 + 1; }

Tensor Conformer::norm(const Tensor& x, const std::string& name) const {
  const Tensor scale = weight(name + ".weight", {config_.width});
  // Seeded weights are around zero; a norm's scale is around one.
  return layer_norm(x, weights_.is_seeded() ? scale + 1.0 : scale, weight(name + ".bias", {config_.width}));
}

Tensor Conformer::project(const Tensor& x, const std::string& name, std::int64_t width) const {
  return matmul(x, weight(name + ".weight", {x.dim(-1), width})) + weight(name + ".bias", {width});
}

Tensor Conformer::feed_forward(const Tensor& x, const std::string& name) const {
  return project(silu(project(x, name + ".a", config_.expansion * config_.width)), name + ".b", config_.width);
}

Tensor Conformer::rotate(const Tensor& x) const {
  const std::int64_t width = x.dim(-1).value();
  const std::int64_t half = width / 2;
  const Shape table = {x.dim(-2), half};
  const Tensor frequency = exp(iota(table, 1, DType::kF32) * (-2 * std::log(10000.0) / static_cast<double>(width)));
  const Tensor angle = iota(table, 0, DType::kF32) * frequency;
  const std::vector<Tensor> halves = split(x, {half, half}, -1);
  const Tensor rotated = cat({-halves[1], halves[0]}, -1);
  return x * cat({cos(angle), cos(angle)}, 1) + rotated * cat({sin(angle), sin(angle)}, 1);
}

Tensor Conformer::attention(const Tensor& x, const Tensor& mask, const std::string& name) const {
  const std::int64_t head = config_.width / config_.heads;
  const auto heads = [&](const std::string& part) {
    const Tensor projected = project(x, name + part, config_.width);
    return permute(reshape(projected, {x.dim(0), x.dim(1), config_.heads, head}), {0, 2, 1, 3});
  };
  Tensor scores = matmul(rotate(heads(".q")), transpose(rotate(heads(".k")))) / std::sqrt(static_cast<double>(head));
  if (!mask.empty()) scores = where(mask, scores, -1e9);
  const Tensor mixed = permute(matmul(softmax(scores), heads(".v")), {0, 2, 1, 3});
  return project(reshape(mixed, x.shape()), name + ".o", config_.width);
}

Tensor Conformer::convolution(const Tensor& x, const std::string& name) const {
  const std::int64_t width = config_.width;
  const std::int64_t pad = config_.kernel / 2;
  Tensor y =
      conv(transpose(x), weight(name + ".p1.weight", {2 * width, width, 1}), weight(name + ".p1.bias", {2 * width}));
  const std::vector<Tensor> halves = split(y, {width, width}, 1);
  y = conv(halves[0] * sigmoid(halves[1]), weight(name + ".dw.weight", {width, 1, config_.kernel}),
           weight(name + ".dw.bias", {width}), {.pads_begin = {pad}, .pads_end = {pad}, .groups = width});
  y = conv(silu(y), weight(name + ".p2.weight", {width, width, 1}), weight(name + ".p2.bias", {width}));
  return transpose(y);
}

Tensor Conformer::layer(const Tensor& x, const Tensor& mask, const std::string& name) const {
  Tensor y = x + feed_forward(norm(x, name + "n.0"), name + "ff1") * 0.5;
  y = y + attention(norm(y, name + "n.1"), mask, name + "att");
  y = y + convolution(norm(y, name + "n.2"), name + "conv");
  y = y + feed_forward(norm(y, name + "n.3"), name + "ff2") * 0.5;
  return norm(y, name + "n.4");
}

Tensor Conformer::subsample(const Tensor& mel) const {
  const ConvConfig halve = {.strides = {2}, .pads_begin = {1}, .pads_end = {1}};
  const std::int64_t width = config_.width;
  Tensor y = silu(conv(mel, weight("sub.0.weight", {width, config_.mels, 3}), weight("sub.0.bias", {width}), halve));
  y = silu(conv(y, weight("sub.1.weight", {width, width, 3}), weight("sub.1.bias", {width}), halve));
  return transpose(y);
}

Tensor Conformer::forward_batch(const Tensor& mel, const Tensor& lengths) const {
  Tensor x = subsample(mel);
  // A key is seen when it lies before its sequence's end.
  const Tensor end = floor_div(lengths + 3, 4);
  const Tensor position = iota({x.dim(0), x.dim(1)}, 1, DType::kI64);
  const Tensor valid = less(position, expand(unsqueeze(end, {1}), {x.dim(0), x.dim(1)}));
  const Tensor mask = reshape(valid, {x.dim(0), 1, 1, x.dim(1)});
  for (std::int64_t i = 0; i < config_.layers; ++i) x = layer(x, mask, "layers." + std::to_string(i) + ".");
  return transpose(x);
}

}  // namespace hearth::examples
