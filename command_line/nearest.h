// The word that a mistyped one was probably meant to be.
//
//   nearest("rnu", {"run", "tune"});   // "run"
#pragma once
#include <string>
#include <vector>

namespace hearth::command_line {

// Fewest letters inserted, removed, changed or swapped with their neighbour (optimal string alignment); empty when
// even that is more than a third of the word.
std::string nearest(const std::string& word, const std::vector<std::string>& known);

}  // namespace hearth::command_line
