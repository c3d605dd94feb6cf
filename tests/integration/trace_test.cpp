// Tracing: trace(), Tracer, summary() and jit(), against a daemon of this test's own.
#include "hearth/trace.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "client/jit/prepared_state.h"
#include "client/trace/encoded_graph.h"
#include "hearth/jit.h"
#include "hearth/ops.h"
#include "runtime/replay/loaded_plan.h"
#include "tests/integration/live_daemon.h"

using namespace hearth;
using namespace hearth::client;
using Catch::Matchers::Contains;
using hearth::integration::LiveDaemon;
using Floats = std::vector<float>;

namespace {

Floats floats(const absl::StatusOr<std::vector<Array>>& results, std::size_t index = 0) {
  INFO(results.status().message());
  REQUIRE(results.ok());
  const auto elements = results->at(index).elements<float>();
  REQUIRE(elements.ok());
  return {elements->begin(), elements->end()};
}

template <typename T>
void check_error(const absl::StatusOr<T>& result, absl::StatusCode code, const std::string& text) {
  INFO(result.status().ToString());
  CHECK(result.status().code() == code);
  CHECK_THAT(std::string(result.status().message()), Contains(text));
}

}  // namespace

TEST_CASE("trace gives a function of arrays, and a graph one can read") {
  const LiveDaemon daemon;
  const Floats weights = {1, 2, 3, 4};
  const auto model = [&](const Tensor& x) {
    return relu(matmul(x, parameter("w", {2, 2}, DType::kF32, bytes_of(weights))));
  };
  const Floats example = {0, 0};
  const auto traced = trace(model, {view_of(example, {1, 2})}, daemon.config());
  INFO(traced.status().message());
  REQUIRE(traced.ok());
  const Floats x = {1, -1};
  CHECK(floats((*traced)({view_of(x, {1, 2})})) == Floats{0, 0});
  const Floats y = {1, 1};
  CHECK(floats((*traced)({view_of(y, {1, 2})})) == Floats{4, 6});
  const std::string summary = traced->graph().summary();
  CHECK_THAT(summary, Contains("TracedGraph: ") && Contains("INPUT 'in0' f32 [1, 2]") &&
                          Contains("PARAMETER 'w' f32 [2, 2]") && Contains("TracedGraph: 2 ops") &&
                          Contains("[0] matmul: [") && Contains("[1] relu: [") &&
                          Contains("f32 [1, 2]  (integration/trace_test.cpp:") && Contains("'out0' = "));
  CHECK_THAT(traced->graph().summary(/*verbose=*/true), Contains("MATMUL: ["));
}

TEST_CASE("traced ops share kernels: there are fewer launches than ops") {
  const LiveDaemon daemon;
  const Floats scale = {2, 3};
  const auto model = [&](const Tensor& x) {
    return relu((x * parameter("scale", {2}, DType::kF32, bytes_of(scale)) + 1.0) * x - 0.5);
  };
  const Floats example = {0, 0};
  const auto traced = trace(model, {view_of(example, {1, 2})}, daemon.config());
  INFO(traced.status().message());
  REQUIRE(traced.ok());
  const Floats x = {1, -1};
  CHECK(floats((*traced)({view_of(x, {1, 2})})) == Floats{2.5F, 1.5F});
  const auto plan = prepare(NamedTensors{{"y", model(input("x", {1, 2}, DType::kF32))}}, daemon.config());
  REQUIRE(plan.ok());
  CHECK(loaded_plan(*plan).plan().launches.size() == 1);  // of five ops
}

