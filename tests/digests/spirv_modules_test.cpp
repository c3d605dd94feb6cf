// Every kernel of the models at hand and of a sample of ONNX's cases, drawn anew in every run, is a module that
// SPIRV-Tools finds valid (codegen/spirv/check_module), for a device with everything, for one with next to nothing, and
// for what GPUs report, whose kernels have workgroups and shared memory;
// what is refused names the feature, and is counted. HEARTH_FUZZ_COUNT says how many ONNX cases.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "absl/strings/match.h"
#include "compiler/compile.h"
#include "runtime/devices/named_target.h"
#include "tests/digests/digest_cases.h"
#include "tests/support/fresh_seed.h"
#include "tests/support/skip.h"

namespace hearth::digests {
namespace {

struct Modules {
  std::size_t kernels = 0, with_barriers = 0;
  std::map<std::string, int> refused;  // by feature
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

bool has_barrier(const std::string& module) {
  constexpr std::uint32_t kControlBarrier = 224;
  std::vector<std::uint32_t> words(module.size() / 4);
  std::memcpy(words.data(), module.data(), 4 * words.size());
  for (std::size_t at = kHeaderWords; at < words.size() && words[at] >> 16 != 0; at += words[at] >> 16) {
    if ((words[at] & 0xFFFF) == kControlBarrier) return true;
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
      modules.with_barriers += has_barrier(compiled->artifact().data()) ? 1 : 0;
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
