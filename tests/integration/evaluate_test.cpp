// Tensor::evaluate() and evaluate(): numbers in one call, against a daemon of this test's own.
#include "hearth/evaluate.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include "hearth/ops.h"
#include "tests/integration/live_daemon.h"

namespace {

using namespace hearth;
using Catch::Matchers::Contains;
using hearth::integration::LiveDaemon;

std::vector<float> numbers_of(const absl::StatusOr<Array>& array) {
  INFO(array.status().message());
  REQUIRE(array.ok());
  const auto elements = array->elements<float>();
  REQUIRE(elements.ok());
  return {elements->begin(), elements->end()};
}

void check_refused(const absl::Status& status, const std::string& text) {
  INFO(status.ToString());
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(status.message()), Contains(text));
}

// y = [1 2; 3 4] x [1 2; 3 4] + extra
Tensor square_of(const std::vector<float>& weights, double extra) {
  const Tensor w = parameter("w", {2, 2}, DType::kF32, bytes_of(weights));
  return matmul(w, w) + extra;
}

}  // namespace

TEST_CASE("a lazy tensor becomes numbers in one call, and the same graph again is a replay") {
  const LiveDaemon daemon;
  const std::vector<float> weights = {1, 2, 3, 4};
  const EvaluateStats before = evaluate_stats();
  CHECK(numbers_of(square_of(weights, 0.5).evaluate(daemon.config())) == std::vector<float>{7.5, 10.5, 15.5, 22.5});
  CHECK(numbers_of(square_of(weights, 0.5).evaluate(daemon.config())) == std::vector<float>{7.5, 10.5, 15.5, 22.5});
  EvaluateStats after = evaluate_stats();
  CHECK(after.misses == before.misses + 1);
  CHECK(after.hits == before.hits + 1);
  CHECK(numbers_of(square_of(weights, -1).evaluate(daemon.config())) == std::vector<float>{6, 9, 14, 21});
  CHECK(evaluate_stats().misses == after.misses + 1);
}

TEST_CASE("borrowed parameters count as they are now, also where their memory is gone or used again") {
  const LiveDaemon daemon;
  std::vector<float> weights = {1, 2, 3, 4};
  const Tensor y = square_of(weights, 0);
  CHECK(numbers_of(y.evaluate(daemon.config())) == std::vector<float>{7, 10, 15, 22});
  weights = {1, 0, 0, 1};
  CHECK(numbers_of(y.evaluate(daemon.config())) == std::vector<float>{1, 0, 0, 1});
  weights = {1, 2, 3, 4};
  const EvaluateStats before = evaluate_stats();
  CHECK(numbers_of(y.evaluate(daemon.config())) == std::vector<float>{7, 10, 15, 22});
  CHECK(evaluate_stats().hits == before.hits + 1);
  {
    const std::vector<float> elsewhere = {1, 2, 3, 4};  // the plan keeps a copy of its own
    CHECK(numbers_of(square_of(elsewhere, 0).evaluate(daemon.config())) == std::vector<float>{7, 10, 15, 22});
  }
  CHECK(evaluate_stats().hits == before.hits + 2);
}

TEST_CASE("evaluate takes inputs by name and gives several tensors, on several threads at once") {
  const LiveDaemon daemon;
  const Tensor x = input("x", {3}, DType::kF32);
  const std::vector<Tensor> wanted = {x * 2.0, reduce_sum(x)};
  const auto check = [&](float first) {
    const std::vector<float> values = {first, 2, 3};
    const auto results = evaluate(wanted, {{"x", view_of(values, {3})}}, daemon.config());
    INFO(results.status().message());
    REQUIRE(results.ok());
    CHECK(numbers_of(results->at(0)) == std::vector<float>{2 * first, 4, 6});
    CHECK(numbers_of(results->at(1)) == std::vector<float>{first + 5});
  };
  check(1);
  // Catch's assertions are not for several threads.
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::vector<float> values = {static_cast<float>(100 * t + i), 2, 3};
        const auto results = evaluate(wanted, {{"x", view_of(values, {3})}}, daemon.config());
        if (!results.ok() || (*results->at(1).elements<float>())[0] != values[0] + 5) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  // Memory that is not aligned to its elements.
  std::string bytes(13, '\0');
  const float values[] = {1, 2, 3};
  std::memcpy(bytes.data() + 1, values, sizeof values);
  const auto odd = evaluate(wanted, {{"x", ArrayView(bytes.data() + 1, 12, DType::kF32, {3})}}, daemon.config());
  REQUIRE(odd.ok());
  CHECK(numbers_of(odd->at(1)) == std::vector<float>{6});
}

TEST_CASE("what evaluate cannot know is refused by name") {
  const LiveDaemon daemon;
  const Tensor x = input("x", {3}, DType::kF32);
  const std::vector<float> values = {1, 2, 3};
  const std::vector<float> four = {1, 2, 3, 4};
  check_refused(exp(x).evaluate(daemon.config()).status(), "input 'x' is not given");
  check_refused(evaluate({exp(x)}, {{"x", view_of(four, {4})}}, daemon.config()).status(),
                "input 'x' is f32 [3], f32 [4] is given");
  check_refused(
      evaluate({exp(x)}, {{"x", view_of(values, {3})}, {"z", view_of(values, {3})}}, daemon.config()).status(),
      "no tensor reads an input 'z'");
  check_refused(exp(input("x", {Dim::variable("n", 1, 4)}, DType::kF32)).evaluate(daemon.config()).status(),
                "variable 'n'");
  check_refused(Tensor().evaluate(daemon.config()).status(), "empty tensor");
  CHECK(evaluate({}, {}, daemon.config())->empty());
}

TEST_CASE("evaluate forgets the plans that were not used for longest") {
  const LiveDaemon daemon;
  PrepareConfig config = daemon.config();
  config.device = "null";  // nothing is compiled
  for (int i = 0; i < 70; ++i) REQUIRE(scalar(i + 0.25, DType::kF32).evaluate(config).ok());
  CHECK(evaluate_stats().plans == kMaxEvaluatedPlans);
}
