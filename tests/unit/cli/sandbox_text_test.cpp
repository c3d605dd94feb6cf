#include "client/cli/sandbox_text.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace hearth::cli {
namespace {

void add(v1::SandboxReport* report, const char* name, v1::SandboxLayer::State state, const char* detail = "") {
  v1::SandboxLayer& layer = *report->add_layers();
  layer.set_name(name);
  layer.set_state(state);
  layer.set_detail(detail);
}

TEST_CASE("stats say how workers are confined, and what either kind of them lacks") {
  v1::StatsResponse stats;
  stats.set_sandbox("best-effort");
  CHECK(sandbox_text(stats) == "best-effort: no worker has started yet");
  add(stats.mutable_worker_sandbox(), "seccomp", v1::SandboxLayer::ON);
  add(stats.mutable_worker_sandbox(), "landlock", v1::SandboxLayer::ON, "ABI 7");
  CHECK(sandbox_text(stats) == "best-effort: 2 of 2 layers");
  add(stats.mutable_worker_sandbox(), "cgroup", v1::SandboxLayer::OFF, "not delegated");
  add(stats.mutable_blob_worker_sandbox(), "seccomp", v1::SandboxLayer::OFF);
  add(stats.mutable_blob_worker_sandbox(), "landlock", v1::SandboxLayer::PARTIAL);
  CHECK(sandbox_text(stats) == "best-effort: 1 of 3 layers; without cgroup, seccomp; in part landlock");
  const auto json = sandbox_json(stats);
  CHECK(json["setting"] == "best-effort");
  CHECK(json["workers"].size() == 3);
  CHECK(json["workers"][2]["layer"] == "cgroup");
  CHECK(json["workers"][2]["state"] == "off");
  CHECK(json["workers"][2]["detail"] == "not delegated");
  CHECK(json["blob_workers"][1]["state"] == "partial");
  stats.set_sandbox("off");
  CHECK(sandbox_text(stats) == "off");
}

}  // namespace
}  // namespace hearth::cli
