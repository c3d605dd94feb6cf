#include "tests/conformance/onnx/expected_cases.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace hearth::conformance {

using onnx::Verdict;

ExpectedCases::ExpectedCases() {
  const std::string path = std::string(std::getenv("HEARTH_SOURCE_DIR")) + "/tests/conformance/onnx/refused_cases.txt";
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t words = line.find(" | "), why = line.find(" | ", words + 3);
    if (words == std::string::npos || why == std::string::npos) throw std::runtime_error(path + ": " + line);
    refusals_[line.substr(0, words)] = line.substr(words + 3, why - words - 3);
  }
  if (refusals_.empty()) throw std::runtime_error(path + " has no case");
}

std::string ExpectedCases::complaint(const std::string& name, Verdict verdict, const std::string& reason) {
  if (!seen_.insert(name).second) return name + ": two cases of this name";
  const auto refusal = refusals_.find(name);
  const std::string got = name + ": " + std::string(to_string(verdict)) + " " + reason;
  if (refusal == refusals_.end()) return verdict == Verdict::kPassed ? "" : got;
  if (verdict == Verdict::kUnsupported && reason.find(refusal->second) != std::string::npos) return "";
  return got + "; expected a refusal with the words '" + refusal->second + "'";
}

std::vector<std::string> ExpectedCases::never_seen() const {
  std::vector<std::string> names;
  for (const auto& [name, words] : refusals_) {
    if (!seen_.contains(name)) names.push_back(name);
  }
  return names;
}

}  // namespace hearth::conformance
