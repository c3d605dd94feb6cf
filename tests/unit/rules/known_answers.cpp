#include "tests/unit/rules/known_answers.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "base/sha256.h"

namespace hearth::test {
namespace {

constexpr unsigned kAskOneIn = 16;

// Its declarations and assertions. Not to_smt2(): that makes terms of its own, and Z3's luck depends on such things.
std::string text_of(const z3::solver& solver) {
  std::ostringstream text;
  text << solver;
  return text.str();
}

std::uint64_t digest_of(const z3::solver& solver, const std::string& how) {
  const Digest digest = sha256(std::string(Z3_get_full_version()) + "\n" + how + "\n" + text_of(solver));
  std::uint64_t first = 0;
  std::memcpy(&first, digest.data(), sizeof first);
  return first;
}

std::string content(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

KnownAnswers::KnownAnswers(const std::string& list, unsigned ask_one_in, std::uint64_t seed)
    : ask_one_in_(ask_one_in), random_(seed) {
  std::istringstream lines(list);
  std::string digest, answer;
  while (lines >> digest >> answer)
    answers_[std::stoull(digest, nullptr, 16)] = answer == "sat"     ? z3::sat
                                                 : answer == "unsat" ? z3::unsat
                                                                     : z3::unknown;
}

KnownAnswers::~KnownAnswers() {
  const char* folder = std::getenv("HEARTH_Z3_WRITE");
  if (folder == nullptr || written_.empty()) return;
  std::ofstream file(std::string(folder) + "/" + std::to_string(::getpid()) + ".txt");
  for (const std::string& line : written_) file << line << "\n";
}

z3::check_result KnownAnswers::check(z3::solver& solver, const std::string& how) {
  const std::uint64_t digest = digest_of(solver, how);
  const auto known = answers_.find(digest);
  if (known != answers_.end() && random_() % ask_one_in_ != 0) {
    ++num_known_;
    return known->second;
  }
  ++num_asked_;
  const z3::check_result found = solver.check();
  if (known != answers_.end() && found != known->second)
    throw std::runtime_error("Z3 contradicts tests/unit/rules/known_answers.txt about\n" + text_of(solver));
  char line[32];
  std::snprintf(line, sizeof line, "%016llx %s", static_cast<unsigned long long>(digest),
                found == z3::sat     ? "sat"
                : found == z3::unsat ? "unsat"
                                     : "unknown");
  written_.emplace_back(line);
  answers_.emplace(digest, found);
  return found;
}

std::string model_of(z3::solver& solver) {
  try {
    std::ostringstream model;
    model << solver.get_model();
    return model.str();
  } catch (const z3::exception&) {
    return "a counterexample (HEARTH_Z3_ALL=1 shows it)";
  }
}

KnownAnswers& known_answers() {
  static KnownAnswers answers = [] {
    const char* all = std::getenv("HEARTH_Z3_ALL");
    const char* source = std::getenv("HEARTH_SOURCE_DIR");
    const bool asks_all = (all != nullptr && std::string(all) == "1") || std::getenv("HEARTH_TEST_LONG") != nullptr;
    const std::string list =
        asks_all || source == nullptr ? "" : content(std::string(source) + "/tests/unit/rules/known_answers.txt");
    const auto seed = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    std::printf("Z3 is asked for one in %u of the known formulas, drawn with seed %llu\n", kAskOneIn,
                static_cast<unsigned long long>(seed));
    return KnownAnswers(list, kAskOneIn, seed);
  }();
  return answers;
}

}  // namespace hearth::test
