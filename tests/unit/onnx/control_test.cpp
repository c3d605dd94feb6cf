// If, Loop, Scan, functions, sequences and optionals on the reference interpreter: what ONNX's own cases leave out.
#include <catch2/catch.hpp>

#include "tests/unit/onnx/model_builder.h"
#include "tests/unit/onnx/oracle.h"

using namespace hearth;
using namespace hearth::onnx;
using Catch::Matchers::Contains;
using Floats = std::vector<float>;
using Ints64 = std::vector<std::int64_t>;

namespace {

constexpr int kBool = ::hearth_onnx::TensorProto::BOOL;

Array flag(bool value) { return {DType::kBool, {}, std::string(1, value ? '\1' : '\0')}; }

Floats run_control(const ModelBuilder& model, const std::map<std::string, Array>& inputs,
                   const ImportOptions& options = {}) {
  return elements(first_result(model, inputs, options));
}

// A graph without inputs: y = op(x) of the graph around it.
ModelBuilder branch(const std::string& op) {
  ModelBuilder body(17);
  body.node(op, {"x"}, {"b"}).output("b");
  return body;
}

ModelBuilder if_model(const ModelBuilder& then_branch, const ModelBuilder& else_branch) {
  ModelBuilder m(17);
  m.input("c", {}, kBool).input("x", {2}).node("If", {"c"}, {"y"}, "if").attr_graph("then_branch", then_branch);
  return m.attr_graph("else_branch", else_branch).output("y");
}

// state, x -> state + x, going on while it is below 10; counts on from whatever is around it.
ModelBuilder adding_body(bool scans = false) {
  ModelBuilder body(17);
  body.input("i", {}).input("on", {}, kBool).input("s", {1});
  body.node("Add", {"s", "x"}, {"next"}).node("Less", {"next", "ten"}, {"goes_on"});
  body.output("goes_on").output("next");
  return scans ? body.output("s") : body;
}

ModelBuilder loop_model(std::int64_t trips, const ModelBuilder& body) {
  ModelBuilder m(17);
  m.input("x", {1}).floats("ten", {1}, {10}).floats("zero", {1}, {0}).ints("trips", {}, {trips});
  return m.node("Loop", {"trips", "", "zero"}, {"y"}, "loop").attr_graph("body", body).output("y");
}

}  // namespace

TEST_CASE("an If whose condition is computed selects between its branches") {
  const ModelBuilder m = if_model(branch("Neg"), branch("Relu"));
  const Array x = array_of({2}, {-1, 2});
  CHECK(run_control(m, {{"c", flag(true)}, {"x", x}}) == Floats{1, -2});
  CHECK(run_control(m, {{"c", flag(false)}, {"x", x}}) == Floats{0, 2});
}

TEST_CASE("an If whose branches differ in shape and whose condition is computed is refused") {
  ModelBuilder one(17);
  one.floats("w", {1}, {3}).node("Identity", {"w"}, {"b"}).output("b");
  CHECK_THAT(error_of(if_model(branch("Neg"), one).import()),
             Contains("'if' (operator If, opset 17)") && Contains("chooses between f32 [2] and f32 [1]"));
  ModelBuilder sequence(17);
  sequence.node("SequenceConstruct", {"x", "x"}, {"b"}).output("b");
  CHECK_THAT(error_of(if_model(branch("Neg"), sequence).import()), Contains("f32 [2] and a sequence of 2"));
}

// The then_branch reshapes to a length that x does not have.
ModelBuilder if_on_rate() {
  ModelBuilder wrong(17);
  wrong.ints("s", {1}, {3}).node("Reshape", {"x", "s"}, {"b"}, "wrong").output("b");
  ModelBuilder m(17);
  m.input("rate", {}, ::hearth_onnx::TensorProto::INT64).input("x", {2}).ints("eight", {}, {8000});
  m.node("Equal", {"rate", "eight"}, {"c"}).node("If", {"c"}, {"y"}, "if").attr_graph("then_branch", wrong);
  return m.attr_graph("else_branch", branch("Relu")).output("y");
}

Array number(std::int64_t value) {
  return {DType::kI64, {}, std::string(reinterpret_cast<const char*>(&value), sizeof value)};
}

