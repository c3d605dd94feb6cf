// A node's worth of processes, all at once, with nothing compiled and no daemon running.
#include <atomic>
#include <catch2/catch.hpp>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "tests/integration/place.h"
#include "tests/support/eventually.h"

using namespace hearth::integration;

TEST_CASE("100 processes start cold: none fails, one daemon, every kernel compiled once") {
  constexpr int kProcesses = 100;
  const fs::path folder = source_dir() / "examples" / "digits";
  const std::string image = "image=" + (folder / "digits_images.npy").string();
  Place place;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Process> processes;
  for (int i = 0; i < kProcesses; ++i) {
    processes.push_back(place.start({"hearth", "run", folder / "digits.onnx", "--input", image, "--threads", "1",
                                     "--output-dir", place.file("out/" + std::to_string(i)), "--json"}));
  }
  std::set<pid_t> daemons;
  std::atomic<bool> watching = true;
  std::thread watch([&] {
    hearth::test::eventually([&] {
      for (const pid_t pid : place.daemons()) daemons.insert(pid);
      return !watching;
    });
  });
  std::vector<Ran> ran;
  for (Process& process : processes) ran.push_back(process.wait());
  watching = false;
  watch.join();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  int failed = 0, different = 0, reported = 0;
  double slowest_ms = 0;
  std::string first;
  for (int i = 0; i < kProcesses; ++i) {
    const Ran& run = ran[static_cast<std::size_t>(i)];
    INFO("process " << i << ": " << run.err);
    CHECK(run.code == 0);
    if (run.code != 0 && ++failed > 0) continue;
    const auto json = nlohmann::json::parse(run.out);
    reported += json["compiled_kernels"].get<int>();
    slowest_ms = std::max(slowest_ms, json["prepare_ms"].get<double>());
    const std::string bytes = content(json["outputs"][0]["file"].get<std::string>());
    CHECK_FALSE(bytes.empty());
    if (first.empty()) first = bytes;
    different += bytes == first ? 0 : 1;
  }
  CHECK(different == 0);
  CHECK(daemons.size() == 1);
  const auto stats = place.stats();
  const auto kernels = nlohmann::json::parse(ran[0].out)["kernels"].get<int>();
  CHECK(kernels > 0);
  CHECK(stats["kernels_compiled"] == kernels);
  CHECK(stats["plan_misses"] == 1);
  CHECK(stats["plan_errors"] == 0);
  CHECK(stats["requests"] == kProcesses);
  CHECK(stats["plan_hits"].get<int>() + stats["plan_joined"].get<int>() == kProcesses - 1);
  CHECK(place.daemons() == std::vector<pid_t>{stats["pid"].get<pid_t>()});
  std::cout << kProcesses << " processes, cold: " << failed << " failed, " << daemons.size() << " daemon, "
            << stats["kernels_compiled"] << " compiles of " << kernels << " kernels (" << stats["plan_misses"]
            << " miss, " << stats["plan_joined"] << " joined, " << stats["plan_hits"] << " hits); all done in "
            << seconds << " s, slowest prepare " << slowest_ms << " ms; callers were told of " << reported
            << " compiles\n";
}
