// What test cases say beside passing or failing (skip.h, fresh_seed.h), until catch_main.cpp writes it down.
// Thread-safe.
#pragma once
#include <string>
#include <vector>

namespace hearth::test {

struct ReportRow {
  enum class Kind { Whole, Part, Seed };  // a skip of the whole case or of a part; a seed that was drawn
  Kind kind;
  std::string test_case;
  std::string text;
};

// Once each; of the test case that runs.
void add_to_report(ReportRow::Kind kind, const std::string& text);
std::vector<ReportRow> report_rows();

}  // namespace hearth::test
