// Fourier transforms, their windows and filters, and counts of n-grams.
#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"
#include "client/onnx/model_file.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/ngrams.h"
#include "hearth/ops/signal.h"

namespace hearth::onnx {
namespace {

using client::Tensor;

const HostTensor& known_scalar(const NodeContext& node, std::size_t index, std::string_view what) {
  const HostTensor& value = node.known(index, what);
  if (value.size() != 1) reject(str_cat(what, " must be one number"));
  return value;
}

constexpr int kAxisInput = 20;  // first opset of DFT; an attribute before

Values dft(NodeContext& node) {
  client::DftConfig config;
  if (node.opset() < kAxisInput) {
    config.axis = node.integer("axis", 1);
  } else {
    config.axis = node.has_input(2) ? known_scalar(node, 2, "axis").integer(0) : -2;
  }
  config.inverse = node.integer("inverse", 0) != 0;
  config.onesided = node.integer("onesided", 0) != 0;
  if (node.has_input(1)) {
    config.length = known_scalar(node, 1, "dft_length").integer(0);
    if (config.length < 1) reject(str_cat("dft_length ", config.length, " must be positive"));
  }
  return {Value(client::dft(node.tensor(0), config))};
}

Values stft(NodeContext& node) {
  const bool onesided = node.integer("onesided", 1) != 0;
  const std::int64_t step = known_scalar(node, 1, "frame_step").integer(0);
  std::optional<std::int64_t> length;
  if (node.has_input(3)) length = known_scalar(node, 3, "frame_length").integer(0);
  const Tensor& x = node.tensor(0);
  if (!node.has_input(2)) {
    if (!length || *length < 1) reject("neither a window nor a positive frame_length is given");
    return {Value(client::stft(x, client::full({*length}, 1.0, x.dtype()), step, onesided))};
  }
  if (length && Ints{*length} != node.input(2).shape()) {
    reject(str_cat("frame_length ", *length, " is not the length of the window ", to_string(node.input(2).shape())));
  }
  return {Value(client::stft(x, node.tensor(2), step, onesided))};
}

struct WindowShape {
  std::int64_t length;
  bool periodic;
  DType dtype;
};

WindowShape window_shape(NodeContext& node) {
  const bool periodic = node.integer("periodic", 1) != 0;
  const DType dtype = dtype_from_onnx(node.integer("output_datatype", 1));
  return {known_scalar(node, 0, "size").integer(0), periodic, dtype};
}

Values hann_window(NodeContext& node) {
  const WindowShape w = window_shape(node);
  return {Value(client::hann_window(w.length, w.periodic, w.dtype))};
}
Values hamming_window(NodeContext& node) {
  const WindowShape w = window_shape(node);
  return {Value(client::hamming_window(w.length, w.periodic, w.dtype, 25.0 / 46.0))};
}
Values blackman_window(NodeContext& node) {
  const WindowShape w = window_shape(node);
  return {Value(client::blackman_window(w.length, w.periodic, w.dtype))};
}

Values mel_weight_matrix(NodeContext& node) {
  client::MelConfig config;
  config.bins = known_scalar(node, 0, "num_mel_bins").integer(0);
  config.dft_length = known_scalar(node, 1, "dft_length").integer(0);
  config.sample_rate = known_scalar(node, 2, "sample_rate").integer(0);
  config.low_hertz = known_scalar(node, 3, "lower_edge_hertz").real(0);
  config.high_hertz = known_scalar(node, 4, "upper_edge_hertz").real(0);
  return {Value(client::mel_weight_matrix(config, dtype_from_onnx(node.integer("output_datatype", 1))))};
}

// The pool of an n-gram vectorizer: those of the wanted lengths, and where their counts go.
struct Pool {
  std::vector<Ints> grams;
  Ints columns;
  std::vector<double> weights;  // 1 when none are given
  std::int64_t width = 0;       // of the result
};

Pool read_pool(NodeContext& node) {
  const std::int64_t least = node.required_integer("min_gram_length"), most = node.required_integer("max_gram_length");
  const Ints counts = node.integers("ngram_counts").value_or(Ints());
  const Ints columns = node.integers("ngram_indexes").value_or(Ints());
  if (node.has("pool_strings")) reject_unsupported("a pool of strings");
  const Ints tokens = node.integers("pool_int64s").value_or(Ints());
  const auto weights = node.reals("weights");
  Pool pool;
  if (columns.empty()) reject("ngram_indexes is empty");
  for (std::int64_t column : columns) {
    if (column < 0 || column > 1 << 24) reject(str_cat("ngram_indexes holds ", column));
    pool.width = std::max(pool.width, column + 1);
  }
  if (weights && weights->size() != columns.size()) reject("weights and ngram_indexes differ in length");
  // ngram_counts[i] is where the n-grams of i + 1 tokens begin.
  std::size_t number = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto size = static_cast<std::int64_t>(i) + 1, total = static_cast<std::int64_t>(tokens.size());
    const std::int64_t end = i + 1 < counts.size() ? counts[i + 1] : total;
    if (counts[i] < 0 || end < counts[i] || end > total || (end - counts[i]) % size != 0) {
      reject(str_cat("ngram_counts ", to_string(counts), " does not divide a pool of ", total));
    }
    for (std::int64_t at = counts[i]; at < end; at += size, ++number) {
      if (number >= columns.size()) reject("ngram_indexes has fewer entries than the pool has n-grams");
      if (size < least || size > most) continue;
      pool.grams.emplace_back(tokens.begin() + at, tokens.begin() + at + size);
      pool.columns.push_back(columns[number]);
      pool.weights.push_back(weights ? (*weights)[number] : 1.0);
    }
  }
  return pool;
}

Values tfidf_vectorizer(NodeContext& node) {
  const std::string mode = node.text("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") reject(str_cat("mode '", mode, "' is unknown"));
  const std::int64_t max_skip = node.required_integer("max_skip_count");
  const Pool pool = read_pool(node);
  client::Shape shape = node.input(0).dims();
  if (shape.empty()) reject("the input is a scalar");
  if (pool.grams.empty() || client::num_elements(shape) == client::Dim(0)) {
    shape.back() = pool.width;
    return {Value(client::full(shape, 0.0, DType::kF32))};
  }
  Tensor counts = client::cast(client::count_ngrams(node.tensor(0), pool.grams, max_skip), DType::kF32);
  const Tensor weights = client::constant_f32({static_cast<std::int64_t>(pool.weights.size())},
                                              std::vector<float>(pool.weights.begin(), pool.weights.end()));
  if (mode == "IDF") counts = client::where(client::greater(counts, 0.0), weights, 0.0);
  if (mode == "TFIDF") counts = counts * weights;
  // One more column, of zeros, for the places of the result that no n-gram has.
  shape.back() = 1;
  const Tensor with_zero = client::cat({counts, client::full(shape, 0.0, DType::kF32)}, -1);
  Ints source(static_cast<std::size_t>(pool.width), static_cast<std::int64_t>(pool.columns.size()));
  for (std::size_t i = 0; i < pool.columns.size(); ++i) {
    std::int64_t& place = source[static_cast<std::size_t>(pool.columns[i])];
    if (place != static_cast<std::int64_t>(pool.columns.size())) reject_unsupported("two n-grams with one index");
    place = static_cast<std::int64_t>(i);
  }
  return {Value(client::gather(with_zero, client::constant_i64({pool.width}, source), -1))};
}

constexpr OperatorEntry kOperators[] = {
    {"DFT", dft, 17, 20},
    {"STFT", stft, 17},
    {"HannWindow", hann_window, 17},
    {"HammingWindow", hamming_window, 17},
    {"BlackmanWindow", blackman_window, 17},
    {"MelWeightMatrix", mel_weight_matrix, 17},
    {"TfIdfVectorizer", tfidf_vectorizer, 9},
};

}  // namespace

std::span<const OperatorEntry> signal_operators() { return kOperators; }

}  // namespace hearth::onnx
