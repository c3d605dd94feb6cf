#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/kernel_abi.h"
#include "base/sha256.h"
#include "runtime/devices/devices.h"
#include "runtime/hal/cpu/artifact_loader.h"
#include "runtime/hal/cpu/cpu_device.h"
#include "runtime/hal/cpu/cpu_target.h"
#include "runtime/replay/loaded_plan.h"
#include "tests/unit/runtime/kernel_factory.h"

using namespace hearth::runtime;
using namespace hearth::testing;

namespace {

std::string message(const absl::Status& status) { return std::string(status.message()); }

ArtifactSource answer_kernel(int answer) {
  return compile_kernel(
      "void answer(void* const* b, const int64_t* v, int64_t i, int64_t j) { (void)v; (void)i; (void)j;\n"
      "  *(int32_t*)b[0] = " +
      std::to_string(answer) + "; }\n");
}

int ask(const CpuArtifact& artifact) {
  auto function = reinterpret_cast<hearth_kernel_fn>(artifact.symbol("answer"));
  REQUIRE(function);
  std::int32_t result = 0;
  void* buffers[] = {&result};
  function(buffers, nullptr, 0, 1);
  return result;
}

}  // namespace

TEST_CASE("artifacts load by path and by bytes, once a process while held") {
  ArtifactSource source = answer_kernel(41);
  auto by_path = load_cpu_artifact(source);
  REQUIRE(by_path.ok());
  CHECK(ask(**by_path) == 41);
  CHECK(load_cpu_artifact(source)->get() == by_path->get());
  ArtifactSource bytes = answer_kernel(42);
  bytes.path.clear();
  auto by_bytes = load_cpu_artifact(bytes);
  INFO(by_bytes.status().ToString());
  REQUIRE(by_bytes.ok());
  CHECK(ask(**by_bytes) == 42);
}

TEST_CASE("many artifacts through reused descriptor numbers stay apart") {
  std::vector<std::shared_ptr<const CpuArtifact>> held;
  for (int i = 0; i < 12; ++i) {
    ArtifactSource source = answer_kernel(100 + i);
    if (i % 2) source.path.clear();
    auto artifact = load_cpu_artifact(source);
    REQUIRE(artifact.ok());
    held.push_back(*artifact);
  }
  for (int i = 0; i < 12; ++i) CHECK(ask(*held[static_cast<std::size_t>(i)]) == 100 + i);
}

TEST_CASE("a flipped byte in an artifact is refused before it is loaded") {
  ArtifactSource source = answer_kernel(7);
  std::string bytes = source.bytes;
  bytes[bytes.size() / 2] ^= 1;
  source.path = scratch_folder() + "/flipped.so";
  std::ofstream(source.path, std::ios::binary) << bytes;
  std::filesystem::permissions(source.path, std::filesystem::perms::owner_read);
  absl::Status status = load_cpu_artifact(source).status();
  CHECK(absl::IsDataLoss(status));
  CHECK_THAT(message(status), Catch::Contains("flipped.so has the digest"));
  source.path.clear();
  source.bytes = bytes;
  CHECK(absl::IsDataLoss(load_cpu_artifact(source).status()));
}

TEST_CASE("an artifact's file that is cut short or overwritten after it was loaded changes nothing in the process") {
  for (const int answer : {43, 44}) {
    ArtifactSource source = answer_kernel(answer);
    const std::string path = scratch_folder() + "/cut" + std::to_string(answer) + ".so";
    std::filesystem::copy_file(source.path, path);
    source.path = path;
    const auto artifact = load_cpu_artifact(source);
    REQUIRE(artifact.ok());
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    if (answer == 43) {
      std::filesystem::resize_file(path, 0);
    } else {
      std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << std::string(source.bytes.size(), '\xcc');
    }
    CHECK(ask(**artifact) == answer);  // no SIGBUS, no other code
  }
}

