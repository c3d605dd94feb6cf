#include "hearth/instance.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <thread>

#include "runtime/devices/devices.h"
#include "runtime/hal/null/null_device.h"
#include "runtime/replay/loaded_plan.h"
#include "tests/unit/runtime/allocation_counter.h"
#include "tests/unit/runtime/far_device.h"
#include "tests/unit/runtime/kernel_factory.h"

using namespace hearth::runtime;
using hearth::testing::AllocationCounter;
using hearth::testing::saxpy_plan;
using hearth::testing::SaxpyPlan;

namespace {

const float kScale = 3;

std::shared_ptr<const LoadedPlan> load(const SaxpyPlan& made, int threads = 1) {
  const std::string bytes = made.plan.SerializeAsString();
  LoadRequest request;
  request.find = &hearth::runtime::find_device;
  request.device = hearth::testing::device_of_tests();
  request.plan = bytes;
  request.artifacts = made.artifacts;
  request.parameters["a"] = {&kScale, sizeof kScale, nullptr};
  request.host.threads = threads;
  absl::StatusOr<std::shared_ptr<const LoadedPlan>> plan = LoadedPlan::create(request);
  INFO(plan.status().ToString());
  REQUIRE(plan.ok());
  return *plan;
}

std::vector<float> ramp(std::size_t n, float from) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = from + static_cast<float>(i);
  return values;
}

