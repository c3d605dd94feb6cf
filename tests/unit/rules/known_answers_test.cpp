#include "tests/unit/rules/known_answers.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace hearth::test {
namespace {

// x < LIMIT and x > 5, over integers.
z3::solver above_five(z3::context& context, int limit) {
  z3::solver solver(context);
  const z3::expr x = context.int_const("x");
  solver.add(x > 5 && x < limit);
  return solver;
}

// What the object has learnt, as a list.
std::string list_of(int limit, const char* answer) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "hearth-known-answers-test";
  std::filesystem::create_directories(folder);
  ::setenv("HEARTH_Z3_WRITE", folder.c_str(), 1);
  {
    KnownAnswers learning("", 16, 1);
    z3::context context;
    z3::solver solver = above_five(context, limit);
    learning.check(solver, "here");
  }
  ::unsetenv("HEARTH_Z3_WRITE");
  std::ifstream file(folder / (std::to_string(::getpid()) + ".txt"));
  std::string digest;
  file >> digest;
  std::filesystem::remove_all(folder);
  return digest + " " + answer;
}

}  // namespace

TEST_CASE("known answers: a formula that is known is not asked for, one that differs is", "[others]") {
  KnownAnswers answers(list_of(6, "unsat"), 1'000'000, 1);
  z3::context context;
  z3::solver known = above_five(context, 6), other = above_five(context, 7), satisfiable = above_five(context, 8);
  CHECK(answers.check(known, "here") == z3::unsat);
  CHECK((answers.num_known() == 1 && answers.num_asked() == 0));
  CHECK(answers.check(other, "here") == z3::sat);
  CHECK(answers.check(satisfiable, "here") == z3::sat);
  CHECK(answers.check(satisfiable, "here") == z3::sat);
  CHECK((answers.num_known() == 2 && answers.num_asked() == 2));
  CHECK(answers.check(known, "with another limit") == z3::unsat);
  CHECK(answers.num_asked() == 3);
}

TEST_CASE("known answers: a wrong one is found out when its turn comes", "[others]") {
  z3::context context;
  KnownAnswers wrong(list_of(8, "unsat"), 1, 1);
  z3::solver solver = above_five(context, 8);
  CHECK_THROWS_WITH(wrong.check(solver, "here"), Catch::Contains("Z3 contradicts"));
  KnownAnswers seldom(list_of(8, "unsat"), 16, 1);
  int believed = 0;
  try {
    for (; believed < 10'000; ++believed) seldom.check(solver, "here");
  } catch (const std::runtime_error&) {
  }
  CHECK(believed < 1'000);
}

}  // namespace hearth::test
