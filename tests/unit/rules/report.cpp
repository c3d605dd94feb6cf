#include "tests/unit/rules/report.h"

#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

namespace hearth::test {
namespace {

std::vector<std::string>& lines() {
  static std::vector<std::string>& all = *new std::vector<std::string>;
  return all;
}

class WriteReport : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;
  void testRunEnded(const Catch::TestRunStats&) override {
    for (const std::string& line : lines()) std::printf("%s\n", line.c_str());
    std::fflush(stdout);
    const char* name = std::getenv("HEARTH_TEST_REPORT");  // a path that ends in what ctest calls this run
    const char* programs = std::getenv("HEARTH_BIN_DIR");
    if (name == nullptr || programs == nullptr) return;
    const auto folder = std::filesystem::path(programs).parent_path() / "reports";
    std::filesystem::create_directories(folder);
    std::ofstream file(folder / (std::filesystem::path(name).filename().string() + ".txt"));
    for (const std::string& line : lines()) file << line << "\n";
  }
};
CATCH_REGISTER_LISTENER(WriteReport)

}  // namespace

void report(const std::string& line) { lines().push_back(line); }

}  // namespace hearth::test