bool right(const ConstView& out, const std::vector<float>& x, const std::vector<float>& y) {
  const auto* values = static_cast<const float*>(out.data);
  for (std::size_t i = 0; i < out.size_bytes / 4; ++i) {
    if (values[i] != kScale * x[i] + y[i]) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("a plan replays with owned and with bound buffers") {
  const auto plan = load(saxpy_plan(1000, false));
  CHECK(plan->inputs().size() == 2);
  CHECK(plan->outputs()[0].max_shape == std::vector<std::int64_t>{1000});
  absl::StatusOr<Instance> instance = create_instance(plan, {.threads = 1});
  REQUIRE(instance.ok());
  const std::vector<float> x = ramp(1000, 1), y = ramp(1000, -5);
  std::memcpy(instance->input("x")->data, x.data(), 4000);
  std::memcpy(instance->input("y")->data, y.data(), 4000);
  REQUIRE(instance->execute().ok());
  CHECK(right(*instance->output("out"), x, y));

  const std::vector<float> other = ramp(1000, 77);
  std::vector<float> out(1000);
  REQUIRE(instance->bind_input("x", other.data(), 4000).ok());
  REQUIRE(instance->bind_output("out", out.data(), 4000).ok());
  REQUIRE(instance->execute().ok());
  CHECK(instance->output("out")->data == out.data());
  CHECK(right(*instance->output("out"), other, y));
}

TEST_CASE("memory that the device does not reach is copied before and after a run, and said to be") {
  const bool is_far = hearth::testing::device_of_tests() != nullptr;
  const auto plan = load(saxpy_plan(64, true));
  absl::StatusOr<Instance> instance = create_instance(plan, {.threads = 1, .keep_intermediates = true});
  const std::vector<float> x = ramp(64, 1), y = ramp(64, 2);
  std::vector<float> out(64, -1);
  CHECK(instance->memory().copied_in_bytes == 0);
  REQUIRE(instance->bind_input("x", x.data(), 256).ok());
  REQUIRE(instance->bind_output("out", out.data(), 256).ok());
  std::memcpy(instance->input("y")->data, y.data(), 256);
  REQUIRE(instance->set_var("n", 10).ok());
  CHECK(instance->memory().copied_in_bytes == (is_far ? 40 : 0));
  CHECK(instance->memory().copied_out_bytes == (is_far ? 40 : 0));
  REQUIRE(instance->execute_profiled().ok());
  CHECK(right(*instance->output("out"), x, y));
  CHECK(out[10] == -1);
  for (const BufferInfo& info : plan->buffers()) {  // tools see all of it
    const absl::StatusOr<ConstView> seen = instance->buffer(info.id);
    REQUIRE(seen.ok());
    if (info.name == "a") CHECK(static_cast<const float*>(seen->data)[0] == kScale);
    if (info.kind == BufferKind::kIntermediate) CHECK(static_cast<const float*>(seen->data)[9] == kScale * x[9]);
  }
}

TEST_CASE("threads divide a launch without changing its result", "[threads]") {
  const std::vector<float> x = ramp(100003, 1), y = ramp(100003, -5);
  for (int threads : {1, 2, 3, 5}) {
    const auto plan = load(saxpy_plan(100003, false), threads);
    absl::StatusOr<Instance> instance = create_instance(plan, {.threads = threads});
    REQUIRE(instance->bind_input("x", x.data(), x.size() * 4).ok());
    REQUIRE(instance->bind_input("y", y.data(), y.size() * 4).ok());
    REQUIRE(instance->execute().ok());
    CHECK(right(*instance->output("out"), x, y));
  }
}

TEST_CASE("variables start at their upper bound, move within bounds and change grids and shapes") {
  const auto plan = load(saxpy_plan(64, true));
  absl::StatusOr<Instance> instance = create_instance(plan, {.threads = 1});
  const std::vector<float> x = ramp(64, 1), y = ramp(64, 2);
  CHECK(instance->input("x")->shape == std::vector<std::int64_t>{64});
  std::vector<float> out(64, -1);
  REQUIRE(instance->bind_input("x", x.data(), 256).ok());
  REQUIRE(instance->bind_input("y", y.data(), 256).ok());
  REQUIRE(instance->bind_output("out", out.data(), 256).ok());
  REQUIRE(instance->set_var("n", 5).ok());
  CHECK(instance->output("out")->shape == std::vector<std::int64_t>{5});
  REQUIRE(instance->execute().ok());
  CHECK(right(*instance->output("out"), x, y));
  CHECK(out[5] == -1);
  REQUIRE(instance->set_var("n", 0).ok());
  REQUIRE(instance->execute().ok());

  CHECK_THAT(std::string(instance->set_var("n", 65).message()), Catch::Contains("variable 'n' cannot be 65"));
  CHECK_THAT(std::string(instance->set_var("k", 1).message()), Catch::Contains("no variable 'k'; the plan has: 'n'"));
  REQUIRE(instance->set_var("n", 3).ok());
  REQUIRE(instance->bind_input("x", x.data(), 12).ok());
  REQUIRE(instance->execute().ok());
  REQUIRE(instance->set_var("n", 64).ok());
  CHECK_THAT(std::string(instance->execute().message()), Catch::Contains("input 'x' is bound to 12 bytes"));
}

TEST_CASE("wrong bindings are refused by name and change nothing") {
  const auto plan = load(saxpy_plan(10, false));
  absl::StatusOr<Instance> instance = create_instance(plan, {.threads = 1});
  std::vector<float> x(11);
  CHECK_THAT(std::string(instance->bind_input("z", x.data(), 40).message()),
             Catch::Contains("no input 'z'; the plan has: 'x', 'y'"));
  CHECK_THAT(std::string(instance->bind_input("x", x.data(), 44).message()), Catch::Contains("f32 [10] needs 40"));
  CHECK_THAT(std::string(instance->bind_input("x", reinterpret_cast<char*>(x.data()) + 1, 40).message()),
             Catch::Contains("input 'x' is bound to an address that is not aligned to 4 bytes"));
  CHECK_THAT(std::string(instance->bind_output("out", reinterpret_cast<char*>(x.data()) + 2, 40).message()),
             Catch::Contains("output 'out' is bound to an address that is not aligned to 4 bytes"));
  CHECK_THAT(std::string(instance->bind_input("x", nullptr, 40).message()), Catch::Contains("null"));
  CHECK_THAT(std::string(instance->output("x").status().message()), Catch::Contains("no output 'x'"));
  CHECK(instance->execute().ok());
}

TEST_CASE("execute allocates nothing, also when bindings and variables change", "[still]") {
  for (int threads : {1, 3}) {
    const auto plan = load(saxpy_plan(4096, true), threads);
    absl::StatusOr<Instance> instance = create_instance(plan, {.threads = threads});
    const std::vector<float> x = ramp(4096, 1), other = ramp(4096, 2);
    REQUIRE(instance->execute().ok());
    AllocationCounter counter;
    bool ok = true;
    for (int i = 0; i < 200; ++i) {
      ok = ok && instance->bind_input("x", i % 2 ? x.data() : other.data(), 4096 * 4).ok();
      ok = ok && instance->set_var("n", 4096 - i).ok();
      ok = ok && instance->execute().ok();
    }
    const std::uint64_t allocations = counter.count();
    CHECK(ok);
    CHECK(allocations == 0);
    auto seen = std::make_unique<int>(1);
    asm volatile("" : : "r"(seen.get()) : "memory");  // or the compiler leaves the allocation out
    CHECK(counter.count() > allocations);             // the counter counts
  }
}

#if !HEARTH_TEST_SANITIZED
TEST_CASE("single-threaded replay makes no system call", "[still]") {
  const auto plan = load(saxpy_plan(1000, true));
  absl::StatusOr<Instance> instance = create_instance(plan, {.threads = 1});
  REQUIRE(instance->execute().ok());
  auto survives = [&](bool with_call) {
    const pid_t child = fork();
    if (child == 0) {
      // Strict seccomp: any call but read, write and exit kills the process.
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
      bool ok = true;
      for (int i = 0; i < 100; ++i) ok = ok && instance->set_var("n", i).ok() && instance->execute().ok();
      if (with_call) syscall(SYS_getpid);
      syscall(SYS_exit, ok ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  };
  CHECK(survives(false));
  CHECK_FALSE(survives(true));
}
#endif

TEST_CASE("instances of one plan run concurrently") {
  const auto plan = load(saxpy_plan(5000, false));
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      absl::StatusOr<Instance> instance = create_instance(plan, {.threads = 1 + t % 2});
      const std::vector<float> x = ramp(5000, static_cast<float>(t)), y = ramp(5000, static_cast<float>(10 * t));
      bool ok = instance->bind_input("x", x.data(), 20000).ok() && instance->bind_input("y", y.data(), 20000).ok();
      for (int i = 0; i < 50; ++i) ok = ok && instance->execute().ok() && right(*instance->output("out"), x, y);
      good += ok;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(good == 8);
}

TEST_CASE("profiles name every launch") {
  const auto plan = load(saxpy_plan(1000, false));
  absl::StatusOr<Instance> instance = create_instance(plan, {.threads = 1});
  absl::StatusOr<Profile> profile = instance->execute_profiled();
  REQUIRE(profile.ok());
  REQUIRE(profile->launches.size() == 2);  // `once` launches ran at load
  CHECK(profile->launches[0].kernel == "scale");
  CHECK(profile->launches[1].kernel == "add");
  CHECK(profile->launches[0].grid == 1000);
  CHECK(profile->launches[0].num_ops == 7);
  CHECK(profile->by_kernel().size() == 2);
  CHECK(profile->total_ns >= profile->launches[0].time_ns + profile->launches[1].time_ns);
}

TEST_CASE("profiles count the operations of the values that a replay has") {
  SaxpyPlan made = saxpy_plan(1000, true);
  hearth::v1::Expr* const num_ops = made.plan.mutable_launches(1)->mutable_num_ops();
  hearth::testing::push_var(num_ops, 0), hearth::testing::push_const(num_ops, 3);
  num_ops->add_tokens()->set_kind(hearth::v1::ExprToken::MUL);
  absl::StatusOr<Instance> instance = create_instance(load(made), {.threads = 1});
  for (const std::int64_t n : {1000, 10, 0}) {
    REQUIRE(instance->set_var("n", n).ok());
    const absl::StatusOr<Profile> profile = instance->execute_profiled();
    REQUIRE(profile.ok());
    CHECK(profile->launches[0].num_ops == static_cast<std::uint64_t>(3 * n));
    CHECK(profile->launches[1].num_ops == 7);  // which says the same for all values
  }
}

TEST_CASE("parameters are checked, and copied when they are not aligned") {
  const SaxpyPlan made = saxpy_plan(10, false);
  const std::string bytes = made.plan.SerializeAsString();
  LoadRequest request;
  request.find = &hearth::runtime::find_device;
  request.device = hearth::testing::device_of_tests();
  request.plan = bytes;
  request.artifacts = made.artifacts;
  CHECK_THAT(std::string(LoadedPlan::create(request).status().message()),
             Catch::Contains("parameter 'a' is not bound"));
  request.parameters["a"] = {&kScale, 3, nullptr};
  CHECK_THAT(std::string(LoadedPlan::create(request).status().message()), Catch::Contains("holds 3 bytes"));
  alignas(8) char odd[16] = {};
  std::memcpy(odd + 1, &kScale, 4);
  request.parameters["a"] = {odd + 1, 4, nullptr};
  absl::StatusOr<std::shared_ptr<const LoadedPlan>> plan = LoadedPlan::create(request);
  REQUIRE(plan.ok());
  absl::StatusOr<Instance> instance = create_instance(*plan, {.threads = 1});
  const std::vector<float> x = ramp(10, 1), y = ramp(10, 2);
  REQUIRE(instance->bind_input("x", x.data(), 40).ok());
  REQUIRE(instance->bind_input("y", y.data(), 40).ok());
  REQUIRE(instance->execute().ok());
  CHECK(right(*instance->output("out"), x, y));
}

TEST_CASE("the null device records launches and needs no artifacts", "[host]") {
  SaxpyPlan made = saxpy_plan(1000, true);
  made.plan.mutable_target()->set_device("null");
  for (auto& kernel : *made.plan.mutable_kernels()) kernel.clear_artifact();
  made.artifacts.clear();
  const auto plan = load(made);
  absl::StatusOr<Instance> instance = create_instance(plan, {.threads = 1});
  REQUIRE(instance->execute().ok());
  REQUIRE(instance->set_var("n", 10).ok());
  REQUIRE(instance->execute().ok());
  const auto& recorded = dynamic_cast<const NullExecutable&>(plan->executable());
  CHECK(recorded.calls(0) == 2);
  CHECK(recorded.units(0) == 1010);
  CHECK(recorded.calls(2) == 1);  // the once launch
  CHECK_THAT(std::string(find_device("gpu9").status().message()), Catch::Contains("gpu9"));
}

TEST_CASE("all arrays of a replay are given in one call, by place, and what is null stays") {
  const auto plan = load(saxpy_plan(64, true));
  absl::StatusOr<Instance> instance = create_instance(plan, {.threads = 1});
  REQUIRE(instance.ok());
  const std::vector<float> x = ramp(64, 1), y = ramp(64, 2);
  std::vector<float> out(64, -1);
  const std::int64_t five[] = {5};
  REQUIRE(instance->set_vars(five).ok());
  std::vector<std::int64_t> shape;
  instance->output_shape(0, &shape);
  CHECK(shape == std::vector<std::int64_t>{5});
  CHECK(instance->output_bytes(0) == 20);
  const Instance::InputArray inputs[] = {{x.data(), 20}, {y.data(), 20}};
  const Instance::OutputArray outputs[] = {{out.data(), 20}};
  REQUIRE(instance->execute(inputs, outputs).ok());
  CHECK(right(*instance->output(0), x, y));
  CHECK(instance->output(0)->data == out.data());
  CHECK(out[5] == -1);

  // The second input and the output stay where they are.
  const std::vector<float> other = ramp(64, 9);
  const Instance::InputArray first[] = {{other.data(), 20}, {}};
  const Instance::OutputArray none[] = {{}};
  REQUIRE(instance->execute(first, none).ok());
  CHECK(right(*instance->output(0), other, y));
  CHECK(instance->output(0)->data == out.data());

  // Back in memory of its own, which is as large as the variables' upper bounds.
  instance->unbind();
  const std::int64_t most[] = {64};
  REQUIRE(instance->set_vars(most).ok());
  REQUIRE(instance->execute().ok());
  CHECK(instance->output(0)->data != out.data());
  CHECK(out[5] == -1);

  const std::int64_t two[] = {5, 5}, beyond[] = {65};
  CHECK_THAT(std::string(instance->set_vars(two).message()), Catch::Contains("2 values are given; the plan has 1"));
  CHECK_THAT(std::string(instance->set_vars(beyond).message()), Catch::Contains("variable 'n' cannot be 65"));
  CHECK_THAT(std::string(instance->execute({}, none).message()), Catch::Contains("0 inputs are given"));
  CHECK_THAT(std::string(instance->execute(inputs, {}).message()), Catch::Contains("0 outputs are given"));
  CHECK_THAT(std::string(instance->execute(inputs, none).message()), Catch::Contains("input 'x' is bound to 20 bytes"));
  CHECK(absl::IsOutOfRange(instance->output(1).status()));
}

TEST_CASE("variables take their values from the shapes of the inputs, and what does not fit is named") {
  const auto plan = load(saxpy_plan(64, true));
  absl::StatusOr<Instance> instance = create_instance(plan, {.threads = 1});
  REQUIRE(instance.ok());
  const std::int64_t five[] = {5}, six[] = {6}, many[] = {65}, two_axes[] = {5, 5};
  using Shape = Instance::ShapeView;
  const auto set = [&](std::vector<Shape> shapes, std::vector<std::optional<std::int64_t>> given = {}) {
    return std::string(instance->set_shapes(shapes, given).message());
  };
  CHECK(set({five, five}).empty());
  std::vector<std::int64_t> shape;
  instance->output_shape(0, &shape);
  CHECK(shape == std::vector<std::int64_t>{5});
  CHECK_THAT(set({five, six}), Catch::Contains("input 'y' has 6 along axis 0; expected 5 (n at n=5)"));
  CHECK_THAT(set({many, many}), Catch::Contains("input 'x' has 65 along axis 0; expected 0 to 64 (n)"));
  const std::int64_t least[] = {std::numeric_limits<std::int64_t>::min()};
  CHECK_THAT(set({least, least}), Catch::Contains("input 'x' has -9223372036854775808 along axis 0"));
  CHECK_THAT(set({two_axes, five}), Catch::Contains("input 'x' has 2 axes [5, 5]; expected 1 [n]"));
  CHECK_THAT(set({five}), Catch::Contains("1 shapes are given; the plan has 2"));
  // What is left out decides nothing; what is said counts, and is checked.
  CHECK(set({Shape(), six}).empty());
  CHECK_THAT(set({Shape(), Shape()}), Catch::Contains("variable 'n' is the length of no input that is given"));
  CHECK(set({Shape(), Shape()}, {7}).empty());
  instance->output_shape(0, &shape);
  CHECK(shape == std::vector<std::int64_t>{7});
  CHECK_THAT(set({five, five}, {7}), Catch::Contains("input 'x' has 5 along axis 0; expected 7 (n at n=7)"));
  CHECK_THAT(set({five, five}, {65}), Catch::Contains("variable 'n' cannot be 65; expected 0 to 64"));
}
