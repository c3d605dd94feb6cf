#include "tests/support/report.h"

#include <sys/random.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <mutex>

#include "tests/support/fresh_seed.h"
#include "tests/support/skip.h"

namespace hearth::test {
namespace {

struct Report {
  std::mutex mutex;
  std::vector<ReportRow> rows;
};
Report& report() {
  static Report report;
  return report;
}

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace

void add_to_report(ReportRow::Kind kind, const std::string& text) {
  std::lock_guard lock(report().mutex);
  ReportRow row{kind, Catch::getResultCapture().getCurrentTestName(), text};
  const bool known = std::ranges::any_of(report().rows, [&](const ReportRow& other) {
    return other.test_case == row.test_case && other.text == row.text;
  });
  if (!known) report().rows.push_back(std::move(row));
}

std::vector<ReportRow> report_rows() {
  std::lock_guard lock(report().mutex);
  return report().rows;
}

void skip_part(const std::string& reason) { add_to_report(ReportRow::Kind::Part, reason); }

void skip_rest(const std::string& reason) {
  add_to_report(ReportRow::Kind::Whole, reason);
  SUCCEED("skipped: " << reason);  // for Catch, which fails a case without an assertion
}

std::uint64_t fresh_seed() {
  std::uint32_t drawn = 0;  // short enough to be typed
  if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn) std::abort();
  const std::uint64_t seed = number_from_environment("HEARTH_FUZZ_SEED", drawn);
  add_to_report(ReportRow::Kind::Seed, "HEARTH_FUZZ_SEED=" + std::to_string(seed));
  return seed;
}

std::uint64_t fresh_count(std::uint64_t usual) { return number_from_environment("HEARTH_FUZZ_COUNT", usual); }

}  // namespace hearth::test
