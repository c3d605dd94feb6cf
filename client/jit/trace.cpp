#include "hearth/trace.h"

#include <algorithm>
#include <cstring>

#include "base/status_macros.h"
#include "base/text.h"
#include "client/jit/instance_pool.h"
#include "client/tensor/op_scope.h"
#include "client/trace/encoded_graph.h"
#include "client/trace/graph_inputs.h"

namespace hearth::client {
namespace {

thread_local bool tracing = false;

std::string input_name(std::size_t index) { return str_cat("in", index); }
std::string output_name(std::size_t index) { return str_cat("out", index); }

std::string text_of(DType dtype, const std::vector<std::int64_t>& shape) {
  return str_cat(dtype_name(dtype), " ", to_string(Shape(shape.begin(), shape.end())));
}

// What the caller may change after tracing becomes the graph's own.
void own_parameters(EncodedGraph* graph) {
  for (auto& [name, data] : graph->parameters) {
    if (data.owner || data.size == 0) continue;
    auto copy = std::make_shared<std::vector<char>>(data.size);
    std::memcpy(copy->data(), data.data, data.size);
    data.data = copy->data();
    data.owner = std::move(copy);
  }
}

bool overlap(const void* a, std::size_t a_size, const void* b, std::size_t b_size) {
  const auto a_at = reinterpret_cast<std::uintptr_t>(a);
  const auto b_at = reinterpret_cast<std::uintptr_t>(b);
  return a_size > 0 && b_size > 0 && a_at < b_at + b_size && b_at < a_at + a_size;
}

}  // namespace

Tracer::Tracer() {
  if (tracing) {
    throw JitError(absl::FailedPreconditionError(
        "this thread traces already: traces do not nest; call the inner function with Tensors instead"));
  }
  tracing = true;
}

Tracer::~Tracer() { tracing = false; }

bool Tracer::active() { return tracing; }

Tensor Tracer::register_input(const ArrayView& example, Loc loc) {
  return register_input(Shape(example.shape.begin(), example.shape.end()), example.dtype, loc);
}

Tensor Tracer::register_input(Shape shape, DType dtype, Loc loc) {
  inputs_.push_back(input(input_name(inputs_.size()), std::move(shape), dtype, loc));
  return inputs_.back();
}

absl::StatusOr<TracedGraph> Tracer::build(const std::vector<Tensor>& outputs) const {
  NamedTensors named;
  for (const Tensor& output : outputs) named.emplace_back(output_name(named.size()), output);
  for (const Node* node : graph_inputs(named)) {
    const bool known =
        std::any_of(inputs_.begin(), inputs_.end(), [&](const Tensor& x) { return x.node().get() == node; });
    if (known) continue;
    return absl::InvalidArgumentError(
        str_cat("the traced function reads input '", node->name, "' (", node->provenance,
                "), which is none of its arguments; pass it as one, or make it a parameter"));
  }
  HEARTH_ASSIGN_OR_RETURN(EncodedGraph graph, encode_graph(named));
  own_parameters(&graph);
  return TracedGraph(std::move(graph));
}

struct TracedFunction::State {
  State(TracedGraph traced, PreparedPlan plan) : graph(std::move(traced)), pool(std::move(plan)) {}

