// kill -9 of the daemon under a process that replays.
#include <signal.h>
#include <stdlib.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>

#include "hearth/npy.h"
#include "hearth/onnx.h"
#include "hearth/prepare.h"
#include "tests/integration/place.h"

using namespace hearth;
using namespace hearth::integration;

namespace {

std::string replay(client::Instance& instance) {
  const absl::Status ran = instance.execute();
  INFO(ran.message());
  REQUIRE(ran.ok());
  const auto output = instance.output("probability");
  REQUIRE(output.ok());
  return {static_cast<const char*>(output->data), output->size_bytes};
}

}  // namespace

TEST_CASE("kill -9 of the daemon: replay goes on, the next prepare starts one and compiles nothing") {
  constexpr int kReplays = 60;
  Place place;
  // A daemon that this process starts gets this process's environment.
  ::setenv("HEARTH_DAEMON", (bin_dir() / "hearthd").c_str(), 1);
  for (const auto& [name, value] : place.environment()) ::setenv(name.c_str(), value.c_str(), 1);
  const fs::path folder = source_dir() / "examples" / "digits";
  const auto model = hearth::onnx::import_model((folder / "digits.onnx").string());
  REQUIRE(model.ok());
  REQUIRE(model->results.at(0).name == "probability");
  const auto images = client::read_npy((folder / "digits_images.npy").string());
  REQUIRE(images.ok());

  const client::PrepareConfig config{.socket = place.socket(), .threads = 2};
  const auto plan = client::prepare(model->outputs, config);
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  CHECK(plan->stats().compiled_kernels == plan->stats().kernels);
  auto instance = plan->instantiate();
  REQUIRE(instance.ok());
  REQUIRE(instance->bind_input("image", images->bytes.data(), images->bytes.size()).ok());
  const std::string expected = replay(*instance);
  const std::vector<pid_t> first = place.daemons();
  REQUIRE(first.size() == 1);

  for (int i = 0; i < kReplays; ++i) {
    if (i == kReplays / 3) REQUIRE(::kill(first[0], SIGKILL) == 0);
    REQUIRE((replay(*instance) == expected));
  }
  while (alive(first[0])) ::usleep(1000);
  CHECK(place.daemons().empty());
  REQUIRE((replay(*instance) == expected));
  // Another instance of the same plan needs no daemon either.
  auto second = plan->instantiate();
  REQUIRE(second.ok());
  REQUIRE(second->bind_input("image", images->bytes.data(), images->bytes.size()).ok());
  CHECK((replay(*second) == expected));
  CHECK(place.daemons().empty());

  const auto again = client::prepare(model->outputs, config);
  INFO(again.status().message());
  REQUIRE(again.ok());
  const auto stats = again->stats();
  CHECK(stats.compiled_kernels == 0);
  CHECK(stats.plan_hit);
  CHECK(stats.plan_key == plan->stats().plan_key);
  const std::vector<pid_t> next = place.daemons();
  REQUIRE(next.size() == 1);
  CHECK(next != first);
  CHECK(place.stats()["kernels_compiled"] == 0);
  auto third = again->instantiate();
  REQUIRE(third.ok());
  REQUIRE(third->bind_input("image", images->bytes.data(), images->bytes.size()).ok());
  CHECK((replay(*third) == expected));
  CHECK((replay(*instance) == expected));
  const Ran process = place.run({"hearth", "run", folder / "digits.onnx", "--threads", "2", "--json"});
  INFO(process.err);
  REQUIRE(process.code == 0);
  CHECK(nlohmann::json::parse(process.out)["compiled_kernels"] == 0);
  std::cout << "kill -9 during " << kReplays << " replays: all bit-identical; next prepare " << stats.prepare_ms
            << " ms with the start of a daemon, " << stats.compiled_kernels << " compiled\n";
}
