// ThreadSanitizer finds races in code that gRPC calls, although it sees nothing of gRPC itself: a suppression that is
// too wide, or an order told to it that is too strict, makes one of these pass unseen.
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

struct Outcome {
  int exit_code = -1;
  std::string output;
};

// exitcode=66 is ThreadSanitizer's own; ours would be 0.
Outcome run(const std::string& race) {
  const std::string source = std::getenv("HEARTH_SOURCE_DIR"), bin = std::getenv("HEARTH_BIN_DIR");
  const std::string command = "TSAN_OPTIONS=suppressions=" + source +
                              "/scripts/tsan.supp:halt_on_error=1:exitcode=66 " + bin + "/hearth-planted-races " +
                              race + " 2>&1";
  Outcome outcome;
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  while (std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) outcome.output.append(buffer, got);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  return outcome;
}

void check_is_seen(const std::string& race, const std::string& frame) {
  const Outcome outcome = run(race);
  INFO(outcome.output);
  CHECK(outcome.exit_code == 66);
  CHECK_THAT(outcome.output, Catch::Contains("WARNING: ThreadSanitizer: data race"));
  CHECK_THAT(outcome.output, Catch::Contains(frame));
}

}  // namespace

TEST_CASE("a counter that two handlers raise without a lock is reported") { check_is_seen("counter", "Counting"); }

TEST_CASE("what the starting thread writes while handlers read it is reported") {
  check_is_seen("started", "Counting");
}

TEST_CASE("a race of a call's OnDone with a thread of ours is reported") { check_is_seen("done", "Streaming"); }

TEST_CASE("a race of a call's OnWriteDone with a thread of ours is reported") { check_is_seen("written", "Chunks"); }

TEST_CASE("the same code with its locks, and members that gRPC's order protects, are silent") {
  const Outcome outcome = run("none");
  INFO(outcome.output);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output == "200 calls\n");
}
