// GraphBuilder: traced graphs for tests, written as a client would record them. Values are node numbers.
//
//   GraphBuilder b;
//   Dim n = b.var("n", 1, 9);
//   Node x = b.input(v1::F32, {n, 4});
//   b.output(b.op(v1::EXP, {x}));
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/codegen/reference/host_tensor.h"
#include "hearth/v1/graph.pb.h"

namespace hearth::conformance {

using Node = std::uint32_t;

// An integer expression over the graph's variables.
struct Dim {
  v1::Expr expr;
  Dim(std::int64_t value);                                   // NOLINT: implicit on purpose
  Dim(int value) : Dim(static_cast<std::int64_t>(value)) {}  // NOLINT
  static Dim variable(std::int64_t index);
};
Dim combine(v1::ExprToken::Kind kind, const Dim& a, const Dim& b);
inline Dim operator+(const Dim& a, const Dim& b) { return combine(v1::ExprToken::ADD, a, b); }
inline Dim operator-(const Dim& a, const Dim& b) { return combine(v1::ExprToken::SUB, a, b); }
inline Dim operator*(const Dim& a, const Dim& b) { return combine(v1::ExprToken::MUL, a, b); }
inline Dim operator/(const Dim& a, const Dim& b) { return combine(v1::ExprToken::FLOORDIV, a, b); }
inline Dim min(const Dim& a, const Dim& b) { return combine(v1::ExprToken::MIN, a, b); }
using Dims = std::vector<Dim>;

class GraphBuilder {
 public:
  GraphBuilder();
  Dim var(const std::string& name, std::int64_t min, std::int64_t max);

  Node input(v1::DType dtype, const Dims& shape);      // named in0, in1, …
  Node parameter(v1::DType dtype, const Dims& shape);  // named in the same row
  Node constant(const codegen::reference::HostTensor& value);
  Node fill(v1::DType dtype, codegen::reference::Element value, const Dims& shape);
  Node iota(v1::DType dtype, const Dims& shape, std::int64_t axis);

  Node op(v1::Op op, const std::vector<Node>& inputs);  // elementwise, matmul, contiguous
  Node cast(Node x, v1::DType dtype);                   // as a model writes it: f16 and bf16 are rounded
  Node bitcast(Node x, v1::DType dtype);
  Node reshape(Node x, const Dims& shape) { return movement(v1::RESHAPE, x, shape, {}); }
  Node expand(Node x, const Dims& shape) { return movement(v1::EXPAND, x, shape, {}); }
  Node permute(Node x, const std::vector<std::int64_t>& axes) { return movement(v1::PERMUTE, x, {}, axes); }
  Node flip(Node x, const std::vector<std::int64_t>& axes) { return movement(v1::FLIP, x, {}, axes); }
  // Pairs an axis: before, after / begin, end.
  Node pad(Node x, const Dims& pairs, codegen::reference::Element fill = {});
  Node shrink(Node x, const Dims& pairs) { return movement(v1::SHRINK, x, pairs, {}); }
  Node unfold(Node x, std::int64_t axis, const Dim& size, const Dim& step, const Dim& dilation) {
    return movement(v1::UNFOLD, x, {size, step, dilation}, {axis});
  }
  Node cat(const std::vector<Node>& parts, std::int64_t axis);
  Node reduce(v1::Op op, Node x, const std::vector<std::int64_t>& axes) { return movement(op, x, {}, axes); }
  Node gather(Node data, Node indices, std::int64_t axis);
  Node scatter(Node data, Node indices, Node updates, std::int64_t how);  // how: see graph.proto
  // A loop of graph.proto; `body`'s variables are this graph's. Its results are nodes of their own.
  std::int64_t loop(const GraphBuilder& body, const Dim& count, std::uint32_t carried, std::uint32_t sliced,
                    const std::vector<bool>& collected, bool reverse = false);
  Node loop_result(std::int64_t loop, std::int64_t result, v1::DType dtype, const std::vector<Node>& operands);
  void output(Node x);

  v1::DType dtype(Node x) const { return dtypes_[x]; }
  const v1::Graph& graph() const { return graph_; }
  v1::Graph& mutable_graph() { return graph_; }  // for graphs that no client writes

 private:
  Node add(v1::Op op, v1::DType dtype, const std::vector<Node>& inputs);
  Node leaf(v1::Op op, v1::DType dtype, const Dims& shape);
  Node movement(v1::Op op, Node x, const Dims& args, const std::vector<std::int64_t>& axes);
  v1::Graph graph_;
  std::vector<v1::DType> dtypes_;
  int num_leaves_ = 0;
};

inline ir::Scalar scalar_of(v1::DType dtype) { return static_cast<ir::Scalar>(dtype); }

}  // namespace hearth::conformance
