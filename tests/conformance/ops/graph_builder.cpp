#include "tests/conformance/ops/graph_builder.h"

#include "proto/versions.h"

namespace hearth::conformance {

using codegen::reference::Element;
using codegen::reference::HostTensor;

Dim::Dim(std::int64_t value) {
  v1::ExprToken* token = expr.add_tokens();
  token->set_kind(v1::ExprToken::CONST);
  token->set_value(value);
}

Dim Dim::variable(std::int64_t index) {
  Dim dim(index);
  dim.expr.mutable_tokens(0)->set_kind(v1::ExprToken::VAR);
  return dim;
}

Dim combine(v1::ExprToken::Kind kind, const Dim& a, const Dim& b) {
  Dim result = a;
  result.expr.MergeFrom(b.expr);
  result.expr.add_tokens()->set_kind(kind);
  return result;
}

GraphBuilder::GraphBuilder() { graph_.set_version(kGraphVersion); }

Dim GraphBuilder::var(const std::string& name, std::int64_t min, std::int64_t max) {
  v1::Variable* variable = graph_.add_vars();
  variable->set_name(name);
  variable->set_min(min);
  variable->set_max(max);
  return Dim::variable(graph_.vars_size() - 1);
}

Node GraphBuilder::add(v1::Op op, v1::DType dtype, const std::vector<Node>& inputs) {
  v1::Node* node = graph_.add_nodes();
  node->set_op(op);
  node->set_dtype(dtype);
  for (const Node input : inputs) node->add_inputs(input);
  dtypes_.push_back(dtype);
  return static_cast<Node>(graph_.nodes_size() - 1);
}

Node GraphBuilder::leaf(v1::Op op, v1::DType dtype, const Dims& shape) {
  const Node node = add(op, dtype, {});
  for (const Dim& dim : shape) *graph_.mutable_nodes(static_cast<int>(node))->add_args() = dim.expr;
  return node;
}

Node GraphBuilder::input(v1::DType dtype, const Dims& shape) {
  const Node node = leaf(v1::INPUT, dtype, shape);
  graph_.mutable_nodes(static_cast<int>(node))->set_name("in" + std::to_string(num_leaves_++));
  return node;
}

Node GraphBuilder::parameter(v1::DType dtype, const Dims& shape) {
  const Node node = leaf(v1::PARAMETER, dtype, shape);
  graph_.mutable_nodes(static_cast<int>(node))->set_name("in" + std::to_string(num_leaves_++));
  return node;
}

Node GraphBuilder::constant(const HostTensor& value) {
  const Node node =
      leaf(v1::CONSTANT, static_cast<v1::DType>(value.dtype), Dims(value.shape.begin(), value.shape.end()));
  graph_.mutable_nodes(static_cast<int>(node))->set_data(value.bytes.data(), value.bytes.size());
  return node;
}

Node GraphBuilder::fill(v1::DType dtype, Element value, const Dims& shape) {
  const Node node = leaf(v1::CONSTANT, dtype, shape);
  HostTensor one(scalar_of(dtype), {});
  one.set(0, value);
  graph_.mutable_nodes(static_cast<int>(node))->set_data(one.bytes.data(), one.bytes.size());
  return node;
}

Node GraphBuilder::iota(v1::DType dtype, const Dims& shape, std::int64_t axis) {
  const Node node = leaf(v1::IOTA, dtype, shape);
  graph_.mutable_nodes(static_cast<int>(node))->add_axes(axis);
  return node;
}

Node GraphBuilder::op(v1::Op op, const std::vector<Node>& inputs) {
  const bool compares = op == v1::LT || op == v1::LE || op == v1::EQ || op == v1::NE;
  return add(op, compares ? v1::BOOL : dtypes_[inputs.back()], inputs);
}

Node GraphBuilder::cast(Node x, v1::DType dtype) {
  const auto is_half = [](v1::DType t) { return t == v1::F16 || t == v1::BF16; };
  const bool is_exact = is_half(dtype) || is_half(dtypes_[x]);
  const Node node = add(v1::CAST, dtype, {x});
  if (is_exact) graph_.mutable_nodes(static_cast<int>(node))->add_axes(1);
  return node;
}
Node GraphBuilder::bitcast(Node x, v1::DType dtype) { return add(v1::BITCAST, dtype, {x}); }

Node GraphBuilder::movement(v1::Op op, Node x, const Dims& args, const std::vector<std::int64_t>& axes) {
  const Node node = add(op, dtypes_[x], {x});
  v1::Node* made = graph_.mutable_nodes(static_cast<int>(node));
  for (const Dim& arg : args) *made->add_args() = arg.expr;
  for (const std::int64_t axis : axes) made->add_axes(axis);
  return node;
}

Node GraphBuilder::pad(Node x, const Dims& pairs, Element fill) {
  const Node node = movement(v1::PAD, x, pairs, {});
  HostTensor one(scalar_of(dtypes_[x]), {});
  one.set(0, fill);
  graph_.mutable_nodes(static_cast<int>(node))->set_data(one.bytes.data(), one.bytes.size());
  return node;
}

Node GraphBuilder::cat(const std::vector<Node>& parts, std::int64_t axis) {
  const Node node = add(v1::CAT, dtypes_[parts[0]], parts);
  graph_.mutable_nodes(static_cast<int>(node))->add_axes(axis);
  return node;
}

Node GraphBuilder::gather(Node data, Node indices, std::int64_t axis) {
  const Node node = add(v1::GATHER, dtypes_[data], {data, indices});
  graph_.mutable_nodes(static_cast<int>(node))->add_axes(axis);
  return node;
}

Node GraphBuilder::scatter(Node data, Node indices, Node updates, std::int64_t how) {
  const Node node = add(v1::SCATTER, dtypes_[data], {data, indices, updates});
  graph_.mutable_nodes(static_cast<int>(node))->add_axes(how);
  return node;
}

std::int64_t GraphBuilder::loop(const GraphBuilder& body, const Dim& count, std::uint32_t carried, std::uint32_t sliced,
                                const std::vector<bool>& collected, bool reverse) {
  v1::Loop& loop = *graph_.add_loops();
  *loop.mutable_body() = body.graph();
  loop.mutable_body()->clear_vars();
  *loop.mutable_count() = count.expr;
  loop.set_carried(carried);
  loop.set_sliced(sliced);
  loop.set_reverse(reverse);
  for (const bool value : collected) loop.add_collected(value);
  return graph_.loops_size() - 1;
}

Node GraphBuilder::loop_result(std::int64_t loop, std::int64_t result, v1::DType dtype,
                               const std::vector<Node>& operands) {
  const Node node = add(v1::LOOP, dtype, operands);
  graph_.mutable_nodes(static_cast<int>(node))->add_axes(loop);
  graph_.mutable_nodes(static_cast<int>(node))->add_axes(result);
  return node;
}

void GraphBuilder::output(Node x) {
  v1::GraphOutput* output = graph_.add_outputs();
  output->set_name("out" + std::to_string(graph_.outputs_size() - 1));
  output->set_node(x);
}

}  // namespace hearth::conformance
