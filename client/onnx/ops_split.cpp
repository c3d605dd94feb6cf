// Split.
#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "hearth/ops/movement.h"

namespace hearth::onnx {
namespace {

using client::Dim;
using client::Shape;
using client::Tensor;

constexpr int kAxesInput = 13;  // first opset whose lengths are an input

// Along a symbolic axis, or in parts of symbolic lengths, which have to add up to the axis's for every value.
Values symbolic_split(NodeContext& node, const Value& x, std::int64_t axis) {
  const Shape from = x.dims();
  const Dim& length = from[static_cast<std::size_t>(axis)];
  const auto parts = static_cast<std::int64_t>(node.num_outputs());
  if (node.integer("num_outputs", parts) != parts) reject("num_outputs differs from the number of outputs");
  Shape lengths(static_cast<std::size_t>(parts));
  if (auto given = node.lengths("split", 1, kAxesInput)) {
    lengths = *std::move(given);
    if (static_cast<std::int64_t>(lengths.size()) != parts)
      reject(str_cat(lengths.size(), " lengths do not make ", parts, " parts"));
  } else {
    if (!(length % Dim(parts) == Dim(0)))
      reject_unsupported(str_cat(parts, " equal parts of the symbolic length ", length.to_string()));
    for (Dim& part : lengths) part = length / Dim(parts);
  }
  Dim end = 0;
  for (const Dim& part : lengths) end = end + part;
  if (!(end == length)) {
    reject_unsupported(str_cat("splitting the length ", length.to_string(), " into ", client::to_string(lengths),
                               ", which is not known to be all of it,"));
  }
  Values outputs;
  Shape low(from.size(), Dim(0)), high = from;
  for (const Dim& part : lengths) {
    high[static_cast<std::size_t>(axis)] = low[static_cast<std::size_t>(axis)] + part;
    outputs.emplace_back(client::shrink(x.tensor(), low, high));
    low[static_cast<std::size_t>(axis)] = high[static_cast<std::size_t>(axis)];
  }
  return outputs;
}

Values split(NodeContext& node) {
  const Value& x = node.input(0);
  const Shape from = x.dims();
  const std::int64_t axis = positive_axis(node.integer("axis", 0), static_cast<std::int64_t>(from.size()));
  const bool has_lengths = node.opset() >= kAxesInput && node.has_input(1) && node.input(1).is_lengths();
  if (!from[static_cast<std::size_t>(axis)].is_const() || has_lengths) return symbolic_split(node, x, axis);
  const std::int64_t length = from[static_cast<std::size_t>(axis)].value();
  const auto parts = static_cast<std::int64_t>(node.num_outputs());
  if (node.integer("num_outputs", parts) != parts) reject("num_outputs differs from the number of outputs");
  Ints lengths;
  const bool once_an_input = node.opset() == 1 && node.has_input(1);
  if (const auto given = node.integers("split", 1, once_an_input ? 1 : kAxesInput)) {
    lengths = *given;
  } else {
    const std::int64_t chunk = parts == 0 ? 0 : (length + parts - 1) / parts;
    if (node.opset() < 18 && chunk * parts != length) reject(str_cat(length, " does not split into ", parts));
    for (std::int64_t i = 0; i < parts; ++i) lengths.push_back(std::clamp(length - i * chunk, std::int64_t{0}, chunk));
  }
  const bool valid = static_cast<std::int64_t>(lengths.size()) == parts &&
                     std::all_of(lengths.begin(), lengths.end(), [&](auto n) { return n >= 0 && n <= length; }) &&
                     std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}) == length;
  if (!valid) {
    reject(str_cat("lengths ", to_string(lengths), " do not split ", length, " into ", parts, " parts"));
  }
  Values outputs;
  const bool is_known = (x.is_host() || x.is_lengths()) && client::is_const(from);
  if (!is_known || !fits(x.shape(), x.dtype())) {
    for (const Tensor& part : client::split(x.tensor(), lengths, axis)) outputs.emplace_back(part);
    return outputs;
  }
  View view{.shape = x.shape(), .strides = row_major_strides(x.shape())};
  for (std::int64_t part : lengths) {
    view.shape[static_cast<std::size_t>(axis)] = part;
    const auto move = [&](const HostTensor& known) { return host_view(known, view); };
    outputs.push_back(node.moved(x, move, str_cat(outputs.size())));
    view.offset += part * view.strides[static_cast<std::size_t>(axis)];
  }
  return outputs;
}

constexpr OperatorEntry kOperators[] = {{"Split", split}};

}  // namespace

std::span<const OperatorEntry> split_operators() { return kOperators; }

}  // namespace hearth::onnx
