#include "tests/conformance/ops/random_loop.h"

#include <stdexcept>

#include "compiler/codegen/reference/wire_expr.h"
#include "compiler/codegen/reference/wire_interpreter.h"
#include "compiler/ir/shape.h"
#include "compiler/passes/import/import.h"
#include "compiler/passes/import/import_expr.h"
#include "tests/conformance/ops/graph_builder.h"

namespace hearth::conformance {

using codegen::reference::evaluate;
namespace {

struct Leaf {
  std::uint32_t node = 0;  // of the random graph
  std::size_t feed = 0;    // its place among the feeds' inputs
};

class LoopMaker {
 public:
  explicit LoopMaker(std::uint64_t seed) : random_(seed * 77 + 5), seed_(seed), step_(random_graph(seed)) {}

  RandomGraph make() {
    find_leaves();
    find_result();
    made_.graph.set_version(step_.graph.version());
    *made_.graph.mutable_vars() = step_.graph.vars();
    made_.feeds.resize(step_.feeds.size());
    for (std::size_t f = 0; f < step_.feeds.size(); ++f) made_.feeds[f].vars = step_.feeds[f].vars;
    make_count();
    make_operands();
    make_body();
    make_results();
    return std::move(made_);
  }

 private:
  void find_leaves() {
    std::size_t feed = 0;
    for (int i = 0; i < step_.graph.nodes_size(); ++i) {
      const v1::Op op = step_.graph.nodes(i).op();
      if (op != v1::INPUT && op != v1::PARAMETER) continue;
      (random_.one_in(2) ? sliced_ : invariant_).push_back({static_cast<std::uint32_t>(i), feed++});
    }
  }

  // Dtype and shape of the body's first output.
  void find_result() {
    ir::Graph g;
    const auto imported = passes::import_graph(g, step_.graph);
    if (!imported.ok()) throw std::runtime_error(std::string(imported.status().message()));
    ir::ShapeCache shapes(g);
    dtype_ = imported->outputs[0]->dtype.scalar;
    for (ir::UOpRef length : shapes.of(imported->outputs[0])) *shape_.Add() = passes::export_expr(length);
  }

  // 1 to 4 steps, constant or a variable.
  void make_count() {
    const bool is_variable = random_.one_in(2);
    v1::ExprToken& token = *count_.add_tokens();
    token.set_value(is_variable ? made_.graph.vars_size() : random_.in(1, 4));
    counts_.assign(made_.feeds.size(), token.value());
    if (!is_variable) return;
    token.set_kind(v1::ExprToken::VAR);
    v1::Variable& steps = *made_.graph.add_vars();
    steps.set_name("steps");
    steps.set_min(1);
    steps.set_max(4);
    for (std::size_t f = 0; f < made_.feeds.size(); ++f) {
      counts_[f] = f == 0 ? 1 : f == 1 ? 4 : random_.in(1, 4);
      made_.feeds[f].vars.push_back(counts_[f]);
    }
  }

  using Exprs = google::protobuf::RepeatedPtrField<v1::Expr>;

  std::uint32_t add_leaf(v1::Graph& graph, v1::Op op, v1::DType dtype, const Exprs& shape) {
    v1::Node& node = *graph.add_nodes();
    node.set_op(op);
    node.set_dtype(dtype);
    *node.mutable_args() = shape;
    node.set_name("in" + std::to_string(graph.nodes_size() - 1));
    return static_cast<std::uint32_t>(graph.nodes_size() - 1);
  }

  Shape concrete(const Exprs& shape, std::size_t feed) const {
    Shape lengths;
    for (const v1::Expr& length : shape) lengths.push_back(evaluate(length, made_.feeds[feed].vars));
    return lengths;
  }

  // Small integers, as what they stand for: exact in every op that is exact for the random graph's own.
  HostTensor values(ir::Scalar dtype, const Shape& shape, std::uint64_t seed) const {
    return ramp(dtype, shape, seed, ir::is_float(dtype) && ir::byte_size(dtype) == 1 ? 1 : 7);
  }

