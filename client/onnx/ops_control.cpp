// If, Loop and Scan. A condition known while importing picks a branch; one that is computed has both branches recorded
// and selects between their results. Loops are unrolled: as often as is known while importing, or, where a computed
// condition may end one, up to its trip count, its state standing still once it ended.
#include <algorithm>
#include <cstring>
#include <limits>

#include "base/text.h"
#include "client/onnx/graph_importer.h"
#include "client/onnx/host_math.h"
#include "client/onnx/model_file.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/onnx/value_parts.h"
#include "hearth/error.h"
#include "hearth_onnx.pb.h"

namespace hearth::onnx {
namespace {

using Graph = ::hearth_onnx::GraphProto;

constexpr std::int64_t kMaxIterations = 100000;
constexpr std::int64_t kMaxMaskedIterations = 1024;  // each adds its whole body to the graph

// As a scalar.
Value condition(const NodeContext& node, const Value& given) {
  if (given.dtype() != DType::kBool || count(given.shape()) != 1) {
    reject(str_cat("the condition is ", dtype_name(given.dtype()), " ", to_string(given.shape()),
                   "; it must be one bool"));
  }
  return given.rank() == 0 ? given : node.apply("Reshape", {given, integers({})})[0];
}

bool is_known(const Value& condition, bool value) {
  return condition.is_host() && (condition.host().integer(0) != 0) == value;
}

std::string kind(const Value& x) {
  if (x.is_sequence()) return str_cat("a sequence of ", x.elements().size());
  return x.is_absent() ? "an optional without a value"
                       : str_cat(dtype_name(x.dtype()), " ", client::to_string(x.dims()));
}

bool same(const Value& a, const Value& b) {
  if (a.is_host() != b.is_host()) return false;
  if (!a.is_host()) return a.tensor().node() == b.tensor().node();
  return a.host().bytes() == b.host().bytes() && std::memcmp(a.host().data(), b.host().data(), a.host().bytes()) == 0;
}

// `a` where the scalar `which` is true, else `b`.
Value chosen(const NodeContext& node, const Value& which, const Value& a, const Value& b) {
  if (which.is_host()) return is_known(which, true) ? a : b;
  if (a.is_absent() && b.is_absent()) return a;
  if (a.is_sequence() && b.is_sequence() && a.elements().size() == b.elements().size()) {
    Values elements;
    for (std::size_t i = 0; i < a.elements().size(); ++i) {
      elements.push_back(chosen(node, which, a.elements()[i], b.elements()[i]));
    }
    return Value::sequence(std::move(elements));
  }
  if (!a.is_tensor() || !b.is_tensor() || a.dtype() != b.dtype() || !(a.dims() == b.dims())) {
    reject_unsupported(str_cat("a computed condition that chooses between ", kind(a), " and ", kind(b)));
  }
  return same(a, b) ? a : node.apply("Where", {which, a, b})[0];
}

Values choose_branch(NodeContext& node) {
  const Value which = condition(node, node.input(0));
  const Graph& then_branch = node.graph("then_branch");
  const Graph& else_branch = node.graph("else_branch");
  if (which.is_host()) return node.scope().run_nested(is_known(which, true) ? then_branch : else_branch, {});
  const std::string need = node.scope().need_value(which.tensor());
  // Which one is taken is known at replay only: then both must be possible.
  const auto run_branch = [&](const Graph& branch, std::string_view name) {
    try {
      return node.scope().run_nested(branch, {});
    } catch (const client::JitError& error) {
      throw client::JitError(absl::Status(error.status().code(),
                                          str_cat("node '", node_label(node.proto()), "' (operator If): its ", name,
                                                  " cannot be imported at these lengths: ", error.status().message(),
                                                  need.empty() ? "" : "; which branch is taken is not known, ", need)));
    }
  };
  const Values a = run_branch(then_branch, "then_branch");
  const Values b = run_branch(else_branch, "else_branch");
  if (a.size() != b.size()) reject(str_cat("the branches give ", a.size(), " and ", b.size(), " results"));
  Values results;
  for (std::size_t i = 0; i < a.size(); ++i) results.push_back(chosen(node, which, a[i], b[i]));
  return results;
}

// What every iteration gives for one output of the body, along a new axis.
Value collected(const NodeContext& node, const Graph& body, int output, const Values& parts, std::int64_t axis) {
  if (!parts.empty()) return stacked(node, parts, axis);
  const auto& type = body.output(output).type().tensor_type();
  Ints shape;
  for (const auto& dim : type.shape().dim()) {
    if (!dim.has_dim_value()) reject_unsupported("no iteration, and a result whose shape the body does not state,");
    shape.push_back(dim.dim_value());
  }
  shape.insert(shape.begin() + positive_axis(axis, static_cast<std::int64_t>(shape.size()) + 1), 0);
  return node.made(HostTensor(dtype_from_onnx(type.elem_type()), shape, std::string()));
}

Values loop(NodeContext& node) {
  const Graph& body = node.graph("body");
  const bool bounded = node.has_input(0);
  std::int64_t trips = std::numeric_limits<std::int64_t>::max();
  if (bounded) {
    const HostTensor& given = node.known(0, "the trip count");
    if (given.size() != 1) reject("the trip count must be one number");
    trips = given.integer(0);
  }
  Value active = node.has_input(1) ? condition(node, node.input(1)) : Value::host(HostTensor::of_bool(true));
  if (!active.is_host()) node.scope().need_value(active.tensor());  // begins anew where it is known
  Values state;
  for (std::size_t i = 2; i < node.num_inputs(); ++i) state.push_back(node.input(i));
  const std::size_t first_scan = 1 + state.size();
  if (static_cast<std::size_t>(body.output_size()) < first_scan) {
    reject(str_cat("the body gives ", body.output_size(), " results; its state alone needs ", first_scan));
  }
  std::vector<Values> scans(static_cast<std::size_t>(body.output_size()) - first_scan);
  for (std::int64_t i = 0; i < trips && !is_known(active, false); ++i) {
    const bool masked = !active.is_host();
    if (masked && trips > kMaxMaskedIterations) {
      reject_unsupported(
          str_cat("a loop that a computed condition ends and no trip count up to ", kMaxMaskedIterations, " bounds"));
    }
    if (masked && !scans.empty()) reject_unsupported("scan outputs of a length that a computed condition decides");
    if (i >= kMaxIterations) reject_unsupported(str_cat("a loop of more than ", kMaxIterations, " iterations"));
    Values inputs = {Value::host(HostTensor::of_i64({}, {i})), active};
    inputs.insert(inputs.end(), state.begin(), state.end());
    const Values results = node.scope().run_nested(body, inputs);
    for (std::size_t k = 0; k < state.size(); ++k) state[k] = chosen(node, active, results[k + 1], state[k]);
    for (std::size_t k = 0; k < scans.size(); ++k) scans[k].push_back(results[first_scan + k]);
    const Value goes_on = condition(node, results[0]);
    active = !masked || is_known(goes_on, false) ? goes_on
             : is_known(goes_on, true)           ? active
                                                 : node.apply("And", {active, goes_on})[0];
  }
  Values outputs = state;
  for (std::size_t k = 0; k < scans.size(); ++k) {
    outputs.push_back(collected(node, body, static_cast<int>(first_scan + k), scans[k], 0));
  }
  return outputs;
}

// Axes and directions (1: from the end) of what a scan reads and writes.
struct ScanLayout {
  Ints input_axes, input_directions, output_axes, output_directions;
};

Values scan_over(const NodeContext& node, const Graph& body, const ScanLayout& layout, Values state,
                 const Values& inputs) {
  std::int64_t length = 0;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const std::int64_t found = constant_length(inputs[k], layout.input_axes[k]);
    if (k > 0 && found != length) reject(str_cat("scan inputs have the lengths ", length, " and ", found));
    length = found;
  }
  std::vector<Values> scans(layout.output_axes.size());
  for (std::int64_t i = 0; i < length; ++i) {
    Values given = state;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const std::int64_t at = layout.input_directions[k] != 0 ? length - 1 - i : i;
      given.push_back(element_at(node, inputs[k], layout.input_axes[k], at));
    }
    const Values results = node.scope().run_nested(body, given);
    std::copy_n(results.begin(), state.size(), state.begin());
    for (std::size_t k = 0; k < scans.size(); ++k) scans[k].push_back(results[state.size() + k]);
  }
  const auto first_scan = static_cast<int>(state.size());
  for (std::size_t k = 0; k < scans.size(); ++k) {
    if (layout.output_directions[k] != 0) std::reverse(scans[k].begin(), scans[k].end());
    state.push_back(collected(node, body, first_scan + static_cast<int>(k), scans[k], layout.output_axes[k]));
  }
  return state;
}