TEST_CASE("an If whose condition depends on a constant takes one branch, and the other need not fit") {
  const Array x = array_of({2}, {-1, 2});
  CHECK(run_control(if_on_rate(), {{"x", x}}, {.constants = {{"rate", number(16000)}}}) == Floats{0, 2});
  // A value that is known is taken as a constant, and the result says so.
  const auto known = if_on_rate().import({.known_values = {{"rate", number(16000)}}});
  INFO(known.status().message());
  REQUIRE(known.ok());
  REQUIRE(known->fixed_inputs.size() == 1);
  CHECK(known->fixed_inputs[0].name == "rate");
  CHECK(known->inputs.size() == 1);
  // What decides nothing stays an input.
  const auto plain = if_model(branch("Neg"), branch("Relu")).import({.known_values = {{"x", x}}});
  REQUIRE(plain.ok());
  CHECK(plain->fixed_inputs.empty());
}

TEST_CASE("a branch that cannot be imported is told with its If, the branch and the input that chooses it") {
  CHECK_THAT(error_of(if_on_rate().import()),
             Contains("node 'if' (operator If)") && Contains("then_branch cannot be imported") &&
                 Contains("node 'wrong' (operator Reshape") && Contains("input 'rate'") &&
                 Contains("--const rate=VALUE") && Contains("ImportOptions::constants"));
  CHECK_THAT(error_of(if_on_rate().import({.constants = {{"rate", number(8000)}}})), Contains("node 'wrong'"));
}

TEST_CASE("a shape and a trip count that are inputs can be constants") {
  ModelBuilder m(17);
  m.input("x", {6}).input("s", {2}, ::hearth_onnx::TensorProto::INT64).node("Reshape", {"x", "s"}, {"y"}).output("y");
  const std::int64_t lengths[] = {2, 3};
  const Array shape = {DType::kI64, {2}, std::string(reinterpret_cast<const char*>(lengths), sizeof lengths)};
  CHECK_THAT(error_of(m.import()), Contains("input 's'") && Contains("--const s=VALUE"));
  const auto imported = m.import({.known_values = {{"s", shape}}});
  INFO(imported.status().message());
  REQUIRE(imported.ok());
  CHECK(imported->results[0].shape == std::vector<std::int64_t>{2, 3});
  ModelBuilder body(17);
  body.input("i", {}).input("on", {}, kBool).input("v", {1});
  body.node("Add", {"v", "v"}, {"w"}).output("on").output("w");
  ModelBuilder loops(17);
  loops.input("trips", {}, ::hearth_onnx::TensorProto::INT64).input("x", {1});
  loops.node("Loop", {"trips", "", "x"}, {"y"}).attr_graph("body", body).output("y");
  CHECK(run_control(loops, {{"x", array_of({1}, {1})}}, {.constants = {{"trips", number(5)}}}) == Floats{32});
}

TEST_CASE("a constant that its input cannot hold is refused by name and value") {
  const Array half = {DType::kF64, {}, std::string("\0\0\0\0\0\0\xe0\x3f", 8)};
  CHECK_THAT(error_of(if_on_rate().import({.constants = {{"rate", half}}})), Contains("'rate'") && Contains("0.5"));
  CHECK_THAT(error_of(if_on_rate().import({.constants = {{"rat", number(1)}}})), Contains("no input 'rat'"));
}

TEST_CASE("a Loop with a computed condition stands still once it ended") {
  CHECK(run_control(loop_model(6, adding_body()), {{"x", array_of({1}, {4})}}) == Floats{12});
  CHECK(run_control(loop_model(6, adding_body()), {{"x", array_of({1}, {1})}}) == Floats{6});
  CHECK(run_control(loop_model(0, adding_body()), {{"x", array_of({1}, {1})}}) == Floats{0});
}

TEST_CASE("loops that cannot be unrolled are refused by reason") {
  CHECK_THAT(error_of(loop_model(6, adding_body(true)).import()),
             Contains("a length that a computed condition decides"));
  CHECK_THAT(error_of(loop_model(5000, adding_body()).import()), Contains("no trip count up to 1024"));
  ModelBuilder endless(17);
  endless.input("i", {}).input("on", {}, kBool).input("s", {1}).output("on").output("s");
  CHECK_THAT(error_of(loop_model(std::int64_t{1} << 40, endless).import()), Contains("more than 100000 iterations"));
  ModelBuilder computed(17);
  computed.input("trips", {}, ::hearth_onnx::TensorProto::INT64).floats("zero", {1}, {0});
  computed.node("Loop", {"trips", "", "zero"}, {"y"}).attr_graph("body", endless).output("y");
  CHECK_THAT(error_of(computed.import()), Contains("the trip count") && Contains("not known while importing"));
  ModelBuilder few(17);
  few.input("i", {}).input("on", {}, kBool).input("s", {1}).output("on");
  CHECK_THAT(error_of(loop_model(3, few).import()), Contains("its state alone needs 2"));
  ModelBuilder narrow(17);
  narrow.input("i", {}).input("on", {}, kBool).output("on").output("i");
  CHECK_THAT(error_of(loop_model(3, narrow).import()), Contains("has 2 inputs but is given 3"));
}

