// Sequences and optionals. How many values a sequence holds, which position an operator means, and whether an optional
// has a value are known while importing; none of these operators computes anything.
#include "base/text.h"
#include "client/onnx/model_file.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/onnx/value_parts.h"
#include "hearth_onnx.pb.h"

namespace hearth::onnx {
namespace {

Values construct(NodeContext& node) {
  Values elements;
  for (std::size_t i = 0; i < node.num_inputs(); ++i) elements.push_back(node.input(i));
  return {Value::sequence(std::move(elements))};
}

Values empty(NodeContext& node) {
  dtype_from_onnx(node.integer("dtype", ::hearth_onnx::TensorProto::FLOAT));
  return {Value::sequence({})};
}

// Input `index` in [0, limit), negative counted from `size`; `fallback` when it is omitted.
std::ptrdiff_t position(const NodeContext& node, std::size_t index, std::size_t size, std::size_t limit,
                        std::size_t fallback) {
  const auto length = static_cast<std::int64_t>(size);
  auto at = static_cast<std::int64_t>(fallback);
  if (node.has_input(index)) {
    const HostTensor& given = node.known(index, "the position");
    if (given.size() != 1) reject("the position must be one number");
    at = given.integer(0);
  }
  const std::int64_t from_begin = at < 0 ? at + length : at;
  if (from_begin < 0 || from_begin >= static_cast<std::int64_t>(limit)) {
    reject(str_cat("position ", at, " is out of range for a sequence of ", length));
  }
  return from_begin;
}

// A few bytes of a model say how many tensors there are to be.
void check_length(std::size_t length) {
  constexpr std::size_t kMost = 10'000;
  if (length > kMost) reject_unsupported(str_cat("a sequence of ", length, " tensors (at most ", kMost, ")"));
}

Values insert(NodeContext& node) {
  Values elements = node.input(0).elements();
  const std::size_t size = elements.size();
  check_length(size + 1);
  elements.insert(elements.begin() + position(node, 2, size, size + 1, size), node.input(1));
  return {Value::sequence(std::move(elements))};
}

Values erase(NodeContext& node) {
  Values elements = node.input(0).elements();
  const std::size_t size = elements.size();
  elements.erase(elements.begin() + position(node, 1, size, size, size - 1));
  return {Value::sequence(std::move(elements))};
}

Values at(NodeContext& node) {
  const Values& elements = node.input(0).elements();
  return {elements[static_cast<std::size_t>(position(node, 1, elements.size(), elements.size(), 0))]};
}

Values length(NodeContext& node) {
  const auto size = static_cast<std::int64_t>(node.input(0).elements().size());
  return {node.made(HostTensor::of_i64({}, {size}))};
}

Values split(NodeContext& node) {
  const Value& x = node.input(0);
  const std::int64_t axis = positive_axis(node.integer("axis", 0), x.rank());
  const bool keeps_axis = node.integer("keepdims", 1) != 0;
  const std::int64_t total = constant_length(x, axis);
  if (!node.has_input(1)) check_length(static_cast<std::size_t>(total));
  Ints lengths(node.has_input(1) ? 0 : static_cast<std::size_t>(total), 1);
  if (node.has_input(1)) {
    const HostTensor& given = node.known(1, "split");
    lengths = given.integers();
    if (given.rank() == 0) {
      const std::int64_t chunk = lengths[0];
      if (chunk < 1) reject(str_cat("split is ", chunk, "; it must be positive"));
      check_length(static_cast<std::size_t>(total / chunk));
      lengths.assign(static_cast<std::size_t>(total / chunk), chunk);
      if (total % chunk != 0) lengths.push_back(total % chunk);
    }
  }
  if (lengths.empty()) return {Value::sequence({})};
  check_length(lengths.size());
  Values parts = node.apply("Split", {x, integers(lengths)}, {{"axis", axis}}, lengths.size());
  if (!node.has_input(1) && !keeps_axis) {
    for (Value& part : parts) part = node.apply("Squeeze", {part, integers({axis})})[0];
  }
  return {Value::sequence(std::move(parts))};
}

Values concat(NodeContext& node) {
  const std::int64_t axis = node.required_integer("axis");
  const bool new_axis = node.integer("new_axis", 0) != 0;
  const Values& elements = node.input(0).elements();
  if (elements.empty()) reject("the sequence is empty");
  return {new_axis ? stacked(node, elements, axis) : node.apply("Concat", elements, {{"axis", axis}})[0]};
}

// The body for every element of the first sequence; other sequences go along, tensors are the same every time.
Values map(NodeContext& node) {
  const ::hearth_onnx::GraphProto& body = node.graph("body");
  std::vector<Values> results(static_cast<std::size_t>(body.output_size()));
  const std::size_t size = node.input(0).elements().size();
  for (std::size_t i = 0; i < size; ++i) {
    Values inputs;
    for (std::size_t k = 0; k < node.num_inputs(); ++k) {
      const Value& x = node.input(k);
      if (x.is_sequence() && x.elements().size() != size) {
        reject(str_cat("sequences of ", size, " and ", x.elements().size(), " elements do not go together"));
      }
      inputs.push_back(x.is_sequence() ? x.elements()[i] : x);
    }
    const Values own = node.scope().run_nested(body, inputs);
    for (std::size_t k = 0; k < own.size(); ++k) results[k].push_back(own[k]);
  }
  Values outputs;
  for (Values& elements : results) outputs.push_back(Value::sequence(std::move(elements)));
  return outputs;
}

Values optional(NodeContext& node) {
  node.attribute("type", ::hearth_onnx::AttributeProto::TYPE_PROTO);
  return {node.has_input(0) ? node.input(0) : Value::absent()};
}

Values get_element(NodeContext& node) {
  if (node.input(0).is_absent()) reject("the optional has no value");
  return {node.input(0)};
}

Values has_element(NodeContext& node) {
  return {node.made(HostTensor::of_bool(node.has_input(0) && !node.input(0).is_absent()))};
}

constexpr OperatorEntry kOperators[] = {
    {"SequenceConstruct", construct, 11},
    {"SequenceEmpty", empty, 11},
    {"SequenceInsert", insert, 11},
    {"SequenceErase", erase, 11},
    {"SequenceAt", at, 11},
    {"SequenceLength", length, 11},
    {"SplitToSequence", split, 11},
    {"ConcatFromSequence", concat, 11},
    {"SequenceMap", map, 17},
    {"Optional", optional, 15},
    {"OptionalGetElement", get_element, 15},
    {"OptionalHasElement", has_element, 15},
};

}  // namespace

std::span<const OperatorEntry> sequence_operators() { return kOperators; }

}  // namespace hearth::onnx
