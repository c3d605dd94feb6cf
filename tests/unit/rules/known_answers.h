// Known answers: what Z3 has said of a formula it says again, so that a run asks it only for formulas that are new, and for
// a sixteenth of the others, drawn anew each time, so that no wrong answer lives long. A formula is known by the digest of
// Z3's version, how it is asked (solver and limit of work, which decide what is left unknown) and its whole text,
// declarations included: who changes a rule, or how one is encoded, asks anew. One object a thread. Example:
//   const z3::check_result found = known_answers().check(solver, "i16, 150000");
//
// The list is tests/unit/rules/known_answers.txt. HEARTH_Z3_ALL=1 (and HEARTH_TEST_LONG) asks for every formula; HEARTH_Z3_WRITE=FOLDER writes
// what was asked into a file there, named after the process; `sort -u` of these files is the list.
#pragma once
#include <z3++.h>

#include <cstdint>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

namespace hearth::test {

class KnownAnswers {
 public:
  // Lines of 16 digits and "sat", "unsat" or "unknown". One in `ask_one_in` known formulas is asked for all the same.
  KnownAnswers(const std::string& list, unsigned ask_one_in, std::uint64_t seed);
  ~KnownAnswers();
  KnownAnswers(const KnownAnswers&) = delete;
  KnownAnswers& operator=(const KnownAnswers&) = delete;

  // Throws std::runtime_error when Z3 contradicts what is known. After an answer that was known the solver has no
  // model.
  z3::check_result check(z3::solver& solver, const std::string& how);

  std::size_t num_known() const { return num_known_; }
  std::size_t num_asked() const { return num_asked_; }

 private:
  std::unordered_map<std::uint64_t, z3::check_result> answers_;
  const unsigned ask_one_in_;
  std::mt19937_64 random_;
  std::vector<std::string> written_;
  std::size_t num_known_ = 0, num_asked_ = 0;
};

// The counterexample that the solver has found; an answer that was known has none any more.
std::string model_of(z3::solver& solver);

// Of this program.
KnownAnswers& known_answers();

}  // namespace hearth::test