TEST_CASE("a traced function refuses arguments it was not traced for, by name") {
  const LiveDaemon daemon;
  const Floats two = {1, 2};
  const std::vector<std::int32_t> ints = {1, 2};
  const auto traced = trace([](const Tensor& x) { return x + 1.0; }, {view_of(two, {1, 2})}, daemon.config());
  REQUIRE(traced.ok());
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  check_error((*traced)({view_of(two, {2, 1})}), kInvalid, "argument 0 is f32 [2, 1]; traced with f32 [1, 2]");
  check_error((*traced)({view_of(ints, {1, 2})}), kInvalid, "argument 0 is i32 [1, 2]");
  check_error((*traced)({view_of(two, {1, 3})}), kInvalid, "argument 0 has 8 bytes");
  check_error((*traced)({ArrayView(nullptr, 8, DType::kF32, {1, 2})}), kInvalid, "null");
  check_error((*traced)({view_of(two, {1, 2}), view_of(two, {1, 2})}), kInvalid, "2 arguments; traced with 1");
  const char* odd = reinterpret_cast<const char*>(two.data()) + 1;
  check_error((*traced)({ArrayView(odd, 8, DType::kF32, {1, 2})}), kInvalid, "not aligned");
  CHECK(floats((*traced)({view_of(two, {1, 2})})) == Floats{2, 3});
}

TEST_CASE("a tracer traces by hand, once at a time a thread") {
  const LiveDaemon daemon;
  const Floats example = {1, 2};
  {
    Tracer tracer;
    CHECK(Tracer::active());
    CHECK_THROWS_WITH(Tracer(), Contains("do not nest"));
    std::thread([] { CHECK_FALSE(Tracer::active()); }).join();
    const Tensor x = tracer.register_input(view_of(example, {2}));
    const auto graph = tracer.build({x * 2.0, x + 1.0});
    REQUIRE(graph.ok());
    CHECK(graph->encoded().graph.outputs_size() == 2);
    check_error(tracer.build({x + input("other", {2}, DType::kF32)}), absl::StatusCode::kInvalidArgument, "'other'");
    check_error(tracer.build({}), absl::StatusCode::kInvalidArgument, "output");
    // Jitted and traced functions inside a trace.
    const auto inner = jit([](const Tensor& y) { return y; }, {.config = daemon.config()});
    check_error(inner(view_of(example, {2})), absl::StatusCode::kFailedPrecondition, "do not nest");
    check_error(trace([](const Tensor& y) { return y; }, {view_of(example, {2})}, daemon.config()),
                absl::StatusCode::kFailedPrecondition, "do not nest");
  }
  CHECK_FALSE(Tracer::active());
  // An error in the function ends its trace.
  const auto bad = trace([](const Tensor& y) { return reshape(y, {7}); }, {view_of(example, {2})}, daemon.config());
  check_error(bad, absl::StatusCode::kInvalidArgument, "reshape");
  CHECK_FALSE(Tracer::active());
}

TEST_CASE("jit traces on the first call and replays after") {
  const LiveDaemon daemon;
  int calls = 0;
  const auto forward = jit(
      [&](const Tensor& x) {
        ++calls;
        return x * 3.0;
      },
      {.config = daemon.config()});
  const Floats x = {1, 2};
  for (int i = 0; i < 5; ++i) CHECK(floats(forward(view_of(x, {2}))) == Floats{3, 6});
  CHECK(calls == 1);
  CHECK(forward.stats().traces == 1);
  CHECK(forward.stats().hits == 4);
  // Other shapes and dtypes are other plans, and the first one stays.
  CHECK(floats(forward(view_of(x, {1, 2}))) == Floats{3, 6});
  const std::vector<double> wide = {1, 2};
  const auto doubles = forward(view_of(wide, {2}));
  REQUIRE(doubles.ok());
  CHECK(doubles->at(0).dtype == DType::kF64);
  CHECK(floats(forward(view_of(x, {2}))) == Floats{3, 6});
  CHECK(calls == 3);
  CHECK(forward.stats().plans == 3);
}