TEST_CASE("links, foreign modes, missing files and non-libraries are refused by name") {
  namespace fs = std::filesystem;
  ArtifactSource source = answer_kernel(8);
  const std::string original = source.path;
  source.path = scratch_folder() + "/link.so";
  fs::create_symlink(original, source.path);
  CHECK_THAT(message(load_cpu_artifact(source).status()), Catch::Contains("symbolic link"));
  source.path = scratch_folder() + "/loose.so";
  fs::copy_file(original, source.path);
  fs::permissions(source.path, fs::perms::owner_all | fs::perms::others_write);
  CHECK_THAT(message(load_cpu_artifact(source).status()), Catch::Contains("writable by others"));
  source.path = scratch_folder() + "/missing.so";
  CHECK(absl::IsNotFound(load_cpu_artifact(source).status()));
  source.path = scratch_folder();
  CHECK_THAT(message(load_cpu_artifact(source).status()), Catch::Contains("not a regular file"));
  ArtifactSource text{hearth::to_bytes(hearth::sha256("not a library")), "", "not a library"};
  CHECK_THAT(message(load_cpu_artifact(text).status()), Catch::Contains("cannot be loaded"));
}

TEST_CASE("a plan for features this CPU lacks is refused by their names", "[host]") {
  SaxpyPlan made = saxpy_plan(10, false);
  made.plan.mutable_target()->add_features("time-travel");
  const float scale = 1;
  const std::string bytes = made.plan.SerializeAsString();
  LoadRequest request;
  request.find = &hearth::runtime::find_device;
  request.plan = bytes;
  request.artifacts = made.artifacts;
  request.parameters["a"] = {&scale, 4, nullptr};
  const absl::Status status = LoadedPlan::create(request).status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK_THAT(message(status), Catch::Contains("lacks: time-travel"));

  hearth::v1::Target target = cpu_target(1);
  target.set_abi_version(99);
  CHECK_THAT(message(check_cpu_target(target)), Catch::Contains("ABI version 99"));
  target = cpu_target(1);
  target.set_triple("riscv64-unknown-linux-gnu");
  CHECK_THAT(message(check_cpu_target(target)), Catch::Contains("riscv64"));
}

TEST_CASE("missing artifacts and symbols are named", "[host]") {
  SaxpyPlan made = saxpy_plan(10, false);
  const float scale = 1;
  LoadRequest request;
  request.find = &hearth::runtime::find_device;
  request.parameters["a"] = {&scale, 4, nullptr};
  std::string bytes = made.plan.SerializeAsString();
  request.plan = bytes;
  CHECK_THAT(message(LoadedPlan::create(request).status()), Catch::Contains("was not delivered"));
  hearth::v1::Plan without_code = made.plan;
  without_code.mutable_kernels(0)->clear_artifact();
  bytes = without_code.SerializeAsString();
  request.plan = bytes;
  CHECK_THAT(message(LoadedPlan::create(request).status()), Catch::Contains("the plan names no artifact"));
  bytes = made.plan.SerializeAsString();
  request.plan = bytes;
  request.artifacts = made.artifacts;
  made.plan.mutable_kernels(1)->set_symbol("substract");
  bytes = made.plan.SerializeAsString();
  request.plan = bytes;
  CHECK_THAT(message(LoadedPlan::create(request).status()), Catch::Contains("kernel 'substract'"));
}

TEST_CASE("the host's target is sorted, unique and can be restricted") {
  const hearth::v1::Target target = cpu_target(3);
  CHECK(target.device() == "cpu");
  CHECK(target.threads() == 3);
  CHECK(cpu_target(0).threads() == static_cast<unsigned>(available_cpus()));
  std::vector<std::string> features(target.features().begin(), target.features().end());
  CHECK(std::is_sorted(features.begin(), features.end()));
  CHECK(std::adjacent_find(features.begin(), features.end()) == features.end());
  REQUIRE_FALSE(features.empty());
  setenv("HEARTH_CPU_FEATURES", (features[0] + ",no-such-feature").c_str(), 1);
  const hearth::v1::Target restricted = cpu_target(3);
  unsetenv("HEARTH_CPU_FEATURES");
  REQUIRE(restricted.features_size() == 1);
  CHECK(restricted.features(0) == features[0]);
  CHECK(restricted.vector_bits() == (features[0] == "avx" ? 256 : 128));
}
