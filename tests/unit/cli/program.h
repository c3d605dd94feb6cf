// Runs one of our programs and keeps what it printed.
//
//   Ran ran = run_program("hearth", "run missing.onnx");
//   CHECK(ran.code == 1);
#pragma once
#include <string>

namespace hearth::cli {

struct Ran {
  int code = -1;
  std::string out;  // stdout
  std::string err;  // stderr
};

// `arguments` go through the shell. The program finds no daemon and may start none.
Ran run_program(const std::string& program, const std::string& arguments);
// It finds, or starts, a daemon of this test's own, with its cache in the scratch folder.
Ran run_with_daemon(const std::string& program, const std::string& arguments);
// A fresh folder of this test process, removed at exit.
std::string scratch_dir();
std::string source_dir();

}  // namespace hearth::cli
