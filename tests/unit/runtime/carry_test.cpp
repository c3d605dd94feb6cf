// An output carried to the next execute's input, by two buffers that trade places.
#include <catch2/catch.hpp>
#include <cstring>

#include "hearth/instance.h"
#include "runtime/devices/devices.h"
#include "runtime/replay/loaded_plan.h"
#include "tests/unit/runtime/allocation_counter.h"
#include "tests/unit/runtime/far_device.h"
#include "tests/unit/runtime/kernel_factory.h"

using namespace hearth::runtime;
using Catch::Matchers::Contains;
using hearth::testing::saxpy_plan;
using hearth::testing::SaxpyPlan;

namespace {

const float kCarriedScale = 3;

std::shared_ptr<const LoadedPlan> load_carried(const SaxpyPlan& made) {
  const std::string bytes = made.plan.SerializeAsString();
  LoadRequest request;
  request.find = &hearth::runtime::find_device;
  request.device = hearth::testing::device_of_tests();
  request.plan = bytes;
  request.artifacts = made.artifacts;
  request.parameters["a"] = {&kCarriedScale, sizeof kCarriedScale, nullptr};
  const auto plan = LoadedPlan::create(request);
  REQUIRE(plan.ok());
  return *plan;
}

// out = 3 x + y of the last execute.
std::vector<float> carried_output(const Instance& instance) {
  const auto out = instance.output("out");
  REQUIRE(out.ok());
  const auto* values = static_cast<const float*>(out->data);
  return {values, values + out->size_bytes / sizeof(float)};
}

}  // namespace

TEST_CASE("a fixed input is taken by name, refused with another value, and costs no allocation", "[still]") {
  const auto fixed = std::make_shared<FixedInputs>(
      FixedInputs{{"rate", hearth::DType::kI32, {2}, std::string("\1\0\0\0\2\0\0\0", 8)}});
  auto instance = create_instance(load_carried(saxpy_plan(4, false)), {.fixed_inputs = fixed});
  REQUIRE(instance.ok());
  CHECK(instance->execute().ok());
  const auto own = instance->input("rate");
  REQUIRE(own.ok());
  CHECK((own->dtype == hearth::DType::kI32 && own->size_bytes == 8 && own->shape == std::vector<std::int64_t>{2}));
  static_cast<std::int32_t*>(own->data)[1] = 7;
  const absl::Status other = instance->execute();
  CHECK(other.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(other.message()), Contains("input 'rate' is [1, 7]; the plan was prepared for [1, 2]"));
  CHECK(instance->execute_profiled().status().code() == absl::StatusCode::kFailedPrecondition);
  static_cast<std::int32_t*>(own->data)[1] = 2;
  CHECK(instance->execute().ok());
  const std::int32_t bound[2] = {1, 2};
  REQUIRE(instance->bind_input("rate", bound, sizeof bound).ok());
  CHECK(instance->bind_input("rate", nullptr, sizeof bound).code() == absl::StatusCode::kInvalidArgument);
  CHECK(instance->execute().ok());
}

TEST_CASE("carrying equals copying by hand") {
  const auto plan = load_carried(saxpy_plan(100, false));
  auto carried = create_instance(plan, {.threads = 1}), copied = create_instance(plan, {.threads = 1});
  REQUIRE((carried.ok() && copied.ok()));
  REQUIRE(carried->carry("out", "y").ok());
  std::vector<float> x(100);
  for (int step = 0; step < 5; ++step) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(static_cast<int>(i) * step);
    for (Instance* instance : {&*carried, &*copied}) std::memcpy(instance->input("x")->data, x.data(), 400);
    REQUIRE(carried->execute().ok());
    REQUIRE(copied->execute_profiled().ok());
    const std::vector<float> want = carried_output(*copied);
    CHECK(carried_output(*carried) == want);
    std::memcpy(copied->input("y")->data, want.data(), 400);
    if (step == 2) {  // another stream begins
      REQUIRE(carried->set_carried("y").ok());
      std::memset(copied->input("y")->data, 0, 400);
      CHECK(carried_output(*carried) == want);  // what was computed stays to be read
    }
    if (step == 3) {  // goes on from somewhere else
      REQUIRE(carried->set_carried("y", x.data(), 400).ok());
      std::memcpy(copied->input("y")->data, x.data(), 400);
    }
  }
}

TEST_CASE("a carried execute allocates nothing and works with a variable length", "[still]") {
  auto instance = create_instance(load_carried(saxpy_plan(100, true)), {.threads = 1});
  REQUIRE(instance.ok());
  REQUIRE(instance->carry("out", "y").ok());
  auto* x = static_cast<float*>(instance->input("x")->data);
  for (int i = 0; i < 100; ++i) x[i] = 1;
  REQUIRE(instance->set_var("n", 10).ok());
  REQUIRE(instance->execute().ok());
  {
    const hearth::testing::AllocationCounter counter;
    const bool ok = instance->execute().ok() && instance->execute().ok() && instance->set_carried("y").ok();
    const std::uint64_t count = counter.count();
    CHECK(ok);
    CHECK(count == 0);
  }
  CHECK(carried_output(*instance) == std::vector<float>(10, 9));
  REQUIRE(instance->execute().ok());
  CHECK(carried_output(*instance) == std::vector<float>(10, 3));
}

