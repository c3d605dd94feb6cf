// Barriers between the launches of a plan for a GPU (runtime/hal/barriers.h), as the null device records them: whether
// launches that may run at the same time keep to memory of their own is judged here by the addresses of each command,
// which is not how the runtime finds out.
#include <catch2/catch.hpp>
#include <iostream>

#include "client/trace/encoded_graph.h"
#include "compiler/compile.h"
#include "hearth/onnx.h"
#include "hearth/ops.h"
#include "runtime/devices/devices.h"
#include "runtime/devices/named_target.h"
#include "runtime/hal/barriers.h"
#include "runtime/hal/null/null_device.h"

namespace hearth {
namespace {

using runtime::NullCommand;

// A plan for lavapipe as the null device records it.
struct Recording {
  runtime::Plan plan;
  std::vector<std::int64_t> values;     // of the variables: their upper bounds
  std::vector<std::uint32_t> launches;  // of the commands
  std::vector<NullCommand> commands;
};

Recording record(const v1::Graph& graph) {
  Recording made;
  const v1::Target target = *runtime::named_target("vulkan:lavapipe");
  absl::StatusOr<v1::LoweredPlan> lowered = compiler::lower(graph, target, {});
  INFO(lowered.status().message());
  REQUIRE(lowered.ok());
  v1::Plan& wire = *lowered->mutable_plan();
  *wire.mutable_target() = (*runtime::find_device("null"))->target(1);
  absl::StatusOr<runtime::Plan> plan = runtime::parse_plan(wire.SerializeAsString());
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  made.plan = *std::move(plan);
  runtime::Rows rows(made.plan);
  std::uintptr_t next = made.plan.arena_bytes + 4096;
  for (std::size_t i = 0; i < made.plan.buffers.size(); ++i) {
    const runtime::PlanBuffer& buffer = made.plan.buffers[i];
    if (buffer.view) continue;
    const bool is_in_arena = buffer.kind == v1::PlanBuffer::ARENA;
    rows.memory[i] = reinterpret_cast<void*>(is_in_arena ? 64 + buffer.offset : next);
    if (!is_in_arena) next += buffer.max_bytes + 4096;
  }
  for (const runtime::PlanVariable& variable : made.plan.vars) made.values.push_back(variable.max);
  REQUIRE(rows.set_values(made.values).ok());
  rows.place();
  const runtime::NullExecutable executable(made.plan.kernels.size());
  made.commands = runtime::NullProgram(executable, rows).commands();
  for (const NullCommand& command : made.commands) made.launches.push_back(rows.steps[command.step].launch);
  return made;
}

// The first command that runs beside one whose memory it disturbs, or whose disturbs it; -1: there is none.
int first_conflict(const Recording& of, const std::vector<NullCommand>& commands) {
  struct Touched {
    std::uintptr_t begin, end;
    bool is_stored;
  };
  const auto touched_by = [&](std::size_t i) {
    const runtime::PlanLaunch& launch = of.plan.launches[of.launches[i]];
    const std::vector<std::uint32_t>& stored = of.plan.kernels[launch.kernel].stored_slots;
    std::vector<Touched> touched;
    for (std::uint32_t slot = 0; slot < launch.buffers.size(); ++slot) {
      const auto begin = reinterpret_cast<std::uintptr_t>(commands[i].addresses[slot]);
      const std::size_t size = of.plan.buffers[launch.buffers[slot]].size_bytes(of.values.data());
      touched.push_back({begin, begin + size, std::ranges::find(stored, slot) != stored.end()});
    }
    return touched;
  };
  std::vector<Touched> beside;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (commands[i].waits) beside.clear();
    const std::vector<Touched> touched = touched_by(i);
    for (const Touched& a : touched) {
      for (const Touched& b : beside) {
        if ((a.is_stored || b.is_stored) && a.begin < b.end && b.begin < a.end) return static_cast<int>(i);
      }
    }
    beside.insert(beside.end(), touched.begin(), touched.end());
  }
  return -1;
}

struct Sample {
  std::string name;
  v1::Graph graph;
};

std::vector<Sample> samples() {
  using namespace client;
  const auto weights = [](const std::string& name, const std::vector<std::int64_t>& shape) {
    static std::vector<std::vector<float>> kept;
    std::size_t count = 1;
    for (const std::int64_t length : shape) count *= static_cast<std::size_t>(length);
    return parameter(name, {shape.begin(), shape.end()}, DType::kF32, bytes_of(kept.emplace_back(count, 0.5F)));
  };
  std::vector<Sample> all;
  Tensor chain = input("x", {Dim::variable("n", 1, 24), 32}, DType::kF32);
  for (int i = 0; i < 5; ++i) {
    chain = matmul(chain, weights("w" + std::to_string(i), {32, 32}));
    chain = chain - mean(chain, {0}, true);
  }
  all.push_back({"a chain", (*encode_graph({{"y", chain}})).graph});
  const Tensor x = input("x", {16, 32}, DType::kF32);
  NamedTensors branches;
  Tensor sum;
  for (int i = 0; i < 6; ++i) {
    const Tensor y = matmul(x, weights("b" + std::to_string(i), {32, 32}));
    branches.push_back({"y" + std::to_string(i), y});
    sum = i == 0 ? y : sum + y;
  }
  branches.push_back({"sum", sum});
  all.push_back({"branches", (*encode_graph(branches)).graph});
  const Tensor steps = input("x", {9, 1, 8}, DType::kF32), h = input("h", {1, 16}, DType::kF32),
               c = input("c", {1, 16}, DType::kF32);
  const LstmResult lstm_result =
      lstm(steps, {h, c}, weights("w", {64, 8}), weights("r", {64, 16}), weights("bias", {64}), {});
  all.push_back({"a loop", (*encode_graph({{"y", lstm_result.y}, {"h", lstm_result.last.h}})).graph});
  const std::string digits = std::string(std::getenv("HEARTH_SOURCE_DIR")) + "/examples/digits/digits.onnx";
  all.push_back({"digits", (*encode_graph((*onnx::import_model(digits)).outputs)).graph});
  return all;
}

}  // namespace

