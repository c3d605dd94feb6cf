// Symbolic dimensions that say how much is padded, repeated, counted or cut, lengths that go through floats, and what may
// be empty.
#include <limits>

#include "tests/unit/onnx/symbolic_model.h"

using namespace hearth;
using namespace hearth::onnx;

TEST_CASE("symbolic: amounts of padding, repetition and ranges, backwards and downwards") {
  // To a multiple of four, as windowed transformers pad.
  const auto padded = [](const std::string& mode) {
    ModelBuilder m = symbolic_model();
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
  check(symbolic_model().node("Concat", {"ms", "ones", "twos"}, {"r"}).attr("axis", 0).node("Tile", {"x", "r"}, {"y"}),
        "[m*n, m, 12]");
  check(symbolic_model().ints("down", {}, {-2}).node("Range", {"m", "zero", "down"}, {"y"}), "[((m+1) / 2)]");
  check(symbolic_model().ints("down", {}, {-1}).node("Range", {"n", "m", "down"}, {"y"}), "[(0 max (-m+n))]");
  check(symbolic_model().ints("down", {}, {-1}).node("Range", {"m", "n", "down"}, {"y"}), "[(0 max (m-n))]");
  constexpr std::int64_t kBig = std::numeric_limits<std::int64_t>::max();
  const auto backwards = [](std::int64_t begin, std::int64_t end, std::int64_t step) {
    return symbolic_model()
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
  check(symbolic_model().node("Slice", {"x", "ns", "zeros", "ones", "minus"}, {"y"}), "[n, (n min (m-1)), 6]");
}

TEST_CASE("symbolic: an image of any size in halves, as windowed transformers merge patches") {
  ModelBuilder m = symbolic_model();
  m.ints("two", {1}, {2}).node("Mod", {"ns", "two"}, {"pn"}).node("Mod", {"ms", "two"}, {"pm"});
  m.node("Concat", {"zeros", "zeros", "zeros", "pn", "pm", "zeros"}, {"p"}).attr("axis", 0);
  m.node("Pad", {"x", "p"}, {"h"});
  constexpr std::int64_t kBig = std::numeric_limits<std::int64_t>::max();
  m.ints("ends", {2}, {kBig, kBig}).ints("axes", {2}, {0, 1}).ints("steps", {2}, {2, 2});
  std::vector<std::string> parts;
  for (const std::int64_t row : {0, 1}) {
    for (const std::int64_t column : {0, 1}) {
      const std::string number = std::to_string(2 * row + column);
      m.ints("from" + number, {2}, {row, column});
      m.node("Slice", {"h", "from" + number, "ends", "axes", "steps"}, {"part" + number});
      parts.push_back("part" + number);
    }
  }
  m.node("Concat", parts, {"merged"}).attr("axis", 2).ints("shape", {2}, {-1, 24});
  m.node("Reshape", {"merged", "shape"}, {"rows"}).floats("w", {24, 1}, std::vector<float>(24, 0.5F));
  check(m.node("MatMul", {"rows", "w"}, {"y"}), "[((m+1) / 2)*((n+1) / 2), 1]");
}

TEST_CASE("symbolic: lengths that go through floats, as interpolate writes them") {
  const auto scaled = [](const std::string& op, float factor, const std::string& rounding, int type) {
    ModelBuilder m = symbolic_model();
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

TEST_CASE("symbolic: fractions of lengths with more digits than a double has are no lengths") {
  for (const bool squared : {true, false}) {
    CAPTURE(squared);
    ModelBuilder m = symbolic_model();
    m.node("Cast", {"m"}, {"f0"}).attr("to", 11);
    m.floats("c32", {}, {0x1p20F}).node("Cast", {"c32"}, {"c"}).attr("to", 11);
    m.floats("d32", {}, {0x1p32F}).node("Cast", {"d32"}, {"d"}).attr("to", 11);
    m.node("Div", {"f0", "c"}, {"f1"}).node("Div", {"f1", "c"}, {"f2"});
    m.node(squared ? "Mul" : "Div", {"f2", squared ? "f2" : "d"}, {"p"}).node("Ceil", {"p"}, {"whole"});
    m.node("Cast", {"whole"}, {"i"}).attr("to", 7).node("Unsqueeze", {"i", "zeros"}, {"to"});
    m.floats("one_f", {1}, {1}).node("Expand", {"one_f", "to"}, {"y"});
    CHECK_THAT(refusal(m), Catch::Contains("Expand"));
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
    return symbolic_model().ints("end", {1}, {kBig}).node("Slice", {"x", "ones", "end", "ones", "twos"}, {"y"});
  };
  check_empty(odd(), 1, 1, Array{DType::kF32, {1, 0, 6}, {}});
  Array second = ramp({1, 2, 6});
  second.bytes = second.bytes.substr(24);
  second.shape = {1, 1, 6};
  check_empty(odd(), 1, 2, second);
  const auto top = [&] {
    return symbolic_model().ints("k", {1}, {1}).node("TopK", {"x", "k"}, {"y", "at"}).attr("axis", 2);
  };
  check_empty(top(), 0, 2, Array{DType::kF32, {0, 2, 1}, {}});
  check_empty(top(), 1, 1, array_of({1, 1, 1}, {0.25F}));
}
