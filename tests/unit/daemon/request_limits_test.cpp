#include "daemon/store/request_limits.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/unit/daemon/test_graphs.h"

namespace hearth::daemon {
namespace {

std::string text(const absl::Status& status) { return std::string(status.message()); }

TEST_CASE("limits: each bound refuses what is over it and names the place") {
  RequestLimits limits;
  v1::Graph graph = test_graph({"a", "b"});
  REQUIRE(check_graph(graph, limits).ok());
  SECTION("version") {
    graph.set_version(99);
    const absl::Status status = check_graph(graph, limits);
    CHECK(absl::IsFailedPrecondition(status));
    CHECK(text(status).find("99") != std::string::npos);
  }
  SECTION("bytes") {
    limits.graph_bytes = 3;
    CHECK(absl::IsInvalidArgument(check_graph(graph, limits)));
  }
  SECTION("nodes") {
    limits.nodes = 1;
    CHECK(text(check_graph(graph, limits)) == "graph nodes: 2 exceeds the limit of 1, the daemon\'s setting max_nodes");
  }
  SECTION("constants of all nodes together") {
    limits.constant_bytes = 5;
    graph.mutable_nodes(0)->set_data("abc");
    CHECK(check_graph(graph, limits).ok());
    graph.mutable_nodes(1)->set_data("abc");
    CHECK(text(check_graph(graph, limits)).find("6 exceeds the limit of 5") != std::string::npos);
  }
  SECTION("rank") {
    for (int i = 0; i < 33; ++i) graph.mutable_nodes(1)->add_axes(i);
    CHECK(text(check_graph(graph, limits)) == "axes of node 1 (INPUT): 33 exceeds the limit of 32");
  }
  SECTION("expression") {
    v1::Expr& expr = *graph.mutable_nodes(1)->add_args();
    for (int i = 0; i < 257; ++i) expr.add_tokens();
    CHECK(text(check_graph(graph, limits)).find("expression tokens of node 1") == 0);
  }
  SECTION("an input that comes later, and an unknown op") {
    graph.mutable_nodes(1)->add_inputs(1);
    graph.mutable_nodes(1)->set_op(static_cast<v1::Op>(9999));
    CHECK(text(check_graph(graph, limits)).find("input of node 1 (?) is node 1") == 0);
  }
  SECTION("an output that is no node") {
    graph.mutable_outputs(0)->set_node(2);
    CHECK(text(check_graph(graph, limits)) == "output 'out' names node 2 of 2");
  }
  SECTION("what stands in a loop's body") {
    v1::Loop& loop = *graph.add_loops();
    *loop.mutable_body() = test_graph({"a", "b"});
    CHECK(check_graph(graph, limits).ok());
    limits.nodes = 4;
    CHECK(text(check_graph(graph, limits)) == "graph nodes: 5 exceeds the limit of 4, the daemon\'s setting max_nodes");
    limits.nodes = 5;
    limits.constant_bytes = 5;
    graph.mutable_nodes(0)->set_data("abc");
    loop.mutable_body()->mutable_nodes(1)->set_data("abc");
    CHECK(text(check_graph(graph, limits)).find("6 exceeds the limit of 5") != std::string::npos);
    limits.constant_bytes = 6;
    for (int i = 0; i < 33; ++i) loop.mutable_body()->mutable_nodes(1)->add_axes(i);
    CHECK(text(check_graph(graph, limits)) == "loop 0: axes of node 1 (INPUT): 33 exceeds the limit of 32");
    loop.mutable_body()->mutable_nodes(1)->clear_axes();
    for (int i = 0; i < 257; ++i) loop.mutable_count()->add_tokens();
    CHECK(text(check_graph(graph, limits)) == "loop 0: expression tokens of its count: 257 exceeds the limit of 256");
    loop.clear_count();
    for (int i = 0; i < 4097; ++i) loop.add_collected(true);
    CHECK(text(check_graph(graph, limits)) == "loop 0: carried values: 4097 exceeds the limit of 4096");
    loop.clear_collected();
    loop.mutable_body()->mutable_outputs(0)->set_node(2);
    CHECK(text(check_graph(graph, limits)) == "loop 0: output 'out' names node 2 of 2");
    loop.mutable_body()->add_loops();
    CHECK(text(check_graph(graph, limits)) == "loop 0: its body has loops of its own");
  }
  SECTION("carried outputs") {
    for (int i = 0; i < 33; ++i) graph.add_carried()->add_storage(4);
    CHECK(text(check_graph(graph, limits)) == "carried outputs: 33 exceeds the limit of 1");
    graph.mutable_carried()->DeleteSubrange(1, 32);
    CHECK(check_graph(graph, limits).ok());
    for (int i = 0; i < 32; ++i) graph.mutable_carried(0)->add_storage(4);
    CHECK(text(check_graph(graph, limits)) == "axes of a carried output: 33 exceeds the limit of 32");
  }
  SECTION("names and texts") {
    const std::string longest(4096, 'x'), longer(4097, '\x01');
    graph.mutable_outputs(0)->set_name(longest);
    graph.add_vars()->set_name(longest);
    graph.add_carried()->set_output(longest);
    graph.mutable_carried(0)->set_input(longest);
    CHECK(check_graph(graph, limits).ok());
    const auto refused = [&] {
      const absl::Status status = check_graph(graph, limits);
      CHECK(absl::IsInvalidArgument(status));
      CHECK(status.message().size() < 200);  // it tells how long the name is, not the name
      return text(status);
    };
    graph.mutable_outputs(0)->set_name(longer);
    CHECK(refused() == "name bytes of an output: 4097 exceeds the limit of 4096");
    graph.mutable_vars(0)->set_name(longer);
    CHECK(refused() == "name bytes of a variable: 4097 exceeds the limit of 4096");
    graph.mutable_vars(0)->clear_name();
    graph.mutable_carried(0)->set_output(longer);
    CHECK(refused() == "name bytes of a carried output: 4097 exceeds the limit of 4096");
    graph.mutable_carried(0)->set_output(longest);
    graph.mutable_carried(0)->set_input(longer);
    CHECK(refused() == "name bytes of a carried input: 4097 exceeds the limit of 4096");
    CHECK(check_model_name(longest, limits).ok());
    CHECK(text(check_model_name(longer, limits)) == "bytes of the model's name: 4097 exceeds the limit of 4096");
  }
  SECTION("parts of a range") {
    v1::Variable& variable = *graph.add_vars();
    for (int i = 0; i < 256; ++i) variable.add_ends(i);
    CHECK(check_graph(graph, limits).ok());
    variable.add_ends(256);
    CHECK(text(check_graph(graph, limits)) == "parts of a variable's range: 257 exceeds the limit of 256");
  }
  SECTION("nothing to do") {
    CHECK_FALSE(check_graph(test_graph({}), limits).ok());
    graph.clear_outputs();
    CHECK_FALSE(check_graph(graph, limits).ok());
  }
}

TEST_CASE("limits: versions and target") {
  RequestLimits limits;
  CHECK(check_protocol_version(kProtocolVersion).ok());
  CHECK(absl::IsFailedPrecondition(check_protocol_version(0)));
  CHECK(absl::IsFailedPrecondition(check_protocol_version(kProtocolVersion + 1)));
  v1::Target target = test_target();
  CHECK(check_target(target, limits).ok());
  target.set_abi_version(77);
  CHECK(absl::IsFailedPrecondition(check_target(target, limits)));
  CHECK(absl::IsInvalidArgument(check_target(v1::Target(), limits)));
  const std::string longer(257, '\x01');
  using Change = void (*)(v1::Target&, const std::string&);
  const std::pair<const char*, Change> texts[] = {
      {"bytes of target.device", [](v1::Target& t, const std::string& value) { t.set_device(value); }},
      {"bytes of target.triple", [](v1::Target& t, const std::string& value) { t.set_triple(value); }},
      {"bytes of target.arch", [](v1::Target& t, const std::string& value) { t.set_arch(value); }},
      {"bytes of one of target.features", [](v1::Target& t, const std::string& value) { t.add_features(value); }}};
  for (const auto& [what, change] : texts) {
    v1::Target changed = test_target();
    change(changed, longer);
    CHECK(text(check_target(changed, limits)) == std::string(what) + ": 257 exceeds the limit of 256");
  }
}

TEST_CASE("limits: options") {
  RequestLimits limits;
  v1::CompileOptions options;
  for (int i = 0; i < 256; ++i) options.add_var_values(i);
  options.set_opt_level(2);
  CHECK(check_options(options, limits).ok());
  options.add_var_values(0);
  CHECK(text(check_options(options, limits)) == "options.var_values: 257 exceeds the limit of 256");
  options.clear_var_values();
  options.set_opt_level(~0u);
  CHECK(text(check_options(options, limits)) == "options.opt_level: 4294967295 exceeds the limit of 2");
}

}  // namespace
}  // namespace hearth::daemon
