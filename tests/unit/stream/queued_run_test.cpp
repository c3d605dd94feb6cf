// Runs that are queued on a caller's stream, and memory of the device that the caller has of another library.
#include <catch2/catch.hpp>
#include <numeric>

#include "tests/unit/runtime/saxpy_replay.h"
#include "tests/unit/stream/stand_in.h"

namespace hearth::runtime {

using testing::StandIn;

namespace {

// Memory of the device as another library of the process has it, and a stream of that library's.
struct Foreign {
  explicit Foreign(const Device& device) : of(device) {
    for (Buffer* const buffer : {&x, &y, &out}) {
      absl::StatusOr<Buffer> made = device.allocate(kBytes, "a test", MemoryUse::kDevice);
      REQUIRE(made.ok());
      *buffer = *std::move(made);
    }
    std::vector<float> values(256, 1);
    REQUIRE(device.write(y, 0, values.data(), kBytes).ok());
    std::iota(values.begin(), values.end(), 0.0F);
    REQUIRE(device.write(x, 0, values.data(), kBytes).ok());
    REQUIRE(StandIn::api().enter(0, &previous) == 0);
    REQUIRE(StandIn::api().stream_create(&stream, kStreamNonBlocking) == 0);
  }
  ~Foreign() {
    StandIn::api().stream_destroy(stream);
    StandIn::api().leave(previous);
  }
  std::vector<float> result() const {
    std::vector<float> values(256);
    REQUIRE(of.read(out, 0, values.data(), kBytes).ok());
    return values;
  }
  void synchronize() const { REQUIRE(StandIn::api().stream_synchronize(stream) == 0); }