TEST_CASE("jit guards scalar arguments by value and type") {
  const LiveDaemon daemon;
  const auto forward = jit(
      [](const Tensor& x, bool negate, auto power) {
        Tensor y = x;
        for (int i = 1; i < static_cast<int>(power); ++i) y = y * x;
        return negate ? -y : y;
      },
      {.config = daemon.config()});
  const Floats x = {2, 3};
  const ArrayView view = view_of(x, {2});
  CHECK(floats(forward(view, false, 2)) == Floats{4, 9});
  CHECK(floats(forward(view, true, 2)) == Floats{-4, -9});
  CHECK(floats(forward(view, false, 3)) == Floats{8, 27});
  CHECK(floats(forward(view, false, 2)) == Floats{4, 9});
  CHECK(forward.stats().traces == 3);
  CHECK(floats(forward(view, false, 2.0)) == Floats{4, 9});
  CHECK(forward.stats().traces == 4);
}

TEST_CASE("jit keeps the plans used last, and a device's plans apart") {
  const LiveDaemon daemon;
  auto forward = jit([](const Tensor& x) { return x + 1.0; }, {.config = daemon.config(), .capacity = 2});
  const Floats x = {1, 2, 3, 4, 5, 6};
  const auto call = [&](std::vector<std::int64_t> shape) { return floats(forward(view_of(x, std::move(shape)))); };
  call({6});
  call({2, 3});
  call({6});     // {2, 3} is the oldest now
  call({3, 2});  // and goes
  CHECK(forward.stats().evictions == 1);
  CHECK(forward.stats().plans == 2);
  const auto before = forward.stats().traces;
  call({6});
  CHECK(forward.stats().traces == before);
  call({2, 3});
  CHECK(forward.stats().traces == before + 1);
  forward.set_device("null");  // computes nothing
  CHECK(floats(forward(view_of(x, {6}))) == Floats(6, 0));
  forward.set_device("cpu");
  CHECK(call({2, 3}) == Floats{2, 3, 4, 5, 6, 7});
}

TEST_CASE("trap: results of one call are not touched by the next") {
  const LiveDaemon daemon;
  const auto forward = jit([](const Tensor& x) { return x * 2.0; }, {.config = daemon.config()});
  const Floats a = {1, 2};
  const Floats b = {10, 20};
  const auto first = forward(view_of(a, {2}));
  const auto second = forward(view_of(b, {2}));
  CHECK(floats(first) == Floats{2, 4});
  CHECK(floats(second) == Floats{20, 40});
}

TEST_CASE("trap: captured constants are those of the trace, whatever becomes of their memory") {
  const LiveDaemon daemon;
  auto weights = std::make_unique<Floats>(Floats{1, 2});
  float shift = 1;
  const auto forward =
      jit([&](const Tensor& x) { return x * parameter("w", {2}, DType::kF32, bytes_of(*weights)) + shift; },
          {.config = daemon.config()});
  const Floats x = {1, 1};
  CHECK(floats(forward(view_of(x, {2}))) == Floats{2, 3});
  *weights = {100, 100};
  shift = 100;
  CHECK(floats(forward(view_of(x, {2}))) == Floats{2, 3});
  weights.reset();
  CHECK(floats(forward(view_of(x, {2}))) == Floats{2, 3});
}

TEST_CASE("trap: one array as two arguments, and outputs that lie on inputs") {
  const LiveDaemon daemon;
  const Floats example = {0, 0};
  const auto traced = trace([](const Tensor& x, const Tensor& y) { return std::vector<Tensor>{x + y, x * y}; },
                            {view_of(example, {2}), view_of(example, {2})}, daemon.config());
  REQUIRE(traced.ok());
  Floats x = {3, 4};
  const ArrayView view = view_of(x, {2});
  CHECK(floats((*traced)({view, view})) == Floats{6, 8});
  CHECK(floats((*traced)({view, view}), 1) == Floats{9, 16});
  Floats sum(2);
  Floats product(2);
  const std::vector<ArrayView> inputs = {view, view};
  const auto into = [&](float* first, float* second) {
    const std::vector<MutableView> outputs = {{first, 8, DType::kF32, {2}}, {second, 8, DType::kF32, {2}}};
    return traced->call_into(inputs, outputs);
  };
  REQUIRE(into(sum.data(), product.data()).ok());
  CHECK(sum == Floats{6, 8});
  check_error(absl::StatusOr<int>(into(x.data(), product.data())), absl::StatusCode::kInvalidArgument,
              "output 0 overlaps argument 0");
  check_error(absl::StatusOr<int>(into(sum.data(), sum.data())), absl::StatusCode::kInvalidArgument,
              "output 1 overlaps output 0");
  CHECK(x == Floats{3, 4});
}

