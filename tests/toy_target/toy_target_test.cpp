// A model on a target that only this folder knows: registered, scheduled, generated and run.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "client/trace/encoded_graph.h"
#include "compiler/target/check_record.h"
#include "hearth/ops.h"
#include "runtime/devices/devices.h"
#include "tests/support/plan_in_memory.h"
#include "tests/toy_target/toy_compiler.h"
#include "tests/toy_target/toy_device.h"

using namespace hearth;
using client::Dim;

namespace {

constexpr std::int64_t kIn = 6, kOut = 4;

std::vector<float> numbers(std::int64_t count, float step) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(step * static_cast<float>(i % 7) - 1);
  return values;
}

// softmax(x w + b) of n rows, as the formula has it.
std::vector<double> expected(const std::vector<float>& x, const std::vector<float>& w, const std::vector<float>& b,
                             std::size_t n) {
  std::vector<double> all;
  for (std::size_t row = 0; row < n; ++row) {
    double sum = 0;
    for (std::size_t j = 0; j < kOut; ++j) {
      double value = b[j];
      for (std::size_t k = 0; k < kIn; ++k) value += double{x[row * kIn + k]} * double{w[k * kOut + j]};
      all.push_back(std::exp(value));
      sum += all.back();
    }
    for (std::size_t j = 0; j < kOut; ++j) all[row * kOut + j] /= sum;
  }
  return all;
}

TEST_CASE("a model runs on a target that a test folder adds") {
  toy::register_compiler();
  toy::register_devices();
  const std::vector<float> w = numbers(kIn * kOut, 0.25F), b = numbers(kOut, 0.5F);
  client::Tensor x = client::input("x", {Dim::variable("n", 1, 5), kIn}, DType::kF32);
  const client::Tensor y =
      client::softmax(client::matmul(x, client::parameter("w", {kIn, kOut}, DType::kF32, bytes_of(w))) +
                          client::parameter("b", {kOut}, DType::kF32, bytes_of(b)),
                      -1);
  const auto graph = client::encode_graph({{"y", y}});
  REQUIRE(graph.ok());

  const runtime::Device& device = **runtime::find_device("toy");
  const v1::Target target = device.target(1);
  REQUIRE(target::check_record(target).ok());
  v1::CompileOptions options;
  options.set_dump(true);
  const auto lowered = compiler::lower(graph->graph, target, options);
  INFO(lowered.status().ToString());
  REQUIRE(lowered.ok());
  bool is_unrolled = false;
  for (const v1::KernelChoice& choice : lowered->choices()) is_unrolled |= choice.opts_size() == 1;
  CHECK(is_unrolled);

  const auto made = test::plan_in_memory(*lowered, target, options);
  REQUIRE(made.ok());
  runtime::LoadRequest request = made->request();
  request.find = &runtime::find_device;
  for (const auto& [name, data] : graph->parameters) request.parameters[name] = {data.data, data.size, nullptr};
  const auto plan = runtime::LoadedPlan::create(request);
  INFO(plan.status().ToString());
  REQUIRE(plan.ok());
  CHECK((*plan)->device().name() == "toy");

  auto instance = runtime::create_instance(*plan, {});
  REQUIRE(instance.ok());
  for (const std::int64_t n : {5, 1, 3}) {
    REQUIRE(instance->set_var("n", n).ok());
    const std::vector<float> in = numbers(n * kIn, 0.125F);
    REQUIRE(instance->input("x")->copy_from(in).ok());
    const absl::Status ran = instance->execute();
    INFO(ran.message());
    REQUIRE(ran.ok());
    const std::vector<double> want = expected(in, w, b, static_cast<std::size_t>(n));
    const auto got = *instance->output("y")->as<float>();
    REQUIRE(got.size() == want.size());
    for (std::size_t i = 0; i < want.size(); ++i) CHECK(std::abs(double{got[i]} - want[i]) < 1e-6);
  }
}

TEST_CASE("a record that a target kind refuses is refused") {
  toy::register_compiler();
  v1::Target target;
  target.set_device("toy");
  target.set_vector_bits(256);
  CHECK_THAT(std::string(target::check_record(target).message()), Catch::Contains("a toy has no vectors"));
}

}  // namespace
