// What every device owes the runtime (runtime/hal/device.h), asked of each: memory, a record, programs that follow
// their rows. What kernels compute is asked where they compute.
#include <catch2/catch.hpp>
#include <cstring>

#include "runtime/devices/devices.h"
#include "runtime/hal/null/null_device.h"
#include "tests/unit/runtime/far_device.h"
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

Case case_of(const Device& device) {
  constexpr std::int64_t kMax = 100;
  testing::SaxpyPlan made = saxpy_plan(kMax, true);
  Case c{&device, {}, nullptr, device.name() != "null"};
  if (device.name() == "null") {
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

// That of the tests, and those that every machine has.
std::vector<const Device*> devices() {
  std::vector<const Device*> all = {*find_device("null")};
  all.push_back(testing::device_of_tests() == nullptr ? *find_device("cpu") : testing::device_of_tests());
  return all;
}

constexpr std::uint32_t kInX = 0, kInY = 1, kResult = 2, kTwiceA = 5;  // buffers of the plan

}  // namespace

TEST_CASE("a device says what plans for it are compiled for, and gives zeroed memory") {
  for (const Device* found : devices()) {
    const Device& device = *found;
    INFO(device.name());
    const v1::Target target = device.target(3);
    CHECK((device.name() == "far" || device.name().substr(0, target.device().size()) == target.device()));
    CHECK(target.threads() == (target.has_gpu() ? 1 : 3));
    for (const MemoryUse use : {MemoryUse::kShared, MemoryUse::kDevice}) {
      absl::StatusOr<Buffer> memory = device.allocate(1000, "a test", use);
      REQUIRE(memory.ok());
      CHECK(memory->size_bytes() == 1000);
      CHECK((use == MemoryUse::kDevice || memory->data() != nullptr));
      CHECK(reinterpret_cast<std::uintptr_t>(memory->address()) % 64 == 0);
      std::string bytes(1000, 'x');
      REQUIRE(device.read(*memory, 0, bytes.data(), bytes.size()).ok());
      CHECK(bytes == std::string(1000, '\0'));
      REQUIRE(device.write(*memory, 300, "middle", 6).ok());
      REQUIRE(device.read(*memory, 298, bytes.data(), 10).ok());
      CHECK(bytes.substr(0, 10) == std::string("\0\0middle\0\0", 10));
    }
    const absl::Status much = device.allocate(SIZE_MAX, "a test", MemoryUse::kDevice).status();
    CHECK(absl::IsResourceExhausted(much));
    CHECK_THAT(std::string(much.message()), Catch::Contains("for a test"));
  }
}

TEST_CASE("more than a piece is copied to and from a device's memory whole") {
  for (const Device* device : devices()) {
    INFO(device->name());
    std::string bytes((std::size_t{9} << 20) + 123, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 + i / 4096);
    absl::StatusOr<Buffer> memory = device->allocate(bytes.size() + 5, "a test", MemoryUse::kDevice);
    REQUIRE(memory.ok());
    REQUIRE(device->write(*memory, 5, bytes.data(), bytes.size()).ok());
    std::string back(bytes.size() + 5, 'x');
    REQUIRE(device->read(*memory, 0, back.data(), back.size()).ok());
    CHECK((back == std::string(5, '\0') + bytes));
  }
}

TEST_CASE("a program computes what its rows say, also after they changed") {
  for (const Device* device : devices()) {
    const Case c = case_of(*device);
    const std::string name(device->name());
    std::vector<Buffer> first = allocate_all(c), second = allocate_all(c);
    for (int threads : {1, 3}) {
      CAPTURE(name, threads);
      Rows rows(c.plan);
      const auto run_on = [&](std::vector<Buffer>& memory, std::int64_t n, Program* program) {
        for (std::size_t i = 0; i < 100; ++i) at(memory[kInX], i) = static_cast<float>(i), at(memory[kInY], i) = 1;
        std::memset(memory[kResult].data(), 0, memory[kResult].size_bytes());
        at(memory[kTwiceA], 0) = 6;  // what the launch that runs once makes
        for (std::size_t i = 0; i < memory.size(); ++i) rows.memory[i] = memory[i].address();
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
      absl::StatusOr<std::unique_ptr<Program>> program = c.executable->program(rows, {.threads = threads});
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
  const Case c = case_of(**find_device("null"));
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
