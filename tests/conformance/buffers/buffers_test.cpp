// Buffers of a plan as Instance::buffer gives them, intermediates included, against the reference interpreter run over
// the plan's kernels with memory of its own for every buffer.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "base/sha256.h"
#include "client/trace/encoded_graph.h"
#include "compiler/codegen/reference/kernel_interpreter.h"
#include "compiler/compile.h"
#include "compiler/ir/text.h"
#include "hearth/ops.h"
#include "runtime/devices/devices.h"
#include "runtime/hal/cpu/cpu_target.h"
#include "runtime/replay/loaded_plan.h"

using namespace hearth;
using codegen::reference::HostTensor;
using runtime::BufferInfo;
using runtime::BufferKind;
using runtime::ConstView;
using runtime::Instance;
using runtime::LoadedPlan;

namespace {

constexpr std::int64_t kWidth = 32, kMax = 24;
constexpr int kLayers = 5;

std::vector<float> seeded(std::size_t count, std::uint32_t seed) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    values.push_back(static_cast<float>(seed >> 8) / (1 << 24) - 0.5F);
  }
  return values;
}

// A chain in which every layer needs whole rows of the one before, at up to kMax rows.
struct Model {
  std::vector<std::vector<float>> weights;
  client::EncodedGraph traced;

  Model() {
    using namespace client;
    Tensor t = input("x", {Dim::variable("n", 1, kMax), kWidth}, DType::kF32);
    for (int i = 0; i < kLayers; ++i) weights.push_back(seeded(kWidth * kWidth, 7 + static_cast<std::uint32_t>(i)));
    for (int i = 0; i < kLayers; ++i) {
      t = matmul(t, parameter("w" + std::to_string(i), {kWidth, kWidth}, DType::kF32,
                              bytes_of(weights[static_cast<std::size_t>(i)])));
      t = t - mean(t, {0}, /*keepdims=*/true);
    }
    traced = *encode_graph({{"y", t}});
  }
};

struct Compiled {
  v1::LoweredPlan lowered;
  std::shared_ptr<const LoadedPlan> plan;
};

Compiled compile(const Model& model, int threads) {
  Compiled result;
  const v1::Target target = (*runtime::find_device("cpu"))->target(threads);
  v1::CompileOptions options;
  options.set_opt_level(2);
  absl::StatusOr<v1::LoweredPlan> lowered = compiler::lower(model.traced.graph, target, options);
  REQUIRE(lowered.ok());
  result.lowered = *std::move(lowered);
  v1::Plan& plan = *result.lowered.mutable_plan();
  runtime::LoadRequest request;
  request.find = &runtime::find_device;
  for (int k = 0; k < plan.kernels_size(); ++k) {
    const auto kernel = compiler::compile_kernel(result.lowered.kernels(k), target, options);
    REQUIRE(kernel.ok());
    const std::string& bytes = kernel->artifact().data();
    plan.mutable_kernels(k)->set_artifact(to_bytes(sha256(bytes)));
    request.artifacts.push_back({plan.kernels(k).artifact(), "", bytes});
  }
  for (const auto& [name, data] : model.traced.parameters) request.parameters[name] = {data.data, data.size, nullptr};
  const std::string wire = plan.SerializeAsString();
  request.plan = wire;
  auto loaded = LoadedPlan::create(request);
  INFO(loaded.status().message());
  REQUIRE(loaded.ok());
  result.plan = *std::move(loaded);
  return result;
}

// Every buffer after all launches, by id.
std::vector<HostTensor> interpret(const Compiled& compiled, const Model& model, const std::vector<float>& x,
                                  const std::vector<std::int64_t>& values) {
  const runtime::Plan& plan = compiled.plan->plan();
  std::vector<HostTensor> buffers;
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const runtime::PlanBuffer& buffer = plan.buffers[i];
    HostTensor tensor;
    tensor.dtype = static_cast<ir::Scalar>(buffer.dtype);
    tensor.bytes.resize(buffer.size_bytes(values.data()));
    tensor.shape = {static_cast<std::int64_t>(tensor.bytes.size() / dtype_bytes(buffer.dtype))};
    const std::string& constant = compiled.lowered.plan().buffers(static_cast<int>(i)).data();
    const void* source = constant.data();
    if (buffer.kind == v1::PlanBuffer::INPUT) source = x.data();
    if (buffer.kind == v1::PlanBuffer::PARAMETER) source = model.traced.parameters.at(buffer.name).data;
    const bool is_given = buffer.kind == v1::PlanBuffer::INPUT || buffer.kind == v1::PlanBuffer::PARAMETER ||
                          buffer.kind == v1::PlanBuffer::CONSTANT;
    if (is_given) std::memcpy(tensor.bytes.data(), source, tensor.bytes.size());
    buffers.push_back(std::move(tensor));
  }
  for (const runtime::PlanLaunch& launch : plan.launches) {
    ir::Graph graph;
    const auto ast = ir::parse(graph, compiled.lowered.kernels(static_cast<int>(launch.kernel)).ast());
    REQUIRE(ast.ok());
    std::vector<HostTensor> slots;
    for (const std::uint32_t id : launch.buffers) slots.push_back(buffers[id]);
    std::vector<std::int64_t> vars;
    for (const std::uint32_t var : launch.vars) vars.push_back(values[var]);
    const absl::Status ran = codegen::reference::interpret_kernel(*ast, {slots, vars, std::nullopt});
    INFO(ran.message());
    REQUIRE(ran.ok());
    for (std::size_t slot = 0; slot < slots.size(); ++slot) buffers[launch.buffers[slot]] = slots[slot];
  }
  return buffers;
}

