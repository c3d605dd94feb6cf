// Mutants of bytes and of protobuf messages, as hostile senders make them. Deterministic: the random numbers say all.
//
//   Random random(seed);
//   std::string bytes = mutated_bytes(file, random);         // flipped, cut, repeated, spliced, odd numbers
//   mutate_message(plan, random);                            // fields set, cleared, doubled, exchanged: still a
//   message
#pragma once
#include <google/protobuf/message.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace hearth::fuzz {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t next() { return engine_(); }
  // low .. high, inclusive.
  std::int64_t in(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool one_in(std::int64_t n) { return in(1, n) == 1; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(in(0, static_cast<std::int64_t>(from.size()) - 1))];
  }

 private:
  std::mt19937_64 engine_;  // the same numbers everywhere
};

std::string mutated_bytes(std::string bytes, Random& random);
// The bytes of a message whose schema is not at hand: fields dropped, doubled, exchanged, numbers and lengths changed
// at any depth, lengths of what holds them kept right.
std::string mutated_wire(const std::string& bytes, Random& random);
// One to three fields.
void mutate_message(google::protobuf::Message& message, Random& random);
// A number that is odd in some way: 0, -1, powers of two and their neighbours, the ends of every width.
std::int64_t odd_number(Random& random);
// Text that is odd in some way: empty, long, control characters, no UTF-8, a path upwards.
std::string odd_text(Random& random);

}  // namespace hearth::fuzz