Ints one_each(NodeContext& node, std::string_view attribute, std::size_t number) {
  const Ints given = node.integers(attribute).value_or(Ints(number, 0));
  if (given.size() != number) reject(str_cat("attribute '", attribute, "' needs ", number, " entries"));
  return given;
}

// Opset 8: every operand has a batch axis first, and the scanned one comes second.
Values scan_batches(const NodeContext& node, const Graph& body, const ScanLayout& layout, const Values& state,
                    const Values& inputs) {
  const std::int64_t batches = inputs[0].rank() < 2 ? 0 : constant_length(inputs[0], 0);
  if (batches < 1) reject("a scan of opset 8 needs inputs with a batch and a sequence axis");
  if (node.has_input(0)) {
    for (std::int64_t length : node.known_integers(0, "sequence_lens")) {
      if (length != constant_length(inputs[0], 1))
        reject_unsupported("sequence_lens that differ from the inputs' length");
    }
  }
  std::vector<Values> results(state.size() + layout.output_axes.size());
  for (std::int64_t b = 0; b < batches; ++b) {
    Values own_state, own_inputs;
    for (const Value& x : state) own_state.push_back(element_at(node, x, 0, b));
    for (const Value& x : inputs) own_inputs.push_back(element_at(node, x, 0, b));
    const Values own = scan_over(node, body, layout, own_state, own_inputs);
    for (std::size_t k = 0; k < own.size(); ++k) results[k].push_back(own[k]);
  }
  Values outputs;
  for (const Values& parts : results) outputs.push_back(stacked(node, parts, 0));
  return outputs;
}