  static constexpr std::size_t kBytes = 1024;
  const Device& of;
  Buffer x, y, out;
  void* previous = nullptr;
  void* stream = nullptr;
};

void bind_all(Instance& instance, const Foreign& memory) {
  REQUIRE(instance.bind_device_input("x", memory.x.address(), Foreign::kBytes).ok());
  REQUIRE(instance.bind_device_input("y", memory.y.address(), Foreign::kBytes).ok());
  REQUIRE(instance.bind_device_output("out", memory.out.address(), Foreign::kBytes).ok());
}

Instance instance_on(const Device& device) {
  const auto plan = load_saxpy(device, plan_of(4));
  REQUIRE(plan.ok());
  absl::StatusOr<Instance> instance = create_instance(*plan, {.threads = 1});
  REQUIRE(instance.ok());
  return *std::move(instance);
}

}  // namespace

TEST_CASE(
    "a run on a stream of the caller's returns before it runs, and reads and writes the device's memory in place") {
  StandIn::reset();
  const auto device = StandIn::device();
  Instance instance = instance_on(*device);
  const Foreign memory(*device);
  bind_all(instance, memory);
  StandIn::reset();
  REQUIRE(instance.execute_on(memory.stream).ok());
  CHECK(StandIn::kernels() == 0);
  memory.synchronize();
  CHECK(StandIn::kernels() == 4);
  CHECK(StandIn::calls(Entry::copy_out) == 0);
  for (std::size_t i = 0; i < 256; ++i) REQUIRE(memory.result()[i] == kSaxpyScale * static_cast<float>(i) + 1);

  // Rows that change behind a run that is queued are the next one's, on whatever stream.
  REQUIRE(instance.set_var("n", 100).ok());
  REQUIRE(instance.execute_on(memory.stream).ok());
  REQUIRE(instance.set_var("n", 7).ok());
  const std::vector<float> twos(256, 2);
  REQUIRE(device->write(memory.y, 0, twos.data(), Foreign::kBytes).ok());
  REQUIRE(instance.execute().ok());
  const std::vector<float> both = memory.result();
  for (std::size_t i = 0; i < 7; ++i) CHECK(both[i] == kSaxpyScale * static_cast<float>(i) + 2);
  CHECK(both[50] == kSaxpyScale * 50 + 2);
  CHECK(both[200] == kSaxpyScale * 200 + 1);
  CHECK_THAT(std::string(instance.output("out").status().message()), Catch::Contains("memory of the device"));
  CHECK_THAT(std::string(instance.input("x").status().message()), Catch::Contains("memory of the device"));
  instance.unbind();
  CHECK(is_right(instance, 7));
}

TEST_CASE("what a queued run uses stays until it has ended, and its error is that of a later call") {
  StandIn::reset();
  const auto device = StandIn::device();
  const auto plan = load_saxpy(*device, plan_of(4));
  REQUIRE(plan.ok());
  const Foreign memory(*device);
  StandIn::reset();
  {
    absl::StatusOr<Instance> instance = create_instance(*plan, {.threads = 1});
    REQUIRE(instance.ok());
    bind_all(*instance, memory);
    REQUIRE(instance->execute_on(memory.stream).ok());
  }
  CHECK(StandIn::kernels() == 4);
  CHECK(memory.result()[3] == kSaxpyScale * 3 + 1);
  absl::StatusOr<Instance> instance = create_instance(*plan, {.threads = 1});
  REQUIRE(instance.ok());
  bind_all(*instance, memory);
  StandIn::fail_kernel(1, 719);
  REQUIRE(instance->execute_on(memory.stream).ok());
  CHECK(absl::IsUnavailable(instance->execute()));
  StandIn::reset();
}

TEST_CASE("memory that is not the device's, or too small, is refused before any kernel sees it") {
  StandIn::reset();
  const auto device = StandIn::device();
  Instance instance = instance_on(*device);
  const Foreign memory(*device);
  std::vector<float> host(256, 1);
  const absl::Status foreign = instance.bind_device_input("x", host.data(), 1024);
  CHECK(absl::IsInvalidArgument(foreign));
  CHECK_THAT(std::string(foreign.message()), Catch::Contains("input 'x'") && Catch::Contains("in no memory of"));
  const absl::Status beyond = instance.bind_device_input("x", static_cast<const float*>(memory.x.address()) + 64, 1024);
  CHECK(absl::IsInvalidArgument(beyond));
  CHECK_THAT(std::string(beyond.message()), Catch::Contains("beyond the end"));
  CHECK(absl::IsInvalidArgument(instance.bind_device_output("out", memory.out.address(), 512)));
  CHECK(absl::IsNotFound(instance.bind_device_input("z", memory.x.address(), 1024)));
  REQUIRE(instance.bind_input("x", host.data(), 1024).ok());
  const absl::Status copied = instance.execute_on(memory.stream);
  CHECK(absl::IsFailedPrecondition(copied));
  CHECK_THAT(std::string(copied.message()), Catch::Contains("input 'x' is bound to memory of the host"));
  CHECK(absl::IsFailedPrecondition(instance.input("x").status()));  // it is the caller's
  CHECK(is_right(instance, 256, host.data()));
  instance.unbind();
  CHECK(is_right(instance, 256));
}

TEST_CASE("who waits for a queued run has its results, or its error") {
  StandIn::reset();
  const auto device = StandIn::device();
  Instance instance = instance_on(*device);
  const Foreign memory(*device);
  bind_all(instance, memory);
  StandIn::reset();
  CHECK(instance.wait().ok());                                               // for nothing
  for (void* const stream : {memory.stream, static_cast<void*>(nullptr)}) {  // null: the driver's own
    StandIn::reset();
    REQUIRE(instance.execute_on(stream).ok());
    CHECK(StandIn::kernels() == 0);
    REQUIRE(instance.wait().ok());
    CHECK(StandIn::kernels() == 4);
  }
  StandIn::fail_kernel(1, 719);
  REQUIRE(instance.execute_on(memory.stream).ok());
  CHECK(absl::IsUnavailable(instance.wait()));
  StandIn::reset();
}

TEST_CASE("a queued run reads what its inputs held, whatever a later run is given") {
  StandIn::reset();
  const auto device = StandIn::device();
  Instance instance = instance_on(*device);
  const Foreign memory(*device);
  REQUIRE(instance.input("x")->copy_from(std::vector<float>(256, 5)).ok());
  REQUIRE(instance.input("y")->copy_from(std::vector<float>(256, 1)).ok());
  REQUIRE(instance.bind_device_output("out", memory.out.address(), Foreign::kBytes).ok());
  REQUIRE(instance.execute_on(memory.stream).ok());
  const std::vector<float> others(256, 100);
  std::vector<float> out(256);
  REQUIRE(instance.bind_input("x", others.data(), Foreign::kBytes).ok());
  REQUIRE(instance.bind_output("out", out.data(), Foreign::kBytes).ok());
  REQUIRE(instance.execute().ok());
  CHECK(memory.result() == std::vector<float>(256, kSaxpyScale * 5 + 1));
  CHECK(out == std::vector<float>(256, kSaxpyScale * 100 + 1));
}

}  // namespace hearth::runtime
