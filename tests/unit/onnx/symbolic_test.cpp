// Symbolic dimensions: a model imported once with ranges gives what it gives imported for every length, on the
// reference interpreter; what cannot be symbolic is refused by name.
#include <limits>

#include "tests/unit/onnx/symbolic_model.h"

using namespace hearth;
using namespace hearth::onnx;
using Catch::Matchers::Contains;

TEST_CASE("symbolic: shape, gather, concat, reshape") {
  check(symbolic_model()
            .node("Concat", {"ns", "ms", "twos", "minus"}, {"to"})
            .attr("axis", 0)
            .node("Reshape", {"x", "to"}, {"y"}),
        "[n, m, 2, 3]");
  check(symbolic_model()
            .node("Mul", {"ns", "ms"}, {"nm"})
            .node("Concat", {"nm", "six"}, {"to"})
            .attr("axis", 0)
            .node("Reshape", {"x", "to"}, {"y"}),
        "[m*n, 6]");
  check(symbolic_model().node("Concat", {"zeros", "minus"}, {"to"}).attr("axis", 0).node("Reshape", {"x", "to"}, {"y"}),
        "[n, 6*m]");
  check(symbolic_model().node("Flatten", {"x"}, {"y"}).attr("axis", 2), "[m*n, 6]");
  check(symbolic_model().node("ReduceProd", {"s"}, {"size"}).attr("keepdims", 1).node("Reshape", {"x", "size"}, {"y"}),
        "[6*m*n]");
}

TEST_CASE("symbolic: lengths as values") {
  check(symbolic_model().node("Size", {"x"}, {"y"}), "[]");
  check(symbolic_model().node("Mul", {"s", "s"}, {"y"}), "[3]");
  check(symbolic_model().node("Sub", {"n", "m"}, {"y"}), "[]");  // may be negative
  check(symbolic_model().node("Cast", {"m"}, {"f"}).attr("to", 1).node("Div", {"x", "f"}, {"y"}), "[n, m, 6]");
  check(symbolic_model().node("Range", {"zero", "m", "one"}, {"y"}), "[m]");
  check(symbolic_model().node("Add", {"m", "n"}, {"e"}).node("Range", {"n", "e", "two"}, {"y"}), "[((m+1) / 2)]");
  check(symbolic_model().node("ConstantOfShape", {"s"}, {"c"}).node("Add", {"c", "x"}, {"y"}), "[n, m, 6]");
  check(symbolic_model().node("Greater", {"m", "n"}, {"c"}).node("Where", {"c", "m", "n"}, {"y"}),
        "[]");  // decided at replay
}

TEST_CASE("symbolic: what PyTorch writes for expand") {
  auto m = symbolic_model();
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
  check(symbolic_model()
            .floats("t", {8, 6}, std::vector<float>(48, 2))
            .node("Slice", {"t", "zeros", "ms", "zeros"}, {"part"})
            .node("Mul", {"x", "part"}, {"y"}),
        "[n, m, 6]");
  check(symbolic_model().ints("end", {1}, {kBig}).node("Slice", {"x", "ones", "end", "ones"}, {"y"}), "[n, m-1, 6]");
  check(symbolic_model().ints("end", {1}, {-1}).node("Slice", {"x", "zeros", "end", "ones"}, {"y"}), "[n, m-1, 6]");
  check(symbolic_model().ints("end", {1}, {3}).node("Slice", {"x", "zeros", "end", "ones"}, {"y"}),
        "[n, (3 min m), 6]");
  check(symbolic_model().ints("end", {1}, {-kBig}).node("Slice", {"x", "minus", "end", "ones", "minus"}, {"y"}),
        "[n, m, 6]");
  check(symbolic_model().ints("end", {1}, {kBig}).node("Slice", {"x", "zeros", "end", "ones", "twos"}, {"y"}),
        "[n, ((m+1) / 2), 6]");
  check(symbolic_model().node("Div", {"ms", "twos"}, {"half"}).node("Slice", {"x", "zeros", "half", "ones"}, {"y"}),
        "[n, (m / 2), 6]");
  check(symbolic_model()
            .node("Transpose", {"x"}, {"t"})
            .attr("perm", std::vector<std::int64_t>{1, 0, 2})
            .node("Concat", {"t", "t"}, {"y"})
            .attr("axis", 1),
        "[m, 2*n, 6]");
  check(symbolic_model().node("Split", {"x"}, {"y", "z"}).attr("axis", 2), "[n, m, 3]");
  check(symbolic_model().ints("r", {3}, {2, 1, 1}).node("Tile", {"x", "r"}, {"y"}), "[2*n, m, 6]");
}

