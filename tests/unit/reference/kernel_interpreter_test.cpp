// Kernel ASTs and linear bodies as text: results, gates, vectors, grid parts, and every kind of wrong access.
#include "compiler/codegen/reference/kernel_interpreter.h"

#include <catch2/catch.hpp>

#include "compiler/codegen/reference/linear_interpreter.h"
#include "compiler/ir/text.h"

namespace hearth::codegen::reference {
namespace {

using ir::Scalar;

HostTensor f32(std::vector<double> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return HostTensor::from_values(Scalar::F32, {size}, values);
}

absl::Status run_kernel(const std::string& text, std::vector<HostTensor>& buffers, std::vector<std::int64_t> vars = {},
                        std::optional<GridPart> grid = {}) {
  ir::Graph graph;
  absl::StatusOr<ir::UOpRef> root = ir::parse(graph, text);
  INFO(root.status().ToString());
  REQUIRE(root.ok());
  return interpret_kernel(*root, {buffers, vars, grid});
}

TEST_CASE("a kernel: row sums of exp, a symbolic number of rows") {
  const std::string text =
      "%0 = param f32 [slot=0]\n"
      "%1 = var index [name=rows min=0 max=4 slot=0]\n"
      "%2 = range index %1 [axis=0 grid]\n"
      "%3 = index void %0 %2\n"
      "%4 = param f32 [slot=1]\n"
      "%5 = mul index %2 3:index\n"
      "%6 = range index 3:index [axis=1 reduce]\n"
      "%7 = add index %5 %6\n"
      "%8 = index void %4 %7\n"
      "%9 = load f32 %8\n"
      "%10 = mul f32 %9 %9\n"
      "%11 = reduce f32 %10 %6 [sum]\n"
      "%12 = store void %3 %11 %2\n"
      "%13 = sink void %12 [symbol=row_sums]\n";
  std::vector<HostTensor> buffers = {f32({-1, -1, -1}), f32({1, 2, 3, 4, 5, 6, 7, 8, 9})};
  SECTION("all rows") {
    REQUIRE(run_kernel(text, buffers, {3}).ok());
    CHECK(buffers[0] == f32({14, 77, 194}));
  }
  SECTION("one part of the grid") {
    REQUIRE(run_kernel(text, buffers, {3}, GridPart{1, 2}).ok());
    CHECK(buffers[0] == f32({-1, 77, -1}));
  }
  SECTION("no rows") {
    REQUIRE(run_kernel(text, buffers, {0}).ok());
    CHECK(buffers[0] == f32({-1, -1, -1}));
  }
  SECTION("one row too many is found") {
    const std::string message = run_kernel(text, buffers, {4}).ToString();
    CHECK(message.find("load of element 9 of slot 1 with 9 elements: index(param[slot=1], add(mul(range") !=
          std::string::npos);
  }
  SECTION("a wrong dtype is found") {
    buffers[1].dtype = Scalar::I32;
    CHECK(run_kernel(text, buffers, {3}).ToString().find("load of f32 in slot 1 of i32") != std::string::npos);
  }
}

TEST_CASE("a kernel: gated loads give the alternative, gated stores nothing") {
  const std::string text =
      "%0 = param f32 [slot=0]\n"
      "%1 = range index 6:index [axis=0 lanes]\n"
      "%2 = lt bool %1 5:index\n"
      "%3 = index void %0 %1 %2\n"
      "%4 = param f32 [slot=1]\n"
      "%5 = add index %1 -1:index\n"
      "%6 = le bool 0:index %5\n"
      "%7 = lt bool %5 3:index\n"
      "%8 = and bool %6 %7\n"
      "%9 = index void %4 %5 %8\n"
      "%10 = load f32 %9 7.5:f32\n"
      "%11 = store void %3 %10 %1\n"
      "%12 = sink void %11 [symbol=pad]\n";
  std::vector<HostTensor> buffers = {f32({0, 0, 0, 0, 0}), f32({1, 2, 3})};
  REQUIRE(run_kernel(text, buffers).ok());
  CHECK(buffers[0] == f32({7.5, 1, 2, 3, 7.5}));
}

TEST_CASE("a kernel: nested reductions restart, a later store sees an earlier one") {
  const std::string text =
      "%0 = param i32 [slot=0]\n"
      "%1 = range index 2:index [axis=0 loop]\n"
      "%2 = index void %0 %1\n"
      "%3 = range index 3:index [axis=1 reduce]\n"
      "%4 = range index 4:index [axis=2 reduce]\n"
      "%5 = mul index %3 %4\n"
      "%6 = add index %5 %1\n"
      "%7 = cast i32 %6\n"
      "%8 = reduce i32 %7 %4 [max]\n"
      "%9 = reduce i32 %8 %3 [sum]\n"
      "%10 = store void %2 %9 %1\n"
      "%11 = range index 2:index [axis=3 loop]\n"
      "%12 = param i32 [slot=1]\n"
      "%13 = index void %12 %11\n"
      "%14 = index void %0 %11\n"
      "%15 = load i32 %14\n"
      "%16 = neg i32 %15\n"
      "%17 = store void %13 %16 %11\n"
      "%18 = sink void %10 %17 [symbol=two]\n";
  std::vector<HostTensor> buffers(2, HostTensor(Scalar::I32, {2}));
  REQUIRE(run_kernel(text, buffers).ok());
  CHECK(buffers[0] == HostTensor::from_values(Scalar::I32, {2}, {0 + 3 + 6, 1 + 4 + 7}));
  CHECK(buffers[1] == HostTensor::from_values(Scalar::I32, {2}, {-9, -12}));
}

TEST_CASE("a kernel: a stage is its value at the index, checked against its ranges") {
  const auto text = [](const std::string& offset) {
    return "%0 = param i32 [slot=0]\n"
           "%1 = range index 3:index [axis=0 loop]\n"
           "%2 = index void %0 %1\n"
           "%3 = range index 4:index [axis=1 loop]\n"
           "%4 = mul index %3 %3\n"
           "%5 = cast i32 %4\n"
           "%6 = stage i32 %5 %3 [id=0]\n"
           "%7 = add index %1 " +
           offset +
           ":index\n"
           "%8 = index void %6 %7\n"
           "%9 = load i32 %8\n"
           "%10 = store void %2 %9 %1\n"
           "%11 = sink void %10 [symbol=staged]\n";
  };
  std::vector<HostTensor> buffers = {HostTensor(Scalar::I32, {3})};
  REQUIRE(run_kernel(text("1"), buffers).ok());
  CHECK(buffers[0] == HostTensor::from_values(Scalar::I32, {3}, {1, 4, 9}));
  CHECK(run_kernel(text("2"), buffers).ToString().find("index 4 of axis 0 of a stage with length 4") !=
        std::string::npos);
}

TEST_CASE("a kernel: wrong forms are refused") {
  std::vector<HostTensor> buffers = {f32({0, 0})};
  const std::string head = "%0 = param f32 [slot=0]\n%1 = range index 2:index [axis=0 loop]\n%2 = index void %0 %1\n";
  CHECK(run_kernel(head + "%3 = store void %2 1:f32\n%4 = sink void %3 [symbol=k]\n", buffers)
            .ToString()
            .find("used outside its loop: range[axis=0 loop]") != std::string::npos);
  CHECK(run_kernel(head + "%3 = load f32 %2\n", buffers).ToString().find("root is a sink") != std::string::npos);
  CHECK(run_kernel(head + "%3 = sink void %2 [symbol=k]\n", buffers).ToString().find("not a store") !=
        std::string::npos);
}

absl::Status run_linear(const std::string& text, std::vector<HostTensor>& buffers, std::vector<std::int64_t> vars = {},
                        std::optional<GridPart> grid = {}) {
  // The text is a list; its order is the body's.
  ir::Graph graph;
  const absl::StatusOr<std::vector<ir::UOpRef>> parsed = ir::parse_list(graph, text);
  INFO(text << parsed.status().ToString());
  REQUIRE(parsed.ok());
  const std::vector<ir::UOpRef>& body = *parsed;
  // Constants stand inline in the text; in a body they come first.
  std::vector<ir::UOpRef> all;
  for (ir::UOpRef node : ir::toposort(body)) {
    if (node->is_const()) all.push_back(node);
  }
  all.insert(all.end(), body.begin(), body.end());
  return interpret_linear(all, {buffers, vars, grid});
}

const char* const kDot =
    "%0 = param f32 [slot=0]\n"
    "%1 = param f32 [slot=1]\n"
    "%2 = var i64 [name=n min=0 max=64 slot=0]\n"
    "%3 = range i64 2:i64 [axis=0 grid]\n"
    "%4 = broadcast f32x4 0:f32\n"
    "%5 = acc f32x4 %4 [id=0]\n"
    "%6 = range i64 %2 [axis=1 reduce]\n"
    "%7 = mul i64 %6 4:i64\n"
    "%8 = index void %1 %7\n"
    "%9 = load f32x4 %8\n"
    "%10 = acc_update void %5 %9 [sum]\n"
    "%11 = end void %6\n"
    "%12 = acc_result f32x4 %5 %11\n"
    "%13 = horizontal f32 %12 [sum]\n"
    "%14 = cast f32 %3\n"
    "%15 = add f32 %13 %14\n"
    "%16 = index void %0 %3\n"
    "%17 = store void %16 %15\n"
    "%18 = end void %3\n";

TEST_CASE("a linear body: vector accumulator, grid part, zero-trip loop") {
  std::vector<HostTensor> buffers = {f32({-1, -1}), f32({1, 2, 3, 4, 10, 20, 30, 40})};
  SECTION("whole") {
    const absl::Status status = run_linear(kDot, buffers, {2});
    INFO(status.ToString());
    REQUIRE(status.ok());
    CHECK(buffers[0] == f32({110, 111}));
  }
  SECTION("second part, half the row") {
    REQUIRE(run_linear(kDot, buffers, {1}, GridPart{1, 2}).ok());
    CHECK(buffers[0] == f32({-1, 11}));
  }
  SECTION("empty reduction") {
    REQUIRE(run_linear(kDot, buffers, {0}).ok());
    CHECK(buffers[0] == f32({0, 1}));
  }
  SECTION("a row too long is found, lane by lane") {
    const std::string message = run_linear(kDot, buffers, {3}).ToString();
    CHECK(message.find("load of element 8 of slot 1 with 8 elements") != std::string::npos);
    CHECK(message.find("in line") != std::string::npos);
  }
}

TEST_CASE("a linear body: gathers, scatters and gates a lane") {
  const std::string text =
      "%0 = param i32 [slot=0]\n"
      "%1 = param i32 [slot=1]\n"
      "%2 = stack i64x3 2:i64 0:i64 9:i64\n"
      "%3 = stack boolx3 true:bool true:bool false:bool\n"
      "%4 = index void %1 %2 %3\n"
      "%5 = broadcast i32x3 -5:i32\n"
      "%6 = load i32x3 %4 %5\n"
      "%7 = stack i64x3 0:i64 2:i64 1:i64\n"
      "%8 = index void %0 %7\n"
      "%9 = store void %8 %6\n"
      "%10 = extract i32 %6 [lane=1]\n"
      "%11 = index void %0 3:i64 true:bool\n"
      "%12 = store void %11 %10\n";
  std::vector<HostTensor> buffers = {HostTensor(Scalar::I32, {4}),
                                     HostTensor::from_values(Scalar::I32, {3}, {10, 11, 12})};
  const absl::Status status = run_linear(text, buffers);
  INFO(status.ToString());
  REQUIRE(status.ok());
  CHECK(buffers[0] == HostTensor::from_values(Scalar::I32, {4}, {12, -5, 10, 10}));
}

TEST_CASE("a linear body: values do not outlive their loop, loops nest") {
  std::vector<HostTensor> buffers = {HostTensor(Scalar::I64, {2})};
  const std::string head = "%0 = param i64 [slot=0]\n%1 = range i64 2:i64 [axis=0 loop]\n%2 = add i64 %1 1:i64\n";
  CHECK(run_linear(head + "%3 = end void %1\n%4 = index void %0 0:i64\n%5 = store void %4 %2\n", buffers)
            .ToString()
            .find("not computed: add(") != std::string::npos);
  CHECK(run_linear(head, buffers).ToString().find("a range has no end") != std::string::npos);
  CHECK(run_linear(head + "%3 = range i64 2:i64 [axis=1 loop]\n%4 = end void %1\n%5 = end void %3\n", buffers)
            .ToString()
            .find("loops do not nest") != std::string::npos);
}

}  // namespace
}  // namespace hearth::codegen::reference
