#include "tests/integration/small_conformer.h"

#include <cmath>

#include "client/ops.h"

namespace hearth::integration {

using client::Dim;
using client::Shape;
using client::Tensor;

Tensor SmallConformer::weight(const std::string& name, Shape shape) {
  std::vector<float>& values = weights_[name];
  if (values.empty()) {
    std::uint64_t state = std::hash<std::string>{}(name);
    const std::int64_t size = client::num_elements(shape).value();
    for (std::int64_t i = 0; i < size; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      values.push_back(static_cast<float>(static_cast<double>(state >> 40) / (1 << 24) - 0.5) / 2);
    }
  }
  return client::parameter(name, std::move(shape), DType::kF32, client::bytes_of(values));
}

Tensor SmallConformer::norm(const Tensor& x, const std::string& name) {
  return client::layer_norm(x, weight(name + ".scale", {kWidth}) + 1, weight(name + ".bias", {kWidth}));
}

Tensor SmallConformer::project(const Tensor& x, const std::string& name, std::int64_t width) {
  return client::linear(x, weight(name + ".w", {width, x.dim(-1)}), weight(name + ".b", {width}));
}

Tensor SmallConformer::feed_forward(const Tensor& x, const std::string& name) {
  return x + 0.5 * project(client::silu(project(norm(x, name), name + ".a", 2 * kWidth)), name + ".b", kWidth);
}

Tensor SmallConformer::attend(const Tensor& x) {
  const Tensor y = norm(x, "att");
  const Shape heads = {x.dim(0), x.dim(1), kHeads, kWidth / kHeads};
  const auto split = [&](const std::string& name) {
    return client::permute(client::reshape(project(y, name, kWidth), heads), {0, 2, 1, 3});
  };
  const Tensor scores = client::matmul(split("q"), client::transpose(split("k"))) / std::sqrt(kWidth / kHeads);
  const Tensor mixed = client::permute(client::matmul(client::softmax(scores, -1), split("v")), {0, 2, 1, 3});
  return x + project(client::reshape(mixed, x.shape()), "o", kWidth);
}

Tensor SmallConformer::convolve(const Tensor& x) {
  const Tensor y = client::conv(client::transpose(norm(x, "conv")), weight("p1", {2 * kWidth, kWidth, 1}));
  const std::vector<Tensor> halves = client::split(y, {kWidth, kWidth}, 1);
  const Tensor gated = halves[0] * client::sigmoid(halves[1]);
  const Tensor depthwise =
      client::conv(gated, weight("dw", {kWidth, 1, 7}), {}, {.pads_begin = {3}, .pads_end = {3}, .groups = kWidth});
  return x + client::transpose(client::conv(client::silu(depthwise), weight("p2", {kWidth, kWidth, 1})));
}

client::NamedTensors SmallConformer::trace(const Dim& batch, const Dim& time) {
  const Tensor x = client::input("x", {batch, time, kWidth}, DType::kF32);
  const Tensor halved = client::conv(client::transpose(x), weight("sub", {kWidth, kWidth, 3}), {},
                                     {.strides = {2}, .pads_begin = {1}, .pads_end = {1}});
  const Tensor y = convolve(attend(feed_forward(client::transpose(halved), "ff1")));
  return {{"out", norm(feed_forward(y, "ff2"), "end")}};
}

}  // namespace hearth::integration