  TracedGraph graph;
  InstancePool pool;
  std::vector<std::pair<DType, std::vector<std::int64_t>>> inputs;
  std::vector<bool> read;  // whether the plan reads the input at all
  absl::Status check_inputs(std::span<const ArrayView> given) const;
  absl::Status bind(Instance& instance, std::span<const ArrayView> given) const;
};

absl::Status TracedFunction::State::check_inputs(std::span<const ArrayView> given) const {
  if (given.size() != inputs.size()) {
    return absl::InvalidArgumentError(str_cat(given.size(), " arguments; traced with ", inputs.size()));
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string what = str_cat("argument ", i);
    HEARTH_RETURN_IF_ERROR(check_array(given[i], what));
    const auto& [dtype, shape] = inputs[i];
    if (given[i].dtype != dtype || given[i].shape != shape) {
      return absl::InvalidArgumentError(
          str_cat(what, " is ", text_of(given[i].dtype, given[i].shape), "; traced with ", text_of(dtype, shape)));
    }
  }
  return absl::OkStatus();
}

absl::Status TracedFunction::State::bind(Instance& instance, std::span<const ArrayView> given) const {
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!read[i]) continue;
    const ArrayView& array = given[i];
    if (reinterpret_cast<std::uintptr_t>(array.data) % dtype_bytes(array.dtype) == 0) {
      const absl::Status bound = instance.bind_input(input_name(i), array.data, array.size_bytes);
      if (!bound.ok()) return bound;
      continue;
    }
    return absl::InvalidArgumentError(
        str_cat("argument ", i, " is not aligned to its elements of ", dtype_bytes(array.dtype), " bytes"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Array>> TracedFunction::operator()(std::span<const ArrayView> inputs) const {
  std::vector<Array> results;
  std::vector<MutableView> views;
  for (const ValueInfo& info : state_->pool.plan().outputs()) {
    results.push_back({info.dtype, info.max_shape, std::string(info.max_bytes, '\0')});
    views.push_back({results.back().bytes.data(), info.max_bytes, info.dtype, info.max_shape});
  }
  // Moving a short string moves its bytes: the views are taken again once the vector stands.
  for (std::size_t i = 0; i < results.size(); ++i) views[i].data = results[i].bytes.data();
  HEARTH_RETURN_IF_ERROR(call_into(inputs, views));
  return results;
}

absl::Status TracedFunction::call_into(std::span<const ArrayView> inputs, std::span<const MutableView> outputs) const {
  HEARTH_RETURN_IF_ERROR(state_->check_inputs(inputs));
  const std::vector<ValueInfo>& infos = state_->pool.plan().outputs();
  if (outputs.size() != infos.size()) {
    return absl::InvalidArgumentError(str_cat(outputs.size(), " outputs; the function gives ", infos.size()));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (std::size_t j = 0; j < inputs.size() + i; ++j) {
      const bool is_input = j < inputs.size();
      const void* data = is_input ? inputs[j].data : outputs[j - inputs.size()].data;
      const std::size_t size = is_input ? inputs[j].size_bytes : outputs[j - inputs.size()].size_bytes;
      if (!overlap(outputs[i].data, outputs[i].size_bytes, data, size)) continue;
      return absl::InvalidArgumentError(str_cat("output ", i, " overlaps ", is_input ? "argument " : "output ",
                                                is_input ? j : j - inputs.size(), "; give it memory of its own"));
    }
  }
  HEARTH_ASSIGN_OR_RETURN(Instance instance, state_->pool.take());
  absl::Status status = state_->bind(instance, inputs);
  for (std::size_t i = 0; i < outputs.size() && status.ok(); ++i) {
    status = instance.bind_output(infos[i].name, outputs[i].data, outputs[i].size_bytes);
  }
  if (status.ok()) status = instance.execute();
  state_->pool.give_back(std::move(instance));
  return status;
}

const TracedGraph& TracedFunction::graph() const { return state_->graph; }
const PreparedPlan& TracedFunction::plan() const { return state_->pool.plan(); }

absl::StatusOr<TracedFunction> prepare_traced(TracedGraph graph, std::span<const ArrayView> examples,
                                              const PrepareConfig& config) {
  HEARTH_ASSIGN_OR_RETURN(PreparedPlan plan, prepare(graph, config));
  auto state = std::make_shared<TracedFunction::State>(std::move(graph), std::move(plan));
  for (std::size_t i = 0; i < examples.size(); ++i) {
    state->inputs.emplace_back(examples[i].dtype, examples[i].shape);
    const std::vector<ValueInfo>& read = state->pool.plan().inputs();
    state->read.push_back(
        std::any_of(read.begin(), read.end(), [&](const ValueInfo& info) { return info.name == input_name(i); }));
  }
  return TracedFunction(std::move(state));
}

absl::StatusOr<TracedGraph> trace_graph(const TensorFunction& fn, std::span<const ArrayView> examples, Loc loc) {
  HEARTH_ASSIGN_OR_RETURN(auto graph, catch_jit_error([&]() -> absl::StatusOr<TracedGraph> {
                            Tracer tracer;
                            std::vector<Tensor> inputs;
                            for (const ArrayView& example : examples)
                              inputs.push_back(tracer.register_input(example, loc));
                            return tracer.build(fn(inputs));
                          }));
  return graph;
}

absl::StatusOr<TracedFunction> trace_function(const TensorFunction& fn, std::span<const ArrayView> examples,
                                              const PrepareConfig& config, Loc loc) {
  HEARTH_ASSIGN_OR_RETURN(TracedGraph graph, trace_graph(fn, examples, loc));
  return prepare_traced(std::move(graph), examples, config);
}

}  // namespace hearth::client
