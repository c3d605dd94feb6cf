// Bad graphs through the daemon, as a client of another make could send them: the compiler's refusal with node and
// reason comes back, whichever of daemon and worker finds it, no worker dies, and good graphs are served on.
#include <catch2/catch.hpp>
#include <functional>
#include <nlohmann/json.hpp>

#include "client/connection/daemon_channel.h"
#include "proto/versions.h"
#include "runtime/devices/devices.h"
#include "tests/integration/place.h"

using namespace hearth;
using namespace hearth::integration;

namespace {

void set_length(v1::Expr* expr, std::int64_t value) { expr->add_tokens()->set_value(value); }

// x [n, 3] + y [n, 3] for n in 1 .. 8, with a line of its own for each node.
v1::Graph good_graph() {
  v1::Graph graph;
  graph.set_version(kGraphVersion);
  v1::Variable& n = *graph.add_vars();
  n.set_name("n");
  n.set_min(1);
  n.set_max(8);
  for (int i = 0; i < 3; ++i) {
    v1::Node& node = *graph.add_nodes();
    node.set_dtype(v1::F32);
    node.set_op(i < 2 ? v1::INPUT : v1::ADD);
    v1::Provenance& place = *graph.add_provenance();
    place.set_node(static_cast<std::uint32_t>(i));
    place.set_text("model.cpp:" + std::to_string(10 + i));
    if (i == 2) {
      node.add_inputs(0);
      node.add_inputs(1);
      continue;
    }
    node.set_name(i == 0 ? "x" : "y");
    node.add_args()->add_tokens()->set_kind(v1::ExprToken::VAR);
    set_length(node.add_args(), 3);
  }
  graph.add_outputs()->set_name("sum");
  graph.mutable_outputs(0)->set_node(2);
  return graph;
}

}  // namespace

TEST_CASE("bad graphs through the daemon are refused with node and reason") {
  Place place;
  place.run_ok({"hearth", "run", (source_dir() / "examples" / "digits" / "digits.onnx").string(), "--json"});
  const std::vector<pid_t> daemon = place.daemons();
  REQUIRE(daemon.size() == 1);
  auto channel = client::DaemonChannel::get({.socket = place.socket(), .auto_start = false});
  REQUIRE(channel.ok());
  const auto prepare = [&](const std::function<void(v1::Graph&)>& spoil) {
    v1::PrepareRequest request;
    *request.mutable_graph() = good_graph();
    spoil(*request.mutable_graph());
    *request.mutable_target() = (*runtime::find_device("cpu"))->target(1);
    return (*channel)
        ->prepare(std::move(request), std::chrono::steady_clock::now() + std::chrono::seconds(60))
        .status();
  };
  REQUIRE(prepare([](v1::Graph&) {}).ok());

  struct Row {
    const char* what;
    std::vector<std::string> words;
    std::function<void(v1::Graph&)> spoil;
  };
  const Row rows[] = {
      {"64 bits",
       {"node 0 (INPUT) from model.cpp:10", "2^44 bytes"},
       [](v1::Graph& g) {
         for (int i = 0; i < 3; ++i) set_length(g.mutable_nodes(0)->add_args(), std::int64_t{1} << 40);
       }},
      {"the device",
       {"node 0 (INPUT) from model.cpp:10", "a buffer holds at most"},
       [](v1::Graph& g) { set_length(g.mutable_nodes(0)->add_args(), std::int64_t{1} << 37); }},
      {"rank",
       {"node 0 (INPUT) from model.cpp:10", "rank 18 is over 16"},
       [](v1::Graph& g) {
         for (int i = 0; i < 16; ++i) set_length(g.mutable_nodes(0)->add_args(), 1);
       }},
      {"a rank that the daemon itself refuses",
       {"args of node 0 (INPUT)", "102", "64"},
       [](v1::Graph& g) {
         for (int i = 0; i < 100; ++i) set_length(g.mutable_nodes(0)->add_args(), 1);
       }},
      {"a cycle", {"node 2 (ADD)", "topological order"}, [](v1::Graph& g) { g.mutable_nodes(2)->set_inputs(0, 2); }},
      {"types",
       {"node 2 (ADD) from model.cpp:12", "f32 and i8"},
       [](v1::Graph& g) {
         g.mutable_nodes(1)->set_dtype(v1::I8);
         g.mutable_nodes(2)->set_dtype(v1::DTYPE_UNSPECIFIED);
       }},
      {"shapes",
       {"node 2 (ADD) from model.cpp:12", "has shape"},
       [](v1::Graph& g) { g.mutable_nodes(1)->mutable_args(1)->mutable_tokens(0)->set_value(4); }},
      {"min over max", {"variable 0 'n'", "min 9 > max 8"}, [](v1::Graph& g) { g.mutable_vars(0)->set_min(9); }},
      {"an output that is not there", {"output", "node 7"}, [](v1::Graph& g) { g.mutable_outputs(0)->set_node(7); }},
  };
  for (const Row& row : rows) {
    const absl::Status status = prepare(row.spoil);
    INFO(row.what << ": " << status);
    CHECK(absl::IsInvalidArgument(status));
    for (const std::string& word : row.words) CHECK_THAT(std::string(status.message()), Catch::Contains(word));
  }
  CHECK(prepare([](v1::Graph& g) { g.mutable_vars(0)->set_min(0); }).ok());
  CHECK(place.daemons() == daemon);
  CHECK(place.stats()["worker_crashes"] == 0);

  // A user's line beside each kernel, by the daemon's own compiler.
  v1::ExplainRequest request;
  *request.mutable_graph() = good_graph();
  *request.mutable_target() = (*runtime::find_device("cpu"))->target(1);
  const auto explained =
      (*channel)->explain(std::move(request), std::chrono::steady_clock::now() + std::chrono::seconds(60));
  REQUIRE(explained.ok());
  REQUIRE(explained->kernels_size() == 1);
  CHECK_THAT(explained->kernels(0).source(), Catch::Contains("model.cpp:12"));
  const bool has_bounds = std::any_of(explained->passes().begin(), explained->passes().end(), [](const auto& pass) {
    return pass.name() == "kernels/check_bounds" && pass.num_nodes() == 3;
  });
  CHECK(has_bounds);
}