TEST_CASE("what cannot be carried is refused by name and changes nothing") {
  SaxpyPlan made = saxpy_plan(100, true);
  auto instance = create_instance(load_carried(made), {.threads = 1});
  REQUIRE(instance.ok());
  std::vector<float> memory(100);
  const auto message = [](const absl::Status& status) { return std::string(status.message()); };
  CHECK_THAT(message(instance->carry("h", "y")), Contains("there is no output 'h'; the plan has: 'out'"));
  CHECK_THAT(message(instance->carry("out", "h")), Contains("there is no input 'h'"));
  CHECK_THAT(message(instance->set_carried("y")), Contains("input 'y' is not carried"));
  REQUIRE(instance->carry("out", "y").ok());
  CHECK_THAT(message(instance->carry("out", "x")), Contains("output 'out' is carried already"));
  CHECK_THAT(message(instance->set_carried("y", memory.data(), 399)), Contains("is given 399 bytes; it needs 400"));
  const absl::Status bound[] = {instance->bind_input("y", memory.data(), 400),
                                instance->bind_output("out", memory.data(), 400), instance->input("y").status()};
  for (const absl::Status& status : bound) CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(message(bound[0]), Contains("input 'y' is carried and cannot be bound"));
  CHECK_THAT(message(bound[1]), Contains("output 'out' is carried and cannot be bound"));
  CHECK_THAT(message(bound[2]), Contains("input 'y' is carried from an output; set_carried"));
  CHECK(instance->execute().ok());
}

TEST_CASE("a cache that grows by one at every execute, from none to full") {
  // out [n + 1] = a * x [n] + y [n] of a plan whose kernels compute n elements: the last is what out held before.
  SaxpyPlan made = saxpy_plan(100, true);
  hearth::v1::PlanBuffer& out = *made.plan.mutable_buffers(2);
  hearth::testing::push_const(out.mutable_shape(0), 1);
  out.mutable_shape(0)->add_tokens()->set_kind(hearth::v1::ExprToken::ADD);
  out.set_max_bytes(404);
  auto instance = create_instance(load_carried(made), {.threads = 1});
  REQUIRE(instance.ok());
  REQUIRE(instance->carry("out", "y").ok());
  auto* x = static_cast<float*>(instance->input("x")->data);
  std::fill_n(x, 100, 1.0F);
  const auto message = [](const absl::Status& status) { return std::string(status.message()); };
  REQUIRE(instance->set_var("n", 0).ok());
  REQUIRE(instance->execute().ok());  // an empty cache
  CHECK_THAT(message(instance->execute()),
             Contains("carried input 'y' is [0] for the variables' values, but output 'out' "
                      "of the execute before was [1]; set variables"));
  REQUIRE(instance->set_var("n", 3).ok());
  CHECK_THAT(message(instance->execute()), Contains("is [3] for the variables' values"));
  for (int n = 1; n <= 100; ++n) {
    REQUIRE(instance->set_var("n", n).ok());
    REQUIRE(instance->execute().ok());
    const auto view = instance->output("out");
    REQUIRE(view.ok());
    CHECK(view->shape == std::vector<std::int64_t>{n + 1});
    // Element i was written n - i times, each time 3 more.
    const auto* values = static_cast<const float*>(view->data);
    bool right = true;
    for (int i = 0; i < n; ++i) right &= values[i] == 3.0F * static_cast<float>(n - i);
    CHECK(right);
  }
  CHECK_THAT(message(instance->set_var("n", 101)), Contains("variable 'n' cannot be 101; expected 0 to 100"));
  CHECK_THAT(message(instance->execute()), Contains("is [100] for the variables' values"));  // full
  REQUIRE(instance->set_carried("y").ok());
  CHECK(instance->execute().ok());
}

TEST_CASE("the owner of a bound input is held until it is bound again or carried") {
  auto instance = create_instance(load_carried(saxpy_plan(100, false)), {.threads = 1});
  REQUIRE(instance.ok());
  const auto x = std::make_shared<std::vector<float>>(100, 1), y = std::make_shared<std::vector<float>>(100, 1);
  REQUIRE(instance->bind_input("x", x->data(), 400, x).ok());
  REQUIRE(instance->bind_input("y", y->data(), 400, y).ok());
  CHECK_FALSE(instance->bind_input("x", y->data(), 399, y).ok());  // refused: x stays, y gains no holder
  CHECK((x.use_count() == 2 && y.use_count() == 2));
  REQUIRE(instance->bind_input("x", y->data(), 400).ok());
  CHECK(x.use_count() == 1);
  REQUIRE(instance->carry("out", "y").ok());
  CHECK(y.use_count() == 1);
}

TEST_CASE("an output of another dtype is not carried") {
  SaxpyPlan made = saxpy_plan(100, false);
  made.plan.mutable_buffers(1)->set_dtype(hearth::v1::I32);
  auto instance = create_instance(load_carried(made), {.threads = 1});
  REQUIRE(instance.ok());
  CHECK_THAT(std::string(instance->carry("out", "y").message()),
             Contains("output 'out' is f32 [100] and cannot be carried to input 'y', which is i32 [100]"));
  CHECK(instance->carry("out", "x").ok());
}
