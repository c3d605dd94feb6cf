// Whole models as they are compiled for CUDA's and HIP's GPUs, on stand-ins of their drivers (HEARTH_TEST_DEVICE), beside
// the same on the CPU: plans, loops, memory, graphs of launches and kernels, with weights and inputs drawn once.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>

#include "runtime/devices/devices.h"
#include "tests/digests/digest_cases.h"
#include "tests/support/plan_in_memory.h"
#include "tests/support/skip.h"

namespace hearth::conformance {
namespace {

using runtime::BufferKind;

// Small enough that sums of thousands stay small.
void fill(void* data, std::size_t size_bytes, DType dtype, const std::string& name) {
  std::mt19937_64 random(std::hash<std::string>()(name));
  if (dtype == DType::kF32) {
    for (std::size_t i = 0; i < size_bytes / 4; ++i) {
      const float value = static_cast<float>(random() % 2001) / 10000 - 0.1F;
      std::memcpy(static_cast<char*>(data) + 4 * i, &value, 4);
    }
    return;
  }
  std::memset(data, 0, size_bytes);  // indices, states and numbers of other types
}

const runtime::Device& gpu() {
  const auto device = runtime::find_device(std::getenv("HEARTH_TEST_DEVICE"));
  if (!device.ok()) throw std::runtime_error(std::string(device.status().message()));
  return **device;
}

// Beyond it a scalar kernel takes minutes, one invocation after the other.
constexpr double kMostOps = 2e8;

double work_of(const v1::Graph& graph) {
  const auto lowered = compiler::lower(graph, gpu().target(1), {});
  REQUIRE(lowered.ok());
  double ops = 0;
  for (const v1::Launch& launch : lowered->plan().launches())
    ops += static_cast<double>(lowered->plan().kernels(static_cast<int>(launch.kernel())).num_ops());
  return ops;
}

struct Run {
  std::map<std::string, std::vector<float>> outputs;  // those of f32
  std::size_t kernels = 0;
};

Run run_on(const runtime::Device& device, const v1::Graph& graph) {
  const v1::Target target = device.target(1);
  v1::CompileOptions options;
  options.set_opt_level(2);
  const auto lowered = compiler::lower(graph, target, options);
  INFO(lowered.status().message());
  REQUIRE(lowered.ok());
  const auto made = test::plan_in_memory(*lowered, target, options);
  INFO(made.status().message());
  REQUIRE(made.ok());
  runtime::LoadRequest request = made->request();
  request.device = &device;
  std::map<std::string, std::string> weights;
  for (const v1::PlanBuffer& buffer : lowered->plan().buffers()) {
    if (buffer.kind() != v1::PlanBuffer::PARAMETER) continue;
    std::string& bytes = weights[buffer.name()];
    bytes.resize(buffer.max_bytes());
    fill(bytes.data(), bytes.size(), static_cast<DType>(buffer.dtype()), buffer.name());
    request.parameters[buffer.name()] = {bytes.data(), bytes.size(), nullptr};
  }
  const auto plan = runtime::LoadedPlan::create(request);
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  auto instance = runtime::create_instance(*plan, {.threads = 1});
  REQUIRE(instance.ok());
  for (const auto& variable : (*plan)->variables())
    REQUIRE(instance->set_var(variable.name, std::min<std::int64_t>(variable.max, 7)).ok());
  for (const auto& input : (*plan)->inputs()) {
    const auto view = instance->input(input.name);
    REQUIRE(view.ok());
    fill(view->data, view->size_bytes, input.dtype, input.name);
  }
  const absl::Status ran = instance->execute();
  INFO(ran.message());
  REQUIRE(ran.ok());
  Run run;
  run.kernels = static_cast<std::size_t>(lowered->kernels_size());
  for (const auto& output : (*plan)->outputs()) {
    if (output.dtype != DType::kF32) continue;
    const auto elements = *instance->output(output.name)->as<float>();
    run.outputs[output.name] = {elements.begin(), elements.end()};
  }
  return run;
}

}  // namespace

TEST_CASE("models at hand compute in a GPU's form what they compute on the CPU") {
  const char* source_dir = std::getenv("HEARTH_SOURCE_DIR");
  REQUIRE(source_dir != nullptr);
  int models = 0;
  for (const digests::DigestCase& c : digests::digest_cases(source_dir, "")) {
    if (!c.name.starts_with("models/")) continue;
    INFO(c.name);
    const absl::StatusOr<v1::Graph> graph = c.graph();
    REQUIRE(graph.ok());
    if (work_of(*graph) > kMostOps) continue;
    const Run cpu = run_on(**runtime::find_device("cpu"), *graph), on_gpu = run_on(gpu(), *graph);
    REQUIRE(cpu.outputs.size() == on_gpu.outputs.size());
    for (const auto& [name, want] : cpu.outputs) {
      const std::vector<float>& got = on_gpu.outputs.at(name);
      REQUIRE(got.size() == want.size());
      double greatest = 0, error = 0;
      for (std::size_t i = 0; i < want.size(); ++i) {
        if (!std::isfinite(want[i])) FAIL("element " << i << " is " << want[i]);
        greatest = std::max(greatest, std::abs(double{want[i]}));
        error = std::max(error, std::abs(double{want[i]} - double{got[i]}));
      }
      INFO(name << ": " << error << " off where values reach " << greatest);
      CHECK(error <= 1e-4 * std::max(greatest, 1e-3));
    }
    ++models;
    std::printf("%s: %zu kernels\n", c.name.c_str(), on_gpu.kernels);
  }
  if (models == 0) SKIP_CASE("no models lie beside this checkout");
  CHECK(models >= 3);
}

}  // namespace hearth::conformance
