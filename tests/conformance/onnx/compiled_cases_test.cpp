// ONNX's standard test cases on compiled code, as `hearth onnx conformance` runs them: importer, daemon, worker, LLVM,
// replay. Every case where that takes seconds; in a sanitizer's build, and on the device that HEARTH_TEST_DEVICE names, a
// part of them that is drawn anew in every run.
#include <algorithm>
#include <catch2/catch.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/conformance/onnx/expected_cases.h"
#include "tests/integration/place.h"
#include "tests/support/fresh_seed.h"
#include "tests/support/sanitizer.h"
#include "tests/support/skip.h"

namespace hearth::conformance {
namespace {

namespace fs = std::filesystem;

// Copies of `count` cases that are drawn, below `folder`.
void copy_some(const std::string& folder, std::size_t count) {
  std::vector<std::string> cases = onnx::find_cases(ExpectedCases::kFolder);
  std::shuffle(cases.begin(), cases.end(), std::mt19937_64(test::fresh_seed()));
  cases.resize(std::min(cases.size(), count));
  for (const std::string& path : cases) {
    fs::create_directories(folder);
    fs::copy(path, fs::path(folder) / fs::path(path).filename(), fs::copy_options::recursive);
  }
}

TEST_CASE("ONNX's standard cases pass on compiled code, but for those that are listed with a reason") {
  if (!fs::exists(ExpectedCases::kFolder)) SKIP_CASE("ONNX's test cases are not installed (libonnx-testdata)");
  integration::Place place;
  std::string folder = ExpectedCases::kFolder;
  const bool draws = test::kSanitizer || std::getenv("HEARTH_TEST_DEVICE") != nullptr;
  if (draws) {
    folder = place.file("cases");
    copy_some(folder, test::fresh_count(test::kSanitizer ? 100 : 200));
  }
  const integration::Ran ran =
      place.start({"hearth", "onnx", "conformance", folder, "--threads", "1", "--json"}).wait();
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const auto json = nlohmann::json::parse(ran.out);
  ExpectedCases expected;
  std::size_t passed = 0;
  for (const auto& row : json["results"]) {
    const std::string verdict = row["verdict"];
    const bool has_passed = verdict == to_string(onnx::Verdict::kPassed);
    passed += has_passed ? 1 : 0;
    CHECK(expected.complaint(row["name"],
                             has_passed                                          ? onnx::Verdict::kPassed
                             : verdict == to_string(onnx::Verdict::kUnsupported) ? onnx::Verdict::kUnsupported
                                                                                 : onnx::Verdict::kFailed,
                             row["reason"]) == "");
  }
  if (!draws) {
    CHECK(expected.num_seen() == ExpectedCases::kNumCases);
    CHECK(expected.never_seen() == std::vector<std::string>{});
  }
  // Nothing but a compiled plan gave the results: a case is at least one plan, though equal ones are compiled once.
  const auto stats = place.stats();
  INFO(stats.dump());
  CHECK(stats["plan_misses"].get<std::size_t>() + stats["plan_hits"].get<std::size_t>() >= passed);
  CHECK(stats["kernels_compiled"].get<std::size_t>() >= passed / 3);
  CHECK(stats["plan_errors"] == 0);
  std::cout << "ONNX's cases on compiled code: " << passed << " of " << json["results"].size() << " passed, "
            << stats["kernels_compiled"] << " kernels compiled, " << ran.wall_ms / 1000 << " s\n";
}

}  // namespace
}  // namespace hearth::conformance
