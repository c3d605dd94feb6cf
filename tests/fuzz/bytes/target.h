// A decoder that is given hostile bytes: by bytes_fuzz_test in every run, by libFuzzer where HEARTH_LIBFUZZER is on.
//
//   for (const Target& target : targets()) for (…) target.run(mutant_of(target, random));
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tests/fuzz/bytes/mutate.h"

namespace hearth::fuzz {

struct Answer {
  bool accepted = false;
  std::string message;  // of a refusal
};

struct Target {
  std::string name;
  std::vector<std::string> corpus;  // sound inputs
  // Must neither crash nor throw: "" or what is wrong with the answer.
  std::function<std::string(const std::string& bytes, Answer* answer)> run;
  // A mutant that stays deep: of a message, or with digests made right again. Empty: bytes are mutated.
  std::function<std::string(const std::string& bytes, Random& random)> mutate = {};
  std::uint64_t num_inputs = 500;  // half of them from fixed seeds, in a run of all tests
};

const std::vector<Target>& targets();
std::string mutant_of(const Target& target, Random& random);

}  // namespace hearth::fuzz
