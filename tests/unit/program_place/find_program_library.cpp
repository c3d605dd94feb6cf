#include "base/find_program.h"

// The path that a library of this process finds, at most `room` bytes of it; 0: none.
extern "C" __attribute__((visibility("default"))) unsigned long find_from_library(const char* name, char* path,
                                                                                  unsigned long room) {
  return hearth::runtime::find_program(name).value_or("").copy(path, room);
}
