// A plan that computes 3x + y, written to plan files, and such files with another manifest.
#pragma once
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/sha256.h"
#include "hearth/ops.h"
#include "hearth/plan_file.h"
#include "hearth/v1/plan_file.pb.h"
#include "tests/unit/client/fake_service.h"

namespace hearth::testing {

inline const std::vector<float> kScale = {3};

inline std::string fresh_path(const std::string& name) {
  static int count = 0;
  return scratch_folder() + "/" + std::to_string(count++) + name;
}

inline client::PreparedPlan prepared(SaxpyPlan made) {
  const std::string folder = fresh_path("plan_file");
  std::filesystem::create_directory(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  const std::string socket = folder + "/d.sock";
  FakeService service(socket, std::move(made));
  const Tensor a = parameter("a", {1}, DType::kF32, bytes_of(kScale));
  const Tensor out = a * input("x", {100}, DType::kF32) + input("y", {100}, DType::kF32);
  auto plan = client::prepare({{"out", out}}, {.socket = socket, .threads = 1, .auto_start = false});
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  return *std::move(plan);
}

inline std::string exported_saxpy(const client::ExportConfig& config = {}) {
  const std::string path = fresh_path(".hearth");
  const absl::Status saved = prepared(saxpy_plan(100, false)).export_to(path, config);
  INFO(saved.message());
  REQUIRE(saved.ok());
  return path;
}

inline std::string content(const std::string& path) { return *runtime::read_file(path); }
inline std::string written(const std::string& bytes) {
  const std::string path = fresh_path(".damaged");
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

inline bool computes_saxpy(const client::PreparedPlan& plan) {
  auto instance = plan.instantiate();
  if (!instance.ok()) return false;
  const std::vector<float> x(100, 2), y(100, 1);
  if (!instance->bind_input("x", x.data(), 400).ok() || !instance->bind_input("y", y.data(), 400).ok()) return false;
  if (!instance->execute().ok()) return false;
  const auto* out = static_cast<const float*>(instance->output("out")->data);
  return std::all_of(out, out + 100, [](float value) { return value == 7; });
}

// The file's manifest changed and its digest and sizes made right again.
inline std::string with_manifest(const std::string& file, const std::function<void(v1::PlanFileManifest&)>& change) {
  std::uint64_t size = 0;
  std::memcpy(&size, file.data() + 24, sizeof size);
  v1::PlanFileManifest manifest;
  REQUIRE(manifest.ParseFromString(file.substr(64, size)));
  change(manifest);
  std::string text = manifest.SerializeAsString();
  const std::uint64_t text_size = text.size();
  const std::string digest = to_bytes(sha256(text));
  text.resize((text.size() + 63) / 64 * 64);
  std::string result = file.substr(0, 64) + text + file.substr(64 + (size + 63) / 64 * 64);
  const std::uint64_t total = result.size();
  std::memcpy(result.data() + 16, &total, sizeof total);
  std::memcpy(result.data() + 24, &text_size, sizeof text_size);
  std::memcpy(result.data() + 32, digest.data(), digest.size());
  return result;
}

}  // namespace hearth::testing
