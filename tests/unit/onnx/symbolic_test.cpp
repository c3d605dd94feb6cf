// Symbolic dimensions: a model imported once with ranges gives what it gives imported for every length, on the
// reference interpreter; what cannot be symbolic is refused by name.
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/unit/onnx/model_builder.h"
#include "tests/unit/onnx/oracle.h"

using namespace hearth;
using namespace hearth::onnx;
using Catch::Matchers::Contains;

namespace {

constexpr std::int64_t kLengths[][2] = {{1, 2}, {1, 5}, {3, 4}, {4, 5}, {4, 2}};
const ImportOptions kRanges = {.dims = {{"n", {1, 4}}, {"m", {2, 5}}}};

Array ramp(const std::vector<std::int64_t>& shape) {
  Array array{DType::kF32, shape, {}};
  std::int64_t size = 1;
  for (const std::int64_t length : shape) size *= length;
  for (std::int64_t i = 0; i < size; ++i) {
    const float value = static_cast<float>(i % 17) / 4 - 1;
    array.bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return array;
}

// Of a model with one input "x" of shape [n, m, 6].
void check(ModelBuilder m, const std::string& shape) {
  m.output("y");
  const auto symbolic = m.import(kRanges);
  INFO(error_of(symbolic));
  REQUIRE(symbolic.ok());
  CHECK(client::to_string(symbolic->results[0].shape) == shape);
  for (const auto& [rows, columns] : kLengths) {
    CAPTURE(rows, columns);
    const auto exact = m.import({.dims = {{"n", rows}, {"m", columns}}});
    INFO(error_of(exact));
    REQUIRE(exact.ok());
    const std::map<std::string, Array> inputs = {{"x", ramp({rows, columns, 6})}};
    const auto want = evaluate(*exact, inputs);
    REQUIRE(want.ok());
    const auto got = evaluate_at(*symbolic, inputs, {{"n", rows}, {"m", columns}});
    INFO(got.status().message());
    REQUIRE(got.ok());
    CHECK(difference((*got)[0], (*want)[0], {.relative = 1e-6, .absolute = 1e-6}) == "");
  }
}

ModelBuilder model(int opset = 17) {
  ModelBuilder m(opset);
  m.symbolic_input("x", {"n", "m"});
  auto* six = m.proto().mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  six->add_dim()->set_dim_value(6);
  m.ints("zero", {}, {0}).ints("one", {}, {1}).ints("two", {}, {2}).ints("zeros", {1}, {0}).ints("ones", {1}, {1});
  m.ints("twos", {1}, {2}).ints("minus", {1}, {-1}).ints("six", {1}, {6}).node("Shape", {"x"}, {"s"});
  m.node("Gather", {"s", "zero"}, {"n"}).node("Gather", {"s", "one"}, {"m"});
  m.node("Unsqueeze", {"n", "zeros"}, {"ns"}).node("Unsqueeze", {"m", "zeros"}, {"ms"});
  return m;
}

std::string refusal(ModelBuilder m) { return error_of(m.output("y").import(kRanges)); }

}  // namespace

TEST_CASE("symbolic: shape, gather, concat, reshape") {
  check(
      model().node("Concat", {"ns", "ms", "twos", "minus"}, {"to"}).attr("axis", 0).node("Reshape", {"x", "to"}, {"y"}),
      "[n, m, 2, 3]");
  check(model()
            .node("Mul", {"ns", "ms"}, {"nm"})
            .node("Concat", {"nm", "six"}, {"to"})
            .attr("axis", 0)
            .node("Reshape", {"x", "to"}, {"y"}),
        "[m*n, 6]");
  check(model().node("Concat", {"zeros", "minus"}, {"to"}).attr("axis", 0).node("Reshape", {"x", "to"}, {"y"}),
        "[n, 6*m]");
  check(model().node("Flatten", {"x"}, {"y"}).attr("axis", 2), "[m*n, 6]");
  check(model().node("ReduceProd", {"s"}, {"size"}).attr("keepdims", 1).node("Reshape", {"x", "size"}, {"y"}),
        "[6*m*n]");
}

TEST_CASE("symbolic: lengths as values") {
  check(model().node("Size", {"x"}, {"y"}), "[]");
  check(model().node("Mul", {"s", "s"}, {"y"}), "[3]");
  check(model().node("Sub", {"n", "m"}, {"y"}), "[]");  // may be negative
  check(model().node("Cast", {"m"}, {"f"}).attr("to", 1).node("Div", {"x", "f"}, {"y"}), "[n, m, 6]");
  check(model().node("Range", {"zero", "m", "one"}, {"y"}), "[m]");
  check(model().node("Add", {"m", "n"}, {"e"}).node("Range", {"n", "e", "two"}, {"y"}), "[((m+1) / 2)]");
  check(model().node("ConstantOfShape", {"s"}, {"c"}).node("Add", {"c", "x"}, {"y"}), "[n, m, 6]");
  check(model().node("Greater", {"m", "n"}, {"c"}).node("Where", {"c", "m", "n"}, {"y"}), "[]");  // decided at replay
}

TEST_CASE("symbolic: what PyTorch writes for expand") {
  auto m = model();
  m.node("Concat", {"ns", "minus", "six"}, {"to"}).attr("axis", 0);
  m.node("Shape", {"to"}, {"rank"}).node("ConstantOfShape", {"rank"}, {"fill"});
  auto* value = m.last().add_attribute();
  value->set_name("value");
  value->set_type(::hearth_onnx::AttributeProto::TENSOR);
  value->mutable_t()->set_data_type(::hearth_onnx::TensorProto::INT64);
  value->mutable_t()->add_dims(1);
  value->mutable_t()->add_int64_data(1);
  m.ints("minus_one", {}, {-1}).node("Mul", {"fill", "minus_one"}, {"wild"}).node("Equal", {"to", "wild"}, {"any"});
  m.node("Where", {"any", "fill", "to"}, {"shape"}).node("Expand", {"x", "shape"}, {"y"});
  check(m, "[n, m, 6]");
}

TEST_CASE("symbolic: slices, splits, transposes, concatenations") {
  constexpr std::int64_t kBig = std::numeric_limits<std::int64_t>::max();
  check(model()
            .floats("t", {8, 6}, std::vector<float>(48, 2))
            .node("Slice", {"t", "zeros", "ms", "zeros"}, {"part"})
            .node("Mul", {"x", "part"}, {"y"}),
        "[n, m, 6]");
  check(model().ints("end", {1}, {kBig}).node("Slice", {"x", "ones", "end", "ones"}, {"y"}), "[n, m-1, 6]");
  check(model().ints("end", {1}, {-1}).node("Slice", {"x", "zeros", "end", "ones"}, {"y"}), "[n, m-1, 6]");
  check(model().ints("end", {1}, {3}).node("Slice", {"x", "zeros", "end", "ones"}, {"y"}), "[n, (3 min m), 6]");
  check(model().ints("end", {1}, {-kBig}).node("Slice", {"x", "minus", "end", "ones", "minus"}, {"y"}), "[n, m, 6]");
  check(model().ints("end", {1}, {kBig}).node("Slice", {"x", "zeros", "end", "ones", "twos"}, {"y"}),
        "[n, ((m+1) / 2), 6]");
  check(model().node("Div", {"ms", "twos"}, {"half"}).node("Slice", {"x", "zeros", "half", "ones"}, {"y"}),
        "[n, (m / 2), 6]");
  check(model()
            .node("Transpose", {"x"}, {"t"})
            .attr("perm", std::vector<std::int64_t>{1, 0, 2})
            .node("Concat", {"t", "t"}, {"y"})
            .attr("axis", 1),
        "[m, 2*n, 6]");
  check(model().node("Split", {"x"}, {"y", "z"}).attr("axis", 2), "[n, m, 3]");
  check(model().ints("r", {3}, {2, 1, 1}).node("Tile", {"x", "r"}, {"y"}), "[2*n, m, 6]");
}

TEST_CASE("symbolic: reductions, windows, pads") {
  check(model().node("ReduceMean", {"x"}, {"y"}).attr("axes", std::vector<std::int64_t>{1}), "[n, 1, 6]");
  check(model().node("Softmax", {"x"}, {"y"}).attr("axis", 1), "[n, m, 6]");
  check(model().node("GlobalAveragePool", {"x"}, {"y"}), "[n, m, 1]");
  check(model().ints("p", {6}, {0, 1, 0, 0, 2, 0}).node("Pad", {"x", "p"}, {"y"}), "[n, m+3, 6]");
  auto conv = model();
  conv.node("Transpose", {"x"}, {"t"}).attr("perm", std::vector<std::int64_t>{0, 2, 1});
  conv.floats("w", {2, 6, 3}, std::vector<float>(36, 0.5F)).node("Conv", {"t", "w"}, {"y"});
  conv.attr("pads", std::vector<std::int64_t>{1, 1}).attr("strides", std::vector<std::int64_t>{2});
  check(conv, "[n, 2, ((m+1) / 2)]");
  auto rows = model();  // n*(m - 1) rows: fewer than m, never negative
  rows.floats("w", {4, 2}, std::vector<float>(8, 0.5F)).node("Reshape", {"x", "to"}, {"image"});
  rows.node("Concat", {"ns", "one_channel", "ms", "six"}, {"to"}).attr("axis", 0).ints("one_channel", {1}, {1});
  std::swap(*rows.proto().mutable_graph()->mutable_node()->rbegin(),
            *(rows.proto().mutable_graph()->mutable_node()->rbegin() + 1));
  rows.floats("k", {1, 1, 2, 3}, std::vector<float>(6, 0.25F)).node("Conv", {"image", "k"}, {"c"});
  rows.node("MatMul", {"c", "w"}, {"y"});
  check(rows, "[n, 1, m-1, 2]");
  check(model().node("Trilu", {"x"}, {"y"}), "[n, m, 6]");
  check(model().node("Gather", {"x", "minus"}, {"y"}).attr("axis", 1), "[n, 1, 6]");
  check(model().node("LayerNormalization", {"x", "scale"}, {"y"}).floats("scale", {6}, {1, 2, 3, 4, 5, 6}),
        "[n, m, 6]");
}

TEST_CASE("symbolic: amounts of padding, repetition and ranges, backwards and downwards") {
  // To a multiple of four, as windowed transformers pad.
  const auto padded = [](const std::string& mode) {
    ModelBuilder m = model();
    m.ints("four", {1}, {4}).node("Neg", {"ms"}, {"less"}).node("Mod", {"less", "four"}, {"more"});
    m.node("Concat", {"zeros", "ones", "zeros", "zeros", "more", "zeros"}, {"p"}).attr("axis", 0);
    m.node("Pad", {"x", "p"}, {"y"}).attr_text("mode", mode);
    return m;
  };
  for (const std::string mode : {"constant", "edge", "reflect", "wrap"}) {
    CAPTURE(mode);
    auto m = padded(mode);
    m.output("y");
    const auto symbolic = m.import(kRanges);
    INFO(error_of(symbolic));
    REQUIRE(symbolic.ok());
    for (const auto& [rows, columns] : kLengths) {
      CAPTURE(rows, columns);
      const auto got = evaluate_at(*symbolic, {{"x", ramp({rows, columns, 6})}}, {{"n", rows}, {"m", columns}});
      INFO(got.status().message());
      REQUIRE(got.ok());
      const std::int64_t total = 1 + (columns + 3) / 4 * 4;  // one before
      REQUIRE((*got)[0].shape == std::vector<std::int64_t>{rows, total, 6});
      const auto source = [&](std::int64_t place) -> std::int64_t {  // as numpy.pad has it
        const std::int64_t at = place - 1, last = columns - 1;
        if (mode == "edge") return std::clamp<std::int64_t>(at, 0, last);
        if (mode == "wrap") return (at + columns) % columns;
        if (mode == "constant") return at >= 0 && at < columns ? at : -1;
        const std::int64_t turn = (at + 2 * last) % (2 * last);
        return turn <= last ? turn : 2 * last - turn;
      };
      const std::vector<float> values = elements((*got)[0]), given = elements(ramp({rows, columns, 6}));
      bool is_right = true;
      for (std::int64_t i = 0; i < std::ssize(values); ++i) {
        const std::int64_t row = i / (total * 6), from = source(i / 6 % total), column = i % 6;
        const float want = from < 0 ? 0 : given[static_cast<std::size_t>((row * columns + from) * 6 + column)];
        is_right = is_right && values[static_cast<std::size_t>(i)] == want;
      }
      CHECK(is_right);
    }
  }
  check(model().node("Concat", {"ms", "ones", "twos"}, {"r"}).attr("axis", 0).node("Tile", {"x", "r"}, {"y"}),
        "[m*n, m, 12]");
  check(model().ints("down", {}, {-2}).node("Range", {"m", "zero", "down"}, {"y"}), "[((m+1) / 2)]");
  check(model().ints("down", {}, {-1}).node("Range", {"n", "m", "down"}, {"y"}), "[(0 max (-m+n))]");
  check(model().ints("down", {}, {-1}).node("Range", {"m", "n", "down"}, {"y"}), "[(0 max (m-n))]");
  constexpr std::int64_t kBig = std::numeric_limits<std::int64_t>::max();
  const auto backwards = [](std::int64_t begin, std::int64_t end, std::int64_t step) {
    return model()
        .ints("b", {1}, {begin})
        .ints("e", {1}, {end})
        .ints("st", {1}, {step})
        .node("Slice", {"x", "b", "e", "ones", "st"}, {"y"});
  };
  check(backwards(-2, -kBig, -1), "[n, m-1, 6]");
  check(backwards(-1, 0, -1), "[n, m-1, 6]");
  check(backwards(-1, -kBig, -2), "[n, ((m+1) / 2), 6]");
  check(backwards(kBig, 1, -1), "[n, m-2, 6]");
  check(backwards(2, -kBig, -1), "[n, (2 min (m-1))+1, 6]");
  check(backwards(-2, 0, -3), "[n, (m / 3), 6]");
  check(model().node("Slice", {"x", "ns", "zeros", "ones", "minus"}, {"y"}), "[n, (n min (m-1)), 6]");
}

TEST_CASE("symbolic: lengths that go through floats, as interpolate writes them") {
  const auto scaled = [](const std::string& op, float factor, const std::string& rounding, int type) {
    ModelBuilder m = model();
    m.node("Cast", {"m"}, {"f"})
        .attr("to", type)
        .floats("c32", {}, {factor})
        .node("Cast", {"c32"}, {"c"})
        .attr("to", type);
    m.node(op, {"f", "c"}, {"p"}).node(rounding, {"p"}, {"whole"}).node("Cast", {"whole"}, {"i"}).attr("to", 7);
    m.node("Unsqueeze", {"i", "zeros"}, {"to"}).node("Expand", {"one_f", "to"}, {"y"}).floats("one_f", {1}, {1});
    return m;
  };
  for (const int type : {1, 10, 11}) {  // float, float16, double
    CAPTURE(type);
    check(scaled("Mul", 2, "Floor", type), "[2*m]");
    check(scaled("Mul", 0.5F, "Floor", type), "[(m / 2)]");
    check(scaled("Mul", 1.25F, "Floor", type), "[(5*m / 4)]");
    check(scaled("Div", 2, "Ceil", type), "[((m+1) / 2)]");
    check(scaled("Div", 3, "Ceil", type), "[((m+2) / 3)]");
    check(scaled("Div", 3, "Floor", type), "[(m / 3)]");
    check(scaled("Add", 0.5F, "Ceil", type), "[m+1]");
  }
}

TEST_CASE("symbolic: what may be empty is cut, sorted and multiplied") {
  const ImportOptions ranges = {.dims = {{"n", {0, 4}}, {"m", {1, 5}}}};
  const auto check_empty = [&](ModelBuilder m, std::int64_t rows, std::int64_t columns, const Array& want) {
    m.output("y");
    const auto symbolic = m.import(ranges);
    INFO(error_of(symbolic));
    REQUIRE(symbolic.ok());
    const auto got = evaluate_at(*symbolic, {{"x", ramp({rows, columns, 6})}}, {{"n", rows}, {"m", columns}});
    INFO(got.status().message());
    REQUIRE(got.ok());
    CHECK(difference((*got)[0], want, {.relative = 1e-6, .absolute = 1e-6}) == "");
  };
  constexpr std::int64_t kBig = std::numeric_limits<std::int64_t>::max();
  const auto odd = [&] {
    return model().ints("end", {1}, {kBig}).node("Slice", {"x", "ones", "end", "ones", "twos"}, {"y"});
  };
  check_empty(odd(), 1, 1, Array{DType::kF32, {1, 0, 6}, {}});
  Array second = ramp({1, 2, 6});
  second.bytes = second.bytes.substr(24);
  second.shape = {1, 1, 6};
  check_empty(odd(), 1, 2, second);
  const auto top = [&] { return model().ints("k", {1}, {1}).node("TopK", {"x", "k"}, {"y", "at"}).attr("axis", 2); };
  check_empty(top(), 0, 2, Array{DType::kF32, {0, 2, 1}, {}});
  check_empty(top(), 1, 1, array_of({1, 1, 1}, {0.25F}));
}

TEST_CASE("an RNN of one direction may name the activations of both") {
  const auto rnn = [](const std::vector<std::string>& names) {
    ModelBuilder m(14);
    m.input("x", {2, 1, 3})
        .floats("w", {1, 2, 3}, std::vector<float>(6, 0.5F))
        .floats("r", {1, 2, 2}, std::vector<float>(4, 0.5F));
    m.node("RNN", {"x", "w", "r"}, {"y"}).output("y");
    auto* attribute = m.last().add_attribute();
    attribute->set_name("activations");
    attribute->set_type(::hearth_onnx::AttributeProto::STRINGS);
    for (const std::string& name : names) attribute->add_strings(name);
    return m;
  };
  CHECK(rnn({"Tanh", "Tanh"}).import().ok());
  CHECK(rnn({"Tanh"}).import().ok());
  CHECK_THAT(error_of(rnn({"Tanh", "Relu"}).import()), Contains("names 2 functions; 1 are needed"));
}

TEST_CASE("symbolic: a recurrent layer over a variable number of steps") {
  ModelBuilder lstm = model().node("LSTM", {"x", "w", "r"}, {"y"});
  lstm.floats("w", {1, 8, 6}, std::vector<float>(48)).floats("r", {1, 8, 2}, std::vector<float>(16));
  check(lstm, "[n, 1, m, 2]");
}

TEST_CASE("symbolic: what needs a constant is refused by name") {
  CHECK_THAT(refusal(model().node("Split", {"x"}, {"y", "z"}).attr("axis", 1)),
             Contains("Split") && Contains("the symbolic length m is not supported"));
  CHECK_THAT(refusal(model()
                         .node("Sub", {"ns", "ms"}, {"less"})
                         .node("Concat", {"less", "ones", "ones"}, {"r"})
                         .attr("axis", 0)
                         .node("Tile", {"x", "r"}, {"y"})),
             Contains("repeats[0] is -m+n; expected >= 0"));
  CHECK_THAT(
      refusal(model().node("Sub", {"ns", "ms"}, {"less"}).node("Slice", {"x", "less", "ns", "zeros", "minus"}, {"y"})),
      Contains("a slice at -m+n, of unknown sign,"));
  CHECK_THAT(refusal(model()
                         .node("Cast", {"s"}, {"f"})
                         .attr("to", 1)
                         .floats("third", {}, {0.3F})
                         .node("Mul", {"f", "third"}, {"p"})
                         .node("Cast", {"p"}, {"to"})
                         .attr("to", 7)
                         .node("Expand", {"zero", "to"}, {"y"})),
             Contains("Expand") && Contains("'to'"));
  CHECK_THAT(refusal(model().node("Add", {"x", "t"}, {"y"}).floats("t", {4, 6}, std::vector<float>(24))),
             Contains("do not broadcast") && Contains("m"));
}

TEST_CASE("symbolic: ranges and shapes of inputs") {
  auto m = model().node("Relu", {"x"}, {"y"}).output("y");
  const auto error = [&](const ImportOptions& options) { return error_of(m.import(options)); };
  CHECK_THAT(error({.dims = {{"n", 1}}}), Contains("--dim m=N") && Contains("MIN:MAX"));
  CHECK_THAT(error({.dims = {{"n", 1}, {"m", {5, 2}}}}), Contains("'m' is given the length 5:2"));
  CHECK_THAT(error({.dims = {{"n", 1}, {"m", {-1, 2}}}}), Contains("'m' is given the length -1:2"));
  CHECK_THAT(error({.dims = {{"n", 1}, {"m", {1, 2}}, {"k", {1, 2}}}}), Contains("--dim k=1:2") && Contains("m, n"));
  CHECK_THAT(error({.dims = {{"n", {1, 4}}}, .input_shapes = {{"x", {5, 2, 6}}}}), Contains("'n' is 1:4"));
  const auto mixed = m.import({.dims = {{"n", {1, 4}}}, .input_shapes = {{"x", {3, 2, 6}}}});
  REQUIRE(mixed.ok());
  CHECK(client::to_string(mixed->inputs[0].shape) == "[n, 2, 6]");
}

// Attention over a cache: the mask's length is a dimension of its own, as exporters write it.
ModelBuilder cached_attention() {
  ModelBuilder m(17);
  m.symbolic_input("q", {"batch", "heads", "seq", "deep"}).symbolic_input("k", {"batch", "heads", "seq", "deep"});
  m.symbolic_input("cache", {"batch", "heads", "past", "deep"})
      .symbolic_input("mask", {"batch", "one", "one", "total"});
  m.node("Concat", {"cache", "k"}, {"present"}).attr("axis", 2);
  m.node("Transpose", {"present"}, {"kt"}).attr("perm", std::vector<std::int64_t>{0, 1, 3, 2});
  m.node("MatMul", {"q", "kt"}, {"scores"}).node("Add", {"scores", "mask"}, {"masked"});
  m.node("Softmax", {"masked"}, {"p"}).node("MatMul", {"p", "present"}, {"y"}).output("y");
  return m;
}

TEST_CASE("symbolic: a mask's own length is that of the cache and what is added, where it is said so") {
  auto m = cached_attention();
  const std::map<std::string, DimRange> lengths = {{"batch", 1}, {"heads", 2},       {"seq", 1},
                                                   {"deep", 8},  {"past", {0, 255}}, {"one", 1}};
  const auto with = [&](std::map<std::string, DimRange> more, std::map<std::string, std::string> expressions) {
    more.insert(lengths.begin(), lengths.end());
    return error_of(m.import({.dims = more, .dim_expressions = expressions}));
  };
  CHECK_THAT(with({{"total", {1, 256}}}, {}),
             Contains("past+1 meets total; where these are one length, say so: --dim 'total=past+1'"));
  const auto imported = m.import({.dims = lengths, .dim_expressions = {{"total", "past + seq"}}});
  REQUIRE(imported.ok());
  CHECK(client::to_string(imported->inputs[3].shape) == "[1, 1, 1, past+1]");
  CHECK_THAT(with({}, {{"total", "past + sequence"}}),
             Contains("--dim total=past + sequence: the model has no dimension "
                      "'sequence' (it has: batch, deep, heads, one, past, "
                      "seq, total)"));
  CHECK_THAT(with({}, {{"total", "past +"}}), Contains("neither a length nor an expression of dimensions"));
  CHECK_THAT(with({}, {{"total", "total + 1"}}), Contains("it depends on itself"));
  CHECK_THAT(with({}, {{"all", "past + 1"}}), Contains("--dim all=past + 1: the model has no such dimension"));
  CHECK_THAT(with({{"total", 4}}, {{"total", "past + seq"}}), Contains("it is given as 4, too"));
  CHECK_THAT(with({}, {{"total", "past - 300"}}), Contains("may be negative"));
}

TEST_CASE("symbolic: images resized along a known width, pooled, quantised, transformed") {
  const auto image = [] {
    ModelBuilder m = model();
    m.node("Unsqueeze", {"x", "ones"}, {"image"});  // [n, 1, m, 6]
    return m;
  };
  ModelBuilder scaled = image();
  scaled.floats("scales", {4}, {1, 1, 1, 1.5F}).node("Resize", {"image", "", "scales"}, {"y"});
  check(scaled.attr_text("mode", "linear"), "[n, 1, m, 9]");
  ModelBuilder sized = image();
  sized.ints("nine", {1}, {9}).node("Concat", {"ns", "ones", "ms", "nine"}, {"sizes"}).attr("axis", 0);
  check(sized.node("Resize", {"image", "", "", "sizes"}, {"y"}), "[n, 1, m, 9]");
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* place : {"half_pixel", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric"}) {
      for (const char* rounding : {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"}) {
        if (std::string(mode) != "nearest" && std::string(rounding) != "floor") continue;
        CAPTURE(mode, place, rounding);
        ModelBuilder whole = image();
        whole.floats("scales", {4}, {1, 1, 3, 2}).node("Resize", {"image", "", "scales"}, {"y"});
        whole.attr_text("mode", mode).attr_text("coordinate_transformation_mode", place);
        check(whole.attr_text("nearest_mode", rounding), "[n, 1, 3*m, 12]");
      }
    }
  }
  ModelBuilder beside = image();  // as long as another tensor
  beside.node("Concat", {"x", "x"}, {"twice"}).attr("axis", 1).node("Shape", {"twice"}, {"long"});
  beside.node("Gather", {"long", "ones"}, {"rows"}).node("Concat", {"ns", "ones", "rows", "six"}, {"sizes"});
  beside.attr("axis", 0).node("Resize", {"image", "", "", "sizes"}, {"y"});
  check(beside.attr_text("mode", "linear"), "[n, 1, 2*m, 6]");
  ModelBuilder odd = image();
  odd.floats("scales", {4}, {1, 1, 1.5F, 1}).node("Resize", {"image", "", "scales"}, {"y"});
  CHECK_THAT(refusal(odd), Contains("axis 2 of the symbolic length m is resized by 1.5; expected a whole number"));
  ModelBuilder pooled = image();
  const std::vector<std::int64_t> kernel = {1, 3};
  check(pooled.node("LpPool", {"image"}, {"y"}).attr("kernel_shape", kernel), "[n, 1, m, 4]");
  for (const std::int64_t select_last : {0, 1}) {
    for (const char* extreme : {"ArgMax", "ArgMin"}) {
      ModelBuilder arg = image();
      check(arg.node(extreme, {"image"}, {"y"}).attr("axis", 2).attr("select_last_index", select_last), "[n, 1, 1, 6]");
    }
  }
  for (const std::int64_t exclusive : {0, 1}) {
    for (const std::int64_t reverse : {0, 1}) {
      ModelBuilder sums = image();
      check(sums.node("CumSum", {"image", "two"}, {"y"}).attr("exclusive", exclusive).attr("reverse", reverse),
            "[n, 1, m, 6]");
    }
  }
  ModelBuilder rounded = image();
  const std::vector<std::int64_t> window = {2, 1}, steps = {2, 1};
  rounded.node("MaxPool", {"image"}, {"y"}).attr("kernel_shape", window).attr("strides", steps);
  check(rounded.attr("ceil_mode", 1), "[n, 1, ((m+1) / 2), 6]");
  for (const std::int64_t counted : {0, 1}) {
    ModelBuilder averaged = image();
    const std::vector<std::int64_t> threes = {3, 3}, pads = {1, 1, 1, 1}, twos = {2, 2};
    averaged.node("AveragePool", {"image"}, {"y"}).attr("kernel_shape", threes).attr("pads", pads);
    averaged.attr("strides", twos).attr("ceil_mode", 1);
    check(averaged.attr("count_include_pad", counted), "[n, 1, (m / 2)+1, 4]");
  }
  ModelBuilder same = image();
  const std::vector<std::int64_t> three = {3, 3}, two_steps = {2, 1};
  same.node("MaxPool", {"image"}, {"y"}).attr("kernel_shape", three);
  check(same.attr_text("auto_pad", "SAME_LOWER"), "[n, 1, m, 6]");
  ModelBuilder stepped = image();
  stepped.node("MaxPool", {"image"}, {"y"}).attr("kernel_shape", three).attr("strides", two_steps);
  CHECK_THAT(refusal(stepped.attr_text("auto_pad", "SAME_UPPER")),
             Contains("auto_pad of the symbolic length m by steps of 2, of which it may be no multiple"));
  ModelBuilder quantised = image();
  quantised.node("DynamicQuantizeLinear", {"image"}, {"y", "scale", "offset"});
  check(quantised, "[n, 1, m, 6]");
  ModelBuilder transformed = image();
  check(transformed.node("Transpose", {"image"}, {"t"})
            .attr("perm", std::vector<std::int64_t>{0, 2, 3, 1})
            .node("DFT", {"t"}, {"y"})
            .attr("axis", 2)
            .attr("onesided", 1),
        "[n, m, 4, 2]");
}
