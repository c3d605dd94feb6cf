// Loops beside the oracle, which computes graph.proto's Loop a step at a time.
#include <catch2/catch.hpp>
#include <functional>

#include "compiler/compile.h"
#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"

namespace hearth::conformance {
namespace {

using Catch::Contains;
using ir::Scalar;

// h' = h / 2 + x, and its square beside it.
GraphBuilder halves_body(const Dims& shape) {
  GraphBuilder body;
  const Node h = body.input(v1::F32, shape), x = body.input(v1::F32, shape);
  const Node next = body.op(v1::ADD, {body.op(v1::MUL, {h, body.fill(v1::F32, {0, 0.5}, shape)}), x});
  body.output(next);
  body.output(body.op(v1::MUL, {next, next}));
  return body;
}

TEST_CASE("a loop's last and stacked values, in both directions, for a constant and a variable count") {
  for (const bool reverse : {false, true}) {
    for (const bool collected : {false, true}) {
      for (const bool symbolic : {false, true}) {
        CAPTURE(reverse, collected, symbolic);
        GraphBuilder b;
        const Dim count = symbolic ? b.var("t", 1, 9) : Dim(7);
        const Node h = b.input(v1::F32, {5}), x = b.input(v1::F32, {count, 5});
        const std::int64_t loop = b.loop(halves_body({5}), count, 1, 1, {collected}, reverse);
        b.output(b.loop_result(loop, 0, v1::F32, {h, x}));
        b.output(b.op(v1::NEG, {b.loop_result(loop, 1, v1::F32, {h, x})}));
        Program program(b.graph());
        for (const std::int64_t t : symbolic ? std::vector<std::int64_t>{1, 2, 9} : std::vector<std::int64_t>{7}) {
          const Feed feed = {{uniform(Scalar::F32, {5}), uniform(Scalar::F32, {t, 5}, 2)},
                             symbolic ? std::vector<std::int64_t>{t} : std::vector<std::int64_t>{}};
          program.check(feed, roundings(Scalar::F32, 8));
        }
      }
    }
  }
}

// a, b -> b, a + b: one value is handed on as it is.
TEST_CASE("carried values that change places") {
  GraphBuilder body;
  const Node a = body.input(v1::I64, {3}), c = body.input(v1::I64, {3});
  body.output(c);
  body.output(body.op(v1::ADD, {a, c}));
  for (const std::int64_t count : {1, 2, 30}) {
    GraphBuilder b;
    const Node first = b.input(v1::I64, {3}), second = b.input(v1::I64, {3});
    const std::int64_t loop = b.loop(body, count, 2, 0, {false, true});
    b.output(b.loop_result(loop, 0, v1::I64, {first, second}));
    b.output(b.loop_result(loop, 1, v1::I64, {first, second}));
    CAPTURE(count);
    Program program(b.graph());
    program.check({{ramp(Scalar::I64, {3}), ramp(Scalar::I64, {3}, 2)}, {}}, Tolerance::exact());
  }
}

struct Recurrent {
  GraphBuilder b;
  Node last, all;
};

// h' = tanh(w x + 0.03 r h) over `steps`.
Recurrent recurrent(const Dim& steps, GraphBuilder b = {}) {
  GraphBuilder body;
  const Node h = body.input(v1::F32, {2, 48}), x = body.input(v1::F32, {2, 48}), r = body.input(v1::F32, {48, 48});
  const Node product = body.op(v1::MATMUL, {h, body.permute(r, {1, 0})});
  const Node gain = body.fill(v1::F32, {0, 0.03}, {2, 48});  // small enough that errors do not grow from step to step
  const Node next = body.op(v1::TANH, {body.op(v1::ADD, {x, body.op(v1::MUL, {product, gain})})});
  body.output(next);
  const Node start = b.input(v1::F32, {2, 48}), in = b.input(v1::F32, {steps, 2, 16});
  const Node w = b.parameter(v1::F32, {16, 48}), weights = b.parameter(v1::F32, {48, 48});
  const Node shares = b.reshape(b.op(v1::MATMUL, {b.reshape(in, {steps * 2, 16}), w}), {steps, 2, 48});
  const std::int64_t loop = b.loop(body, steps, 1, 1, {true});
  const Node all = b.loop_result(loop, 0, v1::F32, {start, shares, weights});
  const Node last = b.reshape(b.shrink(all, {steps - 1, steps, 0, 2, 0, 48}), {2, 48});
  return {std::move(b), last, all};
}

TEST_CASE("a recurrent layer: weights are packed once, shares are made before the loop, all steps are read after it") {
  for (const v1::Target& target : {baseline_target(), host_target(), wide_target()}) {
    Recurrent made = recurrent(11);
    made.b.output(made.last);
    made.b.output(made.b.reduce(v1::REDUCE_SUM, made.all, {0}));
    Program program(made.b.graph(), target);
    program.check({{uniform(Scalar::F32, {2, 48}), uniform(Scalar::F32, {11, 2, 16}, 2),
                    uniform(Scalar::F32, {16, 48}, 3), uniform(Scalar::F32, {48, 48}, 4)},
                   {}},
                  roundings(Scalar::F32, 400));
    const v1::Plan& plan = program.lowered().plan();
    REQUIRE(plan.loops_size() == 1);
    int once = 0;
    for (const v1::Launch& launch : plan.launches()) once += launch.once();
    CHECK(once >= 1);
  }
}

TEST_CASE("a plan does not grow with the number of steps, and its kernels are those of a short loop") {
  const auto lowered = [](std::int64_t steps) {
    GraphBuilder around;
    const Node h = around.input(v1::F32, {64}), x = around.input(v1::F32, {steps, 64});
    const std::int64_t loop = around.loop(halves_body({64}), steps, 1, 1, {false});
    around.output(around.loop_result(loop, 0, v1::F32, {h, x}));
    auto plan = compiler::lower(around.graph(), host_target(), {});
    REQUIRE(plan.ok());
    return *plan;
  };
  const v1::LoweredPlan few = lowered(10), many = lowered(10'000);
  REQUIRE(few.kernels_size() > 0);
  REQUIRE(many.kernels_size() == few.kernels_size());
  for (int i = 0; i < few.kernels_size(); ++i) CHECK(many.kernels(i).ast() == few.kernels(i).ast());
  CHECK(many.plan().launches_size() == few.plan().launches_size());
  CHECK(many.plan().loops(0).max_count() == 10'000);
}

TEST_CASE("loops one after the other, one's results in the other's body, and a body with constants") {
  GraphBuilder b;
  const Node h = b.input(v1::F32, {6}), x = b.input(v1::F32, {4, 6});
  const std::int64_t first = b.loop(halves_body({6}), 4, 1, 1, {false});
  const Node squares = b.loop_result(first, 1, v1::F32, {h, x}), last = b.loop_result(first, 0, v1::F32, {h, x});
  GraphBuilder body;  // s' = max(s, x * constants) - invariant
  const Node s = body.input(v1::F32, {6}), in = body.input(v1::F32, {6}), invariant = body.input(v1::F32, {6});
  const Node scaled = body.op(v1::MUL, {in, body.constant(uniform(Scalar::F32, {6}, 5))});
  body.output(body.op(v1::SUB, {body.op(v1::MAX, {s, scaled}), invariant}));
  const std::int64_t second = b.loop(body, 4, 1, 1, {true}, true);
  b.output(b.loop_result(second, 0, v1::F32, {b.fill(v1::F32, {0, -1.0}, {6}), squares, last}));
  Program program(b.graph());
  program.check({{uniform(Scalar::F32, {6}), uniform(Scalar::F32, {4, 6}, 2)}, {}}, roundings(Scalar::F32, 16));
}

TEST_CASE("what does not differ from step to step is computed once, in front of the loop") {
  GraphBuilder body;  // h' = h * (sums of w's rows) + x
  const Node h = body.input(v1::F32, {40}), x = body.input(v1::F32, {40}), w = body.input(v1::F32, {40, 300});
  const Node sums = body.op(v1::CONTIGUOUS, {body.reshape(body.reduce(v1::REDUCE_SUM, w, {1}), {40})});
  body.output(body.op(v1::ADD, {body.op(v1::MUL, {h, sums}), x}));
  GraphBuilder b;
  const Node start = b.input(v1::F32, {40}), in = b.input(v1::F32, {3, 40}), weights = b.input(v1::F32, {40, 300});
  const std::int64_t loop = b.loop(body, 3, 1, 1, {false});
  b.output(b.loop_result(loop, 0, v1::F32, {start, in, weights}));
  Program program(b.graph());
  program.check({{ramp(Scalar::F32, {40}), ramp(Scalar::F32, {3, 40}, 2, 1), ramp(Scalar::F32, {40, 300}, 3, 1)}, {}},
                roundings(Scalar::F32, 64));
  const v1::Plan& plan = program.lowered().plan();
  REQUIRE(plan.loops_size() == 1);
  CHECK(plan.loops(0).first_launch() == 1);
  CHECK(plan.loops(0).num_launches() == 1);
}

TEST_CASE("a loop over values without elements") {
  GraphBuilder b;
  const Node h = b.input(v1::F32, {0}), x = b.input(v1::F32, {3, 0});
  const std::int64_t loop = b.loop(halves_body({0}), 3, 1, 1, {false});
  b.output(b.loop_result(loop, 1, v1::F32, {h, x}));
  Program program(b.graph());
  program.check({{ramp(Scalar::F32, {0}), ramp(Scalar::F32, {3, 0})}, {}}, Tolerance::exact());
}

TEST_CASE("what a client says of a loop is refused by name where it does not hold") {
  struct Fault {
    const char* expected;
    std::function<void(v1::Graph&)> apply;
  };
  const auto set_count = [](v1::Graph& g, std::int64_t count) {
    g.mutable_loops(0)->mutable_count()->mutable_tokens(0)->set_value(count);
  };
  const Fault faults[] = {
      {"axes are not one of the graph's 0 loops", [](v1::Graph& g) { g.clear_loops(); }},
      {"axes are not one of", [](v1::Graph& g) { g.mutable_nodes(2)->set_axes(0, -1); }},
      {"result 2 of a loop with 2", [](v1::Graph& g) { g.mutable_nodes(2)->set_axes(1, 2); }},
      {"the inputs are not those of the loop's other results",
       [](v1::Graph& g) { g.mutable_nodes(3)->set_inputs(1, 0); }},
      {"a loop needs at least one operand", [](v1::Graph& g) { g.mutable_nodes(2)->clear_inputs(); }},
      {"the count may be less than 1", [&](v1::Graph& g) { set_count(g, 0); }},
      {"count: ", [](v1::Graph& g) { g.mutable_loops(0)->clear_count(); }},
      {"whose first axis is not [5]", [&](v1::Graph& g) { set_count(g, 5); }},
      {"3 carried and 1 sliced of 2 operands", [](v1::Graph& g) { g.mutable_loops(0)->set_carried(3); }},
      {"1 carried and 4294967295 sliced", [](v1::Graph& g) { g.mutable_loops(0)->set_sliced(~0u); }},
      {"said to be collected", [](v1::Graph& g) { g.mutable_loops(0)->clear_collected(); }},
      {"a loop's body has variables or loops",
       [](v1::Graph& g) { *g.mutable_loops(0)->mutable_body()->add_vars() = {}; }},
      {"a loop's body has variables or loops",
       [](v1::Graph& g) { *g.mutable_loops(0)->mutable_body()->add_loops() = v1::Loop(); }},
      {"a loop's body takes parameters as operands",
       [](v1::Graph& g) { g.mutable_loops(0)->mutable_body()->mutable_nodes(1)->set_op(v1::PARAMETER); }},
      {"a step sees f32 [6] of operand 0, the body's input 'in0' is f32 [5]",
       [](v1::Graph& g) { g.mutable_nodes(0)->mutable_args(0)->mutable_tokens(0)->set_value(6); }},
      {"2 operands, the body has 1 inputs",
       [](v1::Graph& g) {
         g.mutable_loops(0)->mutable_body()->mutable_nodes(1)->set_op(v1::IOTA);
         g.mutable_loops(0)->mutable_body()->mutable_nodes(1)->add_axes(0);
       }},
      {"body: ", [](v1::Graph& g) { g.mutable_loops(0)->mutable_body()->mutable_nodes(1)->set_op(v1::NEG); }},
      {"body: the traced graph has no output",
       [](v1::Graph& g) { g.mutable_loops(0)->mutable_body()->clear_outputs(); }},
      {"body: output 0 'out0': node 99 does not exist",
       [](v1::Graph& g) { g.mutable_loops(0)->mutable_body()->mutable_outputs(0)->set_node(99); }},
      {"the body makes f32 [1, 5] of the carried 'in0', which is f32 [5]",
       [](v1::Graph& g) {
         v1::Graph& body = *g.mutable_loops(0)->mutable_body();
         v1::Node& row = *body.add_nodes();
         row.set_op(v1::RESHAPE);
         row.add_inputs(0);
         for (const std::int64_t length : {1, 5}) row.add_args()->add_tokens()->set_value(length);
         body.mutable_outputs(0)->set_node(static_cast<std::uint32_t>(body.nodes_size() - 1));
       }},
  };
  GraphBuilder b;
  const Node h = b.input(v1::F32, {5}), x = b.input(v1::F32, {7, 5});
  const std::int64_t loop = b.loop(halves_body({5}), 7, 1, 1, {false});
  b.output(b.loop_result(loop, 0, v1::F32, {h, x}));
  b.output(b.loop_result(loop, 1, v1::F32, {h, x}));
  REQUIRE(compiler::lower(b.graph(), host_target(), {}).ok());
  for (const Fault& fault : faults) {
    v1::Graph graph = b.graph();
    fault.apply(graph);
    const absl::Status status = compiler::lower(graph, host_target(), {}).status();
    const std::string expected = fault.expected;
    INFO("expected: " << expected << ", said: " << status.ToString());
    CHECK(status.code() == absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(status.message()), Contains(expected));
  }
}

}  // namespace
}  // namespace hearth::conformance