TEST_CASE("a Scan reads and writes along any axis in either direction") {
  ModelBuilder body(17);
  body.input("s", {2}).input("e", {2}).node("Add", {"s", "e"}, {"sum"}).node("Identity", {"sum"}, {"out"});
  body.output("sum").output("out");
  ModelBuilder m(17);
  m.input("x", {2, 3}).floats("zero", {2}, {0, 0}).node("Scan", {"zero", "x"}, {"last", "y"});
  m.attr("num_scan_inputs", 1).attr("scan_input_axes", Ints64{1}).attr("scan_input_directions", Ints64{1});
  m.attr("scan_output_axes", Ints64{-1}).attr("scan_output_directions", Ints64{1}).attr_graph("body", body).output("y");
  // Sums from the last column on, the first sum last.
  CHECK(run_control(m, {{"x", array_of({2, 3}, {1, 2, 3, 10, 20, 30})}}) == Floats{6, 5, 3, 60, 50, 30});
}

TEST_CASE("functions see their inputs and attributes only, with their own opset") {
  ModelBuilder scaled(9);  // opset 9: Clip has attributes
  scaled.input("a", {}).input("unused", {}).node("LeakyRelu", {"a"}, {"l"});
  scaled.attr_reference("alpha", "slope", ::hearth_onnx::AttributeProto::FLOAT)
      .node("Clip", {"l"}, {"r"})
      .attr_real("max", 5);
  scaled.output("r");
  ModelBuilder m(17);
  m.function("my", "Scaled", {"slope"}, scaled).input("x", {2}).node("Scaled", {"x"}, {"h"}).attr_real("slope", 0.5F);
  m.last().set_domain("my");
  m.node("Scaled", {"h"}, {"y"}).output("y");  // without the attribute: the operator's own default
  m.last().set_domain("my");
  const Floats got = run_control(m, {{"x", array_of({2}, {-4, 9})}});
  CHECK(got[0] == Approx(-0.02));
  CHECK(got[1] == 5);
  m.last().set_op_type("Other");
  CHECK_THAT(error_of(m.import()), Contains("my::Other") && Contains("no version of operator domain 'my'"));
  m.last().set_op_type("Scaled");
  CHECK_THAT(error_of(ModelBuilder(m).attr("slop", 1).import()), Contains("has no attribute 'slop'"));
  m.last().add_input("x");
  m.last().add_input("x");
  CHECK_THAT(error_of(m.import()), Contains("has 2 inputs but is given 3"));
}

TEST_CASE("a function's own defaults hold where a call gives nothing") {
  ModelBuilder body(17);
  body.input("a", {}).node("LeakyRelu", {"a"}, {"r"});
  body.attr_reference("alpha", "slope", ::hearth_onnx::AttributeProto::FLOAT).output("r");
  ModelBuilder m(17);
  m.function("my", "Scaled", {}, body).input("x", {1}).node("Scaled", {"x"}, {"y"}).output("y");
  m.last().set_domain("my");
  ::hearth_onnx::AttributeProto slope;
  slope.set_name("slope");
  slope.set_type(::hearth_onnx::AttributeProto::FLOAT);
  slope.set_f(0.25F);
  const std::string bytes = slope.SerializeAsString();
  // Field 11, which this version of onnx.proto does not know.
  m.proto().mutable_functions(0)->mutable_unknown_fields()->append(
      "\x5a" + std::string(1, static_cast<char>(bytes.size())) + bytes);
  CHECK(run_control(m, {{"x", array_of({1}, {-4})}}) == Floats{-1});
}

