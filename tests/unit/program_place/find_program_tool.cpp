// hearth-find-program NAME [LIBRARY]: prints where this program, or the LIBRARY that it loads, finds the program NAME;
// nothing: nowhere. Looks once a line comes on standard input, after printing "ready".
#include <dlfcn.h>
#include <limits.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "base/find_program.h"

int main(int argc, char** argv) {
  using Find = unsigned long(const char* name, char* path, unsigned long room);
  Find* find = nullptr;
  if (argc > 2) {
    void* const library = ::dlopen(argv[2], RTLD_NOW);
    if (library == nullptr) return std::fprintf(stderr, "%s\n", ::dlerror()), 1;
    find = reinterpret_cast<Find*>(::dlsym(library, "find_from_library"));
  }
  std::cout << "ready" << std::endl;
  std::string line;
  std::getline(std::cin, line);
  char path[PATH_MAX];
  std::cout << (find != nullptr ? std::string(path, find(argv[1], path, sizeof path))
                                : hearth::runtime::find_program(argv[1]).value_or(""))
            << std::endl;
}
