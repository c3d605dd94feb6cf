// What `hearth explain --dump` lists is what compiler/compile.cpp says, in its order: no step hides in another one.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <vector>

#include "compiler/compile.h"
#include "google/protobuf/text_format.h"

namespace {

using namespace hearth;

// The HEARTH_PASS lines between two places of compile.cpp, each name once.
std::vector<std::string> steps_between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin), to = text.find(end, from);
  REQUIRE(from != std::string::npos);
  REQUIRE(to != std::string::npos);
  const std::string part = text.substr(from, to - from);
  const std::regex line("HEARTH_PASS\\((\\w+)");
  std::vector<std::string> names;
  for (std::sregex_iterator it(part.begin(), part.end(), line); it != std::sregex_iterator(); ++it) {
    if (std::find(names.begin(), names.end(), (*it)[1]) == names.end()) names.push_back((*it)[1]);
  }
  return names;
}

}  // namespace

TEST_CASE("explain lists the steps of compile.cpp in their order") {
  std::ifstream file(std::string(std::getenv("HEARTH_SOURCE_DIR")) + "/compiler/compile.cpp");
  std::stringstream read;
  read << file.rdbuf();
  const std::vector<std::string> graph_steps = steps_between(read.str(), "schedule_of(", "lower_one("),
                                 kernel_steps = steps_between(read.str(), "lower_one(", "lower_to_kernel(const");
  REQUIRE(graph_steps.size() > 8);
  REQUIRE(kernel_steps.size() > 9);

  v1::Graph graph;
  REQUIRE(google::protobuf::TextFormat::ParseFromString(R"(
      version: 1
      nodes { op: INPUT dtype: F32 name: "x" args { tokens { value: 64 } } args { tokens { value: 64 } } }
      nodes { op: PARAMETER dtype: F32 name: "w" args { tokens { value: 64 } } args { tokens { value: 64 } } }
      nodes { op: MATMUL inputs: 0 inputs: 1 }
      nodes { op: EXP inputs: 2 }
      outputs { name: "y" node: 3 })",
                                                        &graph));
  v1::Target target;
  target.set_device("cpu");
  target.set_triple("x86_64-unknown-linux-gnu");
  target.set_vector_bits(256);
  target.set_threads(2);
  v1::CompileOptions options;
  options.set_dump(true);
  const auto plan = compiler::lower(graph, target, options);
  INFO(plan.status());
  REQUIRE(plan.ok());
  std::vector<std::string> graph_seen, kernel_seen;
  for (const v1::PassReport& pass : plan->passes()) {
    INFO(pass.name());
    const bool is_kernels = pass.name().starts_with("kernels/");
    const std::string name = is_kernels ? pass.name().substr(8) : pass.name();
    const std::vector<std::string>& wanted = is_kernels ? kernel_steps : graph_steps;
    if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) continue;  // not of these lists: import, plan, …
    (is_kernels ? kernel_seen : graph_seen).push_back(name);
    CHECK(pass.time_ns() > 0);
    CHECK(pass.num_nodes() > 0);
  }
  CHECK(graph_seen == graph_steps);
  CHECK(kernel_seen == kernel_steps);
}
