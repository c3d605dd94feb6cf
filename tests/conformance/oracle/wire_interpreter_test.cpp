// What the oracle makes of every kind of wire op: values by hand, from the comments in graph.proto. What elementwise
// ops compute is tested with the reference interpreter (tests/unit/reference).
#include "compiler/codegen/reference/wire_interpreter.h"

#include <catch2/catch.hpp>

#include "tests/conformance/ops/graph_builder.h"

namespace hearth::conformance {

using codegen::reference::interpret_wire;
namespace {

using codegen::reference::HostTensor;
using ir::Scalar;
using Values = std::vector<double>;

HostTensor f32(std::vector<std::int64_t> shape, const Values& values) {
  return HostTensor::from_values(Scalar::F32, std::move(shape), values);
}

struct Result {
  std::vector<std::int64_t> shape;
  Values values;
  bool operator==(const Result&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Result& result) {
  return out << Catch::Detail::stringify(result.shape) << " " << Catch::Detail::stringify(result.values);
}

// The only output of the graph that `record` makes of input x.
template <class Record>
Result result_of(const HostTensor& x, Record record, const std::vector<std::int64_t>& vars = {}) {
  GraphBuilder b;
  b.output(record(b, b.input(static_cast<v1::DType>(x.dtype), Dims(x.shape.begin(), x.shape.end()))));
  const auto outputs = interpret_wire(b.graph(), {{"in0", x}}, vars);
  INFO(outputs.status().ToString());
  REQUIRE(outputs.ok());
  Result result{outputs->at(0).shape, {}};
  for (std::int64_t k = 0; k < outputs->at(0).num_elements(); ++k) {
    const auto element = outputs->at(0).get(k);
    result.values.push_back(ir::is_float(outputs->at(0).dtype) ? element.f : static_cast<double>(element.i));
  }
  return result;
}

const HostTensor kX = f32({2, 3}, {1, 2, 3, 4, 5, 6});

TEST_CASE("movement") {
  using B = GraphBuilder;
  CHECK(result_of(kX, [](B& b, Node x) { return b.reshape(x, {3, 2}); }) == Result{{3, 2}, {1, 2, 3, 4, 5, 6}});
  CHECK(result_of(kX, [](B& b, Node x) { return b.permute(x, {1, 0}); }) == Result{{3, 2}, {1, 4, 2, 5, 3, 6}});
  // Result axis k is axis axes[k] of x.
  CHECK(result_of(f32({1, 2, 3}, {1, 2, 3, 4, 5, 6}), [](B& b, Node x) { return b.permute(x, {1, 2, 0}); }) ==
        Result{{2, 3, 1}, {1, 2, 3, 4, 5, 6}});
  CHECK(result_of(f32({2, 1}, {7, 8}), [](B& b, Node x) { return b.expand(x, {2, 2}); }) ==
        Result{{2, 2}, {7, 7, 8, 8}});
  CHECK(result_of(kX, [](B& b, Node x) { return b.pad(x, {0, 1, 2, 0}, {0, 9.0}); }) ==
        Result{{3, 5}, {9, 9, 1, 2, 3, 9, 9, 4, 5, 6, 9, 9, 9, 9, 9}});
  CHECK(result_of(kX, [](B& b, Node x) { return b.shrink(x, {1, 2, 0, 2}); }) == Result{{1, 2}, {4, 5}});
  CHECK(result_of(kX, [](B& b, Node x) { return b.flip(x, {1}); }) == Result{{2, 3}, {3, 2, 1, 6, 5, 4}});
  CHECK(result_of(f32({6}, {0, 1, 2, 3, 4, 5}), [](B& b, Node x) { return b.unfold(x, 0, 2, 1, 3); }) ==
        Result{{3, 2}, {0, 3, 1, 4, 2, 5}});
  CHECK(result_of(f32({6}, {0, 1, 2, 3, 4, 5}), [](B& b, Node x) { return b.unfold(x, 0, 2, 3, 1); }) ==
        Result{{2, 2}, {0, 1, 3, 4}});
  CHECK(result_of(kX, [](B& b, Node x) { return b.cat({x, b.fill(v1::F32, {0, 8.0}, {2, 1})}, 1); }) ==
        Result{{2, 4}, {1, 2, 3, 8, 4, 5, 6, 8}});
  CHECK(result_of(kX, [](B& b, Node x) { return b.op(v1::CONTIGUOUS, {x}); }) == Result{{2, 3}, {1, 2, 3, 4, 5, 6}});
}

TEST_CASE("leaves") {
  using B = GraphBuilder;
  CHECK(result_of(kX, [](B& b, Node) { return b.iota(v1::I64, {2, 3}, 0); }) == Result{{2, 3}, {0, 0, 0, 1, 1, 1}});
  CHECK(result_of(kX, [](B& b, Node) { return b.fill(v1::I8, {-3, 0}, {2}); }) == Result{{2}, {-3, -3}});
  CHECK(result_of(kX, [](B& b, Node) { return b.constant(f32({2}, {5, 6})); }) == Result{{2}, {5, 6}});
  CHECK(result_of(kX, [](B& b, Node) { return b.fill(v1::F32, {0, 2.0}, {}); }) == Result{{}, {2}});
}

TEST_CASE("reductions, products, taking") {
  using B = GraphBuilder;
  CHECK(result_of(kX, [](B& b, Node x) { return b.reduce(v1::REDUCE_SUM, x, {0}); }) == Result{{1, 3}, {5, 7, 9}});
  CHECK(result_of(kX, [](B& b, Node x) { return b.reduce(v1::REDUCE_PROD, x, {1}); }) == Result{{2, 1}, {6, 120}});
  CHECK(result_of(kX, [](B& b, Node x) { return b.reduce(v1::REDUCE_MAX, x, {0, 1}); }) == Result{{1, 1}, {6}});
  CHECK(result_of(kX, [](B& b, Node x) { return b.reduce(v1::REDUCE_MIN, x, {}); }) ==
        Result{{2, 3}, {1, 2, 3, 4, 5, 6}});
  CHECK(result_of(kX, [](B& b, Node x) { return b.op(v1::MATMUL, {x, b.permute(x, {1, 0})}); }) ==
        Result{{2, 2}, {14, 32, 32, 77}});
  const auto indices = [](B& b) { return b.constant(HostTensor::from_values(Scalar::I64, {4}, {2, -1, -9, 9})); };
  CHECK(result_of(kX, [&](B& b, Node x) { return b.gather(x, indices(b), 1); }) ==
        Result{{2, 4}, {3, 3, 1, 3, 6, 6, 4, 6}});
}

TEST_CASE("elementwise ops take their operands in order") {
  using B = GraphBuilder;
  const HostTensor x = f32({2}, {6, 2});
  const auto two = [](B& b) { return b.fill(v1::F32, {0, 2.0}, {2}); };
  CHECK(result_of(x, [&](B& b, Node n) { return b.op(v1::SUB, {n, two(b)}); }) == Result{{2}, {4, 0}});
  CHECK(result_of(x, [&](B& b, Node n) { return b.op(v1::DIV, {two(b), n}); }) == Result{{2}, {2.0f / 6.0f, 1}});
  CHECK(result_of(x, [&](B& b, Node n) { return b.op(v1::LT, {two(b), n}); }) == Result{{2}, {1, 0}});
  CHECK(result_of(x, [&](B& b, Node n) { return b.op(v1::LE, {two(b), n}); }) == Result{{2}, {1, 1}});
  CHECK(result_of(x, [&](B& b, Node n) {
          return b.op(v1::WHERE, {b.op(v1::EQ, {n, two(b)}), n, b.op(v1::NEG, {n})});
        }) == Result{{2}, {-6, 2}});
  CHECK(result_of(f32({2}, {-1.5, 300}), [](B& b, Node n) { return b.cast(n, v1::I8); }) == Result{{2}, {-1, 127}});
  CHECK(result_of(f32({1}, {1}), [](B& b, Node n) { return b.bitcast(n, v1::I32); }) == Result{{1}, {0x3f800000}});
}

TEST_CASE("attention is its fourth input") {
  GraphBuilder b;
  const Node q = b.input(v1::F32, {1, 1, 1}), value = b.fill(v1::F32, {0, 3.0}, {1, 1, 1});
  b.output(b.op(v1::ATTENTION, {q, q, q, value}));
  const auto outputs = interpret_wire(b.graph(), {{"in0", f32({1, 1, 1}, {9})}}, {});
  REQUIRE(outputs.ok());
  CHECK(outputs->at(0) == f32({1, 1, 1}, {3}));
}

TEST_CASE("lengths follow the variables") {
  GraphBuilder b;
  const Dim n = b.var("n", 1, 9), m = b.var("m", 1, 9);
  b.output(b.fill(v1::F32, {0, 1.0}, {(n * m - 1) / 3 + 2, min(n, m)}));
  const std::int64_t vars[] = {4, 5};
  const auto outputs = interpret_wire(b.graph(), {}, vars);
  REQUIRE(outputs.ok());
  CHECK(outputs->at(0).shape == std::vector<std::int64_t>{8, 4});
}

TEST_CASE("what cannot be read is an error that names the node") {
  const auto refusal = [](auto change) {
    GraphBuilder b;
    const Node x = b.input(v1::F32, {b.var("n", 1, 4), 3});
    b.output(b.permute(x, {1, 0}));
    v1::Graph graph = b.graph();
    std::vector<std::int64_t> vars = {2};
    change(graph, vars);
    const auto outputs = interpret_wire(graph, {{"in0", kX}}, vars);
    return outputs.ok() ? std::string() : std::string(outputs.status().message());
  };
  using Vars = std::vector<std::int64_t>;
  CHECK(refusal([](v1::Graph&, Vars&) {}) == "");
  CHECK(refusal([](v1::Graph&, Vars& vars) { vars = {}; }) == "oracle: a value for every variable");
  CHECK(refusal([](v1::Graph&, Vars& vars) { vars = {5}; }) == "oracle: n = 5 is out of its bounds");
  CHECK(refusal([](v1::Graph&, Vars& vars) { vars = {3}; }) ==
        "oracle: node 0 (INPUT): 'in0' has shape [3, 3], bound is [2, 3] or another dtype");
  CHECK(refusal([](v1::Graph& g, Vars&) { g.mutable_nodes(0)->set_name("other"); }) ==
        "oracle: node 0 (INPUT): 'other' is not bound");
  CHECK(refusal([](v1::Graph& g, Vars&) { g.mutable_nodes(1)->set_axes(0, 0); }) ==
        "oracle: node 1 (PERMUTE): not a permutation");
  CHECK(refusal([](v1::Graph& g, Vars&) { g.mutable_nodes(1)->set_inputs(0, 1); }) ==
        "oracle: a node's input is not an earlier node");
  CHECK(refusal([](v1::Graph& g, Vars&) { g.mutable_outputs(0)->set_node(2); }) == "oracle: an output names no node");
}

}  // namespace
}  // namespace hearth::conformance
