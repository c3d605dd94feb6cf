// Every file of golden/ is one case: a pass name, a text in and the text expected out (or an error).
//   // pass: fuse
//   // why: what the case shows
//   ...
//   // out:
//   ...
// HEARTH_PRINT_GOLDEN=1 prints what the pass gives, for writing a case by hand.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include "tests/passes/pass_runner.h"

namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string field(const std::string& text, const std::string& name) {
  std::string key = "// " + name + ": ";
  std::size_t at = text.find(key);
  return at == std::string::npos ? "" : text.substr(at + key.size(), text.find('\n', at) - at - key.size());
}

// Without comment lines.
std::string body(const std::string& text) {
  std::stringstream in(text);
  std::string line, out;
  while (std::getline(in, line)) {
    if (line.rfind("//", 0) != 0 && !line.empty()) out += line + "\n";
  }
  return out;
}

}  // namespace

TEST_CASE("every golden case gives its text") {
  std::filesystem::path folder = std::filesystem::path(std::getenv("HEARTH_SOURCE_DIR")) / "tests/passes/golden";
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.insert(entry.path());
  std::set<std::string> seen;
  for (const auto& file : files) {
    INFO(file.filename().string());
    std::string text = read_file(file);
    std::size_t split = text.find("// out:\n");
    REQUIRE(split != std::string::npos);
    std::string pass = field(text, "pass"), input = body(text.substr(0, split)), want = body(text.substr(split));
    seen.insert(pass.substr(0, pass.find(' ')));
    auto got = hearth::tests::run_pass(pass, input);
    std::string output = got.ok() ? *got : "error: " + std::string(got.status().message()) + "\n";
    if (std::getenv("HEARTH_PRINT_GOLDEN")) std::cout << "==== " << file.filename().string() << "\n" << output;
    CHECK(output == want);
  }
  for (const char* pass : {"import",
                           "canonicalize",
                           "split_reductions",
                           "rangeify",
                           "choose_layouts",
                           "fuse",
                           "split",
                           "memory_plan",
                           "plan",
                           "simplify",
                           "compute_at",
                           "materialize_row_values",
                           "share_allocations",
                           "block_rows",
                           "apply_opts",
                           "pack_operands",
                           "expand",
                           "guard_loads",
                           "prove_conditions",
                           "update_in_place",
                           "decompose",
                           "lower_index",
                           "linearize",
                           "merge_loads",
                           "winograd",
                           "arrange_weights"}) {
    INFO(pass);
    CHECK(seen.count(pass) == 1);
  }
}