  void make_operands() {
    for (std::uint64_t k = 0; k < 2; ++k) {
      operands_.push_back(add_leaf(made_.graph, v1::INPUT, wire(dtype_), shape_));
      for (std::size_t f = 0; f < made_.feeds.size(); ++f)
        made_.feeds[f].inputs.push_back(values(dtype_, concrete(shape_, f), seed_ + k));
    }
    for (const Leaf& leaf : sliced_) {
      const v1::Node& node = step_.graph.nodes(static_cast<int>(leaf.node));
      Exprs shape;
      *shape.Add() = count_;
      shape.MergeFrom(node.args());
      operands_.push_back(add_leaf(made_.graph, v1::INPUT, node.dtype(), shape));
      for (std::size_t f = 0; f < made_.feeds.size(); ++f)
        made_.feeds[f].inputs.push_back(values(scalar_of(node.dtype()), concrete(shape, f), seed_ + 9 + leaf.feed));
    }
    for (const Leaf& leaf : invariant_) {
      const v1::Node& node = step_.graph.nodes(static_cast<int>(leaf.node));
      operands_.push_back(add_leaf(made_.graph, node.op(), node.dtype(), node.args()));
      for (std::size_t f = 0; f < made_.feeds.size(); ++f)
        made_.feeds[f].inputs.push_back(step_.feeds[f].inputs[leaf.feed]);
    }
  }

  // The random graph behind its operands; greatest' = max(greatest, value), before' = greatest.
  void make_body() {
    v1::Loop& loop = *made_.graph.add_loops();
    v1::Graph& body = *loop.mutable_body();
    body.set_version(step_.graph.version());
    std::vector<std::uint32_t> place(static_cast<std::size_t>(step_.graph.nodes_size()));
    const std::uint32_t greatest = add_leaf(body, v1::INPUT, wire(dtype_), shape_);
    add_leaf(body, v1::INPUT, wire(dtype_), shape_);
    std::vector<bool> is_leaf(place.size());
    for (const std::vector<Leaf>* leaves : {&sliced_, &invariant_}) {
      for (const Leaf& leaf : *leaves) {
        const v1::Node& node = step_.graph.nodes(static_cast<int>(leaf.node));
        place[leaf.node] = add_leaf(body, v1::INPUT, node.dtype(), node.args());
        is_leaf[leaf.node] = true;
      }
    }
    for (std::size_t i = 0; i < place.size(); ++i) {
      if (is_leaf[i]) continue;
      v1::Node& node = *body.add_nodes() = step_.graph.nodes(static_cast<int>(i));
      for (std::uint32_t& input : *node.mutable_inputs()) input = place[input];
      place[i] = static_cast<std::uint32_t>(body.nodes_size() - 1);
    }
    v1::Node& next = *body.add_nodes();
    next.set_op(dtype_ == ir::Scalar::Bool ? v1::OR : v1::MAX);
    next.set_dtype(wire(dtype_));
    next.add_inputs(greatest);
    next.add_inputs(place[step_.graph.outputs(0).node()]);
    add_output(body, static_cast<std::uint32_t>(body.nodes_size() - 1));
    add_output(body, greatest);
    for (const v1::GraphOutput& output : step_.graph.outputs()) add_output(body, place[output.node()]);
    *loop.mutable_count() = count_;
    loop.set_carried(2);
    loop.set_sliced(static_cast<std::uint32_t>(sliced_.size()));
    loop.set_reverse(random_.one_in(2));
    for (int k = 0; k < 2; ++k) loop.add_collected(random_.one_in(3));
  }

  static void add_output(v1::Graph& graph, std::uint32_t node) {
    v1::GraphOutput& output = *graph.add_outputs();
    output.set_name("out" + std::to_string(graph.outputs_size() - 1));
    output.set_node(node);
  }

  void make_results() {
    made_.errors.assign(static_cast<std::size_t>(made_.graph.nodes_size()), 0);
    for (int result = 0; result < 2 + step_.graph.outputs_size(); ++result) {
      if (random_.one_in(4) && (result > 0 || made_.graph.outputs_size() > 0)) continue;  // nobody reads it
      v1::Node& node = *made_.graph.add_nodes();
      node.set_op(v1::LOOP);
      for (const std::uint32_t operand : operands_) node.add_inputs(operand);
      node.set_dtype(result < 2 ? wire(dtype_)
                                : step_.graph.nodes(static_cast<int>(step_.graph.outputs(result - 2).node())).dtype());
      node.add_axes(0);
      node.add_axes(result);
      made_.errors.push_back(step_.errors[step_.graph.outputs(std::max(0, result - 2)).node()]);
      add_output(made_.graph, static_cast<std::uint32_t>(made_.graph.nodes_size() - 1));
    }
  }

  Random random_;
  std::uint64_t seed_;
  RandomGraph step_, made_;
  std::vector<Leaf> sliced_, invariant_;
  std::vector<std::uint32_t> operands_;
  ir::Scalar dtype_ = ir::Scalar::F32;
  Exprs shape_;
  v1::Expr count_;
  std::vector<std::int64_t> counts_;  // of each feed
};

}  // namespace

RandomGraph random_loop(std::uint64_t seed) { return LoopMaker(seed).make(); }

}  // namespace hearth::conformance
