#include "client/cli/isolated.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <thread>
#include <vector>

using namespace hearth::cli;
using Catch::Matchers::Contains;

TEST_CASE("a piece that crashes, exits or hangs costs its own result only") {
  const auto work = [](std::size_t i) -> std::string {
    if (i == 1) kill(getpid(), SIGKILL);
    if (i == 2) _exit(7);
    if (i == 4) std::this_thread::sleep_for(std::chrono::hours(1));
    return std::string(i * 100'000, 'x');  // more than a pipe holds
  };
  std::vector<absl::StatusOr<std::string>> results;
  const absl::Status ran = run_isolated(6, std::chrono::seconds(3), work, [&](std::size_t i, auto text) {
    CHECK(i == results.size());
    results.push_back(std::move(text));
  });
  REQUIRE(ran.ok());
  REQUIRE(results.size() == 6);
  for (std::size_t i : {0U, 3U, 5U}) {
    REQUIRE(results[i].ok());
    CHECK(results[i]->size() == i * 100'000);
  }
  CHECK(absl::IsAborted(results[1].status()));
  CHECK_THAT(std::string(results[1].status().message()), Contains("killed by signal 9"));
  CHECK_THAT(std::string(results[2].status().message()), Contains("exit code 7"));
  CHECK(absl::IsDeadlineExceeded(results[4].status()));
}

TEST_CASE("no pieces, no child") {
  CHECK(
      run_isolated(0, std::chrono::seconds(1), [](std::size_t) { return ""; }, [](std::size_t, auto) { FAIL(); }).ok());
}