Values scan(NodeContext& node) {
  const Graph& body = node.graph("body");
  const bool batched = node.opset() < 9;
  const std::size_t first = batched ? 1 : 0;
  const std::int64_t given = node.required_integer("num_scan_inputs");
  const auto available = static_cast<std::int64_t>(node.num_inputs()) - static_cast<std::int64_t>(first);
  if (given < 1 || given > available) reject(str_cat("num_scan_inputs is ", given, " of ", available, " inputs"));
  const auto num_inputs = static_cast<std::size_t>(given);
  const std::size_t num_states = static_cast<std::size_t>(available) - num_inputs;
  if (static_cast<std::size_t>(body.output_size()) < num_states) reject("the body gives too few results");
  const std::size_t num_outputs = static_cast<std::size_t>(body.output_size()) - num_states;
  ScanLayout layout{Ints(num_inputs, 0), {}, Ints(num_outputs, 0), Ints(num_outputs, 0)};
  layout.input_directions = one_each(node, batched ? "directions" : "scan_input_directions", num_inputs);
  if (!batched) {
    layout.input_axes = one_each(node, "scan_input_axes", num_inputs);
    layout.output_axes = one_each(node, "scan_output_axes", num_outputs);
    layout.output_directions = one_each(node, "scan_output_directions", num_outputs);
  }
  Values state, inputs;
  for (std::size_t i = first; i < node.num_inputs(); ++i) {
    (i - first < num_states ? state : inputs).push_back(node.input(i));
  }
  return batched ? scan_batches(node, body, layout, state, inputs) : scan_over(node, body, layout, state, inputs);
}

constexpr OperatorEntry kOperators[] = {{"If", choose_branch}, {"Loop", loop}, {"Scan", scan, 8}};

}  // namespace

std::span<const OperatorEntry> control_operators() { return kOperators; }

}  // namespace hearth::onnx
