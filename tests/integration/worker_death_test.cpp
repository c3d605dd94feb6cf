// kill -9 of compiler workers under a prepare.
#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "tests/integration/place.h"
#include "tests/support/eventually.h"

using namespace hearth::integration;
using namespace std::chrono_literals;

namespace {

constexpr int kDeadlineSeconds = 60;
constexpr int kAll = 100'000;

std::vector<std::string> run_digits() {
  return {"hearth",
          "run",
          source_dir() / "examples" / "digits" / "digits.onnx",
          "--json",
          "--threads",
          "2",
          "--timeout",
          std::to_string(kDeadlineSeconds)};
}

// Kills workers of `daemon` until `process` ends or `limit` are dead; returns how many.
int kill_workers(pid_t daemon, const Process& process, int limit) {
  std::set<pid_t> killed;
  hearth::test::eventually([&] {
    for (const pid_t worker : children_of(daemon)) {
      if (killed.count(worker) == 0 && static_cast<int>(killed.size()) < limit && ::kill(worker, SIGKILL) == 0) {
        killed.insert(worker);
      }
    }
    return !alive(process.pid()) || static_cast<int>(killed.size()) >= limit;
  });
  return static_cast<int>(killed.size());
}

}  // namespace

TEST_CASE("workers die under a cold prepare: a result or a typed error in time, and the daemon lives") {
  Place expected_place;
  const auto expected = expected_place.json(run_digits());

  // A request is given up when three workers died of it: one or two deaths cost the caller nothing.
  for (const int limit : {1, 2, kAll}) {
    Place place;
    place.environment()["HEARTH_REFUSE_S"] = "0.2";
    place.environment()["HEARTH_WORKERS"] = "2";
    REQUIRE(place.run({"hearth", "daemon", "start"}).code == 0);
    const pid_t daemon = place.daemons().at(0);
    Process process = place.start(run_digits());
    if (limit != kAll) CHECK(hearth::test::eventually([&] { return !children_of(daemon).empty(); }));
    const int killed = kill_workers(daemon, process, limit);
    const Ran ran = process.wait();
    INFO("killed " << killed << ": exit " << ran.code << ": " << ran.err);
    CHECK(ran.code == (limit == kAll ? 1 : 0));
    if (ran.code == 0) {
      CHECK(nlohmann::json::parse(ran.out)["plan_key"] == expected["plan_key"]);
    } else {
      CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 1);
      CHECK(ran.err.find("worker") != std::string::npos);
    }
    std::cout << killed << " workers killed under a cold prepare: exit " << ran.code << " after " << ran.wall_ms
              << " ms" << (ran.code == 0 ? "" : ": " + ran.err.substr(0, ran.err.find('\n'))) << "\n";
    REQUIRE(place.daemons() == std::vector<pid_t>{daemon});
    // A request that killed three workers is refused for a while.
    CHECK(hearth::test::eventually([&] { return place.run(run_digits()).code == 0; }));
    const auto after = place.json(run_digits());
    CHECK(after["plan_key"] == expected["plan_key"]);
    CHECK(after["kernels"] == expected["kernels"]);
    CHECK(place.stats()["worker_crashes"].get<int>() <= killed);
  }
}