TEST_CASE("a function that calls itself is refused") {
  ModelBuilder body(17);
  body.input("a", {}).node("Again", {"a"}, {"r"}).output("r");
  body.last().set_domain("my");
  ModelBuilder m(17);
  m.function("my", "Again", {}, body).input("x", {1}).node("Again", {"x"}, {"y"}).output("y");
  m.last().set_domain("my");
  CHECK_THAT(error_of(m.import()), Contains("function 'Again' calls itself"));
}

TEST_CASE("functions that call one another thousands deep are refused, and a hundred deep are not") {
  const auto chain = [](int depth) {
    ModelBuilder m(17);
    for (int i = 0; i < depth; ++i) {
      ModelBuilder body(17);
      body.input("a", {});
      if (i == 0) {
        body.node("Neg", {"a"}, {"r"});
      } else {
        body.node("F" + std::to_string(i - 1), {"a"}, {"r"});
        body.last().set_domain("my");
      }
      m.function("my", "F" + std::to_string(i), {}, body.output("r"));
    }
    m.input("x", {1}).node("F" + std::to_string(depth - 1), {"x"}, {"y"}).output("y");
    m.last().set_domain("my");
    return m;
  };
  CHECK(run_control(chain(100), {{"x", array_of({1}, {3})}}) == Floats{-3});
  for (const int depth : {101, 5000}) {
    const auto refused = chain(depth).import();
    CHECK(absl::IsUnimplemented(refused.status()));
    CHECK_THAT(error_of(refused), Contains("more than 100 functions, each within another"));
  }
}

TEST_CASE("a few bytes that ask for a sequence of 300,000 tensors are refused") {
  ModelBuilder m(17);
  m.input("x", {300'000}).node("SplitToSequence", {"x"}, {"s"}).node("SequenceLength", {"s"}, {"y"}).output("y");
  const auto refused = m.import();
  CHECK(absl::IsUnimplemented(refused.status()));
  CHECK_THAT(error_of(refused), Contains("a sequence of 300000 tensors (at most 10000)"));
}

TEST_CASE("sequences as inputs and outputs are one tensor an element") {
  ModelBuilder m(17);
  m.input("s", {}).node("SequenceErase", {"s"}, {"y"}).output("y");
  auto* type = m.proto().mutable_graph()->mutable_input(0)->mutable_type();
  type->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(
      ::hearth_onnx::TensorProto::FLOAT);
  CHECK_THAT(error_of(m.import()), Contains("'s' is a sequence; give its length"));
  ImportOptions options{.sequence_lengths = {{"s", 2}}};
  CHECK_THAT(error_of(m.import(options)), Contains("'s/0' has no shape"));
  options.input_shapes = {{"s/0", {1}}, {"s/1", {3}}};
  const auto model = m.import(options);
  INFO(error_of(model));
  REQUIRE(model.ok());
  CHECK(model->inputs[1].name == "s/1");
  CHECK(model->results.size() == 1);
  CHECK(model->results[0].name == "y/0");
  CHECK(run_control(m, {{"s/0", array_of({1}, {7})}, {"s/1", array_of({3}, {1, 2, 3})}}, options) == Floats{7});
  options.absent = {"t"};
  CHECK_THAT(error_of(m.import(options)), Contains("no input 't'"));
}

TEST_CASE("sequences used wrongly are errors") {
  const auto error = [](const std::string& op, const std::vector<std::string>& inputs) {
    ModelBuilder m(17);
    m.input("x", {2, 3}).input("k", {2}, ::hearth_onnx::TensorProto::INT64).ints("five", {}, {5}).ints("none", {}, {0});
    m.node("SequenceConstruct", {"x", "x"}, {"s"}).node("Optional", {}, {"o"}).node(op, inputs, {"y"}).output("y");
    return error_of(m.import());
  };
  CHECK_THAT(error("SequenceAt", {"s", "five"}), Contains("position 5 is out of range for a sequence of 2"));
  CHECK_THAT(error("SequenceInsert", {"s", "k"}), Contains("a sequence of f32 cannot hold i64"));
  CHECK_THAT(error("SequenceAt", {"x", "five"}), Contains("a tensor is given where a sequence is needed"));
  CHECK_THAT(error("Relu", {"s"}), Contains("a sequence is given where a tensor is needed"));
  CHECK_THAT(error("Relu", {"o"}), Contains("an optional without a value is given"));
  CHECK_THAT(error("OptionalGetElement", {"o"}), Contains("the optional has no value"));
  CHECK_THAT(error("SplitToSequence", {"x", "none"}), Contains("split is 0"));
}
