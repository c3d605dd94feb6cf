// Graphs as text against what numpy computes (data/cases.txt, written by make_cases.py), and the refusals.
#include "compiler/codegen/reference/graph_interpreter.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "compiler/ir/text.h"

namespace hearth::codegen::reference {
namespace {

using ir::Scalar;

// "f16 [2,3] 3c00 4000 ...".
HostTensor parse_tensor(std::istringstream& line) {
  std::string dtype, shape, word;
  line >> dtype >> shape;
  std::vector<std::int64_t> dims;
  std::istringstream list(shape.substr(1, shape.size() - 2));
  for (std::string dim; std::getline(list, dim, ',');) dims.push_back(std::stoll(dim));
  HostTensor tensor(ir::parse_dtype(dtype).value().scalar, dims);
  for (std::int64_t k = 0; line >> word; ++k) tensor.set(k, decode(tensor.dtype, std::stoull(word, nullptr, 16)));
  return tensor;
}

struct Case {
  std::string name, graph;
  Bindings inputs;
  HostTensor expected;
};

std::vector<Case> read_cases() {
  std::ifstream file(std::string(std::getenv("HEARTH_SOURCE_DIR")) + "/tests/unit/reference/data/cases.txt");
  std::vector<Case> cases;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string word;
    line >> word;
    if (word == "case") {
      cases.emplace_back();
      line >> cases.back().name;
    } else if (word == "in") {
      Bindings& inputs = cases.back().inputs;
      inputs.emplace(static_cast<std::uint32_t>(inputs.size()), parse_tensor(line));
    } else if (word == "out") {
      cases.back().expected = parse_tensor(line);
    } else {
      cases.back().graph += text + "\n";
    }
  }
  return cases;
}

// Equal bits; floats: equal, both NaN, or one step of the dtype apart (libm and numpy may differ there).
bool close(Scalar scalar, Element a, Element b) {
  if (!ir::is_float(scalar)) return a.i == b.i;
  if (std::isnan(a.f) || std::isnan(b.f)) return std::isnan(a.f) && std::isnan(b.f);
  if (a.f == b.f) return true;
  const auto distance = static_cast<std::int64_t>(encode(scalar, a)) - static_cast<std::int64_t>(encode(scalar, b));
  return std::abs(distance) <= 1;
}

TEST_CASE("every op and dtype agrees with numpy") {
  const std::vector<Case> cases = read_cases();
  REQUIRE(cases.size() > 400);
  for (const Case& c : cases) {
    CAPTURE(c.name, c.graph);
    ir::Graph graph;
    absl::StatusOr<ir::UOpRef> root = ir::parse(graph, c.graph);
    REQUIRE(root.ok());
    absl::StatusOr<std::vector<HostTensor>> result = interpret(std::span(&*root, 1), c.inputs, {});
    INFO(result.status().ToString());
    REQUIRE(result.ok());
    const HostTensor& got = (*result)[0];
    REQUIRE(got.dtype == c.expected.dtype);
    REQUIRE(got.shape == c.expected.shape);
    for (std::int64_t k = 0; k < got.num_elements(); ++k) {
      INFO("element " << k << " is " << to_string(got.dtype, got.get(k)) << ", expected "
                      << to_string(got.dtype, c.expected.get(k)));
      REQUIRE(close(got.dtype, got.get(k), c.expected.get(k)));
    }
  }
}

absl::StatusOr<std::vector<HostTensor>> run(const std::string& text, const Bindings& bindings,
                                            std::vector<std::int64_t> vars = {}) {
  ir::Graph graph;
  absl::StatusOr<ir::UOpRef> root = ir::parse(graph, text);
  REQUIRE(root.ok());
  return interpret(std::span(&*root, 1), bindings, vars);
}

TEST_CASE("symbolic dims take the variables' values") {
  const std::string text =
      "%0 = var index [name=n min=1 max=8 slot=0]\n"
      "%1 = mul index %0 2:index\n"
      "%2 = buffer f32 %1 [kind=input id=0]\n"
      "%3 = reshape f32 %2 %0 2:index\n"
      "%4 = reduce_axis f32 %3 [sum axes=1]\n";
  const Bindings bindings = {{0, HostTensor::from_values(Scalar::F32, {6}, {1, 2, 3, 4, 5, 6})}};
  absl::StatusOr<std::vector<HostTensor>> result = run(text, bindings, {3});
  REQUIRE(result.ok());
  CHECK((*result)[0] == HostTensor::from_values(Scalar::F32, {3, 1}, {3, 7, 11}));

  CHECK(run(text, bindings, {9}).status().ToString().find("n = 9 is not in [1, 8]") != std::string::npos);
  CHECK(run(text, bindings, {2}).status().ToString().find("buffer 0 is f32 [4] but f32 [6] is bound") !=
        std::string::npos);
  CHECK(run(text, bindings).status().ToString().find("no value for variable n") != std::string::npos);
  CHECK(run(text, {}, {3}).status().ToString().find("buffer 0 is not bound") != std::string::npos);
}

TEST_CASE("float sums accumulate in double") {
  const std::string text = "%0 = buffer f32 3:index [kind=input id=0]\n%1 = reduce_axis f32 %0 [sum axes=0]\n";
  const Bindings bindings = {{0, HostTensor::from_values(Scalar::F32, {3}, {1e9, 1, -1e9})}};
  CHECK((*run(text, bindings))[0] == HostTensor::from_values(Scalar::F32, {1}, {1}));
}

TEST_CASE("a shared node is one value, several outputs come in order") {
  ir::Graph graph;
  ir::UOpRef x = graph.make(ir::Op::Buffer, Scalar::I32, {graph.index(2)}, ir::BufferInfo{ir::BufferKind::Input, 4});
  const ir::UOpRef outputs[] = {graph.add(x, x), x, graph.mul(x, graph.constant(Scalar::I32, 5))};
  const Bindings bindings = {{4, HostTensor::from_values(Scalar::I32, {2}, {3, -4})}};
  absl::StatusOr<std::vector<HostTensor>> result = interpret(outputs, bindings, {});
  REQUIRE(result.ok());
  CHECK((*result)[0] == HostTensor::from_values(Scalar::I32, {2}, {6, -8}));
  CHECK((*result)[1] == bindings.at(4));
  CHECK((*result)[2] == HostTensor::from_values(Scalar::I32, {2}, {15, -20}));
}

TEST_CASE("wrong graphs are refused with the node's text") {
  const Bindings bindings = {{0, HostTensor::from_values(Scalar::I32, {2}, {3, -4})}};
  const std::string buffer = "%0 = buffer i32 2:index [kind=input id=0]\n";
  const auto message = [&](const std::string& line) { return run(buffer + line, bindings).status().ToString(); };
  CHECK(message("%1 = sqrt i32 %0\n").find("sqrt is not defined for i32 at sqrt(") != std::string::npos);
  CHECK(message("%1 = reshape i32 %0 3:index\n").find("changes the number of elements") != std::string::npos);
  CHECK(message("%1 = shrink i32 %0 1:index 3:index\n").find("shrink [1, 3) of axis 0 with length 2") !=
        std::string::npos);
  CHECK(message("%1 = expand i32 %0 4:index\n").find("expand of an axis longer than 1") != std::string::npos);
  CHECK(message("%1 = iota i32 3:index [axes=0]\n%2 = add i32 %0 %1\n").find("shapes differ") != std::string::npos);
  CHECK(message("%1 = range index 4:index [axis=0 loop]\n").find("not a tensor-level op") != std::string::npos);
}

}  // namespace
}  // namespace hearth::codegen::reference
