#include "daemon/worker_pool/worker_output.h"

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <sstream>

namespace hearth::daemon {
namespace {

// The log of this process, in memory while it lives.
class Log {
 public:
  Log() {
    auto logger = std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_));
    logger->set_pattern("%v");
    logger->set_level(spdlog::level::info);
    spdlog::set_default_logger(logger);
  }
  ~Log() { spdlog::set_default_logger(before_); }
  std::string text() const { return text_.str(); }

 private:
  const std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
  std::ostringstream text_;
};

void say(const WorkerOutput& output, const std::string& text) {
  REQUIRE(::write(output.worker_end(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

TEST_CASE("worker output: what a worker says is logged line by line, escaped") {
  const Log log;
  WorkerOutput output;
  say(output, "one\ntw");
  output.drain();
  CHECK(log.text() == "compiler worker: one\n");
  say(output, "o\n\x1b]0;title\x07\r\n\nüber");
  output.close_worker_end();
  output.finish();
  CHECK(log.text() ==
        "compiler worker: one\ncompiler worker: two\ncompiler worker: \\033]0;title\\007\\r\ncompiler worker: über\n");
}

TEST_CASE("worker output: a worker that says too much fills no log and waits for nobody") {
  const Log log;
  WorkerOutput output;
  const std::string line(500, 'x');
  for (int i = 0; i < 1'000; ++i) {
    say(output, line + "\n");
    if (i % 50 == 49) output.drain();
  }
  output.finish();
  CHECK(log.text().size() < 100'000);
  CHECK(log.text().ends_with("it says too much; the rest is left out\n"));
  // A pipe that nobody empties takes no more.
  const std::string much(1 << 20, 'y');
  CHECK(::write(output.worker_end(), much.data(), much.size()) < static_cast<ssize_t>(much.size()));
  CHECK(::write(output.worker_end(), much.data(), much.size()) == -1);
}

TEST_CASE("worker output: a line without an end is cut") {
  const Log log;
  WorkerOutput output;
  say(output, std::string(2'500, 'z'));
  output.finish();
  CHECK(log.text() == "compiler worker: " + std::string(1'000, 'z') + "\ncompiler worker: " + std::string(1'000, 'z') +
                          "\ncompiler worker: " + std::string(500, 'z') + "\n");
}

}  // namespace
}  // namespace hearth::daemon
