// pass_tool PASS < text: one pass on standard input, for work on the compiler and for writing golden cases.
#include <iostream>
#include <iterator>

#include "tests/passes/pass_runner.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: pass_tool PASS < text\n";
    return 2;
  }
  std::string text((std::istreambuf_iterator<char>(std::cin)), {});
  auto result = hearth::tests::run_pass(argv[1], text);
  if (!result.ok()) {
    std::cerr << "pass_tool: " << result.status().message() << "\n";
    return 1;
  }
  std::cout << *result;
}
