// The same graph gives the same bytes, whatever the folder, the environment and what ran before.
#include <catch2/catch.hpp>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/integration/place.h"
#include "tests/unit/onnx/model_builder.h"

using namespace hearth::integration;

namespace {

// CAS file name -> bytes.
std::map<std::string, std::string> stored_artifacts(const Place& place) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(place.cache()) / "cas")) {
    if (entry.is_regular_file()) files[entry.path().filename().string()] = content(entry.path());
  }
  return files;
}

// Some model that is not the one under test.
std::string other_model(const Place& place, int length) {
  hearth::onnx::ModelBuilder model(17);
  model.input("x", {length, 3}).node("Softmax", {"x"}, {"s"}).node("Exp", {"s"}, {"y"}).output("y");
  return place.write("other" + std::to_string(length) + ".onnx", model.proto().SerializeAsString());
}

nlohmann::json prepare(Place& place, const std::string& model) {
  return place.json({"hearth", "run", model, "--threads", "2", "--json"});
}

}  // namespace

TEST_CASE("two fresh caches with different pasts hold the same plan and artifacts") {
  const std::string digits = source_dir() / "examples" / "digits" / "digits.onnx";
  Place plain;
  const auto expected = prepare(plain, digits);
  const auto wanted = stored_artifacts(plain);

  Place lived;
  lived.environment()["HEARTH_CACHE_DIR"] = lived.file("another/much/longer/path/of/a/cache");
  lived.environment()["HEARTH_CACHE_LIMIT"] = "512M";
  lived.environment()["HEARTH_WORKERS"] = "1";
  lived.environment()["PADDING"] = std::string(5000, 'x');
  for (const int length : {5, 7, 11}) prepare(lived, other_model(lived, length));
  lived.json({"hearth", "explain", digits, "--threads", "1", "--json"});
  lived.json({"hearth", "run", digits, "--threads", "1", "--json"});
  lived.stop_daemon();
  fs::rename(lived.environment()["HEARTH_CACHE_DIR"], lived.file("past"));
  fs::create_directory(lived.cache());
  lived.environment()["HEARTH_CACHE_DIR"] = lived.cache();
  fs::permissions(lived.cache(), fs::perms::owner_all);
  prepare(lived, other_model(lived, 13));
  const auto before = stored_artifacts(lived);
  const auto actual = prepare(lived, digits);
  auto found = stored_artifacts(lived);
  for (const auto& [name, bytes] : before) found.erase(name);

  CHECK(actual["plan_key"] == expected["plan_key"]);
  CHECK(actual["compiled_kernels"] == expected["kernels"]);
  int others = 0, artifacts = 0;
  for (const auto& [name, bytes] : wanted)
    (bytes.rfind("\x7f"
                 "ELF",
                 0) == 0
         ? artifacts
         : others)++;
  CHECK(others == 2);  // the plan, and what it read of tuning records
  CHECK(artifacts == expected["kernels"]);
  REQUIRE(found.size() == wanted.size());
  for (const auto& [name, bytes] : wanted) {
    INFO(name);
    REQUIRE(found.count(name) == 1);
    CHECK((found[name] == bytes));
  }
  std::cout << "determinism: " << others << " other files and " << artifacts
            << " artifacts are byte-identical in two fresh caches\n";
}