void check_same(const ConstView& got, const HostTensor& want) {
  REQUIRE(got.size_bytes == want.bytes.size());
  std::int64_t length = 1;
  for (const std::int64_t axis : got.shape) length *= axis;
  REQUIRE(static_cast<std::size_t>(length) * dtype_bytes(got.dtype) == got.size_bytes);
  REQUIRE(got.dtype == DType::kF32);
  const auto elements = *got.as<float>();
  for (std::int64_t i = 0; i < length; ++i) {
    const double value = want.get(i).f;
    const double error = std::fabs(static_cast<double>(elements[static_cast<std::size_t>(i)]) - value);
    if (!(error <= 1e-4 * std::max(1.0, std::fabs(value)))) FAIL("element " << i << ": " << error << " off " << value);
  }
}

Instance replayed(const Compiled& compiled, const std::vector<float>& x, std::int64_t n, int threads, bool keep) {
  absl::StatusOr<Instance> run = create_instance(compiled.plan, {.threads = threads, .keep_intermediates = keep});
  REQUIRE(run.ok());
  REQUIRE(run->set_var("n", n).ok());
  REQUIRE(run->input("x")->copy_from(x).ok());
  REQUIRE(run->execute().ok());
  return *std::move(run);
}

}  // namespace

TEST_CASE("every buffer that an instance keeps holds what the reference interpreter has in it") {
  const Model model;
  for (const int threads : {1, 2}) {
    const Compiled compiled = compile(model, threads);
    for (const std::int64_t n : {kMax, std::int64_t{3}}) {
      INFO(threads << " threads, n = " << n);
      const std::vector<float> x = seeded(static_cast<std::size_t>(n * kWidth), 1);
      const std::vector<HostTensor> want = interpret(compiled, model, x, {n});
      const Instance run = replayed(compiled, x, n, threads, true);
      int intermediates = 0;
      for (const BufferInfo& info : compiled.plan->buffers()) {
        INFO("buffer " << info.id << ", " << to_string(info.kind) << " of kernel " << info.kernel);
        const absl::StatusOr<ConstView> got = run.buffer(info.id);
        INFO(got.status().message());
        REQUIRE(got.ok());
        check_same(*got, want[info.id]);
        intermediates += info.kind == BufferKind::kIntermediate;
      }
      CHECK(intermediates >= kLayers);
    }
  }
}

TEST_CASE("without keeping, an intermediate is right or refused by the name of what has its memory") {
  const Model model;
  const Compiled compiled = compile(model, 1);
  const std::vector<float> x = seeded(kMax * kWidth, 1);
  const std::vector<HostTensor> want = interpret(compiled, model, x, {kMax});
  const Instance run = replayed(compiled, x, kMax, 1, false);
  int intact = 0, gone = 0;
  for (const BufferInfo& info : compiled.plan->buffers()) {
    INFO("buffer " << info.id << ", " << to_string(info.kind));
    const absl::StatusOr<ConstView> got = run.buffer(info.id);
    if (got.ok()) {
      check_same(*got, want[info.id]);
      intact += info.kind == BufferKind::kIntermediate;
      continue;
    }
    CHECK(info.kind == BufferKind::kIntermediate);
    CHECK(absl::IsFailedPrecondition(got.status()));
    CHECK_THAT(std::string(got.status().message()),
               Catch::Contains("buffer " + std::to_string(info.id) + " (of kernel '" + info.kernel + "') is gone") &&
                   Catch::Contains("keep_intermediates"));
    ++gone;
  }
  CHECK(intact > 0);
  CHECK(gone > 0);
}

TEST_CASE("keeping intermediates changes no result, and says what memory it takes") {
  const Model model;
  const Compiled compiled = compile(model, 1);
  const std::vector<float> x = seeded(kMax * kWidth, 1);
  const Instance kept = replayed(compiled, x, kMax, 1, true), usual = replayed(compiled, x, kMax, 1, false);
  const auto a = *kept.output("y")->as<float>(), b = *usual.output("y")->as<float>();
  CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  std::size_t all = 0;
  for (const BufferInfo& info : compiled.plan->buffers()) {
    if (info.kind == BufferKind::kIntermediate) all += (info.max_bytes + 63) / 64 * 64;
  }
  CHECK(kept.memory().arena_bytes == all);
  CHECK(usual.memory().arena_bytes < all);
}

TEST_CASE("an intermediate cannot be read before the first replay, nor a buffer that does not exist") {
  const Model model;
  const Compiled compiled = compile(model, 1);
  const absl::StatusOr<Instance> run = create_instance(compiled.plan, {.keep_intermediates = true});
  REQUIRE(run.ok());
  const auto count = static_cast<std::uint32_t>(compiled.plan->buffers().size());
  CHECK(absl::IsNotFound(run->buffer(count).status()));
  for (const BufferInfo& info : compiled.plan->buffers()) {
    const bool is_made_by_replays = info.kind == BufferKind::kIntermediate;
    CHECK(run->buffer(info.id).ok() == !is_made_by_replays);
  }
}
