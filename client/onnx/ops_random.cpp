// Operators that draw random numbers. A node's numbers follow from its seed, or without one from its output's name:
// every replay gives the same ones.
#include <cstring>

#include "base/text.h"
#include "client/onnx/model_file.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/random.h"
#include "hearth_onnx.pb.h"

namespace hearth::onnx {
namespace {

using client::Shape;
using client::Tensor;

// FNV-1a.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

Tensor key_of(NodeContext& node, std::optional<std::uint64_t> seed) {
  node.set_random();
  return client::random_key(seed.value_or(hash_of(node.proto().output(0))));
}

// The attribute `seed`, a float.
Tensor seeded_key(NodeContext& node) {
  if (!node.has("seed")) return key_of(node, std::nullopt);
  const auto seed = static_cast<float>(node.real("seed", 0));
  std::uint32_t bits = 0;
  std::memcpy(&bits, &seed, sizeof(bits));
  return key_of(node, bits);
}

Shape dims(const Ints& shape) { return {shape.begin(), shape.end()}; }

DType float_type(NodeContext& node, DType fallback) {
  const DType dtype = node.has("dtype") ? dtype_from_onnx(node.integer("dtype", 0)) : fallback;
  if (!is_float(dtype)) reject(str_cat("the result's type is ", dtype_name(dtype), "; expected a float type"));
  return dtype;
}

Values uniform_in(NodeContext& node, const Ints& shape, DType dtype) {
  const double low = node.real("low", 0), high = node.real("high", 1);
  return {Value(client::random_uniform(dims(shape), seeded_key(node), low, high, dtype))};
}
Values normal_in(NodeContext& node, const Ints& shape, DType dtype) {
  const double mean = node.real("mean", 0), scale = node.real("scale", 1);
  return {Value(client::random_normal(dims(shape), seeded_key(node), mean, scale, dtype))};
}

Ints given_shape(NodeContext& node) {
  const auto shape = node.integers("shape");
  if (!shape) reject("attribute 'shape' is missing");
  return *shape;
}

Values uniform(NodeContext& node) { return uniform_in(node, given_shape(node), float_type(node, DType::kF32)); }
Values normal(NodeContext& node) { return normal_in(node, given_shape(node), float_type(node, DType::kF32)); }
Values uniform_like(NodeContext& node) {
  return uniform_in(node, node.input(0).shape(), float_type(node, node.input(0).dtype()));
}
Values normal_like(NodeContext& node) {
  return normal_in(node, node.input(0).shape(), float_type(node, node.input(0).dtype()));
}

Values bernoulli(NodeContext& node) {
  const DType dtype = node.has("dtype") ? dtype_from_onnx(node.integer("dtype", 0)) : node.input(0).dtype();
  return {Value(client::cast(client::random_bernoulli(node.tensor(0), seeded_key(node)), dtype))};
}

Values multinomial(NodeContext& node) {
  const DType dtype = dtype_from_onnx(node.integer("dtype", ::hearth_onnx::TensorProto::INT32));
  const std::int64_t num_samples = node.integer("sample_size", 1);
  return {Value(client::cast(client::random_multinomial(node.tensor(0), num_samples, seeded_key(node)), dtype))};
}

constexpr int kTrainingInput = 12;  // first opset with ratio and training_mode as inputs

Values dropped(NodeContext& node, std::optional<std::uint64_t> seed) {
  const Tensor& x = node.tensor(0);
  Tensor ratio = client::scalar(0.5, DType::kF32);
  if (node.has_input(1)) ratio = client::cast(client::reshape(node.tensor(1), {}), DType::kF32);
  const Tensor keep = client::random_bernoulli(client::expand(1.0 - ratio, x.shape()), key_of(node, seed));
  const Tensor scaled = x * client::cast(1.0 / (1.0 - ratio), x.dtype());
  return {Value(client::where(keep, scaled, client::scalar(0, x.dtype()))), Value(keep)};
}

// Identity unless training.
Values dropout(NodeContext& node) {
  std::optional<std::uint64_t> seed;
  if (node.has("seed")) seed = static_cast<std::uint64_t>(node.integer("seed", 0));
  if (node.opset() < kTrainingInput) node.real("ratio", 0.5);
  for (std::size_t i : {1, 2}) node.expect_no_input(i, i == 1 ? "ratio" : "training_mode", kTrainingInput);
  if (node.opset() < 10 && node.wants_output(1)) reject_unsupported("a mask of the input's type");
  if (node.opset() < 7 && node.integer("is_test", 0) == 0) {
    reject_unsupported("training (is_test = 0), which drops elements at random,");
  }
  const bool training = node.has_input(2) && node.known(2, "training_mode").integer(0) != 0;
  const bool keeps_all = node.has_input(1) && node.input(1).is_host() && node.input(1).host().computable() &&
                         node.input(1).host().real(0) == 0;
  if (training && !keeps_all) return dropped(node, seed);
  Values outputs = {node.input(0)};
  if (node.wants_output(1)) outputs.emplace_back(client::full_i64(node.input(0).dims(), 1, DType::kBool));
  return outputs;
}

constexpr OperatorEntry kOperators[] = {
    {"RandomUniform", uniform},
    {"RandomNormal", normal},
    {"RandomUniformLike", uniform_like},
    {"RandomNormalLike", normal_like},
    {"Bernoulli", bernoulli, 15},
    {"Multinomial", multinomial, 7},
    {"Dropout", dropout},
};

}  // namespace

std::span<const OperatorEntry> random_operators() { return kOperators; }

}  // namespace hearth::onnx
