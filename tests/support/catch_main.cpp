// What every Catch2 program runs: a case that asserts nothing fails; skips and seeds are reported (skip.h, fresh_seed.h).
#define CATCH_CONFIG_RUNNER
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "tests/support/report.h"
#include "tests/support/run_tests.h"

namespace {

using hearth::test::ReportRow;
using Kind = ReportRow::Kind;

constexpr int kSkippedExitCode = 77;  // SKIP_RETURN_CODE of hearth_test_properties in cmake/hearth.cmake

// Cases of which nothing but their skip was asserted. Others that skip their rest are skipped in part.
class CaseCounter : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    ++num_cases;
    if (stats.totals.assertions.total() == 0) num_empty += complain(stats.testInfo.name);
    for (const ReportRow& row : hearth::test::report_rows()) {
      if (row.kind == Kind::Whole && row.test_case == stats.testInfo.name && stats.totals.assertions.total() == 1)
        wholly_skipped.insert(row.test_case);
    }
  }
  static inline std::size_t num_cases = 0;
  static inline int num_empty = 0;
  static inline std::set<std::string> wholly_skipped;

 private:
  static int complain(const std::string& test_case) {
    std::printf("FAILED: %s: it asserts nothing and does not say why (tests/support/skip.h)\n", test_case.c_str());
    return 1;
  }
};
CATCH_REGISTER_LISTENER(CaseCounter)

std::string name_of(const ReportRow& row) {
  if (row.kind == Kind::Seed) return "seed";
  return CaseCounter::wholly_skipped.contains(row.test_case) ? "whole" : "part";
}

// A row a line: "whole", "part" or "seed", case, text, between tabs; no file when there is none.
void write_report(const std::vector<ReportRow>& rows) {
  const char* path = std::getenv("HEARTH_TEST_REPORT");
  if (path == nullptr) return;
  std::remove(path);
  if (rows.empty()) return;
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) {
    std::perror(path);
    std::exit(1);
  }
  for (const ReportRow& row : rows)
    std::fprintf(file, "%s\t%s\t%s\n", name_of(row).c_str(), row.test_case.c_str(), row.text.c_str());
  std::fclose(file);
}

}  // namespace

int hearth::test::run_tests(int argc, char** argv) {
  const int failed = Catch::Session().run(argc, argv);
  const int code = failed != 0 ? failed : CaseCounter::num_empty != 0 ? 1 : 0;
  const std::vector<ReportRow> rows = hearth::test::report_rows();
  for (const ReportRow& row : rows) {
    const char* what = row.kind == Kind::Seed ? "seed" : name_of(row) == "whole" ? "SKIPPED" : "SKIPPED in part";
    std::printf("%s: %s: %s\n", what, row.test_case.c_str(), row.text.c_str());
  }
  write_report(rows);
  const bool nothing_ran = CaseCounter::num_cases > 0 && CaseCounter::wholly_skipped.size() == CaseCounter::num_cases;
  return code == 0 && nothing_ran ? kSkippedExitCode : code;
}