TEST_CASE("an argument that the function does not read is still checked") {
  const LiveDaemon daemon;
  const auto forward = jit([](const Tensor& x, const Tensor&) { return x + 1.0; }, {.config = daemon.config()});
  const Floats x = {1, 2};
  CHECK(floats(forward(view_of(x, {2}), view_of(x, {1, 2}))) == Floats{2, 3});
  CHECK_FALSE(forward(view_of(x, {2}), view_of(x, {3})).ok());
}

TEST_CASE("threads share one jitted function") {
  const LiveDaemon daemon;
  const auto forward = jit([](const Tensor& x) { return x * x; }, {.config = daemon.config()});
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const Floats x = {static_cast<float>(i), static_cast<float>(t)};
        const auto y = forward(view_of(x, {2}));
        if (!y.ok() || (*y->at(0).elements<float>())[0] != x[0] * x[0]) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
  CHECK(forward.stats().traces == 1);
}

TEST_CASE("calls of a known shape return while a new shape is being prepared") {
  const LiveDaemon daemon;
  std::atomic<bool> hold{false};
  std::promise<void> held, go_on;
  JitOptions options{.config = daemon.config()};
  options.config.progress = [&](const PrepareProgress&) {
    if (!hold.exchange(false)) return;
    held.set_value();
    go_on.get_future().wait();
  };
  const auto forward = jit([](const Tensor& x) { return x * x; }, options);
  const Floats two = {1, 2}, three = {1, 2, 3};
  REQUIRE(floats(forward(view_of(two, {2}))) == Floats{1, 4});
  hold = true;
  auto new_shape = std::async(std::launch::async, [&] { return forward(view_of(three, {3})); });
  held.get_future().wait();
  auto known_shape = std::async(std::launch::async, [&] { return forward(view_of(two, {2})); });
  auto same_new_shape = std::async(std::launch::async, [&] { return forward(view_of(three, {3})); });
  const bool returned = known_shape.wait_for(std::chrono::seconds(60)) == std::future_status::ready;
  const JitStats meanwhile = forward.stats();
  go_on.set_value();
  CHECK(returned);
  CHECK(meanwhile.traces == 1);
  CHECK(floats(known_shape.get()) == Floats{1, 4});
  CHECK(floats(new_shape.get()) == Floats{1, 4, 9});
  CHECK(floats(same_new_shape.get()) == Floats{1, 4, 9});
  CHECK(forward.stats().traces == 2);  // two callers shared the second
  CHECK(forward.stats().hits == 2);
}

TEST_CASE("a function that throws while it is traced leaves the next caller of that shape its turn") {
  const LiveDaemon daemon;
  std::promise<void> inside, go_on;
  std::atomic<int> calls{0};
  const auto model = [&](const Tensor& x) {
    if (++calls > 1) return x + 1.0;
    inside.set_value();
    go_on.get_future().wait();
    throw std::runtime_error("broken once");
  };
  const auto forward = jit(model, {.config = daemon.config()});
  const Floats x = {1, 2};
  auto first = std::async(std::launch::async, [&] { return forward(view_of(x, {2})); });
  inside.get_future().wait();
  auto second = std::async(std::launch::async, [&] { return forward(view_of(x, {2})); });
  go_on.set_value();
  CHECK_THROWS_WITH(first.get(), "broken once");
  CHECK(floats(second.get()) == Floats{2, 3});
  CHECK(calls == 2);
}
