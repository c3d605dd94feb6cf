// hearth-blobc as the runtime calls it: one line of JSON on stdout, whatever happens.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "blobs/library/manifest.h"
#include "blobs/tools/child_process.h"
#include "tests/support/skip.h"
#include "tests/unit/blob_compiler/place.h"

using namespace hearth::blobs;
using namespace hearth::blobs::testing;
using Json = nlohmann::json;

namespace {

struct Answer {
  int exit_code;
  Json line;
  std::string errors;
};

Answer blobc(const std::vector<std::string>& arguments, const std::vector<std::string>& variables = {}) {
  const char* folder = std::getenv("HEARTH_BIN_DIR");
  REQUIRE(folder != nullptr);
  ChildCommand command{.arguments = {std::string(folder) + "/hearth-blobc"}, .environment = minimal_environment({})};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  command.environment.insert(command.environment.end(), variables.begin(), variables.end());
  for (const char* name : {"XDG_CACHE_HOME", "HEARTH_BLOB_CXX"})
    if (const char* value = std::getenv(name)) command.environment.push_back(std::string(name) + "=" + value);
  const auto run = run_child(command);
  REQUIRE(run.ok());
  INFO(run->output);
  REQUIRE(run->output.find('\n') == run->output.size() - 1);  // exactly one line
  return {run->exit_code, Json::parse(run->output), run->errors};
}

std::vector<std::string> direct(const Place& place) {
  return {"--root",      place.root(),        "--stem",   "x",     "--source", "x.cpp", "--toolchain",     "c++",
          "--cache-dir", place.path("cache"), "--export", kExport, "--",       "-O2",   "-I{root}/include"};
}

}  // namespace

TEST_CASE("A miss, a hit, and the same from a manifest") {
  const Place place;
  const Answer first = blobc(direct(place));
  REQUIRE(first.exit_code == 0);
  CHECK(first.line.at("hit") == false);
  CHECK(first.line.at("seconds") > 0);
  CHECK(first.line.at("path") == place.path("cache/x.so"));
  CHECK(first.line.at("sha256").get<std::string>().size() == 64);
  CHECK(first.errors.empty());
  CHECK(call(first.line.at("path"), 2) == 3);
  CHECK(blobc(direct(place)).line.at("hit") == true);
  Manifest manifest{
      "libmha_fwd", kCxxToolchain, {{"x", "fmha_fwd", "x.cpp", {"-O2", "-I{root}/include"}, {}, {kExport}}}};
  const std::string file = place.write("root/ck_jit_manifest.json", manifest_json(manifest));
  const std::vector<std::string> by_manifest = {"--manifest", file, "--stem", "x", "--cache-dir", place.path("cache")};
  CHECK(blobc(by_manifest).line.at("hit") == true);
  const Answer unknown = blobc({"--manifest", file, "--stem", "y", "--cache-dir", place.path("cache")});
  CHECK(unknown.exit_code == 1);
  CHECK(unknown.line.at("code") == 5);
  CHECK(unknown.line.at("message").get<std::string>().find("has no blob y") != std::string::npos);
}

TEST_CASE("Failures are one line with gRPC's code") {
  const Place place;
  place.write("root/x.cpp", "#error \"quotes\" and \\ more\n");
  const Answer wrong = blobc(direct(place));
  CHECK(wrong.exit_code == 1);
  CHECK(wrong.line.at("code") == 9);
  CHECK(wrong.line.at("message").get<std::string>().find("\"quotes\" and \\ more") != std::string::npos);
  CHECK(blobc({"--stem", "x"}).line.at("code") == 3);
  CHECK(blobc({}).line.at("code") == 3);
  CHECK(blobc({"--nonsense"}).line.at("code") == 3);
  CHECK(blobc({"--stem", "x", "--cache-dir", place.path("cache")}).line.at("code") == 3);
  const Answer absent = blobc({"--manifest", place.path("absent.json"), "--stem", "x", "--cache-dir", place.path("c")});
  CHECK(absent.line.at("code") == 5);
  CHECK(absent.line.at("message").get<std::string>().find("absent.json") != std::string::npos);
  const Answer version = blobc({"--manifest", place.write("v.json", "{\"hearth_blob_manifest\": 99}"), "--stem", "x",
                                "--cache-dir", place.path("c")});
  CHECK(version.line.at("code") == 9);
  std::vector<std::string> refused = direct(place);
  refused.emplace_back("-fplugin=/tmp/x.so");
  CHECK(blobc(refused).line.at("code") == 3);
  CHECK(blobc(direct(place), {"HEARTH_BLOB_WALL_S=never"}).line.at("code") == 3);
}

TEST_CASE("Limits from the environment, progress when asked for") {
  Place place;
  place.set("HEARTH_BLOB_CXX", place.stub("slow", "sleep 60"));
  const Answer slow = blobc(direct(place), {"HEARTH_BLOB_WALL_S=1", "CK_JIT_VERBOSE=1"});
  CHECK(slow.line.at("code") == 4);
  CHECK(slow.errors.find("[hearth-blobc] compiling x with ") != std::string::npos);
}

TEST_CASE("hearth blobs doctor: exit 1 when an arch that was asked for is impossible, the same facts in JSON") {
  const char* folder = std::getenv("HEARTH_BIN_DIR");
  REQUIRE(folder != nullptr);
  const std::string hearth = std::string(folder) + "/hearth";
  ChildCommand command{.arguments = {hearth, "blobs", "doctor", "--json", "--arch", "gfx942"},
                       .environment = minimal_environment({}),
                       .wall_limit = std::chrono::minutes(3)};
  if (!std::filesystem::exists(hearth)) SKIP_CASE("the command line is not built");
  const auto run = run_child(command);
  REQUIRE(run.ok());
  const Json reports = Json::parse(run->output);
  REQUIRE(reports.size() == 2);
  CHECK(run->exit_code == (reports[0].at("found") == true ? 0 : 1));
  CHECK(reports[0].contains("host_sources") == (reports[0].at("found") == true));
  command.arguments.back() = "gfx9999";
  const auto impossible = run_child(command);
  REQUIRE(impossible.ok());
  CHECK(impossible->exit_code == 1);
  CHECK(reports[0].at("toolchain") == "hip");
  CHECK(reports[1].at("archs")[0].at("works") == true);
  command.arguments = {hearth, "blobs", "doctor"};
  command.environment = {"PATH=/nowhere", "HOME=/nowhere", "HEARTH_HIPCC=/nowhere/hipcc"};
  const auto nothing = run_child(command);
  REQUIRE(nothing.ok());
  CHECK(nothing->exit_code == 1);
  CHECK(nothing->output.find("HEARTH_HIPCC=/nowhere/hipcc: there is no such program") != std::string::npos);
}
