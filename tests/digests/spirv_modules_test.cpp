// Every kernel of the models at hand and of a sample of ONNX's cases, drawn anew in every run, is a module that
// SPIRV-Tools finds valid (codegen/spirv/check_module), for a device with everything, for one with next to nothing, and
// for what GPUs report, whose kernels have workgroups and shared memory;
// what is refused names the feature, and is counted. HEARTH_FUZZ_COUNT says how many ONNX cases.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "absl/strings/match.h"
#include "base/find_program.h"
#include "compiler/compile.h"
#include "runtime/devices/named_target.h"
#include "tests/conformance/ops/graph_builder.h"
#include "tests/digests/digest_cases.h"
#include "tests/support/fresh_seed.h"
#include "tests/support/skip.h"

namespace hearth::digests {
namespace {

struct Modules {
  std::size_t kernels = 0, with_barriers = 0;
  std::vector<std::string> of_matrices;  // modules that multiply cooperative matrices
  std::map<std::string, int> refused;    // by feature
};

// "shaderFloat64" of a refusal; empty of anything else.
std::string feature_of(const absl::Status& status) {
  constexpr std::string_view kNeeds = " needs ";
  const std::string text(status.message());
  const std::size_t at = text.find(kNeeds), end = text.find(", which vulkan:", at);
  if (!absl::IsUnimplemented(status) || at == std::string::npos || end == std::string::npos) return "";
  return text.substr(at + kNeeds.size(), end - at - kNeeds.size());
}

constexpr std::uint32_t kHeaderWords = 5;

constexpr std::uint32_t kControlBarrier = 224, kMatrixMulAdd = 4459;

bool has_instruction(const std::string& module, std::uint32_t opcode) {
  std::vector<std::uint32_t> words(module.size() / 4);
  std::memcpy(words.data(), module.data(), 4 * words.size());
  for (std::size_t at = kHeaderWords; at < words.size() && words[at] >> 16 != 0; at += words[at] >> 16) {
    if ((words[at] & 0xFFFF) == opcode) return true;
  }
  return false;
}

// How often a sign is extended to 64 bits by OpSConvert, after which lavapipe of Mesa 22.3 compares with constants wrongly.
int sign_conversions(const std::string& module) {
  constexpr std::uint32_t kTypeInt = 21, kSConvert = 114;
  std::vector<std::uint32_t> words(module.size() / 4);
  std::memcpy(words.data(), module.data(), 4 * words.size());
  std::set<std::uint32_t> wide;
  int count = 0;
  for (std::size_t at = kHeaderWords; at < words.size() && words[at] >> 16 != 0; at += words[at] >> 16) {
    const std::uint32_t opcode = words[at] & 0xFFFF;
    if (opcode == kTypeInt && words[at + 2] == 64) wide.insert(words[at + 1]);
    if (opcode == kSConvert && wide.contains(words[at + 1])) ++count;
  }
  return count;
}

void compile_all(const v1::Graph& graph, const v1::Target& target, Modules& modules) {
  v1::CompileOptions options;
  options.set_opt_level(2);
  const absl::StatusOr<v1::LoweredPlan> lowered = compiler::lower(graph, target, options);
  if (!lowered.ok() && absl::StrContains(lowered.status().message(), "(max_buffer_bytes)")) {
    ++modules.refused["buffers larger than max_buffer_bytes"];
    return;
  }
  INFO(lowered.status().message());
  REQUIRE(lowered.ok());
  for (const v1::KernelSpec& kernel : lowered->kernels()) {
    const absl::StatusOr<v1::CompiledKernel> compiled = compiler::compile_kernel(kernel, target, options);
    if (compiled.ok()) {
      ++modules.kernels;
      modules.with_barriers += has_instruction(compiled->artifact().data(), kControlBarrier) ? 1 : 0;
      if (has_instruction(compiled->artifact().data(), kMatrixMulAdd))
        modules.of_matrices.push_back(compiled->artifact().data());
      CHECK(compiled->artifact().format() == v1::Artifact::SPIRV);
      CHECK(sign_conversions(compiled->artifact().data()) == 0);
      continue;
    }
    const std::string feature = feature_of(compiled.status());
    INFO(compiled.status().message() << "\n" << kernel.ast());
    CHECK(feature != "");
    ++modules.refused[feature];
  }
}

struct Named {
  std::string name;
  v1::Graph graph;
};

std::vector<DigestCase> cases_of_group(const std::string& group) {
  const char* source_dir = std::getenv("HEARTH_SOURCE_DIR");
  REQUIRE(source_dir != nullptr);
  std::vector<DigestCase> cases = digest_cases(source_dir, "");
  std::erase_if(cases, [&](const DigestCase& c) { return !c.name.starts_with(group + "/"); });
  return cases;
}

Modules check_cases(const std::vector<Named>& cases, const std::string& target_name, const v1::Target& target) {
  Modules modules;
  for (const Named& c : cases) {
    INFO(c.name << " for " << target_name);
    compile_all(c.graph, target, modules);
  }
  std::printf("%zu graphs for %s: %zu kernels valid", cases.size(), target_name.c_str(), modules.kernels);
  for (const auto& [feature, count] : modules.refused) {
    std::printf("; %d refused: %s", count, feature.c_str());
    test::skip_part(target_name + " lacks " + feature);
  }
  std::printf("\n");
  return modules;
}

Modules check_cases(const std::vector<Named>& cases, const std::string& target_name) {
  return check_cases(cases, target_name, *runtime::named_target(target_name));
}

// As a GPU's driver reports one: with lavapipe's features, and what a schedule goes by left to its usual numbers.
v1::Target hardware(std::uint32_t subgroup, std::uint32_t shared_bytes) {
  v1::Target target = *runtime::named_target("vulkan:lavapipe");
  v1::GpuLimits& gpu = *target.mutable_gpu();
  gpu.set_subgroup_size(subgroup);
  gpu.set_shared_bytes(shared_bytes);
  gpu.clear_register_values();
  gpu.clear_wanted_invocations();
  gpu.clear_load_cost();
  gpu.clear_shared_load_cost();
  gpu.clear_single_loads();
  return target;
}

// A plain one, one that is a batch's with a transposed operand, and one with a bias and an activation behind it.
v1::Graph products_of_halves() {
  conformance::GraphBuilder b;
  const auto x = b.input(v1::F16, {96, 64}), w = b.input(v1::F16, {64, 80}), v = b.input(v1::F16, {64, 80}),
             bias = b.input(v1::F32, {1, 80});
  const auto q = b.input(v1::F16, {4, 48, 33}), k = b.input(v1::F16, {4, 65, 33});
  b.output(b.op(v1::MATMUL, {x, w}));
  b.output(b.op(v1::MATMUL, {q, b.permute(k, {0, 2, 1})}));
  const auto wide = b.op(v1::MATMUL, {b.cast(x, v1::F32), b.cast(v, v1::F32)});
  b.output(b.op(v1::EXP, {b.op(v1::ADD, {wide, b.expand(bias, {96, 80})})}));
  return b.graph();
}

// Its exit status and what it says.
std::pair<int, std::string> output_of(const std::string& command) {
  std::FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  char bytes[4096];
  for (std::size_t count; (count = std::fread(bytes, 1, sizeof bytes, pipe)) > 0;) text.append(bytes, count);
  return {::pclose(pipe), text};
}

std::vector<Named> models() {
  std::vector<Named> found;
  for (const DigestCase& c : cases_of_group("models")) {
    const absl::StatusOr<v1::Graph> graph = c.graph();
    INFO(c.name << ": " << graph.status().message());
    REQUIRE(graph.ok());
    found.push_back({c.name, *graph});
  }
  REQUIRE_FALSE(found.empty());
  return found;
}

}  // namespace

TEST_CASE("every kernel of the models at hand is a valid module on a device with everything and on one with little") {
  const std::vector<Named> all_models = models();
  const Modules all = check_cases(all_models, "vulkan:lavapipe");
  CHECK(all.kernels > 0);
  CHECK(all.refused.empty());
  CHECK(check_cases(all_models, "vulkan:minimal").kernels > 0);
}

TEST_CASE("kernels for GPUs with subgroups of 32 and of 64 are valid modules, with workgroups and shared memory") {
  const std::vector<Named> all_models = models();
  for (const auto& [subgroup, shared_bytes] : {std::array{32U, 49152U}, {64U, 32768U}}) {
    const Modules all =
        check_cases(all_models, "subgroups of " + std::to_string(subgroup), hardware(subgroup, shared_bytes));
    CHECK(all.refused.empty());
    CHECK(all.with_barriers > 10);
  }
}

// By a spirv-val that knows cooperative matrices (2023.4 and later): Debian 12's library in this process does not.
// HEARTH_SPIRV_VAL names the program.
TEST_CASE("kernels with cooperative matrices are valid modules for GPUs with subgroups of 32 and of 64") {
  const char* const named = std::getenv("HEARTH_SPIRV_VAL");
  const std::string program = named != nullptr ? named : runtime::find_program("spirv-val").value_or("spirv-val");
  const std::vector<Named> halves = {{"products of f16", products_of_halves()}};
  for (const auto& [subgroup, m] : {std::array{32U, 8U}, {32U, 16U}, {64U, 16U}}) {
    v1::Target target = hardware(subgroup, 32768);
    v1::CooperativeMatrix& matrix = *target.mutable_gpu()->mutable_cooperative_matrix();
    matrix.set_m(m), matrix.set_n(16), matrix.set_k(16);
    for (const char* feature : {"cooperativeMatrix", "shaderFloat16", "vulkanMemoryModel"})
      target.add_features(feature);
    std::sort(target.mutable_features()->begin(), target.mutable_features()->end());
    const Modules all =
        check_cases(halves, "matrices of " + std::to_string(m) + " by " + std::to_string(subgroup), target);
    REQUIRE(all.of_matrices.size() >= 2);
    const std::string file = std::string(std::tmpnam(nullptr)) + ".spv";
    for (const std::string& module : all.of_matrices) {
      std::ofstream(file, std::ios::binary) << module;
      const auto [status, text] = output_of(program + " --target-env vulkan1.3 --scalar-block-layout " + file);
      std::remove(file.c_str());
      if (absl::StrContains(text, "6022") || absl::StrContains(text, "not found")) {
        SKIP_CASE("spirv-val is older than cooperative matrices, or not there: HEARTH_SPIRV_VAL names another one");
      }
      INFO(text);
      CHECK(status == 0);
    }
  }
}

TEST_CASE("kernels of ONNX's cases are valid modules; what a small device lacks is refused by feature") {
  std::vector<DigestCase> cases = cases_of_group("onnx");
  if (cases.empty()) SKIP_CASE("ONNX's cases are not installed");
  std::shuffle(cases.begin(), cases.end(), std::mt19937_64(test::fresh_seed()));
  const std::size_t wanted = test::fresh_count(300);
  std::vector<Named> drawn;
  for (const DigestCase& c : cases) {
    const absl::StatusOr<v1::Graph> graph = c.graph();
    if (!graph.ok()) continue;  // it needs what is fed at run time, or is not supported: the next is drawn
    drawn.push_back({c.name, *graph});
    if (drawn.size() == wanted) break;
  }
  REQUIRE(drawn.size() >= std::min(wanted, cases.size() / 2));
  const Modules all = check_cases(drawn, "vulkan:lavapipe");
  CHECK(all.kernels > 0);
  CHECK(all.refused.empty());
  CHECK(check_cases(drawn, "vulkan:minimal").kernels > 0);
}

}  // namespace hearth::digests