TEST_CASE("symbolic: reductions, windows, pads") {
  check(symbolic_model().node("ReduceMean", {"x"}, {"y"}).attr("axes", std::vector<std::int64_t>{1}), "[n, 1, 6]");
  check(symbolic_model().node("Softmax", {"x"}, {"y"}).attr("axis", 1), "[n, m, 6]");
  check(symbolic_model().node("GlobalAveragePool", {"x"}, {"y"}), "[n, m, 1]");
  check(symbolic_model().ints("p", {6}, {0, 1, 0, 0, 2, 0}).node("Pad", {"x", "p"}, {"y"}), "[n, m+3, 6]");
  auto conv = symbolic_model();
  conv.node("Transpose", {"x"}, {"t"}).attr("perm", std::vector<std::int64_t>{0, 2, 1});
  conv.floats("w", {2, 6, 3}, std::vector<float>(36, 0.5F)).node("Conv", {"t", "w"}, {"y"});
  conv.attr("pads", std::vector<std::int64_t>{1, 1}).attr("strides", std::vector<std::int64_t>{2});
  check(conv, "[n, 2, ((m+1) / 2)]");
  auto rows = symbolic_model();  // n*(m - 1) rows: fewer than m, never negative
  rows.floats("w", {4, 2}, std::vector<float>(8, 0.5F)).node("Reshape", {"x", "to"}, {"image"});
  rows.node("Concat", {"ns", "one_channel", "ms", "six"}, {"to"}).attr("axis", 0).ints("one_channel", {1}, {1});
  std::swap(*rows.proto().mutable_graph()->mutable_node()->rbegin(),
            *(rows.proto().mutable_graph()->mutable_node()->rbegin() + 1));
  rows.floats("k", {1, 1, 2, 3}, std::vector<float>(6, 0.25F)).node("Conv", {"image", "k"}, {"c"});
  rows.node("MatMul", {"c", "w"}, {"y"});
  check(rows, "[n, 1, m-1, 2]");
  check(symbolic_model().node("Trilu", {"x"}, {"y"}), "[n, m, 6]");
  check(symbolic_model().node("Gather", {"x", "minus"}, {"y"}).attr("axis", 1), "[n, 1, 6]");
  check(symbolic_model().node("LayerNormalization", {"x", "scale"}, {"y"}).floats("scale", {6}, {1, 2, 3, 4, 5, 6}),
        "[n, m, 6]");
}

TEST_CASE("symbolic: a recurrent layer over a variable number of steps") {
  ModelBuilder lstm = symbolic_model().node("LSTM", {"x", "w", "r"}, {"y"});
  lstm.floats("w", {1, 8, 6}, std::vector<float>(48)).floats("r", {1, 8, 2}, std::vector<float>(16));
  check(lstm, "[n, 1, m, 2]");
}

TEST_CASE("symbolic: what needs a constant is refused by name") {
  CHECK_THAT(refusal(symbolic_model().node("Split", {"x"}, {"y", "z"}).attr("axis", 1)),
             Contains("Split") && Contains("the symbolic length m is not supported"));
  CHECK_THAT(refusal(symbolic_model()
                         .node("Sub", {"ns", "ms"}, {"less"})
                         .node("Concat", {"less", "ones", "ones"}, {"r"})
                         .attr("axis", 0)
                         .node("Tile", {"x", "r"}, {"y"})),
             Contains("repeats[0] is -m+n; expected >= 0"));
  CHECK_THAT(refusal(symbolic_model()
                         .node("Sub", {"ns", "ms"}, {"less"})
                         .node("Slice", {"x", "less", "ns", "zeros", "minus"}, {"y"})),
             Contains("a slice at -m+n, of unknown sign,"));
  CHECK_THAT(refusal(symbolic_model()
                         .node("Cast", {"s"}, {"f"})
                         .attr("to", 1)
                         .floats("third", {}, {0.3F})
                         .node("Mul", {"f", "third"}, {"p"})
                         .node("Cast", {"p"}, {"to"})
                         .attr("to", 7)
                         .node("Expand", {"zero", "to"}, {"y"})),
             Contains("Expand") && Contains("'to'"));
  CHECK_THAT(refusal(symbolic_model().node("Add", {"x", "t"}, {"y"}).floats("t", {4, 6}, std::vector<float>(24))),
             Contains("do not broadcast") && Contains("m"));
}

TEST_CASE("symbolic: ranges and shapes of inputs") {
  auto m = symbolic_model().node("Relu", {"x"}, {"y"}).output("y");
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
    ModelBuilder m = symbolic_model();
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
