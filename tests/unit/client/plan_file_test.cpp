// Plan files: what is written is read; damage, other versions, other CPUs and other parameters are named.
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/sha256.h"
#include "hearth/ops.h"
#include "hearth/plan_file.h"
#include "hearth/v1/plan_file.pb.h"
#include "tests/unit/client/fake_service.h"
#include "tests/unit/client/saxpy_file.h"

using namespace hearth;
using namespace hearth::client;
using Catch::Matchers::Contains;
using namespace hearth::testing;

namespace {

std::string message(const absl::StatusOr<PreparedPlan>& plan) { return std::string(plan.status().message()); }

}  // namespace

TEST_CASE("a plan file runs with no daemon") {
  const std::string path = exported_saxpy();
  CHECK(is_plan_file(path));
  CHECK_FALSE(is_plan_file(scratch_folder()));
  const auto plan = load_plan(path);
  INFO(message(plan));
  REQUIRE(plan.ok());
  CHECK(computes_saxpy(*plan));
  CHECK(plan->stats().kernels == 3);
  CHECK(plan->threads() == 1);
  CHECK(load_plan(path, {.threads = 2})->threads() == 2);
  // A loaded plan can be exported again: the same file.
  const std::string again = fresh_path(".hearth");
  REQUIRE(plan->export_to(again).ok());
  CHECK(content(again) == content(path));
  CHECK(plan->export_to("/nowhere/plan").code() == absl::StatusCode::kNotFound);
}

TEST_CASE("a plan is kept in memory as it is in a file") {
  const std::string path = exported_saxpy();
  const auto plan = load_plan(path);
  REQUIRE(plan.ok());
  const auto bytes = plan->export_bytes();
  REQUIRE(bytes.ok());
  CHECK(*bytes == content(path));
  std::string shifted = "x" + *bytes;  // aligned to nothing
  const auto copied = load_plan_bytes(std::string_view(shifted).substr(1));
  shifted.assign(shifted.size(), '\0');
  INFO(message(copied));
  REQUIRE(copied.ok());
  CHECK(computes_saxpy(*copied));
  const auto owned = std::make_shared<const std::string>(*bytes);
  CHECK(computes_saxpy(*load_plan_bytes(*owned, {}, owned)));
  CHECK_THAT(message(load_plan_bytes(std::string_view(*bytes).substr(0, 100))),
             Contains("the plan: the file has 100 bytes"));
  CHECK_THAT(message(load_plan_bytes("")), Contains("the plan: not a plan file"));
  const auto without = plan->export_bytes({.parameters = false});
  REQUIRE(without.ok());
  CHECK(without->size() < bytes->size());
  CHECK_THAT(message(load_plan_bytes(*without)), Contains("parameter 'a' is not in the file and not given"));
  CHECK(computes_saxpy(*load_plan_bytes(*without, {.parameters = {{"a", bytes_of(kScale)}}})));
}

TEST_CASE("parameters may be left out and are checked when given") {
  const std::string path = exported_saxpy({.parameters = false});
  std::vector<float> wrong = {4}, two = {3, 3};
  CHECK(computes_saxpy(*load_plan(path, {.parameters = {{"a", bytes_of(kScale)}}})));
  const auto error = [&](std::map<std::string, ParameterData> parameters) {
    const auto plan = load_plan(path, {.parameters = std::move(parameters)});
    CHECK(plan.status().code() == absl::StatusCode::kInvalidArgument);
    return message(plan);
  };
  CHECK_THAT(error({}), Contains("parameter 'a' is not in the file and not given; it needs 4 bytes"));
  CHECK_THAT(error({{"a", bytes_of(wrong)}}), Contains("parameter 'a' is given other bytes"));
  CHECK_THAT(error({{"a", bytes_of(two)}}), Contains("parameter 'a' is given 8 bytes; the plan needs 4"));
  CHECK_THAT(error({{"a", {nullptr, 4, nullptr}}}), Contains("null pointer"));
  CHECK_THAT(error({{"a", bytes_of(kScale)}, {"b", bytes_of(kScale)}}), Contains("'b' is given; the plan has none"));
  CHECK_THAT(message(load_plan(exported_saxpy(), {.parameters = {{"a", bytes_of(kScale)}}})),
             Contains("'a' is given and in the file"));
}

TEST_CASE("every flipped byte and every cut is noticed") {
  const std::string good = content(exported_saxpy());
  INFO(good.size() << " bytes");
  std::string bytes = good;
  std::size_t accepted = 0, unnamed = 0;
  const std::size_t step = std::max<std::size_t>(1, good.size() / 2000);
  for (std::size_t i = 0; i < good.size(); i += i < 2048 ? 1 : step) {
    bytes[i] = static_cast<char>(bytes[i] ^ 0x10);
    const std::string path = written(bytes);
    const auto plan = load_plan(path);
    accepted += plan.ok();
    unnamed += message(plan).rfind(path + ": ", 0) != 0;
    bytes[i] = good[i];
    std::filesystem::remove(path);
  }
  CHECK(accepted == 0);
  CHECK(unnamed == 0);
  for (std::size_t size = 0; size < good.size(); size += size < 256 ? 1 : good.size() / 100) {
    CHECK_FALSE(load_plan(written(good.substr(0, size))).ok());
  }
  CHECK_THAT(message(load_plan(written(good + std::string(64, '\0')))), Contains("its header says"));
}

