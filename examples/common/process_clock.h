// How long this process has existed, loading and dynamic linking included. The kernel stamps a process's start in
// ticks (10 ms), so the answer is up to one tick too large.
//
//   double ms = milliseconds_since_process_start();
#pragma once
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace hearth::examples {

inline double milliseconds_since_process_start() {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  // Field 22 counted from 1; the program's name (field 2) may hold blanks but ends with the last ')'.
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const double start_s = std::strtod(field.c_str(), nullptr) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return (static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9 - start_s) * 1e3;
}

}  // namespace hearth::examples
