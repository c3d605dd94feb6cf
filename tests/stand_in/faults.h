// What the parts of the stand-in have in common beside its entry points.
#pragma once
#include <cstdint>

namespace hearth::stand_in {

// Counts a call of `entry` and gives the error that it is to end with.
int fault_of(const char* entry);
// Whether streams stand still.
void hang(bool hangs);

}  // namespace hearth::stand_in
