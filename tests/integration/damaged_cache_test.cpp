// One flipped byte in a file of the cache: found before it is used, put aside, made again once.
#include <signal.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tests/integration/place.h"

using namespace hearth::integration;

namespace {

struct File {
  fs::path path;
  std::string bytes;
  bool is_artifact;
};

std::vector<File> cas(const Place& place) {
  std::vector<File> files;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(place.cache()) / "cas")) {
    if (!entry.is_regular_file()) continue;
    const std::string bytes = content(entry.path());
    files.push_back({entry.path(), bytes,
                     bytes.rfind("\x7f"
                                 "ELF",
                                 0) == 0});
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.path < b.path; });
  return files;
}

// Replaces the file, as a bad disk would; never writes into it, since clients may have it mapped.
void flip_byte(const File& file, std::size_t at) {
  std::string bytes = file.bytes;
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  const fs::path beside = file.path.string() + ".damaged";
  std::ofstream(beside, std::ios::binary) << bytes;
  fs::permissions(beside, fs::perms::owner_read);
  fs::rename(beside, file.path);
}

std::string output_of(const nlohmann::json& run) { return content(run["outputs"][0]["file"].get<std::string>()); }

}  // namespace

TEST_CASE("a flipped byte in a cached file is found and repaired") {
  Place place;
  const auto run = [&](const std::string& out) {
    return place.json({"hearth", "run", source_dir() / "examples" / "digits" / "digits.onnx", "--threads", "2",
                       "--output-dir", place.file(out), "--json"});
  };
  const auto expected = run("first");
  const std::string bytes = output_of(expected);
  const std::vector<File> files = cas(place);

  struct Damage {
    const char* what;
    bool artifact, restart;
    int compiled;
  };
  // A daemon that runs has checked the file before; its client has not.
  const Damage damages[] = {{"artifact, daemon restarted", true, true, 1},
                            {"artifact, daemon running", true, false, 1},
                            {"plan, daemon restarted", false, true, 0}};
  for (const Damage& damage : damages) {
    INFO(damage.what);
    // Beside the plan lies what it read of tuning records, which is smaller.
    const auto file = std::max_element(files.begin(), files.end(), [&](const File& a, const File& b) {
      return std::pair(a.is_artifact == damage.artifact, a.bytes.size()) <
             std::pair(b.is_artifact == damage.artifact, b.bytes.size());
    });
    REQUIRE((file != files.end() && file->is_artifact == damage.artifact));
    if (damage.restart) {
      place.stop_daemon();
    } else {
      place.json({"hearth", "daemon", "start", "--json"});
    }
    const auto count = [&](const char* what) { return place.stats()[what].get<int>(); };
    const int compiled_before = damage.restart ? 0 : count("kernels_compiled");
    const int quarantined_before = damage.restart ? 0 : count("quarantined");
    flip_byte(*file, file->bytes.size() / 2);
    const auto again = run(damage.what);
    CHECK(output_of(again) == bytes);
    CHECK(again["plan_key"] == expected["plan_key"]);
    const int compiled = count("kernels_compiled") - compiled_before;
    const int quarantined = count("quarantined") - quarantined_before;
    CHECK(compiled == damage.compiled);
    CHECK(quarantined == 1);
    CHECK(content(file->path) == file->bytes);  // the same bytes as before, under the same name
    const auto third = run("third");
    CHECK(third["compiled_kernels"] == 0);
    CHECK(output_of(third) == bytes);
    const auto verified = place.json({"hearth", "cache", "verify", "--json"});
    CHECK(verified["quarantined"] == 0);
    std::cout << "flipped byte, " << damage.what << ": " << quarantined << " quarantined, " << compiled
              << " recompiled, same outputs\n";
  }
}

TEST_CASE("hearth cache verify finds a flipped byte") {
  Place place;
  const fs::path model = source_dir() / "examples" / "digits" / "digits.onnx";
  const auto expected = place.json({"hearth", "run", model, "--threads", "2", "--json"});
  flip_byte(cas(place).front(), 0);
  const Ran verify = place.run({"hearth", "cache", "verify", "--json"});
  CHECK(verify.code == 1);
  CHECK(nlohmann::json::parse(verify.out)["quarantined"] == 1);
  const auto again = place.json({"hearth", "run", model, "--threads", "2", "--json"});
  CHECK(again["plan_key"] == expected["plan_key"]);
  CHECK(place.json({"hearth", "cache", "verify", "--json"})["quarantined"] == 0);
}
