// Which of ONNX's standard test cases must pass, and which must be refused in which words (refused_cases.txt).
//
//   ExpectedCases expected;
//   CHECK(expected.complaint("test_relu", Verdict::kPassed, "") == "");
//   CHECK(expected.never_seen() == std::vector<std::string>{});
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "client/onnx/conformance.h"

namespace hearth::conformance {

class ExpectedCases {
 public:
  static constexpr const char* kFolder = "/usr/share/libonnx-testdata/data";  // Debian's libonnx-testdata
  static constexpr int kNumCases = 1081;

  ExpectedCases();
  // "" when the outcome of a case is the expected one.
  std::string complaint(const std::string& name, onnx::Verdict verdict, const std::string& reason);
  int num_seen() const { return static_cast<int>(seen_.size()); }
  // Names in the list that no case had.
  std::vector<std::string> never_seen() const;

 private:
  std::map<std::string, std::string> refusals_;  // words of the refusal, by case
  std::set<std::string> seen_;
};

}  // namespace hearth::conformance
