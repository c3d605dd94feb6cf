#include "tests/bench/compile_time_graphs.h"

#include <cmath>
#include <stdexcept>
#include <string>

#include "client/trace/encoded_graph.h"
#include "hearth/ops.h"

namespace hearth::bench {
namespace {

using client::Tensor;

constexpr std::int64_t kRows = 24;
constexpr std::int64_t kWidth = 32;

class Layer {
 public:
  Layer(int number, std::int64_t width) : name_("layer" + std::to_string(number)), width_(width) {}

  Tensor run(Tensor x, std::int64_t next_width) {
    x = named("attention/residual", [&] { return x + attention(norm("attention/norm", x)); });
    x = named("mlp/residual", [&] { return x + mlp(norm("mlp/norm", x)); });
    return next_width == width_ ? x : dense("resize", x, next_width);
  }

 private:
  Tensor attention(const Tensor& x) {
    const Tensor q = dense("attention/query", x, width_), k = dense("attention/key", x, width_);
    const Tensor v = dense("attention/value", x, width_);
    const Tensor scores = named("attention/scores", [&] {
      return client::matmul(q, client::transpose(k)) * (1 / std::sqrt(static_cast<double>(width_)));
    });
    const Tensor weights = named("attention/softmax", [&] { return client::softmax(scores, -1); });
    const Tensor mixed = named("attention/mix", [&] { return client::matmul(weights, v); });
    return dense("attention/out", mixed, width_);
  }

  Tensor mlp(const Tensor& x) {
    const Tensor up = dense("mlp/up", x, 4 * width_);
    return dense("mlp/down", named("mlp/gelu", [&] { return client::gelu(up); }), width_);
  }

  Tensor norm(const std::string& op, const Tensor& x) {
    const Tensor scale = weight(op + "/scale", {width_}), bias = weight(op + "/bias", {width_});
    return named(op, [&] { return client::layer_norm(x, scale, bias); });
  }

  Tensor dense(const std::string& op, const Tensor& x, std::int64_t to) {
    const std::int64_t from = x.shape().back().value();
    const Tensor w = weight(op + "/weight", {to, from}), b = weight(op + "/bias", {to});
    return named(op, [&] { return client::linear(x, w, b); });
  }

  // Only names and shapes matter to the compiler: all weights borrow the same zeros.
  Tensor weight(const std::string& op, const client::Shape& shape) {
    static const std::string zeros(16 << 20, '\0');
    std::size_t bytes = sizeof(float);
    for (const client::Dim& dim : shape) bytes *= static_cast<std::size_t>(dim.value());
    return client::parameter(name_ + "/" + op, shape, DType::kF32, {zeros.data(), bytes, nullptr});
  }

  template <class F>
  Tensor named(const std::string& op, F record) {
    const client::ScopedLocation scope("node '" + name_ + "/" + op + "'");
    return record();
  }

  std::string name_;
  std::int64_t width_;
};

}  // namespace

v1::Graph repeated_layers(int num_layers, Widths widths) {
  auto width = [&](int layer) { return widths == Widths::kEqual ? kWidth : kWidth + layer; };
  Tensor x = client::input("x", {kRows, width(0)}, DType::kF32);
  for (int i = 0; i < num_layers; ++i) x = Layer(i, width(i)).run(x, width(i + 1));
  absl::StatusOr<client::EncodedGraph> traced = client::encode_graph({{"y", x}});
  if (!traced.ok()) throw std::runtime_error(traced.status().ToString());
  return traced->graph;
}

}  // namespace hearth::bench
