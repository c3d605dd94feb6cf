// Tracing: running a function of Tensors once over placeholders and keeping what it recorded. Control flow is captured
// as executed, shapes are those of the examples, and every value that is no argument is what it was while tracing:
// parameters without an owner are copied, so that changing them later changes nothing. One trace a thread at a time;
// a nested one is an error (FailedPrecondition).
//
//   absl::StatusOr<TracedFunction> traced = trace([&](const Tensor& x) { return relu(matmul(x, w)); }, {example});
//   absl::StatusOr<std::vector<Array>> y = (*traced)({new_input});
//   std::cout << traced->graph().summary();
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "hearth/array.h"
#include "hearth/prepare.h"

#pragma GCC visibility push(default)
namespace hearth::client {

// A trace by hand, for the time it lives on the thread that made it.
//
//   Tracer tracer;
//   Tensor y = model(tracer.register_input(example));
//   absl::StatusOr<TracedGraph> graph = tracer.build({y});
class Tracer {
 public:
  Tracer();  // JitError when this thread traces already
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // Whether this thread traces.
  static bool active();

  // A placeholder of the example's shape and dtype, named "in0", "in1", … in order.
  Tensor register_input(const ArrayView& example, Loc loc = Loc::current());
  Tensor register_input(Shape shape, DType dtype, Loc loc = Loc::current());
  // The graph that computes `outputs`, named "out0", "out1", …. InvalidArgument when one reads an input that is not
  // registered here.
  absl::StatusOr<TracedGraph> build(const std::vector<Tensor>& outputs) const;

 private:
  std::vector<Tensor> inputs_;
};

// A prepared graph as a function of arrays. Copies share it; thread-safe: calls at the same time have an instance each.
class TracedFunction {
 public:
  // Inputs in the order of registration, with the examples' shapes and dtypes. Results are the caller's own and are
  // not touched by later calls. Errors: InvalidArgument naming the argument; the device's.
  absl::StatusOr<std::vector<Array>> operator()(std::span<const ArrayView> inputs) const;
  absl::StatusOr<std::vector<Array>> operator()(std::initializer_list<ArrayView> inputs) const {
    return (*this)(std::span(inputs.begin(), inputs.size()));
  }
  // Writes into the caller's memory, which no input overlaps: InvalidArgument otherwise.
  absl::Status call_into(std::span<const ArrayView> inputs, std::span<const MutableView> outputs) const;

  const TracedGraph& graph() const;
  const PreparedPlan& plan() const;

  struct State;
  explicit TracedFunction(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

// Prepares what a Tracer built; `examples` give the inputs' shapes and dtypes.
absl::StatusOr<TracedFunction> prepare_traced(TracedGraph graph, std::span<const ArrayView> examples,
                                              const PrepareConfig& config);

using TensorFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;
absl::StatusOr<TracedGraph> trace_graph(const TensorFunction& fn, std::span<const ArrayView> examples, Loc loc);
// Both, one after the other.
absl::StatusOr<TracedFunction> trace_function(const TensorFunction& fn, std::span<const ArrayView> examples,
                                              const PrepareConfig& config, Loc loc);

// What a traced function may return.
inline std::vector<Tensor> results_of(Tensor result) { return {std::move(result)}; }
inline std::vector<Tensor> results_of(std::vector<Tensor> results) { return results; }

// `fn` takes so many `const Tensor&` as there are examples and returns a Tensor or a std::vector<Tensor>.
template <typename F, std::size_t N>
absl::StatusOr<TracedFunction> trace(F&& fn, const ArrayView (&examples)[N], const PrepareConfig& config = {},
                                     Loc loc = Loc::current()) {
  const TensorFunction call = [&](std::span<const Tensor> inputs) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return results_of(fn(inputs[I]...));
    }(std::make_index_sequence<N>());
  };
  return trace_function(call, examples, config, loc);
}

}  // namespace hearth::client
#pragma GCC visibility pop
