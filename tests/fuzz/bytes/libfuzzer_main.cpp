// One target under libFuzzer: HEARTH_FUZZ_TARGET names it. Built with clang where HEARTH_LIBFUZZER is on:
//   HEARTH_FUZZ_TARGET="plan file" build/libfuzzer/bin/hearth-libfuzzer -max_total_time=600 corpus/
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/fuzz/bytes/target.h"

namespace {

const hearth::fuzz::Target& chosen() {
  static const hearth::fuzz::Target* const target = [] {
    const char* name = std::getenv("HEARTH_FUZZ_TARGET");
    for (const hearth::fuzz::Target& t : hearth::fuzz::targets())
      if (name != nullptr && t.name == name) return &t;
    std::fprintf(stderr, "HEARTH_FUZZ_TARGET is one of:\n");
    for (const hearth::fuzz::Target& t : hearth::fuzz::targets()) std::fprintf(stderr, "  %s\n", t.name.c_str());
    std::exit(2);
  }();
  return *target;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  hearth::fuzz::Answer answer;
  const std::string what = chosen().run(std::string(reinterpret_cast<const char*>(data), size), &answer);
  if (what.empty()) return 0;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

// Of what is decoded from a message, mutants that are messages are worth more than changed bytes.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  const hearth::fuzz::Target& target = chosen();
  if (!target.mutate || seed % 2 == 0) return LLVMFuzzerMutate(data, size, max_size);
  hearth::fuzz::Random random(seed);
  const std::string mutant = target.mutate(std::string(reinterpret_cast<const char*>(data), size), random);
  if (mutant.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, mutant.data(), mutant.size());
  return mutant.size();
}
