// hearth onnx conformance and check, through a daemon of this test's own.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/support/skip.h"
#include "tests/unit/cli/program.h"

using namespace hearth::cli;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

const fs::path kCases = "/usr/share/libonnx-testdata/data/node";

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("hearth onnx conformance: numbers through the daemon, a wrong case told apart, a table") {
  if (!fs::exists(kCases)) SKIP_CASE("ONNX's test cases are not installed (libonnx-testdata)");
  const fs::path folder = fs::path(scratch_dir()) / "cases";
  fs::create_directories(folder);
  fs::copy(kCases / "test_relu", folder / "right", fs::copy_options::recursive);
  fs::copy(kCases / "test_relu", folder / "wrong", fs::copy_options::recursive);
  fs::copy_file(folder / "wrong/test_data_set_0/input_0.pb", folder / "wrong/test_data_set_0/output_0.pb",
                fs::copy_options::overwrite_existing);
  fs::copy(kCases / "test_strnormalizer_nostopwords_nochangecase", folder / "strings", fs::copy_options::recursive);

  const std::string table = (folder / "table.md").string();
  const Ran ran =
      run_with_daemon("hearth", "onnx conformance " + folder.string() + " --threads 1 --json --markdown " + table);
  INFO(ran.err);
  CHECK(ran.code == 1);
  const auto json = nlohmann::json::parse(ran.out);
  CHECK(json["cases"] == 3);
  CHECK(json["passed"] == 1);
  CHECK(json["failed"] == 1);
  CHECK(json["unsupported"] == 1);
  for (const auto& result : json["results"]) {
    const std::string name = result["name"];
    CHECK(result["verdict"] == (name == "right" ? "passed" : name == "wrong" ? "failed" : "unsupported"));
    CHECK(result["reason"].get<std::string>().empty() == (name == "right"));
  }
  CHECK_THAT(content_of(table), Contains("1 of 3 cases pass") && Contains("| Relu | 1 | 2 |"));
  // A second run replaces the first one's table, and leaves a file alone that has no place for one.
  fs::remove_all(folder / "wrong");
  CHECK(run_with_daemon("hearth", "onnx conformance " + folder.string() + " --markdown " + table).code == 0);
  CHECK_THAT(content_of(table), Contains("1 of 2 cases pass") && !Contains("of 3 cases"));
  std::ofstream(folder / "other.md") << "mine\n";
  const Ran other = run_with_daemon(
      "hearth", "onnx conformance " + folder.string() + " --markdown " + (folder / "other.md").string());
  CHECK(other.code == 1);
  CHECK_THAT(other.err, Contains("other.md"));
  CHECK(content_of(folder / "other.md") == "mine\n");
  run_with_daemon("hearth", "daemon stop");
}

TEST_CASE("hearth onnx check lists what is missing, without a daemon") {
  const Ran good = run_program("hearth", "onnx check " + source_dir() + "/examples/digits/digits.onnx");
  INFO(good.out << good.err);
  CHECK(good.code == 0);
  CHECK_THAT(good.out, Contains("all supported"));
  const fs::path strings = kCases / "test_strnormalizer_nostopwords_nochangecase/model.onnx";
  if (!fs::exists(strings)) SKIP_CASE("ONNX's test cases are not installed (libonnx-testdata)");
  const Ran bad = run_program("hearth", "onnx check " + strings.string() + " --json");
  CHECK(bad.code == 1);
  const auto json = nlohmann::json::parse(bad.out);
  REQUIRE(json["missing"].size() == 1);
  CHECK(json["missing"][0]["operator"] == "StringNormalizer");
}

TEST_CASE("hearth onnx refuses folders without cases and files that are no models") {
  CHECK_THAT(run_program("hearth", "onnx conformance " + scratch_dir() + "/none").err, Contains("no test case"));
  CHECK(run_program("hearth", "onnx check " + source_dir() + "/README.md").code == 1);
  CHECK(run_program("hearth", "onnx").code == 2);
}
