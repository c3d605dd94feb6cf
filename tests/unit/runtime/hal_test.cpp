// What every device owes the runtime (runtime/hal/device.h), asked of each: memory, a record, programs that follow
// their rows. What kernels compute is asked where they compute.
#include <catch2/catch.hpp>
#include <cstring>

#include "runtime/hal/device.h"
#include "runtime/hal/null/null_device.h"
#include "tests/unit/runtime/kernel_factory.h"

namespace hearth::runtime {
namespace {

using testing::saxpy_plan;

// A device, with a plan of out = 2 a x / 2 + y for it: its launches are `scale` and `add`.
struct Case {
  const Device* device;
  Plan plan;
  std::unique_ptr<Executable> executable;
  bool computes;
};

Case case_of(const std::string& name) {
  constexpr std::int64_t kMost = 100;
  testing::SaxpyPlan made = saxpy_plan(kMost, true);
  Case c{*find_device(name), {}, nullptr, name != "null"};
  if (name == "null") {
    *made.plan.mutable_target() = c.device->target(1);
    for (auto& kernel : *made.plan.mutable_kernels()) kernel.clear_artifact();
  }
  absl::StatusOr<Plan> plan = parse_plan(made.plan.SerializeAsString());
  REQUIRE(plan.ok());
  c.plan = *std::move(plan);
  absl::StatusOr<std::unique_ptr<Executable>> executable = c.device->load(c.plan, made.artifacts);
  REQUIRE(executable.ok());
  c.executable = *std::move(executable);
  return c;
}

// Memory for all of a plan's buffers.
std::vector<Buffer> allocate_all(const Case& c) {
  std::vector<Buffer> buffers;
  for (const PlanBuffer& buffer : c.plan.buffers) {
    absl::StatusOr<Buffer> memory = c.device->allocate(buffer.max_bytes, buffer.name, MemoryUse::kShared);
    REQUIRE(memory.ok());
    buffers.push_back(*std::move(memory));
  }
  return buffers;
}

float& at(const Buffer& buffer, std::size_t i) { return static_cast<float*>(buffer.data())[i]; }

constexpr const char* kDevices[] = {"cpu", "null"};
constexpr std::uint32_t kInX = 0, kInY = 1, kResult = 2, kTwiceA = 5;  // buffers of the plan

}  // namespace

TEST_CASE("a device says what plans for it are compiled for, and gives zeroed memory") {
  for (const char* name : kDevices) {
    INFO(name);
    const Device& device = **find_device(name);
    CHECK(device.name() == name);
    CHECK(device.target(3).device() == name);
    CHECK(device.target(3).threads() == 3);
    absl::StatusOr<Buffer> memory = device.allocate(1000, "a test", MemoryUse::kDevice);
    REQUIRE(memory.ok());
    CHECK(memory->size_bytes() == 1000);
    CHECK(reinterpret_cast<std::uintptr_t>(memory->data()) % 64 == 0);
    CHECK(std::count(static_cast<char*>(memory->data()), static_cast<char*>(memory->data()) + 1000, 0) == 1000);
    const absl::Status much = device.allocate(SIZE_MAX, "a test", MemoryUse::kDevice).status();
    CHECK(absl::IsResourceExhausted(much));
    CHECK_THAT(std::string(much.message()), Catch::Contains("for a test"));
  }
}

TEST_CASE("a program computes what its rows say, also after they changed") {
  for (const char* name : kDevices) {
    const Case c = case_of(name);
    std::vector<Buffer> first = allocate_all(c), second = allocate_all(c);
    for (int threads : {1, 3}) {
      CAPTURE(name, threads);
      Rows rows(c.plan);
      const auto run_on = [&](std::vector<Buffer>& memory, std::int64_t n, Program* program) {
        for (std::size_t i = 0; i < 100; ++i) at(memory[kInX], i) = static_cast<float>(i), at(memory[kInY], i) = 1;
        std::memset(memory[kResult].data(), 0, memory[kResult].size_bytes());
        at(memory[kTwiceA], 0) = 6;  // what the launch that runs once makes
        for (std::size_t i = 0; i < memory.size(); ++i) rows.memory[i] = memory[i].data();
        REQUIRE(rows.set_values({n}).ok());
        rows.place();
        if (program == nullptr) return;
        REQUIRE(program->rows_changed().ok());
        REQUIRE(program->run().ok());
        if (!c.computes) return;
        std::size_t wrong = 0;
        for (std::int64_t i = 0; i < 100; ++i) {
          const float want = i < n ? 3 * static_cast<float>(i) + 1 : 0;
          wrong += at(memory[kResult], static_cast<std::size_t>(i)) != want;
        }
        CHECK(wrong == 0);
      };
      run_on(first, 100, nullptr);
      absl::StatusOr<std::unique_ptr<Program>> program = c.executable->program(rows, threads);
      REQUIRE(program.ok());
      run_on(first, 100, program->get());
      run_on(second, 100, program->get());
      run_on(second, 7, program->get());
      run_on(first, 0, program->get());
      Profile profile;
      for (std::size_t i = 0; i < rows.steps.size(); ++i) profile.launches.push_back({"", 0, 0, 0, 0});
      REQUIRE((*program)->run_profiled(profile).ok());
      for (const LaunchTime& launch : profile.launches) CHECK((launch.runs == 1 && launch.num_ops == 7));
    }
  }
}

TEST_CASE("the null device records each launch with its row, and takes new rows in place") {
  const Case c = case_of("null");
  const std::vector<Buffer> memory = allocate_all(c);
  Rows rows(c.plan);
  for (std::size_t i = 0; i < memory.size(); ++i) rows.memory[i] = memory[i].data();
  REQUIRE(rows.set_values({40}).ok());
  rows.place();
  NullProgram program(dynamic_cast<const NullExecutable&>(*c.executable), rows);
  REQUIRE(program.commands().size() == 2);
  CHECK(program.commands()[0].units == 40);
  CHECK(program.commands()[0].values == std::vector<std::int64_t>{40});
  CHECK(program.commands()[1].addresses ==
        std::vector<void*>{memory[kResult].data(), memory[4].data(), memory[kInY].data()});
  const NullCommand* const there = program.commands().data();
  rows.memory[kResult] = memory[kInX].data();
  REQUIRE(rows.set_values({3}).ok());
  rows.place();
  REQUIRE(program.rows_changed().ok());
  CHECK(program.commands().data() == there);
  CHECK(program.commands()[1].units == 3);
  CHECK(program.commands()[1].addresses[0] == memory[kInX].data());
}

}  // namespace hearth::runtime