TEST_CASE("launches that run at the same time keep to memory of their own, and every barrier is needed for that") {
  for (const Sample& sample : samples()) {
    INFO(sample.name);
    const Recording recording = record(sample.graph);
    CHECK(first_conflict(recording, recording.commands) == -1);
    std::size_t waits = 0;
    for (std::size_t i = 0; i < recording.commands.size(); ++i) {
      if (!recording.commands[i].waits) continue;
      ++waits;
      std::vector<NullCommand> without = recording.commands;
      without[i].waits = false;
      INFO("the barrier in front of command " << i << " of " << recording.commands.size());
      CHECK(first_conflict(recording, without) >= static_cast<int>(i));
    }
    CHECK(waits > 0);
    std::cout << sample.name << ": " << recording.commands.size() << " launches, " << waits << " barriers\n";
    if (sample.name == "branches") CHECK(waits < recording.commands.size() / 2);
  }
}

TEST_CASE("a device waits once a level: chains that know nothing of one another run side by side") {
  using namespace client;
  constexpr int kChains = 4, kLinks = 3;
  const Tensor x = input("x", {16, 32}, DType::kF32);
  NamedTensors ends;
  for (int chain = 0; chain < kChains; ++chain) {
    Tensor y = x * full({1, 1}, 1.0 + chain, DType::kF32);
    for (int link = 0; link < kLinks; ++link) {
      const Tensor row = softmax(y, 1);
      y = matmul(row, permute(row, {1, 0}));
      y = matmul(y, row);
    }
    ends.push_back({"y" + std::to_string(chain), y});
  }
  const Recording recording = record((*encode_graph(ends)).graph);
  CHECK(first_conflict(recording, recording.commands) == -1);
  const auto waits = std::ranges::count_if(recording.commands, [](const NullCommand& c) { return c.waits; });
  std::cout << recording.commands.size() << " launches of " << kChains << " chains, " << waits << " barriers\n";
  CHECK(recording.commands.size() % kChains == 0);
  CHECK(static_cast<std::size_t>(waits) == recording.commands.size() / kChains - 1);
}

TEST_CASE("kernels that do not say what they store to may store to everything") {
  runtime::Plan plan = record(samples()[1].graph).plan;
  std::vector<std::uint32_t> launches;
  for (std::uint32_t i = 0; i < plan.launches.size(); ++i) launches.push_back(i);
  const std::vector<bool> some = runtime::barriers(plan, launches);
  for (runtime::PlanKernel& kernel : plan.kernels) kernel.stored_slots.clear();
  const std::vector<bool> more = runtime::barriers(plan, launches);
  CHECK(std::ranges::count(more, true) > std::ranges::count(some, true));
}

}  // namespace hearth
