// Instances of one plan: they run at the same time with equal results and cost their arena, inputs and outputs alone.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <thread>

#include "examples/conformer/conformer.h"
#include "hearth/ops.h"
#include "hearth/prepare.h"
#include "tests/integration/live_daemon.h"

using namespace hearth;
using namespace hearth::integration;

namespace {

std::size_t resident_bytes() {
  std::size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST_CASE("many threads replay one plan on instances of their own, bit for bit as one does") {
  const LiveDaemon daemon;
  const examples::Conformer model({.width = 16, .heads = 2, .expansion = 2, .kernel = 7}, examples::Weights::seeded(3));
  const client::Tensor x =
      client::input("x", {client::Dim::variable("b", 1, 4), client::Dim::variable("t", 1, 40), 16}, DType::kF32);
  const auto plan = client::prepare({{"out", model.layer(x, {}, "")}},
                                    {.socket = daemon.socket(), .threads = 2, .auto_start = false});
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  constexpr int kThreads = 6, kReplays = 20;
  // Output of replay `i`: its own shape and values.
  const auto replay = [&](client::Instance& instance, int i) -> std::string {
    if (!instance.set_var("b", 1 + i % 4).ok() || !instance.set_var("t", 1 + (i * 7) % 40).ok()) return "";
    const auto x = instance.input("x");
    auto* values = static_cast<float*>(x->data);
    for (std::size_t k = 0; k < x->size_bytes / sizeof(float); ++k) {
      values[k] = static_cast<float>((k * 31 + static_cast<std::size_t>(i)) % 17) / 8 - 1;
    }
    if (!instance.execute().ok()) return "";
    const auto out = instance.output("out");
    return {static_cast<const char*>(out->data), out->size_bytes};
  };
  std::vector<std::string> want;
  auto alone = plan->instantiate();
  REQUIRE(alone.ok());
  for (int i = 0; i < kReplays; ++i) want.push_back(replay(*alone, i));
  std::vector<int> wrong(kThreads, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      auto own = plan->instantiate({.threads = 1 + t % 2});
      for (int i = 0; i < kReplays; ++i) {
        const auto at = static_cast<std::size_t>((i + 3 * t) % kReplays);
        if (!own.ok() || replay(*own, static_cast<int>(at)) != want[at]) ++wrong[static_cast<std::size_t>(t)];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(kThreads, 0));
  CHECK(want[0].size() > 0);
}

TEST_CASE("one more instance costs its arena, inputs and outputs, and no weight") {
  const LiveDaemon daemon;
  constexpr std::int64_t kRows = 2048, kColumns = 2048;
  std::vector<float> weights(kRows * kColumns, 0.001F);
  const client::Tensor x = client::input("x", {8, kRows}, DType::kF32);
  const client::Tensor w = client::parameter("w", {kRows, kColumns}, DType::kF32, client::bytes_of(weights));
  const auto plan =
      client::prepare({{"y", client::matmul(client::softmax(client::matmul(x, w), -1), w)}}, daemon.config());
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  const std::size_t weight_bytes = weights.size() * sizeof(float);
  CHECK(plan->shared_bytes() >= weight_bytes);
  std::vector<client::Instance> instances;
  const auto one_more = [&] {
    auto instance = plan->instantiate();
    REQUIRE(instance.ok());
    const auto memory = instance->memory();
    CHECK(memory.io_bytes == 2 * 8 * kRows * sizeof(float));
    CHECK(memory.arena_bytes < weight_bytes / 8);
    REQUIRE(instance->execute().ok());  // touches all of its memory
    instances.push_back(*std::move(instance));
    return memory.arena_bytes + memory.io_bytes;
  };
  one_more();  // weights and kernels are resident from here on
  const std::size_t before = resident_bytes();
  std::size_t accounted = 0;
  for (int i = 0; i < 8; ++i) accounted += one_more();
  const std::size_t grown = resident_bytes() - std::min(before, resident_bytes());
  INFO(grown << " bytes grown, " << accounted << " accounted");
  if (!sanitized()) CHECK(grown < accounted + weight_bytes);  // eight copies of the weights would be eight times that
}
