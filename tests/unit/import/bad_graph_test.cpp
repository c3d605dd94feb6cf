// Every line of bad input that a traced graph can be: refused with the node, its op and the reason; the same graph with
// the one thing right is lowered, so that no refusal is for another reason. Plans of what is accepted pass the
// runtime's own checks.
#include <catch2/catch.hpp>
#include <functional>

#include "base/kernel_abi.h"
#include "compiler/compile.h"
#include "runtime/plan/plan.h"
#include "tests/conformance/ops/graph_builder.h"

namespace hearth {
namespace {

using conformance::Dim;
using conformance::Dims;
using conformance::GraphBuilder;
using conformance::Node;

v1::Target null_target() {
  v1::Target target;
  target.set_device("null");
  target.set_triple("x86_64-unknown-linux-gnu");
  target.set_vector_bits(256);
  target.set_threads(1);
  target.set_abi_version(HEARTH_KERNEL_ABI_VERSION);
  return target;
}

absl::StatusOr<v1::LoweredPlan> lower(const v1::Graph& graph) { return compiler::lower(graph, null_target(), {}); }

// Message of a refusal, "" when the graph is lowered into a plan that the runtime takes.
std::string refusal(const v1::Graph& graph, absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
  const absl::StatusOr<v1::LoweredPlan> plan = lower(graph);
  if (!plan.ok()) {
    CHECK(plan.status().code() == code);
    return std::string(plan.status().message());
  }
  const absl::StatusOr<runtime::Plan> parsed = runtime::parse_plan(plan->plan().SerializeAsString());
  INFO(parsed.status());
  CHECK(parsed.ok());
  return "";
}

using Build = std::function<void(GraphBuilder&)>;
v1::Graph made(const Build& build) {
  GraphBuilder b;
  build(b);
  return b.graph();
}

struct Row {
  const char* what;
  std::string place;   // how the refusal begins
  std::string reason;  // what else it says
  Build bad, good;
};

void check(const std::vector<Row>& rows, absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
  for (const Row& row : rows) {
    INFO(row.what);
    const std::string message = refusal(made(row.bad), code);
    CHECK_THAT(message, Catch::StartsWith(row.place + ": "));
    CHECK_THAT(message, Catch::Contains(row.reason));
    CHECK(refusal(made(row.good)) == "");
  }
}

Build input_of(const Dims& shape, v1::DType dtype = v1::F32) {
  return [=](GraphBuilder& b) { b.output(b.reduce(v1::REDUCE_MAX, b.input(dtype, shape), {0})); };
}
// A parameter of ones, expanded.
Build expanded(const Dims& ones, const Dims& shape, v1::DType dtype, bool stored) {
  return [=](GraphBuilder& b) {
    const Node x = b.expand(b.input(dtype, ones), shape);
    b.output(b.reduce(v1::REDUCE_MAX, stored ? b.op(v1::CONTIGUOUS, {x}) : x, {0}));
  };
}
constexpr std::int64_t kT = std::int64_t{1} << 40;
const Dim kTera(kT);

TEST_CASE("sizes beyond 64 bits, beyond a tensor, beyond the device") {
  check({
      {"a product beyond 64 bits", "node 0 (INPUT)", "more than 2^44 bytes", input_of({kTera, kTera, kTera}),
       input_of({1 << 10, 1 << 10, 1 << 10})},
      {"a product hidden behind an empty axis", "node 0 (INPUT)", "more than 2^44 bytes", input_of({0, kTera, kTera}),
       input_of({0, 1 << 20, 1 << 20})},
      {"a buffer hidden behind an empty axis", "node 0 (INPUT)", "takes 8796093022208 bytes",
       input_of({0, kTera}, v1::F64), input_of({0, kTera}, v1::F32)},
      {"a length", "node 0 (INPUT)", "argument 0: 1099511627777 is out of range", input_of({Dim(kT + 1)}, v1::I8),
       input_of({kTera}, v1::I8)},
      {"a length that adds up", "node 1 (PAD)", "axis 0 has length 1099511627777",
       [](GraphBuilder& b) { b.output(b.reduce(v1::REDUCE_MAX, b.pad(b.input(v1::I8, {kTera}), {1, 0}), {0})); },
       [](GraphBuilder& b) { b.output(b.reduce(v1::REDUCE_MAX, b.pad(b.input(v1::I8, {Dim(kT - 1)}), {1, 0}), {0})); }},
      {"an expression on the way to a small length", "node 0 (INPUT)", "argument 0: an expression overflows",
       [](GraphBuilder& b) {
         const Dim n = b.var("n", 1, kT);
         b.output(b.op(v1::NEG, {b.input(v1::I8, {n * n / n})}));
       },
       [](GraphBuilder& b) {
         const Dim n = b.var("n", 1, 1 << 20);
         b.output(b.op(v1::NEG, {b.input(v1::I8, {n * n / n})}));
       }},
      {"a window", "node 1 (UNFOLD)", "span",
       [](GraphBuilder& b) { b.output(b.unfold(b.input(v1::I8, {8}), 0, 1 << 30, 1, 1 << 30)); },
       [](GraphBuilder& b) { b.output(b.unfold(b.input(v1::I8, {8}), 0, 2, 1, 2)); }},
      {"an input no buffer holds", "node 0 (INPUT)", "takes 8796093022208 bytes", input_of({kTera}, v1::F64),
       input_of({kTera}, v1::F32)},
      {"a parameter no buffer holds", "node 0 (PARAMETER)", "takes 8796093022208 bytes",
       [](GraphBuilder& b) { b.output(b.reduce(v1::REDUCE_MAX, b.parameter(v1::F64, {kTera}), {0})); },
       [](GraphBuilder& b) { b.output(b.reduce(v1::REDUCE_MAX, b.parameter(v1::F32, {kTera}), {0})); }},
      {"an output no buffer holds", "node 1 (EXPAND)", "takes 8796093022208 bytes",
       [](GraphBuilder& b) { b.output(b.expand(b.input(v1::F64, {1}), {kTera})); },
       [](GraphBuilder& b) { b.output(b.expand(b.input(v1::F32, {1}), {kTera})); }},
      {"a stored value no buffer holds; one that is not stored may be as large", "node 2 (CONTIGUOUS)",
       "takes 8796093022208 bytes", expanded({1, 1}, {1 << 20, 1 << 20}, v1::F64, true),
       expanded({1, 1}, {1 << 20, 1 << 20}, v1::F64, false)},
  });
}

TEST_CASE("intermediates that only together are too large are refused") {
  const auto chain = [](int stages) {
    return made([=](GraphBuilder& b) {
      const Node x = b.input(v1::F32, {1});
      Node sum = x;
      std::vector<Node> stored;
      for (int i = 0; i < stages; ++i) {  // all alive until the end
        stored.push_back(b.op(v1::CONTIGUOUS, {b.op(v1::MUL, {b.expand(x, {kTera}), b.expand(sum, {kTera})})}));
        sum = b.reduce(v1::REDUCE_MAX, stored.back(), {0});
      }
      for (const Node s : stored) sum = b.op(v1::ADD, {sum, b.reduce(v1::REDUCE_MIN, s, {0})});
      b.output(sum);
    });
  };
  CHECK(refusal(chain(1)) == "");
  CHECK_THAT(refusal(chain(2)), Catch::StartsWith("the traced graph's intermediate values take 8796093"));
}

TEST_CASE("ranks over 16") {
  const Dims sixteen(16, Dim(1)), seventeen(17, Dim(1));
  check({
      {"an input", "node 0 (INPUT)", "rank 17 is over 16", input_of(seventeen), input_of(sixteen)},
      {"a reshape", "node 1 (RESHAPE)", "rank 17 is over 16",
       [&](GraphBuilder& b) { b.output(b.reshape(b.input(v1::F32, {1}), seventeen)); },
       [&](GraphBuilder& b) { b.output(b.reshape(b.input(v1::F32, {1}), sixteen)); }},
      {"an axis that unfold adds", "node 1 (UNFOLD)", "rank 17 is over 16",
       [&](GraphBuilder& b) { b.output(b.unfold(b.input(v1::F32, sixteen), 0, 1, 1, 1)); },
       [&](GraphBuilder& b) { b.output(b.unfold(b.input(v1::F32, Dims(15, Dim(1))), 0, 1, 1, 1)); }},
      {"axes that gather adds", "node 2 (GATHER)", "rank 17 is over 16",
       [&](GraphBuilder& b) { b.output(b.gather(b.input(v1::F32, sixteen), b.input(v1::I32, {1, 1}), 0)); },
       [&](GraphBuilder& b) { b.output(b.gather(b.input(v1::F32, sixteen), b.input(v1::I32, {1}), 0)); }},
  });
}

// `change` spoils a graph of x [2, 3], y [2, 3] and x + y.
std::string spoiled(const std::function<void(v1::Graph&)>& change,
                    absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
  v1::Graph graph = made([](GraphBuilder& b) {
    const Node x = b.input(v1::F32, {2, 3}), y = b.input(v1::F32, {2, 3});
    b.output(b.op(v1::ADD, {x, y}));
  });
  change(graph);
  return refusal(graph, code);
}

TEST_CASE("cycles, nodes that are not there, names") {
  CHECK(spoiled([](v1::Graph&) {}) == "");
  const std::string later = " is not an earlier node (a cycle or a wrong order)";
  CHECK(spoiled([](v1::Graph& g) { g.mutable_nodes(2)->set_inputs(1, 2); }) == "node 2 (ADD): input 2" + later);
  CHECK(spoiled([](v1::Graph& g) { g.mutable_nodes(2)->set_inputs(0, UINT32_MAX); }) ==
        "node 2 (ADD): input 4294967295" + later);
  CHECK(spoiled([](v1::Graph& g) { g.mutable_nodes(0)->add_inputs(2); }) == "node 0 (INPUT): input 2" + later);
  CHECK(spoiled([](v1::Graph& g) { g.mutable_nodes(2)->add_inputs(0); }) == "node 2 (ADD): 3 inputs instead of 2");
  CHECK(spoiled([](v1::Graph& g) { g.mutable_nodes(2)->set_op(static_cast<v1::Op>(999)); }) ==
        "node 2 (op 999): op 999 is unknown to this version");
  CHECK(spoiled([](v1::Graph& g) { g.mutable_nodes(1)->set_name("in0"); }) ==
        "node 1 (INPUT): the name 'in0' is used twice");
  CHECK(spoiled([](v1::Graph& g) { g.mutable_nodes(1)->clear_name(); }) ==
        "node 1 (INPUT): a name of 1 to 1024 bytes is needed");
  CHECK(spoiled([](v1::Graph& g) { g.mutable_outputs(0)->set_node(3); }) ==
        "output 0 'out0': node 3 does not exist (3 nodes)");
  CHECK(spoiled([](v1::Graph& g) { g.mutable_outputs(0)->clear_name(); }) ==
        "output 0: a name of 1 to 1024 bytes is needed");
  CHECK(spoiled([](v1::Graph& g) { *g.add_outputs() = g.outputs(0); }) == "output 1 'out0': the name is used twice");
  CHECK(spoiled([](v1::Graph& g) { g.clear_outputs(); }) == "the traced graph has no output");
  // Bytes that an input has no use for are no part of the plan.
  CHECK(spoiled([](v1::Graph& g) { g.mutable_nodes(0)->set_data("bytes"); }) == "");
  CHECK_THAT(spoiled([](v1::Graph& g) { g.set_version(99); }, absl::StatusCode::kFailedPrecondition),
             Catch::Contains("has version 99"));
}

TEST_CASE("types and shapes that do not fit") {
  const auto two = [](v1::Op op, v1::DType a, v1::DType b_type, const Dims& a_shape, const Dims& b_shape) {
    return Build([=](GraphBuilder& b) { b.output(b.op(op, {b.input(a, a_shape), b.input(b_type, b_shape)})); });
  };
  const auto one = [](v1::Op op, v1::DType dtype) {
    return Build([=](GraphBuilder& b) { b.output(b.op(op, {b.input(dtype, {4})})); });
  };
  const auto sum_of = [](v1::DType dtype) {
    return Build([=](GraphBuilder& b) { b.output(b.reduce(v1::REDUCE_SUM, b.input(dtype, {4}), {0})); });
  };
  const auto scattered = [](v1::DType index, const Dims& indices, const Dims& updates, std::int64_t how = 0,
                            v1::DType dtype = v1::F32) {
    return Build([=](GraphBuilder& b) {
      const Node x = b.input(dtype, {3, 4}), at = b.input(index, indices), u = b.input(dtype, updates);
      b.output(b.scatter(x, at, u, how));
    });
  };
  const auto choose = [](v1::DType condition, v1::DType other) {
    return Build([=](GraphBuilder& b) {
      const Node c = b.input(condition, {4}), x = b.input(v1::F32, {4}), y = b.input(other, {4});
      b.output(b.op(v1::WHERE, {c, x, y}));
    });
  };
  check({
      {"operands", "node 2 (ADD)", "dtypes f32 and i32", two(v1::ADD, v1::F32, v1::I32, {4}, {4}),
       two(v1::ADD, v1::F32, v1::F32, {4}, {4})},
      {"shapes", "node 2 (ADD)", "input 1 has shape [5], input 0 has [4]", two(v1::ADD, v1::F32, v1::F32, {4}, {5}),
       two(v1::ADD, v1::F32, v1::F32, {5}, {5})},
      {"a float op on integers", "node 1 (EXP)", "dtype i32 where a float is needed", one(v1::EXP, v1::I32),
       one(v1::EXP, v1::F16)},
      {"a bitwise op on floats", "node 1 (NOT)", "dtype f32 where bool or an integer is needed", one(v1::NOT, v1::F32),
       one(v1::NOT, v1::U8)},
      {"a number op on bool", "node 1 (NEG)", "dtype bool where a number is needed", one(v1::NEG, v1::BOOL),
       one(v1::NEG, v1::U8)},
      {"a sum of bool", "node 1 (REDUCE_SUM)", "bool has no sum", sum_of(v1::BOOL), sum_of(v1::U8)},
      {"a condition", "node 3 (WHERE)", "dtype f32, not bool", choose(v1::F32, v1::F32), choose(v1::BOOL, v1::F32)},
      {"branches", "node 3 (WHERE)", "f32 and i8", choose(v1::BOOL, v1::I8), choose(v1::BOOL, v1::F32)},
      {"a product", "node 2 (MATMUL)", "[2, 3] x f32 [4, 5]", two(v1::MATMUL, v1::F32, v1::F32, {2, 3}, {4, 5}),
       two(v1::MATMUL, v1::F32, v1::F32, {2, 3}, {3, 5})},
      {"an axis", "node 1 (REDUCE_MAX)", "axis 2 is outside rank 2",
       [](GraphBuilder& b) { b.output(b.reduce(v1::REDUCE_MAX, b.input(v1::F32, {2, 3}), {2})); },
       [](GraphBuilder& b) { b.output(b.reduce(v1::REDUCE_MAX, b.input(v1::F32, {2, 3}), {1})); }},
      {"a reshape", "node 1 (RESHAPE)", "equally many elements",
       [](GraphBuilder& b) { b.output(b.reshape(b.input(v1::F32, {2, 3}), {5})); },
       [](GraphBuilder& b) { b.output(b.reshape(b.input(v1::F32, {2, 3}), {6})); }},
      {"a shrink beyond the end", "node 1 (SHRINK)", "end [4] is not proved within length [3]",
       [](GraphBuilder& b) { b.output(b.shrink(b.input(v1::F32, {3}), {0, 4})); },
       [](GraphBuilder& b) { b.output(b.shrink(b.input(v1::F32, {3}), {0, 3})); }},
      {"indices", "node 2 (GATHER)", "dtype f32, not an integer",
       [](GraphBuilder& b) { b.output(b.gather(b.input(v1::F32, {3}), b.input(v1::F32, {2}), 0)); },
       [](GraphBuilder& b) { b.output(b.gather(b.input(v1::F32, {3}), b.input(v1::U8, {2}), 0)); }},
      {"indices that updates are written at", "node 3 (SCATTER)", "dtype f32, not an integer",
       scattered(v1::F32, {2}, {2, 4}), scattered(v1::U8, {2}, {2, 4})},
      {"updates of another number", "node 3 (SCATTER)",
       "data f32 [3, 4], indices [2] and updates f32 [5, 4] are not [n, r..], [m..] and [m.., r..]",
       scattered(v1::I64, {2}, {5, 4}), scattered(v1::I64, {5}, {5, 4})},
      {"updates of another row", "node 3 (SCATTER)", "are not [n, r..]", scattered(v1::I64, {2}, {2, 5}),
       scattered(v1::I64, {}, {4})},
      {"an unknown way to write updates", "node 3 (SCATTER)", "axes are not one number from 0 to 4",
       scattered(v1::I64, {2}, {2, 4}, 5), scattered(v1::I64, {2}, {2, 4}, 4)},
      {"sums of truths", "node 3 (SCATTER)", "dtype bool cannot be combined",
       scattered(v1::I64, {2}, {2, 4}, 1, v1::BOOL), scattered(v1::I64, {2}, {2, 4}, 0, v1::BOOL)},
  });
}

TEST_CASE("symbolic bounds") {
  const auto bounded = [](const std::string& name, std::int64_t min, std::int64_t max) {
    return Build([=](GraphBuilder& b) {
      b.var("m", 0, 4);
      b.output(b.op(v1::NEG, {b.input(v1::F32, {b.var(name, min, max)})}));
    });
  };
  check({
      {"min over max", "variable 1 'n'", "min 5 > max 4", bounded("n", 5, 4), bounded("n", 4, 4)},
      {"negative", "variable 1 'n'", "min -1 is negative", bounded("n", -1, 4), bounded("n", 0, 4)},
      {"far", "variable 1 'n'", "max 1099511627777 is over", bounded("n", 0, kT + 1), bounded("n", 0, kT)},
      {"twice", "variable 1 'm'", "the name is used twice", bounded("m", 0, 4), bounded("n", 0, 4)},
      {"nameless", "variable 1 ''", "a name of 1 to 256 bytes", bounded("", 0, 4), bounded("n", 0, 4)},
  });
  const auto shaped = [](const std::function<Dim(const Dim&)>& length) {
    return Build([=](GraphBuilder& b) { b.output(b.op(v1::NEG, {b.input(v1::F32, {length(b.var("n", 1, 9))})})); });
  };
  check({
      {"a length that may be negative", "node 0 (INPUT)", "may be negative", shaped([](const Dim& n) { return n - 2; }),
       shaped([](const Dim& n) { return n - 1; })},
      {"a parameter whose shape varies", "node 0 (PARAMETER)", "a parameter's shape is constant",
       [](GraphBuilder& b) { b.output(b.op(v1::NEG, {b.parameter(v1::F32, {b.var("n", 1, 9)})})); },
       [](GraphBuilder& b) { b.output(b.op(v1::NEG, {b.parameter(v1::F32, {9})})); }},
      {"a constant whose shape varies", "node 0 (CONSTANT)", "a constant's shape is constant",
       [](GraphBuilder& b) {
         const Node c = b.constant(codegen::reference::HostTensor(ir::Scalar::F32, {0, 3}));
         b.output(b.op(v1::NEG, {c}));
         *b.mutable_graph().mutable_nodes(0)->mutable_args(1) = b.var("n", 1, 9).expr;
       },
       [](GraphBuilder& b) {
         b.output(b.op(v1::NEG, {b.constant(codegen::reference::HostTensor(ir::Scalar::F32, {0, 3}))}));
       }},
      {"a divisor that may be zero", "node 0 (INPUT)", "not proved positive",
       shaped([](const Dim& n) { return n / (n - 1); }), shaped([](const Dim& n) { return n / n; })},
      {"a variable that is not there", "node 0 (INPUT)", "variable 1 does not exist",
       shaped([](const Dim&) { return Dim::variable(1); }), shaped([](const Dim&) { return Dim::variable(0); })},
  });
}

TEST_CASE("a kernel that reads more buffers than a launch has slots is still a plan") {
  CHECK(refusal(made([](GraphBuilder& b) {
          std::vector<Node> parts;
          for (int i = 0; i < 1500; ++i) parts.push_back(b.input(v1::F32, {2}));
          b.output(b.cat(parts, 0));
        })) == "");
}

TEST_CASE("lengths are bounded alike by compiler and runtime") {
  CHECK(refusal(made([](GraphBuilder& b) {
          const Dim n = b.var("n", 1, 5);
          b.output(b.op(v1::NEG, {b.input(v1::F32, {conformance::combine(v1::ExprToken::FLOORMOD, n, 8)})}));
          b.output(b.op(v1::NEG, {b.input(v1::F32, {Dim(9) / conformance::combine(v1::ExprToken::FLOORMOD, n, 8)})}));
        })) == "");
}

TEST_CASE("empty sizes are legal everywhere") {
  CHECK(refusal(made([](GraphBuilder& b) {
          const Node x = b.input(v1::F32, {0, 3}), n = b.input(v1::F32, {b.var("n", 0, 0), 3});
          b.output(b.op(v1::EXP, {x}));
          b.output(b.reduce(v1::REDUCE_SUM, x, {0}));
          b.output(b.reduce(v1::REDUCE_MAX, n, {0}));
          b.output(b.op(v1::MATMUL, {b.input(v1::F32, {2, 0}), x}));
          b.output(b.op(v1::MATMUL, {x, b.input(v1::F32, {3, 0})}));
          b.output(b.cat({x, x}, 0));
          b.output(b.pad(x, {2, 1, 0, 0}));
          b.output(b.flip(n, {0, 1}));
        })) == "");
}

}  // namespace
}  // namespace hearth