TEST_CASE("what is wrong with a plan file is named") {
  const std::string good = content(exported_saxpy());
  const auto changed = [&](std::size_t at, char value) {
    std::string bytes = good;
    bytes[at] = value;
    return load_plan(written(bytes));
  };
  CHECK(changed(0, 'h').status().code() == absl::StatusCode::kInvalidArgument);
  CHECK_THAT(message(changed(0, 'h')), Contains("not a plan file"));
  CHECK(changed(8, 2).status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(message(changed(8, 2)), Contains("plan file version 2; this build reads version 1"));
  CHECK(changed(70, '\xff').status().code() == absl::StatusCode::kDataLoss);
  CHECK_THAT(message(changed(70, '\xff')), Contains("the manifest at offset 64"));
  CHECK_THAT(message(changed(good.size() - 64, '\xff')), Contains("parameter 'a' at offset"));
  CHECK_THAT(message(changed(good.size() - 1, 1)), Contains("the padding after parameter 'a'"));
  CHECK_THAT(message(load_plan(written(good.substr(0, good.size() - 1)))), Contains("its header says"));
  CHECK_THAT(message(load_plan(written(good.substr(0, 20)))), Contains("within its header, after 20 bytes"));
  CHECK(load_plan("/nowhere.hearth").status().code() == absl::StatusCode::kNotFound);
  CHECK(load_plan(scratch_folder()).status().code() == absl::StatusCode::kInvalidArgument);

  const auto manifest = [&](const std::function<void(v1::PlanFileManifest&)>& change) {
    return message(load_plan(written(with_manifest(good, change))));
  };
  CHECK(manifest([](auto&) {}) == "");
  CHECK_THAT(manifest([](auto& m) { m.mutable_sections()->RemoveLast(); }), Contains("bytes follow the last section"));
  CHECK_THAT(manifest([](auto& m) { m.clear_sections(); }), Contains("not one this version understands"));
  CHECK_THAT(manifest([](auto& m) { m.mutable_sections(0)->set_kind(v1::PlanFileSection::ARTIFACT); }),
             Contains("does not belong at place 0"));
  CHECK_THAT(manifest([](auto& m) { m.mutable_sections(1)->set_external(true); }),
             Contains("does not belong at place 1"));
  CHECK_THAT(manifest([](auto& m) { m.mutable_sections(1)->set_size(~std::uint64_t{0} - 3); }),
             Contains("needs 18446744073709551612 bytes"));
  CHECK_THAT(manifest([](auto& m) { m.set_threads(1u << 30); }), Contains("threads is 1073741824"));
  const auto of_type = [&](const std::string& stored) {
    return manifest([&](auto& m) {
      m.mutable_call()->add_inputs()->set_name("x");
      m.mutable_call()->mutable_inputs(0)->set_dtype(static_cast<decltype(m.call().inputs(0).dtype())>(DType::kU8));
      m.mutable_call()->mutable_inputs(0)->set_stored(stored);
    });
  };
  CHECK_THAT(of_type("finfo"), Contains("the call's input 'x' is of the unknown type 'finfo'"));
  CHECK_THAT(of_type("int4"), !Contains("unknown type"));
}

TEST_CASE("an error about a plan file is one line, whatever names the file holds") {
  const std::string hostile = written(with_manifest(content(exported_saxpy()), [](v1::PlanFileManifest& manifest) {
    for (v1::PlanFileSection& section : *manifest.mutable_sections()) {
      if (section.kind() != v1::PlanFileSection::PARAMETER) continue;
      section.set_name("a\nhearth: all is well\x1b[2J");
      section.set_external(true);
    }
  }));
  const absl::StatusOr<PreparedPlan> plan = load_plan(hostile);
  REQUIRE_FALSE(plan.ok());
  CHECK_THAT(message(plan), Contains("parameter 'a\\nhearth: all is well\\x1b[2J' is not in the file"));
}

TEST_CASE("a plan for another CPU names the missing features") {
  const std::string good = content(exported_saxpy());
  std::uint64_t size = 0;
  std::memcpy(&size, good.data() + 24, sizeof size);
  const std::size_t at = 64 + (size + 63) / 64 * 64;  // of the plan, the first section
  std::string bytes = with_manifest(good, [&](v1::PlanFileManifest& manifest) {
    v1::PlanFileSection& section = *manifest.mutable_sections(0);
    v1::Plan plan;
    REQUIRE(plan.ParseFromString(good.substr(at, section.size())));
    plan.mutable_target()->add_features("zz-imagined");
    section.set_size(plan.ByteSizeLong());
    section.set_sha256(to_bytes(sha256(plan.SerializeAsString())));
  });
  // The plan's own bytes, in place of those that follow the manifest.
  std::memcpy(&size, bytes.data() + 24, sizeof size);
  const std::size_t now = 64 + (size + 63) / 64 * 64;
  v1::PlanFileManifest before, after;
  std::uint64_t old_size = 0;
  std::memcpy(&old_size, good.data() + 24, sizeof old_size);
  REQUIRE(before.ParseFromString(good.substr(64, old_size)));
  v1::Plan plan;
  REQUIRE(plan.ParseFromString(good.substr(at, before.sections(0).size())));
  plan.mutable_target()->add_features("zz-imagined");
  std::string text = plan.SerializeAsString();
  text.resize((text.size() + 63) / 64 * 64);
  bytes.replace(now, (before.sections(0).size() + 63) / 64 * 64, text);
  const std::uint64_t total = bytes.size();
  std::memcpy(bytes.data() + 16, &total, sizeof total);
  const auto plan_of_another = load_plan(written(bytes));
  CHECK(plan_of_another.status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(message(plan_of_another), Contains("CPU features this host lacks: zz-imagined"));
}
